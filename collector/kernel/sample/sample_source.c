/* sample_source.c - opens the samples as options ask for them, and notes parts that are missing. */
#include "collector/kernel/sample/sample_source.h"

#include <errno.h>
#include <string.h>

#include "collector/base/event_loop.h"
#include "collector/base/limits.h"
#include "collector/kernel/perf/event_list.h"
#include "collector/kernel/perf/perf_rings.h"
#include "collector/kernel/sample/sample.h"
#include "collector/report/db.h"
#include "collector/source/recording.h"

#define SAMPLES_NEED         64u /* descriptors: of eBPF, and later ones of a collection */
#define SAMPLES_NEED_PER_CPU 3u
#define SAMPLES_LEAVE \
	16u /* for the session, the report and the program, also where they are asked for */

struct sample_source {
	struct recording *recording;
	struct sample *sample;
	struct sample_losses losses, before; /* as last noted; when the report began */
};

struct sample_report sample_report_of(const struct recording *r)
{
	return (struct sample_report){
		.db = r->report->db, .zero = r->clocks->map.zero, .cnt = r->sample_cnt};
}

void sample_report_written(struct recording *r, const struct sample_report *report)
{
	for (unsigned kind = 0; kind < ROWS_KINDS; kind++)
		recording_wrote(r, kind, &report->wrote[kind]);
	r->sample_cnt = report->cnt;
}

/* ---- opening ---- */

/* --sampling-period: by a counter of the CPU, if it has one. */
static void set_period(struct recording *r, struct sample_ask *ask)
{
	uint64_t period = (uint64_t)r->options->kernel.sample_period;
	struct event_def e;

	if (!period)
		return;
	if (!event_of_samples(&e, period)) {
		recording_say(
			r, SAY_WARNING,
			"--sampling-period: no hardware counter of cycles is available (no "
			"PMU, or kernel.perf_event_paranoid, %d, hides it): samples are taken "
			"%lld times per second of CPU time instead",
			event_paranoid(), (long long)ask->frequency);
		recording_number(r, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", ask->frequency);
		return;
	}
	recording_number(r, "LINUX_PERF_OPTIONS:SAMPLING_PERIOD", (int64_t)period);
	ask->period = period;
	ask->period_type = e.type;
	ask->period_config = e.config[0];
}

/* The scope of the samples; without samples, that of the context switches. */
static enum sched_mode scope_of(const struct kernel_options *o)
{
	if (o->sample != SCHED_MODE_NONE)
		return o->sample;
	return o->cpuctxsw != SCHED_MODE_NONE ? o->cpuctxsw : SCHED_MODE_TREE;
}

static void say_missing(struct recording *r, bool is_default, const char *why)
{
	if (why[0])
		recording_say_asked(r, is_default, "%s", why);
}

/* Samples that no option asks for must leave descriptors to the program's processes. */
static bool has_descriptors(struct recording *r)
{
	const struct kernel_options *o = &r->options->kernel;
	bool is_asked = !o->is_default.sample || o->off_cpu_ns >= 0;

	if (limits_free_descriptors() >=
	    (is_asked ? SAMPLES_LEAVE : SAMPLES_NEED) + SAMPLES_NEED_PER_CPU * perf_cpu_cnt())
		return true;
	recording_say_asked(r, !is_asked,
			    "no CPU samples: too few descriptors are left (ulimit -n)");
	return false;
}

static int poll(void *self, bool all);

static void on_ring(void *self, int fd)
{
	(void)fd;
	poll(self, false);
}

/* Edge-triggered: a ring whose first thread has ended is ready for ever. */
static void watch_ring(void *self, int fd)
{
	struct sample_source *s = self;

	loop_add_edge(s->recording->loop, fd, on_ring, s);
}

static void open_samples(struct sample_source *s, struct sample_ask *ask)
{
	struct recording *r = s->recording;
	const struct kernel_options *o = &r->options->kernel;
	char why[512], no_python[512], no_off_cpu[512] = "";
	struct sched_maps maps;

	ask->kernel = sched_maps(r->sched, &maps) ? &maps : NULL;
	ask->no_off_cpu = no_off_cpu;
	if (ask->frequency)
		set_period(r, ask);
	s->sample = r->sample = sample_open(ask, why, no_python, sizeof(why));
	/* --sampling-period is noted where it works. */
	if (s->sample && o->sample != SCHED_MODE_NONE && !o->sample_period)
		recording_number(r, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", o->sample_hz);
	say_missing(r, o->is_default.python, no_python);
	say_missing(r, o->is_default.off_cpu, no_off_cpu);
	say_missing(r, o->is_default.sample && o->off_cpu_ns < 0, why);
}

static bool open_source(void *self, struct recording *r)
{
	struct sample_source *s = self;
	const struct profile_options *o = r->options;
	struct sample_ask ask = {
		.scope = scope_of(&o->kernel),
		.frequency = o->kernel.sample != SCHED_MODE_NONE ? o->kernel.sample_hz : 0,
		.per_stack = o->stacks.is_native ? (unsigned)o->kernel.samples_per_stack : 0,
		.stack_bytes = SAMPLE_STACK_BYTES,
		.python = !o->kernel.python_sampling    ? SAMPLE_NO_PYTHON
			  : o->kernel.is_default.python ? SAMPLE_PYTHON_LATE
							: SAMPLE_PYTHON,
		.off_cpu_ns = o->kernel.off_cpu_ns,
		.pauses = o->kernel.sample != SCHED_MODE_NONE && capture_waits(&o->capture) &&
			  !o->capture.flight_ns,
		.stacks_most = r->stacks_most,
		.on_ring = watch_ring,
		.ctx = s};

	if ((!ask.frequency && ask.off_cpu_ns < 0) || !has_descriptors(r))
		return false;
	s->recording = r;
	open_samples(s, &ask);
	return s->sample;
}

/* A failure does not end the recording. */
static int follow(void *self, const struct source_process *p)
{
	struct sample_source *s = self;
	const struct kernel_options *o = &s->recording->options->kernel;
	int err = sample_follow(s->sample, (pid_t)p->pid, p->is_child);
	const char *limit = err == -EPERM ? " (locked memory: ulimit -l)" : "";

	/* Where only stacks of threads without a CPU are wanted, mappings are read from /proc. */
	if (!err || err == -ESRCH || o->sample == SCHED_MODE_NONE)
		return 0;
	if (p->is_running)
		recording_say(s->recording, SAY_WARNING,
			      "no CPU samples of all of process %u: %s%s", p->pid, strerror(-err),
			      limit);
	else
		recording_say_asked(s->recording, o->is_default.sample,
				    "no CPU samples: following process %u failed: %s%s", p->pid,
				    strerror(-err), limit);
	return 0;
}

/* ---- recording ---- */

/* Then samples are complete from the gate's first moment on. */
static void before_begin(void *self)
{
	struct sample_source *s = self;

	if (s->recording->options->kernel.sample != SCHED_MODE_NONE)
		sample_pause(s->sample, false);
}

static void begin(void *self, int64_t mono)
{
	struct sample_source *s = self;

	(void)mono;
	sample_record(s->sample, true);
}

static void end(void *self, int64_t mono)
{
	struct sample_source *s = self;

	(void)mono;
	sample_pause(s->sample, true);
	if (!s->recording->options->capture.flight_ns)
		sample_record(s->sample, false);
}

static int poll(void *self, bool all)
{
	struct sample_source *s = self;
	struct recording *r = s->recording;
	struct sample_report report = sample_report_of(r);
	const struct sample_sink sink = sample_report_sink(&report);

	if (r->memory) {
		r->memory->samples(r->memory->to, s->sample, all);
		return 0;
	}
	/* As the options of `start` want it. */
	sample_leave_out(s->sample, r->options->kernel.sample == SCHED_MODE_NONE);
	sample_poll(s->sample, &sink, &r->report->windows, all);
	sample_report_written(r, &report);
	return 0;
}

static unsigned fill(const void *self)
{
	const struct sample_source *s = self;

	return sample_fill(s->sample);
}

static unsigned kinds(const void *self)
{
	const struct sample_source *s = self;

	return s->recording->options->kernel.sample != SCHED_MODE_NONE ? FROM_KERNEL_SAMPLES : 0;
}

/* ---- losses ---- */

static void say_python(struct sample_source *s, uint64_t lost)
{
	struct recording *r = s->recording;
	uint32_t version = sample_unknown_python(s->sample);
	bool is_default = r->options->kernel.is_default.python;
	char why[256];

	recording_lost(r, "Python's frames of CPU samples: no room", lost);
	if (version == SAMPLE_PYTHON_NAMELESS)
		recording_say_asked(
			r, is_default,
			"a Python without symbols, whose version is unknown: samples are "
			"without its functions");
	else if (version)
		recording_say_asked(
			r, is_default,
			"Python %u.%u: where its stacks lie is not known, so samples are without "
			"its functions",
			version >> 8, version & 0xff);
	if (sample_failed_python(s->sample, why, sizeof(why)))
		recording_say_asked(r, is_default, "%s", why);
	if (sample_refused_python(s->sample))
		recording_say_asked(
			r, is_default,
			"other users' processes may not be looked into, so samples of theirs are "
			"without Python's functions (needs root, or CAP_SYS_PTRACE)");
}

static void say_samples(struct sample_source *s)
{
	struct recording *r = s->recording;
	struct sample_losses now = s->losses, before = s->before;
	uint64_t lost = now.lost - before.lost, cut = now.truncated - before.truncated,
		 broken = now.broken - before.broken, all = now.samples - before.samples;
	char n[32];

	recording_lost(r, "CPU samples: the kernel's buffer was full", lost);
	if (lost)
		recording_say_asked(
			r, r->options->kernel.is_default.sample,
			"%s CPU samples were lost: the kernel's buffer was full; a lower "
			"--sampling-frequency avoids it",
			recording_grouped(lost, n));
	recording_lost(r, "CPU samples: throttled by the kernel", now.throttled - before.throttled);
	recording_lost(r, "CPU samples: of threads that had just ended", now.ended - before.ended);
	recording_lost(r, "page faults: the kernel's buffer was full",
		       now.faults_full - before.faults_full);
	recording_lost(r, "page faults: the kernel did not run the program that samples them",
		       now.faults_missed - before.faults_missed);
	recording_lost(r, "callers in stacks of CPU samples: deeper than what comes along", cut);
	recording_lost(r,
		       "callers in stacks of CPU samples: no unwinding table, or a damaged stack",
		       broken);
	say_python(s, now.python - before.python);
	recording_lost(r, "names of Python's frames: the code object was gone before it was read",
		       now.nameless - before.nameless);
	/* Code made at run time has neither tables nor, mostly, frame pointers: a note only if it is much. */
	if ((cut + broken) * 100 > all && !r->options->kernel.is_default.sample)
		recording_say(r, SAY_INFO,
			      "%s of the CPU samples lack their outer callers (see SL_LOST_EVENTS)",
			      recording_grouped(cut + broken, n));
}

static void say_off_cpu(struct sample_source *s)
{
	struct recording *r = s->recording;
	const struct sample_losses *now = &s->losses, *before = &s->before;
	uint64_t full = now->away_full - before->away_full,
		 crowd = now->away_crowd - before->away_crowd,
		 cut = now->away_truncated - before->away_truncated,
		 broken = now->away_broken - before->away_broken, all = now->away - before->away;
	char n[32];

	recording_lost(r, "stacks of threads without a CPU: the kernel's buffer was full", full);
	recording_lost(r, "stacks of threads without a CPU: too many threads", crowd);
	if (full + crowd)
		recording_say(r, SAY_WARNING,
			      "%s stacks of threads without a CPU were lost: %s; a higher "
			      "--off-cpu-threshold makes them fewer",
			      recording_grouped(full + crowd, n),
			      full ? "the kernel's buffer was full"
				   : "there were too many threads");
	recording_lost(r, "callers in stacks of threads without a CPU: deeper than what is kept",
		       cut);
	recording_lost(r,
		       "callers in stacks of threads without a CPU: no unwinding table, or a "
		       "damaged stack",
		       broken);
	if ((cut + broken) * 100 > all)
		recording_say(
			r, SAY_INFO,
			"%s of the stacks of threads without a CPU lack their outer callers (see "
			"SL_LOST_EVENTS)",
			recording_grouped(cut + broken, n));
}

static void note_losses(void *self)
{
	struct sample_source *s = self;
	const struct event_memory *memory = s->recording->memory;

	s->losses = memory ? memory->losses(memory->to) : sample_losses(s->sample);
	say_samples(s);
	say_off_cpu(s);
}

static void rotate(void *self)
{
	struct sample_source *s = self;

	s->before = s->losses;
	if (!s->recording->memory)
		sample_renew(s->sample);
}

static void stop(void *self)
{
	struct sample_source *s = self;

	sample_stop(s->sample);
}

static void close_source(void *self)
{
	struct sample_source *s = self;

	s->recording->sample = NULL;
	sample_close(s->sample);
}

const struct event_source sample_source = {
	.name = "CPU samples",
	.can.be_late = true,
	.can.be_held = true,
	.bytes = sizeof(struct sample_source),
	.open = open_source,
	.follow = follow,
	.capture = {.before_begin = before_begin, .begin = begin, .end = end},
	.poll = poll,
	.fill = fill,
	.kinds = kinds,
	.note_losses = note_losses,
	.rotate = rotate,
	.stop = stop,
	.close = close_source,
};
