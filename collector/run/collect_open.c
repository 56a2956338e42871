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
#include "collector/base/proc.h"
#include "collector/capture/flight/flight.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/collect/python_modules.h"
#include "collector/collect/setup.h"
#include "collector/decode/gpu/gpu.h"
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
		.quota_chunks =
			o->capture.flight_ns
				? flight_quota(o)
				: (uint32_t)(setup_buffer((uint64_t)o->rings.buffer_mib << 20) /
					     SL_CHUNK_BYTES),
		.collector_pid = (uint32_t)getpid(),
		.state = SL_SESSION_ON,
		.gate = ask->first_gate + (!capture_waits(&o->capture) || o->capture.flight_ns),
		.epoch = 1,
		.root_pid = ask->root,
		.root_waits = ask->root != 0 && !ask->first_gate,
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

/* Sets the part that event sources see. */
static void set_recording(struct collector *c)
{
	c->recording = (struct recording){
		.sources = &event_sources,
		.options = c->options,
		.loop = &c->loop,
		.report = &c->report,
		.clocks = &c->clocks,
		.root = &c->root,
		.rows.pending = c->model.kernel_rows,
		.tree = {&model_sched_ops, &c->model},
		.gpus = {gpu_number, gpu_seen_write, &c->arenas},
		.stacks_most = flight_sample_most(c->options),
	};
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

/* One heap for all threads, which grows by a MiB and keeps freed memory: page faults are dear in virtual machines. */
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
	c->root.signal_fd = c->root.status = -1;
	c->session.listen_fd = c->session.keeper_fd = -1;
	c->report.next_from_mono = INT64_MAX;
	set_recording(c);
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
	c->arenas.elders.since = proc_age();
}

static bool is_system_wide(const struct profile_options *o)
{
	return o->kernel.cpuctxsw == SCHED_MODE_SYSTEM || o->kernel.sample == SCHED_MODE_SYSTEM ||
	       o->kernel.events.scope == SCHED_MODE_SYSTEM;
}

/* True: the user may do this without the capabilities of the program's file. */
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

/* Without eBPF, events are opened for each thread: then the first threads would have none. */
static bool may_be_late(const struct collector *c, const struct collect_ask *ask)
{
	struct sched_maps maps;

	return ask->is_late && sched_maps(c->recording.sched, &maps);
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
	sources_prepare(&c->recording);
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
	setup_keeper_sockets(c);
	setup_watch_keeper(c);
	/* The flight recorder keeps records in the rings. */
	if (!ask->options->capture.flight_ns)
		setup_spool(c);
	intake_open(c);
	notes_begin(c);
	python_open(c, ask->preload);
	sources_open(&c->recording);
	if (may_be_late(c, ask))
		c->root.late.due = INT64_MAX;
	else
		sources_open_late(&c->recording);
	c->model.wants.has_kernel_events = c->recording.sched != NULL;
	c->model.wants.keep_all_switches = ask->options->kernel.cpuctxsw == SCHED_MODE_SYSTEM;
	sources_ready(&c->recording);
	err = capture_open(c);
	if (!err)
		err = flight_open(c);
	if (err) {
		collect_abandon(c, false);
		return err;
	}
	if (!capture_is_on(c))
		setup_changed(c);
	if (capture_is_on(c) || c->flight)
		sources_begin(&c->recording, clock_snapshot_take(mode, false).mono);
	return 0;
}

void collect_resume(struct collector *c, int listen_fd, int keeper_fd)
{
	c->model.hooks.watch = collect_watch_proc;
	c->model.hooks.ctx = c;
	set_arenas(c);
	setup_spool(c);
	capture_resume(c);
	c->session.listen_fd = listen_fd;
	c->session.keeper_fd = keeper_fd;
	if (listen_fd >= 0)
		intake_open(c);
	if (c->session.control) {
		c->session.control->collector_pid = (uint32_t)getpid();
		setup_keeper(c);
		setup_keeper_sockets(c);
		setup_watch_keeper(c);
	}
}
