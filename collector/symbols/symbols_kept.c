/* symbols_kept.c - puts a session's answers, and those around them, into the cache for later recordings. */
#include "collector/symbols/symbols_session.h"

#include <stdlib.h>
#include <string.h>

/* Bytes on each side of an address: a module's new addresses share MODULE_BYTES. */
#define MODULE_BYTES 8192u
#define SPAN_LEAST   64u
#define SPAN_MOST    2048u
/* Lookups, of a module and of a session: a thousand take some milliseconds. */
#define MODULE_WALK  1024u
#define SESSION_WALK 4096u

static const char *debug_path(const struct symbols_module *m)
{
	return m->file.debug.at ? m->file.debug_path : m->path;
}

/* Debug information, of a file that its path leads to. */
static bool is_kept(const struct symbols_module *m)
{
	return m->answers.has_new && m->build_id_len && !m->is_broken && m->dwarf &&
	       (m->mapped.fd >= 0 || strcmp(m->file.path, m->path) == 0) &&
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
	size_t cnt;
	size_t left; /* lookups that may still be made */
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
static void walk_around(struct walk *w, uint64_t address, uint64_t bytes, uint64_t *done)
{
	uint64_t from = address > bytes ? address - bytes : 0, to = address + bytes;
	uint64_t at = from > *done ? from : *done;

	for (; at < to && w->left; at = step(w, at, to))
		w->left--;
	/* The address itself is kept in any case. */
	*done = at <= address && address < to ? step(w, address, to) : at;
}

static uint64_t span_of(size_t cnt)
{
	uint64_t bytes = cnt ? MODULE_BYTES / cnt : SPAN_MOST;

	return bytes < SPAN_LEAST ? SPAN_LEAST : bytes > SPAN_MOST ? SPAN_MOST : bytes;
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

static void cache_module(struct symbols *s, struct symbols_module *m, size_t *left)
{
	const struct cached_key key = symbols_key_of(m);
	uint64_t *list = is_kept(m) ? calloc(m->answers.cnt + 1, sizeof(*list)) : NULL, done = 0;
	size_t most = *left < MODULE_WALK ? *left : MODULE_WALK;
	struct walk w = {.symbols = s, .module = m, .left = most};
	size_t cnt;

	if (list && symbols_cache_add(s->cache, &key, debug_path(m), m->answers.cached)) {
		cnt = new_addresses(m, list);
		for (size_t i = 0; i < cnt; i++)
			walk_around(&w, list[i], span_of(cnt), &done);
		if (!m->is_broken)
			put_span(&w);
	}
	*left -= most - w.left;
	free(list);
}

void symbols_keep_answers(struct symbols *s)
{
	size_t left = SESSION_WALK;

	for (unsigned i = 0; i < MODULES; i++)
		for (struct symbols_module *m = s->module[i]; m; m = m->next)
			cache_module(s, m, &left);
	symbols_cache_end(s->cache);
}
