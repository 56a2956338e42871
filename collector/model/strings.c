/* strings.c - texts by id, kept in memory and saved in pages for recover. */
#include "collector/model/strings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"

#define STRING_MAX (1u << 22)  /* ids beyond it make no sense */
#define KEEP_BYTES (64u << 20) /* of an arena */
/* Memory of a text: itself, its copy in the state for recover, and a copy that waits for the commit. */
#define TEXT_BYTES(len) (3 * ((size_t)(len) + 16))
_Static_assert(STRING_MAX / STRINGS_PAGE <= 64 * 256, "a bit for each page");

void string_known(struct arena *a, uint32_t id, const char *text, uint32_t len)
{
	struct strings *s = &a->strings;
	char **page;

	if (!id || id >= STRING_MAX || string_find(a, id))
		return;
	page = s->bytes < KEEP_BYTES ? grow_page(&s->page, &s->pages, id / STRINGS_PAGE,
						 STRINGS_PAGE * sizeof(*page))
				     : NULL;
	if (!page || !budget_take(TEXT_BYTES(len))) {
		s->lost++;
		return;
	}
	page[id % STRINGS_PAGE] = malloc(len + 1);
	s->bytes += TEXT_BYTES(len);
	if (!page[id % STRINGS_PAGE]) {
		s->lost++;
		return;
	}
	memcpy(page[id % STRINGS_PAGE], text, len);
	page[id % STRINGS_PAGE][len] = 0;
	s->is_new[id / STRINGS_PAGE / 64] |= UINT64_C(1) << id / STRINGS_PAGE % 64;
	s->has_new = true;
}

const char *string_find(const struct arena *a, uint32_t id)
{
	const struct strings *s = &a->strings;
	uint32_t page = id / STRINGS_PAGE;

	return page < s->pages && s->page[page] ? s->page[page][id % STRINGS_PAGE] : NULL;
}

/* Saves id, length and bytes of each text of the page. */
static int save_page(struct db *db, const struct arena *a, uint32_t page)
{
	char *const *text = a->strings.page[page];
	size_t len = 0;
	char key[32], *blob = NULL, *at;
	int err;

	for (uint32_t i = 0; i < STRINGS_PAGE; i++)
		len += text[i] ? 8 + strlen(text[i]) : 0;
	at = blob = malloc(len + 1);
	if (!blob)
		return -ENOMEM;
	for (uint32_t i = 0; i < STRINGS_PAGE; i++)
		if (text[i]) {
			uint32_t head[2] = {page * STRINGS_PAGE + i, (uint32_t)strlen(text[i])};

			memcpy(at, head, 8);
			memcpy(at + 8, text[i], head[1]);
			at += 8 + head[1];
		}
	snprintf(key, sizeof(key), "strings.%u.%u", a->id, page);
	err = db_state_set(db, key, blob, len);
	free(blob);
	return err;
}

static int save(struct arenas *as, struct arena *a)
{
	struct strings *s = &a->strings;
	uint32_t pages =
		s->pages < STRING_MAX / STRINGS_PAGE ? s->pages : STRING_MAX / STRINGS_PAGE;
	char key[32];
	int err;

	if (!s->has_new)
		return 0;
	snprintf(key, sizeof(key), "strings.%u", a->id);
	err = db_state_set(as->db, key, &pages, sizeof(pages));
	for (uint32_t page = 0; page < pages && !err; page++) {
		uint64_t *word = &s->is_new[page / 64], bit = UINT64_C(1) << page % 64;

		if (!(*word & bit))
			continue;
		err = save_page(as->db, a, page);
		if (!err)
			*word &= ~bit;
	}
	s->has_new = err != 0;
	return err;
}

/* The notes may come from a damaged file: lengths are checked. */
static void load_page(struct arena *a, const char *at, size_t len)
{
	uint32_t head[2];

	for (; len >= 8; at += 8 + head[1], len -= 8 + head[1]) {
		memcpy(head, at, 8);
		if (head[1] > len - 8)
			return;
		string_known(a, head[0], at + 8, head[1]);
	}
}

static void restore(struct arenas *as, struct arena *a)
{
	uint32_t pages = 0;
	char key[32];
	void *blob;
	size_t len;

	snprintf(key, sizeof(key), "strings.%u", a->id);
	if (db_state_get(as->db, key, &blob, &len) != 0)
		return;
	if (len == sizeof(pages))
		memcpy(&pages, blob, sizeof(pages));
	free(blob);
	for (uint32_t page = 0; page < pages && page < STRING_MAX / STRINGS_PAGE; page++) {
		snprintf(key, sizeof(key), "strings.%u.%u", a->id, page);
		if (db_state_get(as->db, key, &blob, &len) != 0)
			continue;
		load_page(a, blob, len);
		free(blob);
	}
	/* The texts are in the file already. */
	memset(a->strings.is_new, 0, sizeof(a->strings.is_new));
	a->strings.has_new = false;
}

static void release(struct arenas *as, struct arena *a)
{
	struct strings *s = &a->strings;
	char key[32];

	if (s->lost)
		db_lost(as->db, clock_map_ns(as->clock, a->mem.born),
			clock_map_ns(as->clock, as->clock->newest), GLOBAL_PID(a->peer.pid),
			"texts: no room", (int64_t)s->lost);
	for (uint32_t page = 0; page < s->pages; page++) {
		if (!s->page[page])
			continue;
		for (uint32_t i = 0; i < STRINGS_PAGE; i++)
			free(s->page[page][i]);
		snprintf(key, sizeof(key), "strings.%u.%u", a->id, page);
		db_state_drop(as->db, key);
	}
	free_pages(&s->page, &s->pages);
	budget_give(s->bytes);
	memset(s, 0, sizeof(*s));
}

const struct record_family string_records = {.save = save, .restore = restore, .release = release};
