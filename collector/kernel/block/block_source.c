/* block_source.c - requests to block devices, as a source of events (--block-io). */
#include "collector/base/event_loop.h"
#include "collector/kernel/block/block.h"
#include "collector/source/recording.h"

struct block_source {
	struct recording *recording;
	struct block *block;
	uint64_t lost_before; /* in the reports before */
};

/* The options of `start` may leave them out. */
static bool is_wanted(const struct recording *r)
{
	return r->options->kernel.block_io != WISH_NO &&
	       r->options->kernel.cpuctxsw != SCHED_MODE_NONE;
}

static int poll(void *self, bool all)
{
	struct block_source *s = self;
	struct recording *r = s->recording;
	struct event_rows rows =
		block_write(s->block, r->report->db, recording_windows(r, is_wanted(r)),
			    r->clocks->map.zero, r->report->next_from_mono);

	(void)all;
	recording_wrote(r, ROWS_BLOCK, &rows);
	return 0;
}

static void on_ring(void *self, int fd)
{
	(void)fd;
	poll(self, false);
}

static void watch_ring(void *self, int fd)
{
	struct block_source *s = self;

	loop_add_edge(s->recording->loop, fd, on_ring, s);
}

static bool open_source(void *self, struct recording *r)
{
	struct block_source *s = self;
	struct sched_maps maps;
	const struct block_ask ask = {.system_wide =
					      r->options->kernel.cpuctxsw == SCHED_MODE_SYSTEM,
				      .kernel = sched_maps(r->sched, &maps) ? &maps : NULL,
				      .on_ring = watch_ring,
				      .ctx = s};
	char why[256] = "";

	if (!is_wanted(r))
		return false;
	s->recording = r;
	s->block = block_open(&ask, why, sizeof(why));
	if (why[0])
		recording_say_asked(r, r->options->kernel.block_io == WISH_AUTO, "%s", why);
	return s->block;
}

static void begin(void *self, int64_t mono)
{
	struct block_source *s = self;

	(void)mono;
	block_record(s->block, is_wanted(s->recording));
}

static void end(void *self, int64_t mono)
{
	struct block_source *s = self;

	(void)mono;
	block_record(s->block, false);
}

static void note_losses(void *self)
{
	struct block_source *s = self;

	recording_lost(s->recording,
		       "requests to block devices: the kernel's buffer was full, too many were "
		       "under way, or the end was not seen",
		       block_lost(s->block) - s->lost_before);
}

static void rotate(void *self)
{
	struct block_source *s = self;

	s->lost_before = block_lost(s->block);
}

static void stop(void *self)
{
	struct block_source *s = self;

	block_stop(s->block);
}

static void close_source(void *self)
{
	struct block_source *s = self;

	block_close(s->block);
}

const struct event_source block_source = {
	.name = "requests to block devices",
	.can.be_late = true,
	.bytes = sizeof(struct block_source),
	.open = open_source,
	.capture = {.begin = begin, .end = end},
	.poll = poll,
	.note_losses = note_losses,
	.rotate = rotate,
	.stop = stop,
	.close = close_source,
};
