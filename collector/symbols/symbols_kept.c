/* symbols_kept.c - puts a session's answers, and those around them, into the cache for later recordings. */
#include "collector/symbols/symbols_session.h"

#include <stdlib.h>
#include <string.h>

/* Bytes around an address, and all that are looked at in a file. */
#define SPAN_MOST 256u
#define WALK_MOST 8192u

/* Debug information of its own, for a file that its path leads to: what distributions ship. */
static bool is_kept(const struct symbols_module *m)
{
	return m->answers.has_new && m->build_id_len && !m->is_broken && m->dwarf &&
	       m->file.debug.at && (m->mapped.fd >= 0 || strcmp(m->file.path, m->path) == 0) &&
	       symbols_dwarf_is_alone(m->dwarf);
}

static bool is_equal(const struct symbols_frame *a, const struct symbols_frame *b, size_t cnt)
{
	/* Texts are kept once. */
	for (size_t i = 0; i < cnt; i++)
		if (a[i].function != b[i].function || a[i].file != b[i].file ||
		    a[i].line != b[i].line || a[i].is_inlined != b[i].is_inlined ||
		    a[i].is_interpreter != b[i].is_interpreter)
			return false;
	return true;
}

struct walk { /* through addresses of a file, in order */
	struct symbols *symbols;
	struct symbols_module *module;
	struct cached_span span; /* bytes 0: none */
	struct symbols_frame frame[SYMBOLS_FRAMES_MAX + 1];
	size_t cnt, left; /* left: addresses that may still be looked up */
};

static void put_span(struct walk *w)
{
	if (w->span.bytes)
		symbols_cache_answer(w->symbols->cache, &w->span, w->frame, w->cnt);
	w->span.bytes = 0;
}

/* From @address to @to, or less: returns where the next step begins. */
static uint64_t step(struct walk *w, uint64_t address, uint64_t to)
{
	struct symbols_frame found[SYMBOLS_FRAMES_MAX + 1];
	uint64_t until;
	size_t cnt =
		symbols_ask(w->symbols, w->module, address, found, SYMBOLS_FRAMES_MAX + 1, &until);

	until = until < to ? until : to;
	if (w->span.bytes && w->span.from + w->span.bytes == address && cnt == w->cnt &&
	    is_equal(found, w->frame, cnt)) {
		w->span.bytes += (uint32_t)(until - address);
		return until;
	}
	put_span(w);
	w->span = (struct cached_span){address, (uint32_t)(until - address)};
	memcpy(w->frame, found, cnt * sizeof(*found));
	w->cnt = cnt;
	return until;
}

/* A sample is rarely taken at the same place again, but often near it. */
static void walk_around(struct walk *w, uint64_t address, uint64_t *done)
{
	uint64_t from = address > SPAN_MOST ? address - SPAN_MOST : 0, to = address + SPAN_MOST;

	for (uint64_t at = from > *done ? from : *done; at < to && w->left; *done = at) {
		w->left--;
		at = step(w, at, to);
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* New ones, in order. */
static size_t new_addresses(const struct symbols_module *m, uint64_t *list)
{
	struct symbols_frame known[SYMBOLS_FRAMES_MAX + 1];
	size_t new = 0, cnt;

	for (size_t i = 0; i < m->answers.cap; i++) {
		const struct answer *a = &m->answers.list[i];

		if (a->first &&
		    !(m->answers.cached && symbols_cache_find(m->answers.cached, a->address, known,
							      SYMBOLS_FRAMES_MAX + 1, &cnt)))
			list[new ++] = a->address;
	}
	qsort(list, new, sizeof(*list), by_number);
	return new;
}

static void cache_module(struct symbols *s, struct symbols_module *m)
{
	const struct cached_key key = symbols_key_of(m);
	uint64_t *list = is_kept(m) ? calloc(m->answers.cnt + 1, sizeof(*list)) : NULL, done = 0;
	struct walk w = {.symbols = s, .module = m, .left = WALK_MOST};
	size_t cnt;

	if (list && symbols_cache_add(s->cache, &key, m->file.debug_path, m->answers.cached)) {
		cnt = new_addresses(m, list);
		for (size_t i = 0; i < cnt; i++)
			walk_around(&w, list[i], &done);
		if (!m->is_broken)
			put_span(&w);
	}
	free(list);
}

void symbols_keep_answers(struct symbols *s)
{
	for (unsigned i = 0; i < MODULES; i++)
		for (struct symbols_module *m = s->module[i]; m; m = m->next)
			cache_module(s, m);
	symbols_cache_end(s->cache);
}
