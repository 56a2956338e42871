/* symbols_texts.c - texts in blocks, found by an open-addressed table of their sources. */
#include "collector/symbols/symbols_texts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "collector/symbols/demangle.h"
#include "collector/symbols/symbols_internal.h"

#define BLOCK_BYTES 65536u

struct block {
	struct block *next;
	size_t used;
	char text[];
};

/* Texts, each once, by their sources. */
struct known {
	const char *key, *text;
};

static char *keep(struct symbols_texts *s, const char *text)
{
	size_t len = strlen(text) + 1, cap = len > BLOCK_BYTES ? len : BLOCK_BYTES;
	struct block *b = s->blocks;
	char *copy;

	if (!b || cap - b->used < len || len > BLOCK_BYTES) {
		b = malloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		b->used = 0;
		b->next = s->blocks;
		s->blocks = b;
	}
	copy = b->text + b->used;
	memcpy(copy, text, len);
	b->used += len;
	return copy;
}

static bool grow_known(struct symbols_texts *s)
{
	size_t cap = s->known_cap ? s->known_cap * 2 : 4096;
	struct known *list = calloc(cap, sizeof(*list));

	if (!list)
		return false;
	for (size_t i = 0; i < s->known_cap; i++) {
		size_t at;

		if (!s->known[i].key)
			continue;
		for (at = hash_text(s->known[i].key); list[at &= cap - 1].key; at++)
			;
		list[at] = s->known[i];
	}
	free(s->known);
	s->known = list;
	s->known_cap = cap;
	return true;
}

static struct known *known_at(struct symbols_texts *s, const char *key)
{
	size_t at;

	if (s->known_cnt * 2 >= s->known_cap && !grow_known(s))
		return NULL;
	for (at = hash_text(key); s->known[at &= s->known_cap - 1].key; at++)
		if (strcmp(s->known[at].key, key) == 0)
			break;
	return &s->known[at];
}

const char *symbols_texts_keep(struct symbols_texts *s, const char *text)
{
	struct known *k = known_at(s, text);

	if (k && !k->key) {
		k->key = keep(s, text);
		s->known_cnt += k->key != NULL;
	}
	return k ? k->key : NULL;
}

const char *symbols_texts_demangled(struct symbols_texts *s, const char *symbol)
{
	struct known *k = known_at(s, symbol);
	char *name;

	if (!k)
		return NULL;
	if (!k->key) {
		k->key = keep(s, symbol);
		if (!k->key)
			return NULL;
		s->known_cnt++;
	}
	if (!k->text) {
		name = demangle_function(symbol);
		k->text = name && *name ? keep(s, name) : k->key;
		free(name);
	}
	return k->text;
}

/*
 * The loop of the interpreter is one function, in parts: the one that is called, and ".cold" or the like. Where it is
 * built of functions that call each other at their ends (3.14), any of them.
 */
bool symbols_is_interpreter(const char *symbol)
{
	static const char loop[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	return (strncmp(symbol, loop, sizeof(loop) - 1) == 0 &&
		(!symbol[sizeof(loop) - 1] || symbol[sizeof(loop) - 1] == '.')) ||
	       strncmp(symbol, tail, sizeof(tail) - 1) == 0;
}

void symbols_texts_free(struct symbols_texts *s)
{
	for (struct block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(s->known);
}
