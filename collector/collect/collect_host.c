/*
 * collect_host.c - counters of the machine in a collection: read by a timer while it records, or all the time by the flight
 * recorder; their rows are written with everybody else's.
 */
#include "collector/collect/collect_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/health/host.h"

#define SECOND_NS 1000000000

static void on_timer(void *ctx, int fd)
{
	struct collector *c = ctx;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) == sizeof(times))
		host_tick(c->kernel.host.open);
}

/* With the first recording that asks for them: the options of `start` may. */
static struct host *open_host(struct collector *c)
{
	const struct profile_options *o = c->options;
	const char *root = secure_getenv("SL_SYSROOT");
	const struct host_ask ask = {
		.root = root ? root : "", .hz = o->kernel.host_hz, .keep_ns = o->capture.flight_ns};
	char why[256], text[32];

	c->kernel.host.open = host_open(&ask);
	if (!c->kernel.host.open)
		return NULL;
	c->kernel.host.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->kernel.host.timer >= 0)
		loop_add_timer(&c->loop, c->kernel.host.timer, on_timer, c);
	if (c->root.pid)
		host_follow(c->kernel.host.open, (pid_t)c->root.pid);
	while (host_why(c->kernel.host.open, why, sizeof(why)))
		notes_say(c, 1, "--host-counters: %s", why);
	snprintf(text, sizeof(text), "%lld", (long long)o->kernel.host_hz);
	db_meta_capture(c->report.db, "SL_HOST_COUNTERS:FREQUENCY", text);
	return c->kernel.host.open;
}

void collect_host_follow(struct collector *c, uint32_t root)
{
	if (c->kernel.host.open)
		host_follow(c->kernel.host.open, (pid_t)root);
}

static void set_timer(const struct collector *c, int64_t hz)
{
	int64_t ns = hz ? SECOND_NS / hz : 0;
	const struct timespec ts = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
	const struct itimerspec each = {.it_interval = ts, .it_value = ts};

	if (c->kernel.host.timer >= 0)
		timerfd_settime(c->kernel.host.timer, 0, &each, NULL);
}

void collect_host_begin(struct collector *c)
{
	if (!c->options->kernel.host_hz || (!c->kernel.host.open && !open_host(c)))
		return;
	host_begin(c->kernel.host.open);
	set_timer(c, c->options->kernel.host_hz);
}

void collect_host_end(struct collector *c)
{
	if (!c->kernel.host.open)
		return;
	set_timer(c, 0);
	host_end(c->kernel.host.open);
}

void collect_host(struct collector *c)
{
	struct host_rows rows;

	if (!c->kernel.host.open)
		return;
	rows = host_write(c->kernel.host.open, c->report.db, &c->report.windows, c->clocks.map.zero,
			  c->report.next_from_mono);
	pump_wrote(c, rows.cnt, rows.first, rows.last);
}

void collect_host_say(struct collector *c)
{
	uint64_t lost = c->kernel.host.open ? host_lost(c->kernel.host.open) : 0;

	if (lost > c->kernel.host.lost_before)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"samples of host counters: no memory, or too many counters",
			(int64_t)(lost - c->kernel.host.lost_before));
}

void collect_host_renew(struct collector *c)
{
	if (!c->kernel.host.open)
		return;
	host_renew(c->kernel.host.open);
	c->kernel.host.lost_before = host_lost(c->kernel.host.open);
}

void collect_host_close(struct collector *c)
{
	host_close(c->kernel.host.open);
	c->kernel.host.open = NULL;
	if (c->kernel.host.timer > 0)
		close(c->kernel.host.timer);
	c->kernel.host.timer = -1;
}
