/* sched_source.c - context switches, system calls and lives of processes, as a source of events. */
#include <string.h>

#include "collector/kernel/sched/sched.h"
#include "collector/source/recording.h"

/* Lost events of this report, as last noted; of reports before. */
struct lost_events {
	uint64_t now, before;
};

#define FEW_LOST 8u /* switches: no message on them, however short the program */

struct sched_source {
	struct recording *recording;
	struct sched_opening *opening; /* until it is open */
	struct sched *sched;
	struct lost_events switches, calls;
};

static bool is_held(const struct sched_source *s)
{
	return s->recording->options->capture.flight_ns != 0;
}

static struct sched_ask ask_of(const struct profile_options *o)
{
	return (struct sched_ask){.mode = o->kernel.cpuctxsw,
				  .want = SCHED_BACKEND_BPF,
				  .calls = o->kernel.syscalls,
				  .lives = o->kernel.sample != SCHED_MODE_NONE ||
					   o->kernel.off_cpu_ns >= 0,
				  .calls_threshold_ns = (uint64_t)o->kernel.syscall_threshold_ns};
}

static bool is_wanted(const struct sched_ask *ask)
{
	return ask->mode != SCHED_MODE_NONE || ask->calls || ask->lives;
}

static void prepare(void *self, const struct profile_options *o)
{
	struct sched_source *s = self;
	const struct sched_ask ask = ask_of(o);

	if (is_wanted(&ask))
		s->opening = sched_open_begin(&ask);
}

static bool open_source(void *self, struct recording *r)
{
	struct sched_source *s = self;
	const struct profile_options *o = r->options;
	const struct sched_ask ask = ask_of(o);
	bool asks_samples_alone =
		ask.mode == SCHED_MODE_NONE && !ask.calls && o->kernel.off_cpu_ns < 0;
	char why[512] = "";

	if (!is_wanted(&ask))
		return false;
	s->recording = r;
	s->sched = r->sched = s->opening ? sched_open_end(s->opening, why, sizeof(why))
					 : sched_open_for(&ask, why, sizeof(why));
	s->opening = NULL;
	if (why[0])
		recording_say_asked(r, asks_samples_alone && o->kernel.is_default.sample, "%s",
				    why);
	return s->sched;
}

static int follow(void *self, const struct source_process *p)
{
	struct sched_source *s = self;
	int err = sched_follow(s->sched, (pid_t)p->pid);

	/* For running processes, the caller has the message. */
	if (err && !p->is_running)
		recording_say(s->recording, SAY_WARNING,
			      "no context switches: following process %u failed: %s", p->pid,
			      strerror(-err));
	return err;
}

static void begin(void *self, int64_t mono)
{
	struct sched_source *s = self;
	const struct kernel_options *o = &s->recording->options->kernel;

	/* The options of `start` may leave switches out. */
	if (!is_held(s) && (o->cpuctxsw != SCHED_MODE_NONE || o->syscalls))
		sched_resume(s->sched, (uint64_t)mono);
}

static void end(void *self, int64_t mono)
{
	struct sched_source *s = self;

	if (!is_held(s))
		sched_pause(s->sched, (uint64_t)mono);
}

static bool has_come(const void *self, int64_t mono)
{
	const struct sched_source *s = self;

	return sched_has_told(s->sched, (uint64_t)mono);
}

/* Where a report ends, has_come() has waited for its events; later ones are of processes that go on. */
static int poll(void *self, bool all)
{
	struct sched_source *s = self;
	const struct recording *r = s->recording;
	int64_t next = r->report->next_from_mono;

	if (all)
		return 0;
	sched_limit(s->sched, next == INT64_MAX ? UINT64_MAX : (uint64_t)next - 1);
	if (r->memory)
		return r->memory->switches(r->memory->to, s->sched);
	return sched_poll(s->sched, r->tree.ops, r->tree.to);
}

static unsigned fill(const void *self)
{
	const struct sched_source *s = self;

	return sched_fill(s->sched);
}

static unsigned kinds(const void *self)
{
	const struct sched_source *s = self;
	const struct kernel_options *o = &s->recording->options->kernel;

	return (o->cpuctxsw != SCHED_MODE_NONE ? FROM_KERNEL_SWITCHES : 0u) |
	       (o->syscalls ? FROM_KERNEL_CALLS : 0u);
}

static void note_losses(void *self)
{
	struct sched_source *s = self;
	struct recording *r = s->recording;
	char n[32];

	s->switches.now = r->rows.switches_lost = sched_lost(s->sched) - s->switches.before;
	s->calls.now = sched_calls_lost(s->sched) - s->calls.before;
	recording_lost(r, "context switches: lost by the kernel", s->switches.now);
	/* A few are skipped in nearly every run: those stand in the report alone. */
	if (s->switches.now > FEW_LOST &&
	    s->switches.now * 100 > r->rows.written + r->rows.pending[ROWS_SWITCH].cnt)
		recording_say(r, SAY_WARNING,
			      "%s context-switch events were lost by the kernel (its buffer was "
			      "full, or it skipped them)",
			      recording_grouped(s->switches.now, n));
	if (!s->calls.now)
		return;
	recording_lost(r, "system calls: the kernel's buffer was full", s->calls.now);
	recording_say(r, SAY_WARNING,
		      "%s system calls were not recorded: the kernel's buffer was full; a higher "
		      "--syscall-threshold avoids it",
		      recording_grouped(s->calls.now, n));
}

static void rotate(void *self)
{
	struct sched_source *s = self;

	s->switches.before += s->switches.now;
	s->calls.before += s->calls.now;
	s->recording->rows.switches_lost = s->switches.now = s->calls.now = 0;
}

static void stop(void *self)
{
	struct sched_source *s = self;

	sched_stop(s->sched);
}

static void close_source(void *self)
{
	struct sched_source *s = self;

	char why[512];

	if (s->opening)
		s->sched = sched_open_end(s->opening, why, sizeof(why));
	if (s->recording)
		s->recording->sched = NULL;
	sched_close(s->sched);
}

const struct event_source sched_source = {
	.name = "context switches",
	.can.be_held = true,
	.bytes = sizeof(struct sched_source),
	.start.prepare = prepare,
	.open = open_source,
	.follow = follow,
	.capture = {.begin = begin, .end = end, .has_come = has_come},
	.poll = poll,
	.fill = fill,
	.kinds = kinds,
	.note_losses = note_losses,
	.rotate = rotate,
	.stop = stop,
	.close = close_source,
};
