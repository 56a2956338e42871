/*
 * capture_window.h - the moments between which a report's events lie (capture.h), for the writers
 * of rows.
 *
 * Both ends in ticks, by which calls are kept or dropped exactly, and as CLOCK_MONOTONIC for events
 * of that clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [from, to); to UINT64_MAX and INT64_MAX: still open. */
struct window {
	uint64_t from, to;
	int64_t from_mono, to_mono;
};

struct windows {
	struct window *list; /* in the order of time; none: nothing is kept */
	size_t cnt, cap;
	/* Records of calls that began here or later belong to the next report: they stay in the rings. */
	uint64_t hold;
};

/* NULL windows: everything is kept (tests, tools without captures). */
static inline bool windows_have(const struct windows *w, uint64_t ticks)
{
	if (!w)
		return true;
	for (size_t i = w->cnt; i > 0; i--)
		if (ticks >= w->list[i - 1].from)
			return ticks < w->list[i - 1].to;
	return false;
}

/* The same for an event at @ns, session time; @zero: CLOCK_MONOTONIC at session time 0. */
static inline bool windows_have_ns(const struct windows *w, int64_t zero, int64_t ns)
{
	if (!w)
		return true;
	for (size_t i = w->cnt; i > 0; i--)
		if (ns + zero >= w->list[i - 1].from_mono)
			return ns + zero < w->list[i - 1].to_mono;
	return false;
}

/* Clips [*start, *end], session ns, to the windows. False: it is outside all of them. */
bool windows_cut(const struct windows *w, int64_t zero, int64_t *start, int64_t *end);

/* Moves @end to the end of the window that contains @start, if it is later (both CLOCK_MONOTONIC). */
static inline void windows_cut_end(const struct windows *w, int64_t start, int64_t *end)
{
	for (size_t i = w ? w->cnt : 0; i > 0; i--) {
		const struct window *one = &w->list[i - 1];

		if (start < one->from_mono)
			continue;
		if (*end > one->to_mono)
			*end = one->to_mono;
		return;
	}
}

/* A new window, after the others; -ENOMEM. */
int windows_add(struct windows *w, uint64_t from, int64_t from_mono);
void windows_release(struct windows *w);
