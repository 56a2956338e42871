/*
 * collect_block.c - requests to block devices in a collection: opened with it, their rows written with everybody else's.
 *
 * Not with the flight recorder: its memory has no place for them.
 */
#include "collector/collect/collect_block.h"

#include "collector/base/event_loop.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/kernel/block/block.h"

static void on_ring(void *ctx, int fd)
{
	(void)fd;
	collect_block(ctx);
}

static void watch_ring(void *ctx, int fd)
{
	struct collector *c = ctx;

	loop_add_edge(&c->loop, fd, on_ring, c);
}

static bool is_wanted(const struct collector *c)
{
	return c->options->kernel.block_io != WISH_NO &&
	       c->options->kernel.cpuctxsw != SCHED_MODE_NONE;
}

void collect_block_open(struct collector *c)
{
	const struct profile_options *o = c->options;
	struct sched_maps maps;
	struct block_ask ask = {.system_wide = o->kernel.cpuctxsw == SCHED_MODE_SYSTEM,
				.kernel = sched_maps(c->kernel.sched.open, &maps) ? &maps : NULL,
				.on_ring = watch_ring,
				.ctx = c};
	char why[256] = "";

	if (!is_wanted(c) || o->capture.flight_ns)
		return;
	c->kernel.block.open = block_open(&ask, why, sizeof(why));
	if (why[0])
		notes_say_asked(c, o->kernel.block_io == WISH_AUTO, "%s", why);
}

void collect_block_record(struct collector *c, bool on)
{
	if (c->kernel.block.open)
		block_record(c->kernel.block.open, on && is_wanted(c));
}

void collect_block(struct collector *c)
{
	static const struct windows none;
	/* The options of `start` may leave them out. */
	const struct windows *windows = is_wanted(c) ? &c->report.windows : &none;
	struct block_rows rows;

	if (!c->kernel.block.open)
		return;
	rows = block_write(c->kernel.block.open, c->report.db, windows, c->clocks.map.zero,
			   c->report.next_from_mono);
	pump_wrote(c, (uint64_t)rows.cnt, rows.first, rows.last);
}

void collect_block_end(struct collector *c)
{
	if (!c->kernel.block.open)
		return;
	block_stop(c->kernel.block.open);
	collect_block(c);
}

void collect_block_say(struct collector *c)
{
	uint64_t lost = c->kernel.block.open ? block_lost(c->kernel.block.open) : 0;

	if (lost > c->kernel.block.lost_before)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"requests to block devices: the kernel's buffer was full, too many were "
			"under "
			"way, or the end was not seen",
			(int64_t)(lost - c->kernel.block.lost_before));
}

void collect_block_renew(struct collector *c)
{
	if (c->kernel.block.open)
		c->kernel.block.lost_before = block_lost(c->kernel.block.open);
}

void collect_block_close(struct collector *c)
{
	block_close(c->kernel.block.open);
	c->kernel.block.open = NULL;
}
