/* event_rows.h - rows of one kind of event, for the case that their commit fails: how many, and of which time. */
#pragma once

#include <stdint.h>

/* Kinds of rows made of the kernel's events and of counters; their names in SL_LOST_EVENTS: recording.c. */
enum row_kind {
	ROWS_SWITCH,
	ROWS_CALL,
	ROWS_SAMPLE,
	ROWS_OFF_CPU,
	ROWS_FAULT,
	ROWS_BLOCK,
	ROWS_COUNTER,
	ROWS_HOST,
	ROWS_GPU,
	ROWS_KINDS
};

struct event_rows {
	uint64_t cnt;
	int64_t first, last; /* session ns, where cnt is not 0 */
};

/* Appends @more to @r. */
static inline void event_rows_append(struct event_rows *r, const struct event_rows *more)
{
	if (!more->cnt)
		return;
	if (!r->cnt)
		r->first = more->first;
	r->last = more->last;
	r->cnt += more->cnt;
}

/* A row at @ns, not in the order of time. */
static inline void event_rows_add(struct event_rows *r, int64_t ns)
{
	if (!r->cnt || ns < r->first)
		r->first = ns;
	if (!r->cnt || ns > r->last)
		r->last = ns;
	r->cnt++;
}
