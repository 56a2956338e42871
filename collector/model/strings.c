/* strings.c - texts by id, kept in memory and saved in pages for recover. */
#include "collector/model/strings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define STRING_MAX   (1u << 22) /* ids beyond it make no sense */
#define STRINGS_PAGE 256u       /* ids that are saved together */
_Static_assert(STRING_MAX / STRINGS_PAGE <= 64 * 256, "a bit for each page");

void string_known(struct arena *a, uint32_t id, const char *text, uint32_t len)
{
	struct strings *s = &a->strings;

	if (!id || id >= STRING_MAX)
		return;
	if (!grow_to(&s->text, id, &s->cnt, sizeof(*s->text)))
		return;
	if (s->cnt > STRING_MAX)
		s->cnt = STRING_MAX; /* is_new has no bits for more */
	if (s->text[id])
		return;
	s->text[id] = malloc(len + 1);
	if (!s->text[id])
		return;
	memcpy(s->text[id], text, len);
	s->text[id][len] = 0;
	s->is_new[id / STRINGS_PAGE / 64] |= UINT64_C(1) << id / STRINGS_PAGE % 64;
	s->has_new = true;
}

const char *string_find(const struct arena *a, uint32_t id)
{
	return id < a->strings.cnt ? a->strings.text[id] : NULL;
}

/* Of each text of the page: id, length, bytes. */
static int save_page(struct db *db, const struct arena *a, uint32_t page)
{
	const struct strings *s = &a->strings;
	uint32_t first = page * STRINGS_PAGE, end = first + STRINGS_PAGE;
	size_t len = 0;
	char key[32], *blob = NULL, *at;
	int err;

	for (uint32_t id = first; id < end && id < s->cnt; id++)
		len += s->text[id] ? 8 + strlen(s->text[id]) : 0;
	at = blob = malloc(len + 1);
	if (!blob)
		return -ENOMEM;
	for (uint32_t id = first; id < end && id < s->cnt; id++)
		if (s->text[id]) {
			uint32_t head[2] = {id, (uint32_t)strlen(s->text[id])};

			memcpy(at, head, 8);
			memcpy(at + 8, s->text[id], head[1]);
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
	uint32_t pages = (s->cnt + STRINGS_PAGE - 1) / STRINGS_PAGE;
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
	/* They are in the file already. */
	memset(a->strings.is_new, 0, sizeof(a->strings.is_new));
	a->strings.has_new = false;
}

static void release(struct arenas *as, struct arena *a)
{
	(void)as;
	for (uint32_t i = 0; i < a->strings.cnt; i++)
		free(a->strings.text[i]);
	free(a->strings.text);
	memset(&a->strings, 0, sizeof(a->strings));
}

const struct record_family string_records = {.save = save, .restore = restore, .release = release};
