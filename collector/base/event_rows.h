/* event_rows.h - rows of one kind of event, for the case that their commit fails: how many, and of which time. */
#pragma once

#include <stdint.h>

/* Kinds of rows made of the kernel's events and of counters, with their names in SL_LOST_EVENTS. */
#define EVENT_ROWS(ROW)                                 \
	ROW(SWITCH, "context switches")                 \
	ROW(CALL, "system calls")                       \
	ROW(SAMPLE, "CPU samples")                      \
	ROW(OFF_CPU, "stacks of threads without a CPU") \
	ROW(FAULT, "page faults")                       \
	ROW(BLOCK, "requests to block devices")         \
	ROW(COUNTER, "intervals of event counters")     \
	ROW(HOST, "samples of host counters")           \
	ROW(GPU, "samples and events of GPUs")

enum row_kind {
#define ROW(kind, name) ROWS_##kind,
	EVENT_ROWS(ROW)
#undef ROW
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
