/*
 * symbols_trees.c - search trees that libdw.a and libelf.a of elfutils 0.192 (Debian 13) call but lack, by libc's tsearch.
 * The Makefile detects the archives that need them.
 */
#ifdef SL_LIBDW_LACKS_TREES
#include <search.h>
#include <stddef.h>

struct tree {
	void *root;
};

void *eu_tsearch(const void *key, struct tree *t, int (*compare)(const void *, const void *));
void *eu_tfind(const void *key, struct tree *t, int (*compare)(const void *, const void *));
void *eu_tdelete(const void *key, struct tree *t, int (*compare)(const void *, const void *));
void eu_tdestroy(struct tree *t, void (*release)(void *));
void eu_search_tree_init(struct tree *t);
void eu_search_tree_fini(struct tree *t, void (*release)(void *));

void *eu_tsearch(const void *key, struct tree *t, int (*compare)(const void *, const void *))
{
	return tsearch(key, &t->root, compare);
}

void *eu_tfind(const void *key, struct tree *t, int (*compare)(const void *, const void *))
{
	return tfind(key, &t->root, compare);
}

void *eu_tdelete(const void *key, struct tree *t, int (*compare)(const void *, const void *))
{
	return tdelete(key, &t->root, compare);
}

void eu_tdestroy(struct tree *t, void (*release)(void *))
{
	tdestroy(t->root, release);
	t->root = NULL;
}

void eu_search_tree_init(struct tree *t)
{
	t->root = NULL;
}

void eu_search_tree_fini(struct tree *t, void (*release)(void *))
{
	eu_tdestroy(t, release);
}
#else
typedef int symbols_trees_are_there;
#endif
