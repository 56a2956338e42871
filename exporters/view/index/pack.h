/*
 * pack.h - blocks: up to 32 events of a lane as columns of as many bits as their largest value needs.
 *
 * Events of a lane do not overlap, so both their starts and their ends ascend, and a start is kept as the gap after the end
 * before it. Everything in a block is checked when it is read: the file it comes from may be damaged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VIEW_BLOCK     32
#define VIEW_BLOCK_MAX 1600 /* bytes, with all columns at their widest */
/* Times lie between -this and this, as in the timeline. */
#define VIEW_TIME_MAX (INT64_MAX / 2)

enum view_event_flag {
	VIEW_OPEN = 1,    /* had not ended: end is VIEW_TIME_MAX */
	VIEW_FLOW = 2,    /* an arrow begins or ends here */
	VIEW_INSTANT = 4, /* start and end are the same, and it has no duration */
	VIEW_REAL = 8,    /* value of a counter: the bits of a double */
};

struct view_event {
	int64_t start, end;
	int64_t row;   /* rowid in its table; of counters the value */
	uint32_t name; /* see struct view_name */
	uint8_t source;
	uint8_t flags;
};

/* The value of an event of a counter's lane. */
static inline double view_event_value(const struct view_event *e)
{
	double real;

	if (!(e->flags & VIEW_REAL))
		return (double)e->row;
	memcpy(&real, &e->row, sizeof(real));
	return real;
}

/* Bytes written to @to, which has room for VIEW_BLOCK_MAX. @cnt: 1 to VIEW_BLOCK, without overlap. */
size_t view_pack(const struct view_event *e, unsigned cnt, uint8_t *to);
/*
 * Returns the number of events, 0 where @len bytes at @from are no block. 16 bytes behind them may be read. Without
 * @whole, rows and sources are not read, which is faster.
 */
unsigned view_unpack(const uint8_t *from, size_t len, struct view_event *e, bool whole);
/* Durations and names alone, of a block whose events have all ended, at a third of the cost. */
unsigned view_unpack_durations(const uint8_t *from, size_t len, uint64_t dur[VIEW_BLOCK],
			       uint32_t name[VIEW_BLOCK]);
