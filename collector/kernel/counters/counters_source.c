/* counters_source.c - event counters, as a source of events (--cpu-core-events, --os-events): read by a timer while it records. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/event_loop.h"
#include "collector/kernel/counters/counters.h"
#include "collector/source/recording.h"

struct counters_source {
	struct recording *recording;
	struct counters *counters;
	int timer;            /* -1: none */
	uint64_t lost_before; /* in the reports before */
};

/* The options of `start` may leave them out. */
static bool is_wanted(const struct recording *r)
{
	return r->options->kernel.events.scope != SCHED_MODE_NONE;
}

static void on_timer(void *self, int fd)
{
	struct counters_source *s = self;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) == sizeof(times))
		counters_read(s->counters, (uint64_t)mono_ns());
}

static bool open_source(void *self, struct recording *r)
{
	struct counters_source *s = self;
	const struct event_options *o = &r->options->kernel.events;
	struct event_choice choice;
	char why[512];

	if (!is_wanted(r))
		return false;
	if (event_choose(&choice, o->core, o->os, false, why, sizeof(why))) {
		recording_say(r, SAY_WARNING, "no event counters: %s", why);
		return false;
	}
	s->recording = r;
	s->counters = counters_open(&choice, o->scope, why, sizeof(why));
	if (why[0])
		recording_say(r, SAY_WARNING, "%s", why);
	if (s->counters)
		s->timer = loop_timer(r->loop, on_timer, s);
	return s->counters;
}

static int follow(void *self, const struct source_process *p)
{
	struct counters_source *s = self;
	int err = counters_follow(s->counters, (pid_t)p->pid, p->is_child);

	/* The recording goes on without them. */
	if (err && err != -ESRCH)
		recording_say(s->recording, SAY_WARNING,
			      "no event counters: following process %u failed: %s", p->pid,
			      strerror(-err));
	return 0;
}

static void begin(void *self, int64_t mono)
{
	struct counters_source *s = self;

	if (!is_wanted(s->recording))
		return;
	counters_begin(s->counters, (uint64_t)mono);
	loop_timer_every(s->timer, s->recording->options->kernel.event_ms * 1000000);
}

static void end(void *self, int64_t mono)
{
	struct counters_source *s = self;

	loop_timer_every(s->timer, 0);
	counters_end(s->counters, (uint64_t)mono);
}

static int poll(void *self, bool all)
{
	struct counters_source *s = self;
	struct recording *r = s->recording;
	struct event_rows rows =
		counters_write(s->counters, r->report->db, recording_windows(r, is_wanted(r)),
			       r->clocks->map.zero, r->report->next_from_mono);

	(void)all;
	recording_wrote(r, ROWS_COUNTER, &rows);
	return 0;
}

static void note_losses(void *self)
{
	struct counters_source *s = self;
	char names[512];

	recording_lost(s->recording, "intervals of event counters: no memory",
		       counters_lost(s->counters) - s->lost_before);
	if (counters_never(s->counters, names, sizeof(names)))
		recording_say(
			s->recording, SAY_WARNING,
			"never counted, since the CPU's counters were taken by others (or by its "
			"watchdog, kernel.nmi_watchdog): %s; fewer events at a time may be",
			names);
}

static void rotate(void *self)
{
	struct counters_source *s = self;

	counters_renew(s->counters);
	s->lost_before = counters_lost(s->counters);
}

static void stop(void *self)
{
	end(self, mono_ns());
}

static void close_source(void *self)
{
	struct counters_source *s = self;

	counters_close(s->counters);
	if (s->timer >= 0)
		close(s->timer);
}

static unsigned kinds(const void *self)
{
	const struct counters_source *s = self;

	return is_wanted(s->recording) ? FROM_KERNEL_COUNTERS : 0;
}

const struct event_source counters_source = {
	.name = "event counters",
	.bytes = sizeof(struct counters_source),
	.open = open_source,
	.follow = follow,
	.capture = {.begin = begin, .end = end},
	.poll = poll,
	.kinds = kinds,
	.note_losses = note_losses,
	.rotate = rotate,
	.stop = stop,
	.close = close_source,
};
