/*
 * db_strings.c - StringIds: one id per distinct text, and the conversion of any bytes to valid
 * text.
 *
 * Ids are given out at once and count up from 0 (the empty text); rows are written at the next commit.
 * Rule easy to break: an id that was given out must reach the file even when that commit fails, for
 * the caller keeps using it. So `saved` moves on only when a transaction is really committed.
 */
#include "collector/base/budget.h"
#include "collector/base/utf8.h"
#include "collector/report/db_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u
/* Texts are held in memory: paths first come to an end, names later. */
#define LONG_BYTES  (96u << 20)
#define SHORT_BYTES (128u << 20)
#define SHORT_TEXT  64u

static const char no_room[] = "[no room for the text]";

struct db_block {
	struct db_block *next;
	char data[];
};

/* Not for enemies: a table that is made slow by chosen paths slows down only their own recording. */
static uint32_t hash(const char *s, size_t len)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	uint64_t h = len * k, w;

	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * k;
		h ^= h >> 29;
	}
	w = 0;
	memcpy(&w, s, len);
	h = (h ^ w) * k;
	return (uint32_t)(h ^ h >> 32);
}

static uint32_t *find(struct db_strings *t, const char *text, size_t len, uint32_t h)
{
	uint32_t mask = t->slots - 1, i = h & mask;

	for (; t->slot[i]; i = (i + 1) & mask) {
		const struct db_text *s = &t->list[t->slot[i] - 1];

		if (s->hash == h && s->len == len && !memcmp(s->text, text, len))
			break;
	}
	return &t->slot[i];
}

static bool grow_strings(struct db_strings *t)
{
	uint32_t slots = t->slots ? t->slots * 2 : 1024, *slot = calloc(slots, sizeof(*slot));
	int64_t cap = slots / 2;
	struct db_text *list = realloc(t->list, (size_t)cap * sizeof(*list));

	if (list)
		t->list = list;
	if (!slot || !list) {
		free(slot);
		return false;
	}
	free(t->slot);
	t->slot = slot;
	t->slots = slots;
	t->cap = cap;
	for (int64_t id = 0; id < t->cnt; id++) {
		uint32_t i = list[id].hash & (slots - 1);

		if (!list[id].text) /* a gap in the ids of a resumed report */
			continue;
		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = (uint32_t)id + 1;
	}
	return true;
}

static char *keep(struct db_strings *t, const char *text, size_t len)
{
	char *copy;

	if (len + 1 > t->block_left) {
		size_t size = len + 1 > BLOCK_BYTES ? len + 1 : BLOCK_BYTES;
		struct db_block *b = malloc(sizeof(*b) + size);

		if (!b)
			return NULL;
		b->next = t->blocks;
		t->blocks = b;
		t->block = b->data;
		t->block_left = size;
	}
	copy = t->block;
	memcpy(copy, text, len);
	copy[len] = '\0';
	t->block += len + 1;
	t->block_left -= len + 1;
	return copy;
}

static bool has_room(const struct db_strings *t, size_t len)
{
	return t->bytes + len <= (len <= SHORT_TEXT ? SHORT_BYTES : LONG_BYTES);
}

static int64_t add(struct db_strings *t, uint32_t *slot, const char *text, size_t len, uint32_t h)
{
	char *copy = keep(t, text, len);

	if (!copy)
		return 0;
	t->bytes += len;
	budget_note((int64_t)len);
	t->list[t->cnt] = (struct db_text){copy, (uint32_t)len, h};
	*slot = (uint32_t)t->cnt + 1;
	return t->cnt++;
}

void db_strings_forget(struct db *db)
{
	struct db_strings *t = &db->strings;

	t->cnt = t->saved;
	memset(t->slot, 0, t->slots * sizeof(*t->slot));
	for (int64_t id = 0; id < t->cnt; id++) {
		uint32_t i = t->list[id].hash & (t->slots - 1);

		if (!t->list[id].text)
			continue;
		while (t->slot[i])
			i = (i + 1) & (t->slots - 1);
		t->slot[i] = (uint32_t)id + 1;
	}
}

int64_t db_string(struct db *db, const char *text, size_t len)
{
	struct db_strings *t = &db->strings;
	const char *clean = db_clean(db, text, len, &len);
	uint32_t h = hash(clean, len), *slot = find(t, clean, len, h);

	if (*slot)
		return *slot - 1;
	if (!has_room(t, len)) {
		t->lost++;
		return len > sizeof(no_room) ? db_string(db, no_room, sizeof(no_room) - 1) : 0;
	}
	if (t->cnt == t->cap) {
		/* Out of memory: the empty text rather than the end of the recording. */
		if (t->cap > UINT32_MAX / 4 || !grow_strings(t))
			return 0;
		slot = find(t, clean, len, h);
	}
	return add(t, slot, clean, len, h);
}

uint64_t db_strings_lost(const struct db *db)
{
	return db->strings.lost;
}

int64_t db_string_known(struct db *db, const char *text, size_t len)
{
	const char *clean = db_clean(db, text, len, &len);
	uint32_t *slot = find(&db->strings, clean, len, hash(clean, len));

	return *slot ? (int64_t)*slot - 1 : DB_NULL;
}

const char *db_string_text(const struct db *db, int64_t id, uint32_t *len)
{
	const struct db_strings *t = &db->strings;

	if (id < 0 || id >= t->cnt || !t->list[id].text)
		return NULL;
	*len = t->list[id].len;
	return t->list[id].text;
}

int db_strings_init(struct db *db)
{
	return grow_strings(&db->strings) ? 0 : -ENOMEM;
}

int db_strings_flush(struct db *db)
{
	struct db_strings *t = &db->strings;
	sqlite3_stmt *stmt;
	int err = 0;

	if (t->saved == t->cnt)
		return 0;
	err = db_fail(db, sqlite3_prepare_v2(db->sql, "INSERT INTO main.StringIds VALUES(?, ?)", -1,
					     &stmt, NULL));
	for (int64_t id = t->saved; id < t->cnt && !err; id++) {
		const struct db_text *s = &t->list[id];

		sqlite3_bind_int64(stmt, 1, id);
		sqlite3_bind_text(stmt, 2, s->text, (int)s->len, SQLITE_STATIC);
		sqlite3_step(stmt);
		err = db_fail(db, sqlite3_reset(stmt));
	}
	sqlite3_finalize(stmt);
	return err;
}

int db_strings_load(struct db *db)
{
	struct db_strings *t = &db->strings;
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(db, "SELECT id, value FROM main.StringIds ORDER BY id", &stmt);

	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !err) {
		int64_t id = sqlite3_column_int64(stmt, 0);
		const char *text = (const char *)sqlite3_column_text(stmt, 1);
		size_t len = (size_t)sqlite3_column_bytes(stmt, 1);
		uint32_t h = hash(text, len);

		err = id < t->cnt || id > UINT32_MAX / 4 ? -EBADMSG : 0;
		while (!err && id >= t->cap)
			err = grow_strings(t) ? 0 : -ENOMEM;
		if (err)
			break;
		for (; t->cnt < id; t->cnt++)
			t->list[t->cnt] = (struct db_text){NULL, UINT32_MAX, 0};
		add(t, find(t, text, len, h), text, len, h);
		err = t->cnt == id + 1 ? 0 : -ENOMEM;
	}
	t->saved = t->cnt;
	sqlite3_finalize(stmt);
	return err ? err : rc == SQLITE_DONE ? 0 : db_errno(rc);
}

void db_strings_free(struct db *db)
{
	while (db->strings.blocks) {
		struct db_block *b = db->strings.blocks;

		db->strings.blocks = b->next;
		free(b);
	}
	budget_note(-(int64_t)db->strings.bytes);
	free(db->strings.list);
	free(db->strings.slot);
}

static size_t clean_prefix(const unsigned char *s, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	size_t at = 0, n;
	uint64_t w;

	/* Eight characters at a time while all are ASCII and none is NUL. */
	for (; at + 8 <= len; at += 8) {
		memcpy(&w, s + at, 8);
		if ((w | (w - ones)) & high)
			break;
	}
	while (at < len && (n = utf8_len(s + at, len - at)))
		at += n;
	return at;
}

const char *db_clean(struct db *db, const char *text, size_t len, size_t *clean_len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = clean_prefix(s, len), out = at, n;

	*clean_len = len;
	if (at == len)
		return len ? text : ""; /* nothing at all: NULL is no text */
	if (db->scratch.cap < 4 * len + 1) {
		char *p = realloc(db->scratch.text, 4 * len + 1);

		if (!p) {
			*clean_len = at;
			return text;
		}
		db->scratch.text = p;
		db->scratch.cap = 4 * len + 1;
	}
	memcpy(db->scratch.text, text, at);
	while (at < len) {
		n = utf8_len(s + at, len - at);
		if (n) {
			memcpy(db->scratch.text + out, text + at, n);
			at += n;
			out += n;
		} else {
			out += (size_t)sprintf(db->scratch.text + out, "\\x%02x", s[at++]);
		}
	}
	*clean_len = out;
	return db->scratch.text;
}

size_t db_unhex(const char *hex, uint8_t *to, size_t room)
{
	size_t n = 0;
	unsigned byte;

	for (; hex && n < room && sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
		to[n++] = (uint8_t)byte;
	return n;
}
