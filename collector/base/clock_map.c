/*
 * clock_map.c - snapshots of two clocks and the straight lines between them.
 *
 * Two neighbouring snapshots make a segment; before the first and after the last the map
 * is an estimate, which few callers need.
 */
#include "collector/base/clock_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/figure.h"
#include "collector/base/grow.h"
#include "collector/base/now.h"
#include "preload/wire/clock.h"

#define TRIES          5
#define SEGMENTS_MAX   8192u
#define SEGMENTS_DENSE 2048u
#define NS_PER_S       1000000000ll
#define EDGE_NS        100000000ll /* beyond an edge the clock runs as it did over so long */

static bool file_has(const char *path, const char *first, const char *second)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	bool has = false;

	if (!f)
		return false;
	while (!has && getline(&line, &cap, f) > 0)
		has = strstr(line, first) && (!second || strstr(line, second));
	free(line);
	fclose(f);
	return has;
}

uint32_t clock_mode_detect(void)
{
	static const char source[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	const char *forced = getenv("SIGHTLINE_CLOCK");

	if (forced && strcmp(forced, "monotonic") == 0)
		return SL_CLOCK_MONO;
	if (forced && strcmp(forced, "tsc") == 0)
		return SL_CLOCK_TSC;
	if (file_has(source, "tsc", NULL) || file_has(source, "arch_sys_counter", NULL))
		return SL_CLOCK_TSC;
	if (file_has("/proc/cpuinfo", " constant_tsc ", " nonstop_tsc "))
		return SL_CLOCK_TSC;
	return SL_CLOCK_MONO;
}

uint64_t clock_ticks(uint32_t mode)
{
	return mode == SL_CLOCK_TSC ? sl_counter() : sl_mono_ns();
}

struct clock_snapshot clock_snapshot_take(uint32_t mode, bool all_clocks)
{
	struct clock_snapshot best = {0};
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_ticks(mode);
		int64_t mono = mono_ns();
		uint64_t after = clock_ticks(mode);

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		best.ticks = before + narrowest / 2;
		best.mono = mono;
	}
	if (mode == SL_CLOCK_MONO)
		best.ticks = (uint64_t)best.mono;
	if (all_clocks) {
		int64_t mono = mono_ns();

		best.real = clock_ns(CLOCK_REALTIME) + best.mono - mono;
		best.boot = clock_ns(CLOCK_BOOTTIME) + best.mono - mono;
	}
	return best;
}

uint64_t clock_calibrate(uint32_t mode, const struct clock_snapshot *since, unsigned ms)
{
	struct clock_snapshot a = *since, b = clock_snapshot_take(mode, false);
	int64_t left = (int64_t)ms * 1000000 - (b.mono - a.mono);

	if (mode == SL_CLOCK_MONO)
		return 1ull << 32;
	if (left > 0) {
		nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
		b = clock_snapshot_take(mode, false);
	}
	if (b.mono <= a.mono || b.ticks <= a.ticks)
		return 1ull << 32;
	return (uint64_t)(((unsigned __int128)(b.ticks - a.ticks) << 32) /
			  (uint64_t)(b.mono - a.mono));
}

void clock_map_init(struct clock_map *map, uint32_t mode, int64_t zero_mono_ns)
{
	memset(map, 0, sizeof(*map));
	map->mode = mode;
	map->zero = zero_mono_ns;
	map->gap = NS_PER_S;
}

void clock_map_release(struct clock_map *map)
{
	free(map->segment);
	memset(map, 0, sizeof(*map));
}

static uint64_t slope_between(const struct clock_segment *a, const struct clock_segment *b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): entries below cnt are always set */
	return (uint64_t)(((unsigned __int128)(uint64_t)(b->ns - a->ns) << CLOCK_SLOPE_BITS) /
			  (b->ticks - a->ticks));
}

/* Keeps the newest as they are and of the others one per gap: hours of session fit. */
static void thin(struct clock_map *map)
{
	size_t old = map->cnt - SEGMENTS_DENSE, kept = 1;

	for (size_t i = 1; i < old; i++)
		if (map->segment[i].ns - map->segment[kept - 1].ns >= map->gap)
			map->segment[kept++] = map->segment[i];
	memmove(map->segment + kept, map->segment + old, SEGMENTS_DENSE * sizeof(*map->segment));
	map->cnt = kept + SEGMENTS_DENSE;
	if (kept > (SEGMENTS_MAX - SEGMENTS_DENSE) / 2)
		map->gap *= 2;
	for (size_t i = 0; i < kept; i++)
		map->segment[i].slope = slope_between(&map->segment[i], &map->segment[i + 1]);
	map->lo = map->hi = 0;
}

int clock_map_add(struct clock_map *map, uint64_t ticks, int64_t mono)
{
	struct clock_segment *last = map->cnt ? &map->segment[map->cnt - 1] : NULL;
	struct clock_segment next = {.ticks = ticks, .ns = mono - map->zero};

	if (last && (ticks <= last->ticks || next.ns <= last->ns))
		return 0;
	if (!grow(&map->segment, map->cnt, &map->cap, sizeof(*map->segment)))
		return -ENOMEM;
	last = map->cnt ? &map->segment[map->cnt - 1] : NULL;
	if (last)
		last->slope = slope_between(last, &next);
	next.slope = last ? last->slope : 1ull << CLOCK_SLOPE_BITS;
	map->segment[map->cnt++] = next; /* NOLINT(clang-analyzer-core.*): cap 0 was grown above */
	map->newest = ticks;
	if (last) {
		map->lo = last->ticks;
		map->hi = ticks;
		map->ns = last->ns;
		map->slope = last->slope;
	}
	if (map->cnt >= SEGMENTS_MAX)
		thin(map);
	return 0;
}

/*
 * The slope before the first snapshot (@at_end: after the last). Two neighbours may be microseconds apart, and their errors
 * would grow with the distance; so the slope is measured over a longer time.
 */
static uint64_t slope_beyond(const struct clock_map *map, bool at_end)
{
	const struct clock_segment *s = map->segment;
	size_t a = 0, b = map->cnt - 1;

	if (map->cnt < 2)
		return s[0].slope;
	if (at_end)
		for (a = b - 1; a > 0 && s[b].ns - s[a].ns < EDGE_NS;)
			a--;
	else
		for (b = 1; b + 1 < map->cnt && s[b].ns - s[a].ns < EDGE_NS;)
			b++;
	return slope_between(&s[a], &s[b]);
}

int64_t clock_map_find(struct clock_map *map, uint64_t ticks)
{
	size_t lo = 0, hi = map->cnt;
	struct clock_segment *s;
	uint64_t slope;
	__int128 ns;

	if (!map->cnt)
		return 0;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->segment[mid].ticks <= ticks)
			lo = mid;
		else
			hi = mid;
	}
	s = &map->segment[lo];
	if (lo + 1 < map->cnt && ticks >= s->ticks) {
		map->lo = s->ticks;
		map->hi = s[1].ticks;
		map->ns = s->ns;
		map->slope = s->slope;
	}
	slope = s->slope;
	if (ticks < s->ticks || (lo + 1 == map->cnt && ticks > s->ticks))
		slope = slope_beyond(map, ticks > s->ticks);
	/* A record may have any time; differences of two results must not overflow. */
	ns = s->ns + ((__int128)(int64_t)(ticks - s->ticks) * (__int128)slope >> CLOCK_SLOPE_BITS);
	return ns > FIGURE_MAX / 2    ? FIGURE_MAX / 2
	       : ns < -FIGURE_MAX / 2 ? -FIGURE_MAX / 2
				      : (int64_t)ns;
}

uint64_t clock_map_ticks(const struct clock_map *map, int64_t mono)
{
	int64_t ns = mono - map->zero, away;
	const struct clock_segment *s;
	size_t i = map->cnt;
	uint64_t slope;

	if (!map->cnt)
		return map->mode == SL_CLOCK_MONO ? (uint64_t)mono : 0;
	while (i > 1 && map->segment[i - 1].ns > ns)
		i--;
	s = &map->segment[i - 1];
	away = ns - s->ns;
	slope = away < 0 || i == map->cnt ? slope_beyond(map, away >= 0) : s->slope;
	if (!slope)
		return s->ticks;
	if (away >= 0)
		return s->ticks +
		       (uint64_t)(((unsigned __int128)(uint64_t)away << CLOCK_SLOPE_BITS) / slope);
	return s->ticks -
	       (uint64_t)(((unsigned __int128)(uint64_t)-away << CLOCK_SLOPE_BITS) / slope);
}

void clock_map_shift(struct clock_map *map, int64_t shift)
{
	map->zero += shift;
	map->ns -= shift;
	for (size_t i = 0; i < map->cnt; i++)
		map->segment[i].ns -= shift;
}

int64_t clock_map_span(const struct clock_map *map, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * map->slope >> CLOCK_SLOPE_BITS;

	return ns > (unsigned __int128)FIGURE_MAX ? FIGURE_MAX : (int64_t)ns;
}
