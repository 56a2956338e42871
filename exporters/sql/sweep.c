/*
 * sweep.c - ranges, and the calls that lie within them, in one pass over time.
 *
 * A range holds the calls from the first that begins in it to the last that began and ended before its end. So a
 * call waits until it is known which ranges hold it: the ranges open at the end of the call, or of a later one.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/sql/sweep.h"

/* ---- calls ---- */

/* The first @cnt of those pending count from now on. */
static int apply(struct sweep *s, size_t cnt)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < cnt && rc == SQLITE_OK; i++)
		rc = s->way->apply(s, &s->pending[i]);
	s->pendings -= cnt;
	memmove(s->pending, s->pending + cnt, s->pendings * sizeof(*s->pending));
	return rc;
}

/* All up to the last one that ended by then count: a range that ends now holds them, and each that ends later. */
static int apply_ended(struct sweep *s, int64_t by, size_t look_at)
{
	for (size_t i = s->pendings; i > 0 && look_at > 0; i--, look_at--)
		if (s->pending[i - 1].call[C_END] <= by)
			return apply(s, i);
	return SQLITE_OK;
}

static int add_call(struct sweep *s, const int64_t *call)
{
	struct sweep_call *c;
	int rc = s->opens > 0 ? apply_ended(s, call[C_START], 8) : SQLITE_OK;

	if (s->opens == 0 || rc != SQLITE_OK)
		return rc;
	if (!grow(&s->pending, s->pendings, &s->pending_room, sizeof(*s->pending)))
		return SQLITE_NOMEM;
	c = &s->pending[s->pendings++];
	memcpy(c->call, call, sizeof(c->call));
	c->mark = s->way->call(s);
	return SQLITE_OK;
}

/* ---- ranges ---- */

static int begin_range(struct sweep *s, const int64_t *range)
{
	uint64_t mark;
	int rc = s->way->begin(s, &mark);
	size_t at = s->opens;
	struct sweep_range *o;

	if (rc != SQLITE_OK)
		return rc;
	if (!grow(&s->open, s->opens, &s->open_room, sizeof(*s->open)))
		return SQLITE_NOMEM;
	o = s->open;
	for (s->opens++; at > 0 && o[(at - 1) / 2].range[A_END] > range[A_END]; at = (at - 1) / 2)
		o[at] = o[(at - 1) / 2];
	memcpy(o[at].range, range, sizeof(o[at].range));
	o[at].mark = mark;
	o[at].name = 0;
	return SQLITE_OK;
}

static struct sweep_range end_range(struct sweep *s)
{
	struct sweep_range *o = s->open, top = o[0], last = o[--s->opens];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < s->opens; at = child) {
		child += child + 1 < s->opens && o[child + 1].range[A_END] < o[child].range[A_END];
		if (last.range[A_END] <= o[child].range[A_END])
			break;
		o[at] = o[child];
	}
	o[at] = last;
	return top;
}

int sweep_next(struct sorter *from, const int64_t **record)
{
	int rc = sorter_next(from, record);

	if (rc == SQLITE_DONE)
		*record = NULL;
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* At equal times, beginnings of ranges come first, then calls, then ends. */
static int step(struct sweep *s, const int64_t *range, const int64_t *call, char *what)
{
	int64_t tid = s->opens > 0                           ? s->open[0].range[A_TID]
		      : !call                                ? range[A_TID]
		      : !range || call[C_TID] < range[A_TID] ? call[C_TID]
							     : range[A_TID];
	int64_t end = s->opens > 0 ? s->open[0].range[A_END] : INT64_MAX;

	if (range && range[A_TID] != tid)
		range = NULL;
	if (call && call[C_TID] != tid)
		call = NULL;
	if (range && (!call || range[A_START] <= call[C_START]) &&
	    (s->opens == 0 || range[A_START] <= end)) {
		*what = 'r';
		return begin_range(s, range);
	}
	if (call && (s->opens == 0 || call[C_START] <= end)) {
		*what = 'c';
		return add_call(s, call);
	}
	*what = 'e';
	return SQLITE_OK;
}

static int end_next(struct sweep *s)
{
	struct sweep_range r;
	/* as long as it is open */
	int rc = apply_ended(s, s->open[0].range[A_END], SIZE_MAX);

	r = end_range(s);
	if (rc == SQLITE_OK && s->way->end)
		rc = s->way->end(s, &r);
	if (s->opens == 0)
		s->pendings = 0;
	return rc;
}

int sweep(struct sorter *ranges, struct sorter *calls, const struct sweep_way *way, void *ctx)
{
	struct sweep s = {.way = way, .ctx = ctx};
	const int64_t *range, *call;
	int rc = sweep_next(ranges, &range);

	if (rc == SQLITE_OK)
		rc = sweep_next(calls, &call);
	while (rc == SQLITE_OK && (range || s.opens > 0)) {
		char what;

		rc = step(&s, range, call, &what);
		if (rc == SQLITE_OK && what == 'r') {
			rc = sweep_next(ranges, &range);
		} else if (rc == SQLITE_OK && what == 'c') {
			rc = sweep_next(calls, &call);
		} else if (rc == SQLITE_OK) {
			rc = end_next(&s);
		}
	}
	free(s.open);
	free(s.pending);
	return rc;
}
