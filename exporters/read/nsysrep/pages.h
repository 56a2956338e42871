/*
 * pages.h - tables of a database written as pages of its file, row by row in the order of their keys.
 *
 * The format is documented and frozen (https://www.sqlite.org/fileformat2.html). A row costs a tenth of an INSERT; SQLite itself
 * then opens the file, takes the tables into its schema and adds all others. Pages are only appended, none is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_COLUMNS 48

enum page_type {
	PAGE_NULL,
	PAGE_INTEGER,
	PAGE_TEXT,
};

struct page_value {
	enum page_type type;
	int64_t number;
	const void *text;
	size_t len;
};

/* A database file that is written; zeroed, with @fd, it is empty. */
struct pages {
	int fd;
	uint32_t cnt; /* pages so far, with the first one */
	uint8_t *buffer;
	size_t used;
	uint64_t at; /* where the buffer belongs */
	int error;   /* the first errno; then nothing is written any more */
};

/* A tree of pages: children of the level above the leaves. */
struct page_tree {
	struct page_child *child;
	uint32_t cnt, room;
	uint8_t *leaf; /* the page that is being filled */
	unsigned cells, content;
	int64_t last; /* rowid */
	/* Of an index: the full page before it, and the entry between both; it is written when this one has an entry. */
	uint8_t *held;
	unsigned held_cells, held_content;
	int64_t entry[3], before[3]; /* the last one, and the one before it */
};

/* A row of @values; @rowid is larger than that before. */
void page_row(struct pages *p, struct page_tree *t, int64_t rowid, const struct page_value *values,
	      unsigned cnt);
/* An entry of an index of two columns: both, and the rowid. */
void page_entry(struct pages *p, struct page_tree *t, int64_t a, int64_t b, int64_t rowid);
/* Writes what is left of the tree and frees it. The number of its root; of an empty one, an empty page's. */
uint32_t page_tree_end(struct pages *p, struct page_tree *t, bool is_index);
/* Frees a tree that is not needed. */
void page_tree_drop(struct page_tree *t);
/* Writes the first page, of an empty schema, and all that waits. 0, or -errno. */
int pages_end(struct pages *p);
