/*
 * collect_counters.c - event counters in a collection: opened with it, read by a timer while it records, their rows written
 * with everybody else's.
 */
#include "collector/collect/collect_counters.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/base/now.h"
#include "collector/kernel/counters/counters.h"

static void on_timer(void *ctx, int fd)
{
	struct collector *c = ctx;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) == sizeof(times))
		counters_read(c->kernel.counters.open, (uint64_t)mono_ns());
}

void collect_counters_open(struct collector *c)
{
	const struct event_options *o = &c->options->kernel.events;
	struct event_choice choice;
	char why[512];

	c->kernel.counters.timer = -1;
	if (o->scope == SCHED_MODE_NONE)
		return;
	if (event_choose(&choice, o->core, o->os, false, why, sizeof(why))) {
		notes_say(c, 2, "no event counters: %s", why);
		return;
	}
	c->kernel.counters.open = counters_open(&choice, o->scope, why, sizeof(why));
	if (why[0])
		notes_say(c, 2, "%s", why);
	if (!c->kernel.counters.open)
		return;
	c->kernel.counters.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->kernel.counters.timer >= 0)
		loop_add_timer(&c->loop, c->kernel.counters.timer, on_timer, c);
}

/* A failure does not end the recording. */
void collect_counters_follow(struct collector *c, uint32_t root, bool is_child)
{
	int err = c->kernel.counters.open
			  ? counters_follow(c->kernel.counters.open, (pid_t)root, is_child)
			  : 0;

	if (err && err != -ESRCH)
		notes_say(c, 2, "no event counters: following process %u failed: %s", root,
			  strerror(-err));
}

static void set_timer(const struct collector *c, int64_t ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	const struct itimerspec each = {.it_interval = ts, .it_value = ts};

	if (c->kernel.counters.timer >= 0)
		timerfd_settime(c->kernel.counters.timer, 0, &each, NULL);
}

void collect_counters_begin(struct collector *c, int64_t mono)
{
	if (!c->kernel.counters.open || c->options->kernel.events.scope == SCHED_MODE_NONE)
		return;
	counters_begin(c->kernel.counters.open, (uint64_t)mono);
	set_timer(c, c->options->kernel.event_ms);
}

void collect_counters_end(struct collector *c, int64_t mono)
{
	if (!c->kernel.counters.open)
		return;
	set_timer(c, 0);
	counters_end(c->kernel.counters.open, mono ? (uint64_t)mono : (uint64_t)mono_ns());
}

void collect_counters(struct collector *c)
{
	static const struct windows none;
	/* The options of `start` may leave them out. */
	const struct windows *windows =
		c->options->kernel.events.scope != SCHED_MODE_NONE ? &c->report.windows : &none;
	struct counters_rows rows;

	if (!c->kernel.counters.open)
		return;
	rows = counters_write(c->kernel.counters.open, c->report.db, windows, c->clocks.map.zero,
			      c->report.next_from_mono);
	pump_wrote(c, rows.cnt, rows.first, rows.last);
}

void collect_counters_say(struct collector *c)
{
	char names[512];

	if (!c->kernel.counters.open)
		return;
	if (counters_lost(c->kernel.counters.open) > c->kernel.counters.lost_before)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"intervals of event counters: no memory",
			(int64_t)(counters_lost(c->kernel.counters.open) -
				  c->kernel.counters.lost_before));
	if (counters_never(c->kernel.counters.open, names, sizeof(names)))
		notes_say(c, 2,
			  "never counted, since the CPU's counters were taken by others (or by its "
			  "watchdog, kernel.nmi_watchdog): %s; fewer events at a time may be",
			  names);
}

void collect_counters_renew(struct collector *c)
{
	if (!c->kernel.counters.open)
		return;
	counters_renew(c->kernel.counters.open);
	c->kernel.counters.lost_before = counters_lost(c->kernel.counters.open);
}

void collect_counters_close(struct collector *c)
{
	counters_close(c->kernel.counters.open);
	c->kernel.counters.open = NULL;
	if (c->kernel.counters.timer > 0)
		close(c->kernel.counters.timer);
	c->kernel.counters.timer = -1;
}
