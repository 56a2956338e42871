/*
 * sorter.c - merge sort that uses runs that are in order already, as most recorded rows are.
 */
#include "exporters/events/sorter.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/events/spill.h"

#define BUF_BYTES (64 << 10) /* more does not make reading faster */

/* Data that fits the processor's cache sorts fastest: 1 MiB beats 4 MiB by a fifth. */
size_t sorter_bytes_max = 1 << 20;

struct run { /* of the file */
	off_t at, end;
	int64_t *buf;
	size_t pos, cnt; /* records in buf */
};

struct sorter {
	unsigned words, keys;
	size_t size; /* bytes of a record */
	int64_t *data;
	uint32_t cnt, room;
	uint32_t *order; /* of data */
	uint32_t pos;
	bool sorted;
	FILE *file;
	struct run *run;
	size_t runs;
	int64_t *bufs;
	size_t buf_records;
	size_t *heap, heap_cnt; /* runs, the one with the least record first */
	bool given;             /* the record at the top was read */
};

struct sorter *sorter_new(unsigned words, unsigned keys)
{
	struct sorter *s = calloc(1, sizeof(*s));

	if (s) {
		s->words = words;
		s->keys = keys;
		s->size = words * sizeof(int64_t);
	}
	return s;
}

void sorter_free(struct sorter *s)
{
	if (!s)
		return;
	free(s->data);
	free(s->order);
	free(s->run);
	free(s->bufs);
	free(s->heap);
	if (s->file)
		fclose(s->file);
	free(s);
}

static bool above(const int64_t *a, const int64_t *b, unsigned keys)
{
	for (unsigned i = 0; i < keys; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return false;
}

/* ---- in memory ---- */

static bool out_of_order(const struct sorter *s, uint32_t a, uint32_t b)
{
	return above(&s->data[(size_t)a * s->words], &s->data[(size_t)b * s->words], s->keys);
}

static void merge(const struct sorter *s, const uint32_t *from, uint32_t *to, uint32_t lo,
		  uint32_t mid, uint32_t hi)
{
	uint32_t a = lo, b = mid;

	if (mid == hi || !out_of_order(s, from[mid - 1], from[mid])) {
		memcpy(to + lo, from + lo, (hi - lo) * sizeof(*to));
		return;
	}
	for (uint32_t i = lo; i < hi; i++)
		to[i] = b == hi || (a < mid && !out_of_order(s, from[a], from[b])) ? from[a++]
										   : from[b++];
}

/* Stretches that are in order are found, then merged in pairs until one is left. */
static int sort_order(struct sorter *s)
{
	size_t cnt = s->cnt;
	uint32_t *from, *to, *at;
	uint32_t parts = 0;

	free(s->order);
	s->order = from = malloc((cnt + 1) * sizeof(*from));
	to = malloc((cnt + 1) * sizeof(*to));
	at = malloc((cnt + 1) * sizeof(*at));
	if (!from || !to || !at) {
		free(to);
		free(at);
		return SQLITE_NOMEM;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		from[i] = i;
		if (i == 0 || out_of_order(s, i - 1, i))
			at[parts++] = i;
	}
	while (parts > 1) {
		uint32_t left = 0;
		uint32_t *swap;

		for (uint32_t i = 0; i < parts; i += 2) {
			uint32_t mid = i + 1 < parts ? at[i + 1] : (uint32_t)cnt;
			uint32_t hi = i + 2 < parts ? at[i + 2] : (uint32_t)cnt;

			merge(s, from, to, at[i], mid, hi);
			at[left++] = at[i];
		}
		parts = left;
		swap = from;
		from = to;
		to = swap;
	}
	s->order = from;
	free(to);
	free(at);
	return SQLITE_OK;
}

static const int64_t *in_order(const struct sorter *s, uint32_t i)
{
	return &s->data[(size_t)s->order[i] * s->words];
}

/* ---- runs ---- */

static int write_run(struct sorter *s)
{
	struct run *more = reallocarray(s->run, s->runs + 1, sizeof(*more));
	int rc;

	if (!more)
		return SQLITE_NOMEM;
	s->run = more;
	rc = sort_order(s);
	if (rc != SQLITE_OK)
		return rc;
	if (!s->file) {
		s->file = spill_file();
		if (s->file)
			setvbuf(s->file, NULL, _IOFBF, BUF_BYTES);
	}
	if (!s->file)
		return SQLITE_FULL;
	s->run[s->runs] = (struct run){.at = ftello(s->file)};
	for (uint32_t i = 0; i < s->cnt; i++)
		fwrite_unlocked(in_order(s, i), s->size, 1, s->file);
	s->run[s->runs++].end = ftello(s->file);
	s->cnt = 0;
	return ferror(s->file) ? SQLITE_FULL : SQLITE_OK;
}

int sorter_add(struct sorter *s, const int64_t *record)
{
	if (s->cnt == s->room) {
		size_t most = sorter_bytes_max / s->size > 1 ? sorter_bytes_max / s->size : 1;
		size_t room = s->room ? (size_t)s->room * 2 : 256;
		int64_t *more;
		int rc;

		if (s->room >= most) {
			rc = write_run(s);
			if (rc != SQLITE_OK)
				return rc;
		} else {
			room = room < most ? room : most;
			more = reallocarray(s->data, room, s->size);
			if (!more)
				return SQLITE_NOMEM;
			s->data = more;
			s->room = (uint32_t)room;
		}
	}
	memcpy(&s->data[(size_t)s->cnt++ * s->words], record, s->size);
	return SQLITE_OK;
}

/* The run's next records; its count is 0 at the end. */
static int fill(struct sorter *s, struct run *r, off_t *next)
{
	size_t want = s->buf_records * s->size, got = 0;

	if ((off_t)want > r->end - *next)
		want = (size_t)(r->end - *next);
	while (got < want) {
		ssize_t n = pread(fileno(s->file), (char *)r->buf + got, want - got,
				  *next + (off_t)got);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return SQLITE_IOERR;
		got += n > 0 ? (size_t)n : 0;
	}
	*next += (off_t)want;
	r->pos = 0;
	r->cnt = want / s->size;
	return SQLITE_OK;
}

static const int64_t *record_of(const struct sorter *s, size_t run)
{
	return &s->run[run].buf[s->run[run].pos * s->words];
}

/* Equal records come from the earlier run first. */
static bool run_above(const struct sorter *s, size_t a, size_t b)
{
	const int64_t *x = record_of(s, a), *y = record_of(s, b);

	return above(x, y, s->keys) || (!above(y, x, s->keys) && a > b);
}

static void sink(struct sorter *s, size_t at)
{
	size_t *h = s->heap;

	for (size_t child; (child = 2 * at + 1) < s->heap_cnt; at = child) {
		size_t t = h[at];

		child += child + 1 < s->heap_cnt && run_above(s, h[child], h[child + 1]);
		if (!run_above(s, t, h[child]))
			return;
		h[at] = h[child];
		h[child] = t;
	}
}

static off_t start_of(const struct sorter *s, size_t run)
{
	return run > 0 ? s->run[run - 1].end : 0;
}

static int start_runs(struct sorter *s)
{
	if (!s->bufs) {
		/* The buffers of the runs take the place of the sorted records. */
		free(s->data);
		free(s->order);
		s->data = NULL;
		s->order = NULL;
		s->buf_records = sorter_bytes_max * 4 / s->runs / s->size;
		if (s->buf_records > BUF_BYTES / s->size)
			s->buf_records = BUF_BYTES / s->size;
		if (s->buf_records < 16)
			s->buf_records = 16;
		s->bufs = calloc(s->runs * s->buf_records, s->size);
		s->heap = calloc(s->runs, sizeof(*s->heap));
		if (!s->bufs || !s->heap)
			return SQLITE_NOMEM;
	}
	s->heap_cnt = 0;
	for (size_t i = 0; i < s->runs; i++) {
		struct run *r = &s->run[i];
		int rc;

		r->buf = s->bufs + i * s->buf_records * s->words;
		r->at = start_of(s, i);
		rc = fill(s, r, &r->at);
		if (rc != SQLITE_OK)
			return rc;
		s->heap[s->heap_cnt++] = i;
	}
	for (size_t i = s->heap_cnt / 2; i-- > 0;)
		sink(s, i);
	s->given = false;
	return SQLITE_OK;
}

/* ---- reading ---- */

int sorter_rewind(struct sorter *s)
{
	int rc = SQLITE_OK;

	s->pos = 0;
	if (!s->sorted) {
		rc = s->runs > 0 && s->cnt > 0 ? write_run(s)
		     : s->runs == 0            ? sort_order(s)
					       : SQLITE_OK;
		if (rc == SQLITE_OK && s->file && fflush(s->file) != 0)
			rc = SQLITE_FULL;
	}
	s->sorted = true;
	return rc == SQLITE_OK && s->runs > 0 ? start_runs(s) : rc;
}

int sorter_next(struct sorter *s, const int64_t **record)
{
	if (s->runs == 0) {
		if (s->pos == s->cnt)
			return SQLITE_DONE;
		*record = in_order(s, s->pos++);
		return SQLITE_ROW;
	}
	if (s->given) {
		struct run *r = &s->run[s->heap[0]];

		if (++r->pos == r->cnt) {
			int rc = fill(s, r, &r->at);

			if (rc != SQLITE_OK)
				return rc;
			if (r->cnt == 0)
				s->heap[0] = s->heap[--s->heap_cnt];
		}
		sink(s, 0);
	}
	s->given = s->heap_cnt > 0;
	if (!s->given)
		return SQLITE_DONE;
	*record = record_of(s, s->heap[0]);
	return SQLITE_ROW;
}
