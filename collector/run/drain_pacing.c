/*
 * drain_pacing.c - when the rings are looked at, and whether their records become rows at once.
 *
 * A look copies full chunks into the spool (collect/move.c), which takes a tenth of the time that rows take. Where the program
 * has all processors, that is all that happens until one is free or the program has ended, as long as the spool has room:
 * each row would cost the program time. With a free one, rows are made beside it.
 */
#include "collector/run/drain_pacing.h"

#include <stdio.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/capture/capture.h"
#include "collector/capture/flight/flight.h"
#include "collector/collect/arenas.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/pump.h"

#define LAZY_FILL  25u /* per cent of the kernel's buffers that may wait */
#define FREE_LOOKS 4u  /* so often in a row a processor must have been free */
#define LOOK_NS    100000000ll
#define BUSY_ROWS  20000u
#define FULL_FILL  75u /* per cent of the spool */
#define DEFER_BYTES \
	(UINT64_C(72) << 20) /* of the spool; then rows are made until half of it is left */
#define MANY_NEW    64u /* arenas since rows were made last: arenas of short processes take memory */
#define TICK_CHUNKS 32u         /* in the spool, where a processor is free */
#define FREE_NS     200000000ll /* longest time between two ticks */
#define DEFER_NS    500000000ll
#define WATCHED_NS  5000000000ll /* so long after a query another one may come */
#define MS_RUNNING \
	4u /* longest time between two looks while there are records, and while there are none */
#define MS_QUIET 20u
#define MS_IDLE  50u
#define MS_BUSY  2

/*
 * Whether another process reads the report; and from /proc/uptime whether CPUs are idle for a good part of the time: its second number is the idle time of
 * all CPUs. (How many threads run at a moment shows nothing: the collector runs when another thread has just slept.)
 */
static void look_around(struct collector *c)
{
	int64_t now = mono_ns(), passed = now - c->pace.looked_at, idle;
	unsigned long long s, hundredths;
	char text[64] = "";

	if (c->pace.uptime < 0 || passed < LOOK_NS)
		return;
	(void)!pread(c->pace.uptime, text, sizeof(text) - 1, 0);
	if (sscanf(text, "%*s %llu.%llu", &s, &hundredths) != 2)
		return;
	idle = (int64_t)(s * 100 + hundredths) * 10000000;
	c->pace.free_looks = idle - c->pace.idle_ns > passed / 3 ? c->pace.free_looks + 1 : 0;
	c->pace.idle_ns = idle;
	c->pace.looked_at = now;
	if (c->report.db && !c->report.is_session && db_is_read(c->report.db))
		c->pace.watched_at = now;
}

static bool needs_rows_now(const struct collector *c)
{
	return c->root.is_gone || c->intake.exit_cnt || !c->session.control;
}

static bool slots_are_scarce(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		if (__atomic_load_n(&a->map->fresh_slot, __ATOMIC_RELAXED) > SL_SLOT_CNT / 2)
			return true;
	return false;
}

bool pace_defers(const struct collector *c)
{
	return c->arenas.spool && !c->options->rings.live_always &&
	       (!c->pace.watched_at || mono_ns() - c->pace.watched_at > WATCHED_NS) &&
	       c->pace.free_looks < FREE_LOOKS && !c->pace.is_behind && !needs_rows_now(c) &&
	       !capture_waits(&c->options->capture) && c->capture->state == CAPTURE_ON &&
	       c->arenas.last_id - c->pace.last_id < MANY_NEW && !slots_are_scarce(&c->arenas);
}

/*
 * More would not be rows within a second or so after the program's end: 60 MiB take 0.9 s, where each call on a file has a row of its
 * file access, too. While rows are made, the spool grows on, by a fifth or so.
 */
static void measure_spool(struct collector *c)
{
	uint64_t bytes = c->arenas.spool ? spool_bytes(c->arenas.spool) : 0;

	c->pace.is_behind = bytes >= (c->pace.is_behind ? DEFER_BYTES / 2 : DEFER_BYTES) ||
			    (c->arenas.spool && spool_fill(c->arenas.spool) > FULL_FILL);
}

/* Chunks that were not copied (no room in the spool, or there is none) wait, or threads wait for chunks. */
static bool ring_is_filling(const struct collector *c, const struct arena *a)
{
	uint32_t quota = c->session.control->quota_chunks,
		 room = quota < a->mem.chunk_cnt ? quota : a->mem.chunk_cnt;

	return __atomic_load_n(&a->map->used_chunks, __ATOMIC_RELAXED) > room / 4 ||
	       __atomic_load_n(&a->map->waiter_cnt, __ATOMIC_RELAXED);
}

bool pace_look(struct collector *c)
{
	int64_t since = mono_ns() - c->clocks.tick_at;
	bool defers;

	if (c->flight && !needs_rows_now(c) && !capture_is_urgent(c)) {
		c->pace.move_ms = MS_IDLE; /* chunks stay where they are */
		return !flight_can_wait(c, since);
	}
	if (move_chunks(&c->arenas))
		c->pace.move_ms = 1;
	else if (c->pace.move_ms < MS_IDLE)
		c->pace.move_ms = c->pace.move_ms * 2 + 1;
	if (needs_rows_now(c) || capture_is_urgent(c))
		return true;
	look_around(c);
	measure_spool(c);
	defers = pace_defers(c);
	if (since > (defers ? DEFER_NS : FREE_NS) || sources_fill(&c->recording) > LAZY_FILL ||
	    (!defers && c->arenas.spool && c->arenas.spool->used >= TICK_CHUNKS) ||
	    move_finds_new(&c->arenas))
		return true;
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		if (ring_is_filling(c, a))
			return true;
	return !defers && slots_are_scarce(&c->arenas);
}

/* As rows came. */
static unsigned after_tick(struct collector *c, size_t rows)
{
	if (rows >= BUSY_ROWS) {
		c->pace.idle_rounds = 0;
		return rows >= 3 * BUSY_ROWS ? 0 : MS_BUSY;
	}
	if (rows)
		c->pace.idle_rounds = 0;
	else
		c->pace.idle_rounds++;
	return MS_IDLE;
}

int pace_next(struct collector *c, bool has_ticked, size_t rows)
{
	unsigned ms = has_ticked ? after_tick(c, rows) : MS_IDLE, most;

	if (c->root.is_gone)
		return MS_BUSY;
	most = c->pace.idle_rounds < 2 ? MS_RUNNING : c->pace.idle_rounds < 10 ? MS_QUIET : MS_IDLE;
	if (most > c->pace.move_ms)
		most = c->pace.move_ms;
	return (int)(ms < most ? ms : most);
}
