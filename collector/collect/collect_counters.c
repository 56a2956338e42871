/*
 * collect_counters.c - event counters in a collection: opened with it, read by a timer while it records, their rows written
 * with everybody else's.
 */
#include "collector/collect/collect.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/kernel/counters/counters.h"

static uint64_t mono_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void collect_counters_open(struct collector *c)
{
	const struct event_options *o = &c->options->events;
	struct event_choice choice;
	char why[512];

	c->counters_timer = -1;
	if (o->scope == SCHED_MODE_NONE)
		return;
	if (event_choose(&choice, o->core, o->os, false, why, sizeof(why))) {
		notes_say(c, 2, "no event counters: %s", why);
		return;
	}
	c->counters = counters_open(&choice, o->scope, why, sizeof(why));
	if (why[0])
		notes_say(c, 2, "%s", why);
	if (!c->counters)
		return;
	c->counters_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->counters_timer >= 0)
		loop_add(c, c->counters_timer, LOOP_COUNTERS, NULL);
}

/* Without them the recording goes on. */
void collect_counters_follow(struct collector *c, uint32_t root, bool is_child)
{
	int err = c->counters ? counters_follow(c->counters, (pid_t)root, is_child) : 0;

	if (err && err != -ESRCH)
		notes_say(c, 2, "no event counters: following process %u failed: %s", root,
			  strerror(-err));
}

static void set_timer(const struct collector *c, int64_t ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	const struct itimerspec each = {.it_interval = ts, .it_value = ts};

	if (c->counters_timer >= 0)
		timerfd_settime(c->counters_timer, 0, &each, NULL);
}

void collect_counters_begin(struct collector *c, int64_t mono)
{
	if (!c->counters || c->options->events.scope == SCHED_MODE_NONE)
		return;
	counters_begin(c->counters, (uint64_t)mono);
	set_timer(c, c->options->event_ms);
}

void collect_counters_end(struct collector *c, int64_t mono)
{
	if (!c->counters)
		return;
	set_timer(c, 0);
	counters_end(c->counters, mono ? (uint64_t)mono : mono_now());
}

void collect_counters_tick(struct collector *c)
{
	uint64_t times;

	if (read(c->counters_timer, &times, sizeof(times)) == sizeof(times))
		counters_read(c->counters, mono_now());
}

void collect_counters(struct collector *c)
{
	static const struct windows none;
	const struct capture *p = &c->capture;
	/* `start` may have said to leave them out. */
	const struct windows *windows =
		c->options->events.scope != SCHED_MODE_NONE ? &p->windows : &none;
	struct counters_rows rows;

	if (!c->counters)
		return;
	rows = counters_write(c->counters, c->db, windows, c->clock.zero,
			      p->has_next ? p->next_from_mono : INT64_MAX);
	if (!rows.cnt)
		return;
	c->is_busy = true;
	/* In case the disk is full. */
	if (!c->model.sched_rows)
		c->model.sched_first = rows.first;
	c->model.sched_last = rows.last;
	c->model.sched_rows += rows.cnt;
}

void collect_counters_say(struct collector *c)
{
	char names[512];

	if (!c->counters)
		return;
	if (counters_lost(c->counters) > c->counters_lost)
		db_lost(c->db, 0, c->now, DB_NULL, "intervals of event counters: no memory",
			(int64_t)(counters_lost(c->counters) - c->counters_lost));
	if (counters_never(c->counters, names, sizeof(names)))
		notes_say(c, 2,
			  "never counted, since the CPU's counters were taken by others (or by its "
			  "watchdog, kernel.nmi_watchdog): %s; fewer events at a time may be",
			  names);
}

void collect_counters_renew(struct collector *c)
{
	if (!c->counters)
		return;
	counters_renew(c->counters);
	c->counters_lost = counters_lost(c->counters);
}

void collect_counters_close(struct collector *c)
{
	counters_close(c->counters);
	c->counters = NULL;
	if (c->counters_timer > 0)
		close(c->counters_timer);
	c->counters_timer = -1;
}
