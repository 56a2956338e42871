/*
 * host_source.c - counters of the machine, as a source of events (--host-counters): read by a timer while it records, or all
 * the time for the flight recorder.
 */
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/event_loop.h"
#include "collector/health/host.h"
#include "collector/source/recording.h"

#define SECOND_NS 1000000000

struct host_source {
	struct recording *recording;
	struct host *host;    /* NULL: not asked for so far */
	int timer;            /* -1: none */
	uint64_t lost_before; /* in the reports before */
};

static void on_timer(void *self, int fd)
{
	struct host_source *s = self;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) == sizeof(times))
		host_tick(s->host);
}

static bool open_source(void *self, struct recording *r)
{
	*(struct host_source *)self = (struct host_source){.recording = r, .timer = -1};
	return true;
}

/* With the first window whose options ask for them: those of `start` may. */
static bool open_host(struct host_source *s)
{
	struct recording *r = s->recording;
	const struct profile_options *o = r->options;
	const char *root = secure_getenv("SL_SYSROOT");
	const struct host_ask ask = {
		.root = root ? root : "", .hz = o->kernel.host_hz, .keep_ns = o->capture.flight_ns};
	char why[256];

	s->host = host_open(&ask);
	if (!s->host)
		return false;
	s->timer = loop_timer(r->loop, on_timer, s);
	if (r->root->pid)
		host_follow(s->host, (pid_t)r->root->pid);
	while (host_why(s->host, why, sizeof(why)))
		recording_say(r, SAY_INFO, "--host-counters: %s", why);
	recording_number(r, "SL_HOST_COUNTERS:FREQUENCY", o->kernel.host_hz);
	return true;
}

static int follow(void *self, const struct source_process *p)
{
	struct host_source *s = self;

	/* The cgroup's counters are of the program's first process. */
	if (s->host && !p->is_running)
		host_follow(s->host, (pid_t)p->pid);
	return 0;
}

static void begin(void *self, int64_t mono)
{
	struct host_source *s = self;
	int64_t hz = s->recording->options->kernel.host_hz;

	(void)mono;
	if (!hz || (!s->host && !open_host(s)))
		return;
	host_begin(s->host);
	loop_timer_every(s->timer, SECOND_NS / hz);
}

static void stop(void *self)
{
	struct host_source *s = self;

	if (!s->host)
		return;
	loop_timer_every(s->timer, 0);
	host_end(s->host);
}

/* The last reading comes before the end of the window. The flight recorder goes on. */
static void before_end(void *self)
{
	const struct host_source *s = self;

	if (!s->recording->options->capture.flight_ns)
		stop(self);
}

static int poll(void *self, bool all)
{
	struct host_source *s = self;
	struct recording *r = s->recording;
	struct event_rows rows;

	(void)all;
	if (!s->host)
		return 0;
	rows = host_write(s->host, r->report->db, &r->report->windows, r->clocks->map.zero,
			  r->report->next_from_mono);
	recording_wrote(r, ROWS_HOST, &rows);
	return 0;
}

static void note_losses(void *self)
{
	struct host_source *s = self;

	if (s->host)
		recording_lost(s->recording,
			       "samples of host counters: no memory, or too many counters",
			       host_lost(s->host) - s->lost_before);
}

static void rotate(void *self)
{
	struct host_source *s = self;

	if (!s->host)
		return;
	host_renew(s->host);
	s->lost_before = host_lost(s->host);
}

static void close_source(void *self)
{
	struct host_source *s = self;

	host_close(s->host);
	if (s->timer >= 0)
		close(s->timer);
}

const struct event_source host_source = {
	.name = "counters of the machine",
	.can.be_held = true,
	.bytes = sizeof(struct host_source),
	.open = open_source,
	.follow = follow,
	.capture = {.begin = begin, .before_end = before_end},
	.poll = poll,
	.note_losses = note_losses,
	.rotate = rotate,
	.stop = stop,
	.close = close_source,
};
