/* order.c - sorts rows, in runs of a size that the processor's cache likes. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/analyze/order.h"
#include "exporters/sql/spill.h"

size_t order_run_rows = 1 << 18;

struct run {
	off_t at, end;         /* in the file: what has not been read yet */
	struct order_row *row; /* what has */
	size_t next, cnt;
};

struct order {
	struct order_row *row; /* the run that is being filled; later what runs are read into */
	size_t cnt, next;
	FILE *file;
	struct run *run;
	size_t *heap; /* runs, the one with the lowest row first */
	size_t runs, heap_cnt;
};

struct order *order_new(void)
{
	struct order *o = calloc(1, sizeof(*o));

	if (o)
		o->row = malloc(order_run_rows * sizeof(*o->row));
	if (o && o->row)
		return o;
	free(o);
	return NULL;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	if (o->file)
		fclose(o->file);
	free(o->row);
	free(o->run);
	free(o->heap);
	free(o);
}

static int compare(const void *a, const void *b)
{
	const struct order_row *x = a, *y = b;

	for (int i = 0; i < 2; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return x->minor < y->minor ? -1 : x->minor > y->minor;
}

/* Most of what is recorded is in order already. */
static void sort_rows(struct order *o)
{
	for (size_t i = 1; i < o->cnt; i++) {
		if (compare(&o->row[i - 1], &o->row[i]) > 0) {
			qsort(o->row, o->cnt, sizeof(*o->row), compare);
			return;
		}
	}
}

static int end_run(struct order *o)
{
	struct run *more = reallocarray(o->run, o->runs + 1, sizeof(*more));
	off_t at;

	if (!more)
		return SQLITE_NOMEM;
	o->run = more;
	if (!o->file)
		o->file = spill_file();
	if (!o->file)
		return SQLITE_FULL;
	sort_rows(o);
	at = o->runs ? o->run[o->runs - 1].end : 0;
	o->run[o->runs++] = (struct run){.at = at, .end = at + (off_t)(o->cnt * sizeof(*o->row))};
	if (fwrite(o->row, sizeof(*o->row), o->cnt, o->file) != o->cnt)
		return SQLITE_FULL;
	o->cnt = 0;
	return SQLITE_OK;
}

int order_add(struct order *o, const struct order_row *row)
{
	o->row[o->cnt++] = *row;
	return o->cnt == order_run_rows ? end_run(o) : SQLITE_OK;
}

/* ---- reading runs side by side ---- */

/* The next part of a run; one that is at its end has no row then. */
static int refill(struct order *o, struct run *r, size_t room)
{
	size_t want = room * sizeof(*r->row), have = 0;

	if ((off_t)want > r->end - r->at)
		want = (size_t)(r->end - r->at);
	while (have < want) {
		ssize_t n = pread(fileno(o->file), (char *)r->row + have, want - have,
				  r->at + (off_t)have);

		if (n <= 0)
			return SQLITE_IOERR;
		have += (size_t)n;
	}
	r->at += (off_t)want;
	r->next = 0;
	r->cnt = want / sizeof(*r->row);
	return SQLITE_OK;
}

static bool before(const struct order *o, size_t a, size_t b)
{
	const struct run *x = &o->run[a], *y = &o->run[b];
	int c = compare(&x->row[x->next], &y->row[y->next]);

	return c < 0 || (c == 0 && a < b);
}

static void sift(struct order *o, size_t i)
{
	for (;;) {
		size_t least = i, swap;

		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < o->heap_cnt; k++)
			if (before(o, o->heap[k], o->heap[least]))
				least = k;
		if (least == i)
			return;
		swap = o->heap[i];
		o->heap[i] = o->heap[least];
		o->heap[least] = swap;
		i = least;
	}
}

/* All runs together may be read into as much memory as one was sorted in. */
static size_t part_of(const struct order *o)
{
	size_t room = order_run_rows / o->runs;

	return room ? room : 1;
}

int order_sort(struct order *o)
{
	int rc = SQLITE_OK;

	if (o->runs == 0) {
		sort_rows(o);
		return SQLITE_OK;
	}
	if (o->cnt > 0)
		rc = end_run(o);
	if (rc == SQLITE_OK && fflush(o->file) != 0)
		rc = SQLITE_FULL;
	if (rc != SQLITE_OK)
		return rc;
	free(o->row);
	o->row = malloc(o->runs * part_of(o) * sizeof(*o->row));
	o->heap = malloc(o->runs * sizeof(*o->heap));
	if (!o->row || !o->heap)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < o->runs && rc == SQLITE_OK; i++) {
		o->run[i].row = o->row + i * part_of(o);
		rc = refill(o, &o->run[i], part_of(o));
		o->heap[o->heap_cnt++] = i;
	}
	for (size_t i = o->heap_cnt / 2; i-- > 0 && rc == SQLITE_OK;)
		sift(o, i);
	return rc;
}

int order_next(struct order *o, struct order_row *row)
{
	struct run *r;
	int rc;

	if (o->runs == 0) {
		if (o->next == o->cnt)
			return SQLITE_DONE;
		*row = o->row[o->next++];
		return SQLITE_ROW;
	}
	if (o->heap_cnt == 0)
		return SQLITE_DONE;
	r = &o->run[o->heap[0]];
	*row = r->row[r->next++];
	if (r->next == r->cnt) {
		rc = refill(o, r, part_of(o));
		if (rc != SQLITE_OK)
			return rc;
		if (r->cnt == 0)
			o->heap[0] = o->heap[--o->heap_cnt];
	}
	if (o->heap_cnt > 0)
		sift(o, 0);
	return SQLITE_ROW;
}
