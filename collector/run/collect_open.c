/*
 * collect_open.c - how a collection begins: the report, the session's folder and its settings, kernel events.
 */
#include "collector/run/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/limits.h"
#include "collector/mask/mask.h"
#include "collector/base/message.h"
#include "collector/base/privilege.h"
#include "collector/capture/flight/flight.h"
#include "collector/collect/collect_block.h"
#include "collector/collect/collect_counters.h"
#include "collector/collect/collect_health.h"
#include "collector/collect/collect_host.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/collect/python_modules.h"
#include "collector/collect/setup.h"
#include "collector/kernel/perf/event_list.h"
#include "collector/kernel/perf/perf_rings.h"
#include "collector/session/ring_keeper.h"
#include "collector/session/sessions.h"

/* @ticks_per_ns: fixed point with 32 fraction bits. */
static uint64_t ticks(int64_t ns, uint64_t ticks_per_ns)
{
	return (uint64_t)((unsigned __int128)(uint64_t)ns * ticks_per_ns >> 32);
}

static struct sl_session settings(const struct collect_ask *ask, uint32_t mode,
				  uint64_t ticks_per_ns)
{
	const struct profile_options *o = ask->options;
	int64_t signal_ns = o->osrt.threshold_ns > 1000 ? o->osrt.threshold_ns : 1000;
	struct sl_session s = {
		.magic = SL_SESSION_MAGIC,
		.wire_version = SL_WIRE_VERSION,
		.bytes = sizeof(s),
		.clock_mode = mode,
		.trace = o->trace | (o->osrt.file_access ? SL_TRACE_FILE_ACCESS : 0u),
		.threshold_ticks = o->trace & SL_TRACE_OSRT
					   ? ticks(o->osrt.threshold_ns, ticks_per_ns)
					   : UINT64_MAX,
		.cuda_flags = o->cuda.flags,
		.cuda_flush_ms = (uint32_t)o->cuda.flush_ms,
		.signal_threshold_ticks = ticks(signal_ns, ticks_per_ns),
		.on_full = o->rings.on_full,
		.wait_ms = 1000,
		.quota_chunks = o->capture.flight_ns ? flight_quota(o)
						     : (uint32_t)(o->rings.buffer_mib * (1 << 20) /
								  SL_CHUNK_BYTES),
		.collector_pid = (uint32_t)getpid(),
		.state = SL_SESSION_ON,
		.gate = !capture_waits(&o->capture) || o->capture.flight_ns,
		.epoch = 1,
		.root_pid = ask->root,
		.root_waits = ask->root != 0,
	};

	stack_options_tell(&o->stacks, ticks_per_ns, &s);
	if (ask->preload && strlen(ask->preload) < sizeof(s.preload_path))
		memcpy(s.preload_path, ask->preload, strlen(ask->preload) + 1);
	return s;
}

static void gpu_warning(void *to, const char *text)
{
	const struct collector *c = to;

	if (!c->report.is_quiet)
		sl_warn("%s", text);
}

static void set_arenas(struct collector *c)
{
	const struct profile_options *o = c->options;

	c->arenas = (struct arenas){.model = &c->model,
				    .db = c->report.db,
				    .clock = &c->clocks.map,
				    .gpu = {.flush_ns = o->cuda.flush_ms * 1000000,
					    .no_um_cpu_faults = !o->cuda.um_cpu_faults,
					    .no_um_gpu_faults = !o->cuda.um_gpu_faults,
					    .warn = gpu_warning,
					    .warn_to = c}};
}

/* ---- the kernel's side ---- */

static void open_sched(struct collector *c)
{
	const struct profile_options *o = c->options;
	struct sched_ask ask = {.mode = o->kernel.cpuctxsw,
				.want = SCHED_BACKEND_BPF,
				.calls = o->kernel.syscalls,
				.lives = o->kernel.sample != SCHED_MODE_NONE ||
					 o->kernel.off_cpu_ns >= 0,
				.calls_threshold_ns = (uint64_t)o->kernel.syscall_threshold_ns};
	bool asks_samples_alone =
		ask.mode == SCHED_MODE_NONE && !ask.calls && o->kernel.off_cpu_ns < 0;
	char why[512] = "";

	if (ask.mode != SCHED_MODE_NONE || ask.calls || ask.lives)
		c->kernel.sched.open = sched_open_for(&ask, why, sizeof(why));
	c->model.wants.has_kernel_events = c->kernel.sched.open != NULL;
	c->model.wants.keep_all_switches = ask.mode == SCHED_MODE_SYSTEM;
	if (why[0])
		notes_say_asked(c, asks_samples_alone && o->kernel.sample_is_default, "%s", why);
}

#define SAMPLES_NEED         64u /* descriptors: of eBPF, and what a collection opens later */
#define SAMPLES_NEED_PER_CPU 3u
#define SAMPLES_LEAVE \
	16u /* for the session, the report and the program, also where they are asked for */

/* --sampling-period: by a counter of the CPU, if it has one. */
static void set_period(struct collector *c, struct sample_ask *ask)
{
	uint64_t period = (uint64_t)c->options->kernel.sample_period;
	struct event_def e;

	char text[32];

	if (!period)
		return;
	if (!event_of_samples(&e, period)) {
		notes_say(c, 2,
			  "--sampling-period: no hardware counter of cycles is available (no "
			  "PMU, or kernel.perf_event_paranoid, %d, hides it): samples are taken "
			  "%lld times per second of CPU time instead",
			  event_paranoid(), (long long)ask->frequency);
		snprintf(text, sizeof(text), "%lld", (long long)ask->frequency);
		db_meta_capture(c->report.db, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", text);
		return;
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)period);
	db_meta_capture(c->report.db, "LINUX_PERF_OPTIONS:SAMPLING_PERIOD", text);
	ask->period = period;
	ask->period_type = e.type;
	ask->period_config = e.config[0];
}

/* The scope of the samples; without samples, that of the context switches. */
static enum sched_mode sample_scope(const struct profile_options *o)
{
	if (o->kernel.sample != SCHED_MODE_NONE)
		return o->kernel.sample;
	return o->kernel.cpuctxsw != SCHED_MODE_NONE ? o->kernel.cpuctxsw : SCHED_MODE_TREE;
}

static void say_missing(struct collector *c, bool is_default, const char *why)
{
	if (why[0])
		notes_say_asked(c, is_default, "%s", why);
}

static void open_samples(struct collector *c)
{
	const struct profile_options *o = c->options;
	bool is_asked = !o->kernel.sample_is_default || o->kernel.off_cpu_ns >= 0;
	char why[512], no_python[512], no_off_cpu[512] = "";
	struct sched_maps maps;
	struct sample_ask ask = {
		.scope = sample_scope(o),
		.frequency = o->kernel.sample != SCHED_MODE_NONE ? o->kernel.sample_hz : 0,
		.per_stack = o->stacks.is_native ? (unsigned)o->kernel.samples_per_stack : 0,
		.stack_bytes = SAMPLE_STACK_BYTES,
		.python = o->kernel.python_sampling,
		.off_cpu_ns = o->kernel.off_cpu_ns,
		.kernel = sched_maps(c->kernel.sched.open, &maps) ? &maps : NULL,
		.no_off_cpu = no_off_cpu,
		.pauses = o->kernel.sample != SCHED_MODE_NONE && capture_waits(&o->capture) &&
			  !o->capture.flight_ns,
		.stacks_most = flight_sample_most(c->options),
		.on_ring = collect_watch_ring,
		.ctx = c};

	if (!ask.frequency && ask.off_cpu_ns < 0)
		return;
	/* What no option asks for leaves the program's processes the descriptors that there are. */
	if (limits_free_descriptors() <
	    (is_asked ? SAMPLES_LEAVE : SAMPLES_NEED) + SAMPLES_NEED_PER_CPU * perf_cpu_cnt()) {
		notes_say_asked(c, !is_asked,
				"no CPU samples: too few descriptors are left (ulimit -n)");
		return;
	}
	if (ask.frequency)
		set_period(c, &ask);
	c->kernel.sample.open = sample_open(&ask, why, no_python, sizeof(why));
	notes_frequency(c);
	say_missing(c, o->kernel.python_is_default, no_python);
	say_missing(c, false, no_off_cpu);
	say_missing(c, o->kernel.sample_is_default && o->kernel.off_cpu_ns < 0, why);
}

static int open_db(struct collector *c, const struct collect_ask *ask,
		   const struct clock_snapshot *zero, char *why, size_t why_len)
{
	struct db_open how = {.path = c->report.path,
			      .overwrite = c->report.is_session || ask->options->force_overwrite,
			      .utc_epoch_ns = zero->real,
			      .system_clock_ns = zero->mono};

	c->report.db = db_open(&how, why, why_len);
	return c->report.db ? 0 : -EIO;
}

/* The report, and the session's folder; where nothing is recorded yet, the one is in the other. */
static int open_places(struct collector *c, const struct collect_ask *ask,
		       const struct clock_snapshot *zero, uint32_t mode, char *why, size_t why_len)
{
	struct sl_session control;
	int err;

	c->report.path = ask->report;
	c->report.is_session = !ask->report;
	err = ask->report ? open_db(c, ask, zero, why, why_len) : 0;
	if (err)
		return err;
	/* Opening the report has taken most of the time that this needs. */
	control = settings(ask, mode, clock_calibrate(mode, zero, 3));
	err = session_create(&c->session, &control, ask->report, why, why_len);
	if (err || ask->report)
		return err;
	c->report.path = c->report.path_own = session_db_path(&c->session);
	return c->report.path ? open_db(c, ask, zero, why, why_len) : -ENOMEM;
}

/* One heap for all threads, which grows by a MiB and keeps what is freed: page faults are dear in virtual machines. */
static void set_up_heap(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int collect_prepare(struct collector *c, const struct profile_options *options)
{
	int err = loop_open(&c->loop);

	c->options = options;
	mask_set(mask_mode_of(options->program.mask_arguments));
	c->intake.keeper = c->intake.reserve_fd = c->pace.uptime = -1;
	c->root.signal_fd = c->kernel.counters.timer = c->kernel.host.timer = -1;
	c->root.status = -1;
	c->session.listen_fd = -1;
	c->report.next_from_mono = INT64_MAX;
	return err ? err : capture_new(c);
}

static void open_model(struct collector *c)
{
	model_init(&c->model, c->report.db, &c->clocks.map);
	c->model.wants.file_access = c->options->osrt.file_access;
	c->model.wants.no_osrt = !(c->options->trace & SL_TRACE_OSRT);
	c->model.hooks.watch = collect_watch_proc;
	c->model.hooks.ctx = c;
	set_arenas(c);
}

static bool is_system_wide(const struct profile_options *o)
{
	return o->kernel.cpuctxsw == SCHED_MODE_SYSTEM || o->kernel.sample == SCHED_MODE_SYSTEM ||
	       o->kernel.events.scope == SCHED_MODE_SYSTEM;
}

/* What capabilities of the program's file must not give its user. */
static bool is_permitted(const struct collect_ask *ask, char *why, size_t why_len)
{
	if (is_system_wide(ask->options) && !privilege_may_watch_all())
		snprintf(why, why_len,
			 "system-wide: not permitted: it needs root or CAP_SYS_PTRACE");
	else if (ask->root && !privilege_may_watch(ask->root))
		snprintf(why, why_len,
			 "process %u: not permitted: it belongs to another user, or has changed "
			 "its user",
			 ask->root);
	else
		return true;
	return false;
}

/* Once: the fault comes again, and ends the process. */
static void on_bus_error(int sig)
{
	static const char text[] = "sightline: a file that the collector has mapped was cut, such "
				   "as the index of the report's log "
				   "(-shm), or had no room: the program goes on, and 'sightline "
				   "recover' ends the report\n";

	(void)sig;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

/* SQLite maps that index for other processes to read a report while it grows: one of them may cut it. */
static void name_bus_errors(void)
{
	struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGBUS, &action, NULL);
}

int collect_open(struct collector *c, const struct collect_ask *ask, char *why, size_t why_len)
{
	uint32_t mode = clock_mode_detect();
	struct clock_snapshot zero = clock_snapshot_take(mode, true);
	int err = collect_prepare(c, ask->options);

	if (!err && !is_permitted(ask, why, why_len))
		err = -EPERM;
	if (err)
		return err;
	c->report.is_quiet = ask->is_quiet;
	c->report.zero_real = zero.real;
	c->intake.reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->pace.uptime = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
	/* Before anything big is in memory, and before there are threads. */
	c->intake.keeper = keeper_start();
	set_up_heap();
	if (!ask->is_quiet)
		name_bus_errors();
	err = open_places(c, ask, &zero, mode, why, why_len);
	if (err) {
		collect_abandon(c, !c->report.db);
		return err;
	}
	if (!ask->is_quiet)
		sessions_report_dead(&c->session);
	clock_map_init(&c->clocks.map, mode, zero.mono);
	clock_map_add(&c->clocks.map, zero.ticks, zero.mono);
	open_model(c);
	c->root.pid = c->model.root.pid = ask->root;
	setup_keeper_socket(c);
	setup_watch_keeper(c);
	/* The flight recorder keeps records in the rings. */
	if (!ask->options->capture.flight_ns)
		setup_spool(c);
	intake_open(c);
	notes_begin(c);
	python_open(c, ask->preload);
	collect_health_open(c);
	open_sched(c);
	open_samples(c);
	collect_block_open(c);
	collect_counters_open(c);
	collect_health_ready(c);
	err = capture_open(c);
	if (!err)
		err = flight_open(c);
	if (err) {
		collect_abandon(c, false);
		return err;
	}
	collect_block_record(c, capture_is_on(c));
	if (!capture_is_on(c))
		setup_changed(c);
	else
		collect_counters_begin(c, clock_snapshot_take(mode, false).mono);
	if (capture_is_on(c) || c->flight)
		collect_host_begin(c);
	return 0;
}

void collect_resume(struct collector *c, int listen_fd)
{
	c->model.hooks.watch = collect_watch_proc;
	c->model.hooks.ctx = c;
	set_arenas(c);
	setup_spool(c);
	capture_resume(c);
	c->session.listen_fd = listen_fd;
	if (listen_fd >= 0)
		intake_open(c);
	if (c->session.control) {
		c->session.control->collector_pid = (uint32_t)getpid();
		setup_keeper(c);
		setup_keeper_socket(c);
		setup_watch_keeper(c);
	}
}
