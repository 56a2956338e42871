/*
 * symbols_table.c - functions by address, from all symbol tables that a file has.
 *
 * A symbol mostly has a size and does not cover the code behind it: in a stripped file most code
 * has no name, and gets none. Symbols may lie within others, so that the nearest one before an
 * address need not be the right one.
 */
#include "collector/base/grow.h"
#include "collector/symbols/symbols_internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"

#define UNSIZED_MOST 4096u

static bool add(void *to, const struct elf_symbol *s)
{
	struct symbols_table *t = to;

	if (!grow(&t->entry, t->cnt, &t->cap, sizeof(*t->entry)))
		return false;
	t->entry[t->cnt++] = (struct symbols_entry){
		.at = s->at, .size = s->size, .name = s->name, .is_local = s->is_local};
	return true;
}

static size_t underscores(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 ? 0 : strspn(name, "_");
}

/* The last of several names for a function is shown: "read" rather than "__read" and "__GI___libc_read". */
static int compare(const void *one, const void *other)
{
	const struct symbols_entry *a = one, *b = other;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	if (a->is_local != b->is_local)
		return a->is_local ? -1 : 1;
	if (underscores(a->name) != underscores(b->name))
		return underscores(a->name) > underscores(b->name) ? -1 : 1;
	return -strcmp(a->name, b->name);
}

/* In order, each address once, and with a size. */
static void arrange(struct symbols_table *t)
{
	uint64_t until = 0;
	size_t last = 0;

	qsort(t->entry, t->cnt, sizeof(*t->entry), compare);
	for (size_t i = 0; i < t->cnt; i++) {
		struct symbols_entry *e = &t->entry[i];

		if (last && t->entry[last - 1].at == e->at)
			last--;
		t->entry[last] = *e;
		last++;
	}
	t->cnt = last;
	for (size_t i = 0; i < t->cnt; i++) {
		struct symbols_entry *e = &t->entry[i];

		/* Without a size: up to the next one, but hardly further than assembly goes. */
		if (!e->size)
			e->size = i + 1 < t->cnt && e[1].at - e->at < UNSIZED_MOST ? e[1].at - e->at
										   : UNSIZED_MOST;
		if (e->at + e->size > until)
			until = e->at + e->size;
		e->until = until;
	}
}

void symbols_table_fill(struct symbols_table *t, const struct symbols_file *f)
{
	struct elf_symbol loop = {.name = "_PyEval_EvalFrameDefault.cold", .is_local = true};

	/* The dynamic ones are a part of the others, where those are there. */
	elf_image_symbols(&f->image, SHT_SYMTAB, add, t);
	if (!t->cnt)
		elf_image_symbols(&f->debug, SHT_SYMTAB, add, t);
	if (!t->cnt) {
		elf_image_symbols(&f->image, SHT_DYNSYM, add, t);
		elf_image_symbols(&f->mini, SHT_SYMTAB, add, t);
	}
	if (!t->cnt)
		return;
	arrange(t);
	if (symbols_loop_part(t, &f->image, &loop.at, &loop.size) && add(t, &loop))
		arrange(t);
}

void symbols_table_free(struct symbols_table *t)
{
	free(t->entry);
	*t = (struct symbols_table){0};
}

uint64_t symbols_table_until(const struct symbols_table *t, const struct symbols_entry *e,
			     uint64_t address)
{
	size_t next = search_first(i, 0, t->cnt, t->entry[i].at <= address);
	uint64_t until = next < t->cnt ? t->entry[next].at : UINT64_MAX;

	/* Entries that were passed over have ended before. */
	return e && e->size - (address - e->at) < until - address
		       ? address + (e->size - (address - e->at))
		       : until;
}

const struct symbols_entry *symbols_table_find(const struct symbols_table *t, uint64_t address)
{
	size_t low = search_first(i, 0, t->cnt, t->entry[i].at <= address);

	for (; low && t->entry[low - 1].until > address; low--)
		if (address - t->entry[low - 1].at < t->entry[low - 1].size)
			return &t->entry[low - 1];
	return NULL;
}
