/*
 * clock_map.h - from ticks (preload/wire/clock.h) to nanoseconds of the session.
 *
 * The collector reads both clocks again and again; between two such snapshots time is a straight
 * line, so corrections of CLOCK_MONOTONIC by NTP end up where they happened. Nothing is ever
 * extrapolated forwards: drain.c takes only records that ended before the newest snapshot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_snapshot {
	uint64_t ticks;
	int64_t mono, real, boot; /* ns; real and boot only where asked for */
};

/* Enough for a nanosecond in a segment of many hours; 41 ns per tick (24 MHz) still fit. */
#define CLOCK_SLOPE_BITS 48

struct clock_segment {
	uint64_t ticks; /* where it begins */
	int64_t ns;     /* session time there */
	uint64_t slope; /* ns per tick << CLOCK_SLOPE_BITS, up to the next segment */
};

struct clock_map {
	uint32_t mode; /* enum sl_clock_mode */
	int64_t zero;  /* CLOCK_MONOTONIC at session time 0 */
	struct clock_segment *segment;
	size_t cnt, cap;
	int64_t gap; /* old snapshots are thinned to one per so many ns */
	/* The segment used last: [lo, hi) ticks. */
	uint64_t lo, hi, slope;
	int64_t ns;
	uint64_t newest; /* ticks of the newest snapshot */
};

/* The clock that processes read: that of $SIGHTLINE_CLOCK; else the counter, only where kernel or CPU vouches for it. */
uint32_t clock_mode_detect(void);

uint64_t clock_ticks(uint32_t mode);

/* The narrowest of a few readings of ticks between two of CLOCK_MONOTONIC. */
struct clock_snapshot clock_snapshot_take(uint32_t mode, bool all_clocks);

/*
 * Ticks per ns, fixed point with 32 fractional bits: measured from @since (clock_snapshot_take()) until now; waits
 * until that is @ms at least.
 */
uint64_t clock_calibrate(uint32_t mode, const struct clock_snapshot *since, unsigned ms);

void clock_map_init(struct clock_map *map, uint32_t mode, int64_t zero_mono_ns);
void clock_map_release(struct clock_map *map);

/* Snapshots that do not advance are ignored. 0 or -ENOMEM. */
int clock_map_add(struct clock_map *map, uint64_t ticks, int64_t mono);

int64_t clock_map_find(struct clock_map *map, uint64_t ticks);
/* Nanoseconds of a sum of durations, by the rate at present; at most FIGURE_MAX. */
int64_t clock_map_span(const struct clock_map *map, uint64_t ticks);

/* Ticks at CLOCK_MONOTONIC @mono, which is between snapshots (or a little outside). */
uint64_t clock_map_ticks(const struct clock_map *map, int64_t mono);

/* Session time 0 moves by @shift ns. */
void clock_map_shift(struct clock_map *map, int64_t shift);

/* Session time of @ticks. */
static inline int64_t clock_map_ns(struct clock_map *map, uint64_t ticks)
{
	if (__builtin_expect(ticks - map->lo < map->hi - map->lo, 1))
		return map->ns + (int64_t)((unsigned __int128)(ticks - map->lo) * map->slope >>
					   CLOCK_SLOPE_BITS);
	return clock_map_find(map, ticks);
}
