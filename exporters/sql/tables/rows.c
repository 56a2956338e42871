/* rows.c - blocks of records in a file, the first of each block known in memory. */
#include "exporters/sql/tables/rows.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/events/spill.h"

#define BLOCK 256 /* records */

size_t rows_bytes_max = 1 << 20;

struct rows {
	unsigned words;
	size_t size; /* bytes of a record */
	int64_t *data;
	size_t room, cnt, in_file; /* records; those in the file are no longer in data */
	FILE *file;
	int64_t *key; /* the first word of each block's first record */
	size_t keys, keys_room;
};

struct rows *rows_new(unsigned words)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (r) {
		r->words = words;
		r->size = words * sizeof(int64_t);
	}
	return r;
}

void rows_free(struct rows *r)
{
	if (!r)
		return;
	free(r->data);
	free(r->key);
	if (r->file)
		fclose(r->file);
	free(r);
}

size_t rows_cnt(const struct rows *r)
{
	return r->cnt;
}

static int write_out(struct rows *r)
{
	size_t cnt = r->cnt - r->in_file;

	if (!r->file)
		r->file = spill_file();
	if (!r->file || fwrite(r->data, r->size, cnt, r->file) != cnt)
		return SQLITE_FULL;
	r->in_file = r->cnt;
	return SQLITE_OK;
}

int rows_add(struct rows *r, const int64_t *record)
{
	int64_t *to;

	if (r->cnt % BLOCK == 0) {
		if (!grow(&r->key, r->keys, &r->keys_room, sizeof(*r->key)))
			return SQLITE_NOMEM;
		r->key[r->keys++] = record[0];
	}
	if (r->cnt - r->in_file == r->room) {
		if (r->room * r->size >= rows_bytes_max) {
			int rc = write_out(r);

			if (rc != SQLITE_OK)
				return rc;
		} else if (!grow(&r->data, r->room, &r->room, r->size)) {
			return SQLITE_NOMEM;
		}
	}
	to = r->data + (r->cnt++ - r->in_file) * r->words;
	for (unsigned i = 0; i < r->words; i++)
		to[i] = record[i];
	return SQLITE_OK;
}

int rows_end(struct rows *r)
{
	int rc = r->file ? write_out(r) : SQLITE_OK;

	if (rc == SQLITE_OK && r->file) {
		free(r->data);
		r->data = NULL;
		rc = fflush(r->file) == 0 ? SQLITE_OK : SQLITE_FULL;
	}
	return rc;
}

/* ---- reading ---- */

static bool read_block(const struct rows *r, struct rows_block *b, size_t first)
{
	size_t cnt = r->cnt - first < BLOCK ? r->cnt - first : BLOCK;
	size_t want = cnt * r->size, got = 0;

	b->cnt = 0;
	if (!b->data)
		b->data = malloc(BLOCK * r->size);
	while (b->data && got < want) {
		ssize_t n = pread(fileno(r->file), (char *)b->data + got, want - got,
				  (off_t)(first * r->size + got));

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	b->first = first;
	b->cnt = b->data ? cnt : 0;
	return b->data;
}

const int64_t *rows_at(const struct rows *r, struct rows_reader *at, size_t i)
{
	size_t cnt = sizeof(at->block) / sizeof(*at->block);
	struct rows_block *b = &at->block[i / BLOCK % cnt];

	if (!r->file)
		return r->data + i * r->words;
	if (at->of != r)
		rows_close(at);
	at->of = r;
	if (i - b->first >= b->cnt && !read_block(r, b, i / BLOCK * BLOCK))
		return NULL;
	return b->data + (i - b->first) * r->words;
}

void rows_close(struct rows_reader *at)
{
	for (size_t i = 0; i < sizeof(at->block) / sizeof(*at->block); i++)
		free(at->block[i].data);
	*at = (struct rows_reader){0};
}

int rows_find(const struct rows *r, struct rows_reader *at, size_t first, size_t last,
	      int64_t value, size_t *place)
{
	/* Blocks that begin within: the first of them whose first record has as much. */
	size_t low = search_first(i, first / BLOCK + 1, last ? (last - 1) / BLOCK + 1 : 0,
				  r->key[i] < value);

	if (first < last) {
		size_t begin = (low - 1) * BLOCK, end = low * BLOCK;

		first = begin > first ? begin : first;
		last = end < last ? end : last;
	}
	while (first < last) {
		size_t mid = first + (last - first) / 2;
		const int64_t *record = rows_at(r, at, mid);

		if (!record)
			return SQLITE_IOERR;
		if (record[0] < value)
			first = mid + 1;
		else
			last = mid;
	}
	*place = first;
	return SQLITE_OK;
}
