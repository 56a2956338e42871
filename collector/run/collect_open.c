/*
 * collect_open.c - how a collection begins: the report, the session's folder and its settings, the kernel's side; and
 * what of that recover and the keeper are told.
 */
#include "collector/collect/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/kernel/counters/event_list.h"
#include "collector/capture/flight/flight.h"
#include "collector/session/ring_keeper.h"
#include "collector/collect/positions.h"
#include "collector/collect/python_modules.h"

/* @ticks_per_ns: fixed point, 32 bits behind the point. */
static uint64_t ticks(int64_t ns, uint64_t ticks_per_ns)
{
	return (uint64_t)((unsigned __int128)(uint64_t)ns * ticks_per_ns >> 32);
}

static struct sl_session settings(const struct collect_ask *ask, uint32_t mode,
				  uint64_t ticks_per_ns)
{
	const struct profile_options *o = ask->options;
	int64_t signal_ns = o->osrt_threshold_ns > 1000 ? o->osrt_threshold_ns : 1000;
	struct sl_session s = {
		.magic = SL_SESSION_MAGIC,
		.wire_version = SL_WIRE_VERSION,
		.bytes = sizeof(s),
		.clock_mode = mode,
		.trace = o->trace | (o->osrt_file_access ? SL_TRACE_FILE_ACCESS : 0u),
		.threshold_ticks = o->trace & SL_TRACE_OSRT
					   ? ticks(o->osrt_threshold_ns, ticks_per_ns)
					   : UINT64_MAX,
		.cuda_flags = o->cuda_flags,
		.cuda_flush_ms = (uint32_t)o->cuda_flush_ms,
		.signal_threshold_ticks = ticks(signal_ns, ticks_per_ns),
		.on_full = o->on_full,
		.wait_ms = 1000,
		.quota_chunks = o->capture.flight_ns
					? flight_quota(o)
					: (uint32_t)(o->buffer_mib * (1 << 20) / SL_CHUNK_BYTES),
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

static void read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");

	text[0] = 0;
	if (!f)
		return;
	if (fgets(text, (int)size, f))
		text[strcspn(text, "\n")] = 0;
	fclose(f);
}

static uint32_t from_kernel(const struct collector *c)
{
	const struct profile_options *o = c->options;
	uint32_t what = 0;

	if (c->sample && o->sample != SCHED_MODE_NONE)
		what |= FROM_KERNEL_SAMPLES;
	if (c->sched && o->cpuctxsw != SCHED_MODE_NONE)
		what |= FROM_KERNEL_SWITCHES;
	if (c->sched && o->syscalls)
		what |= FROM_KERNEL_CALLS;
	if (c->counters && o->events.scope != SCHED_MODE_NONE)
		what |= FROM_KERNEL_COUNTERS;
	return what;
}

/* What recover needs to go on; in the first transaction. */
static void save_setup(struct collector *c)
{
	struct saved_setup s = {.version = SAVED_VERSION,
				.root_pid = c->root,
				.zero_mono = c->clock.zero,
				.zero_real = c->zero_real,
				.clock_mode = c->clock.mode,
				.file_access = c->model.file_access,
				.no_osrt = c->model.no_osrt,
				.from_kernel = from_kernel(c)};

	read_line("/proc/sys/kernel/random/boot_id", s.boot_id, sizeof(s.boot_id));
	memcpy(s.dir, c->session.dir, sizeof(c->session.dir));
	db_state_set(c->db, "session", &s, sizeof(s));
	db_state_set(c->db, "windows", c->capture.windows.list,
		     c->capture.windows.cnt * sizeof(struct window));
}

static void gpu_warning(void *to, const char *text)
{
	const struct collector *c = to;

	if (!c->is_quiet)
		sl_warn("%s", text);
}

static void set_arenas(struct collector *c)
{
	const struct profile_options *o = c->options;

	c->arenas = (struct arenas){.model = &c->model,
				    .db = c->db,
				    .clock = &c->clock,
				    .gpu = {.flush_ns = o->cuda_flush_ms * 1000000,
					    .no_um_cpu_faults = !o->cuda_um_cpu_faults,
					    .no_um_gpu_faults = !o->cuda_um_gpu_faults,
					    .warn = gpu_warning,
					    .warn_to = c}};
}

static void tell_keeper(struct collector *c)
{
	struct keeper_message m = {.kind = KEEPER_SETUP};

	if (c->keeper < 0)
		return;
	memcpy(m.dir, c->session.dir, sizeof(c->session.dir));
	if (!c->capture.is_session && strlen(c->report) < sizeof(m.report))
		memcpy(m.report, c->report, strlen(c->report) + 1);
	keeper_send(c->keeper, &m, -1);
}

static void give_keeper_socket(struct collector *c)
{
	struct keeper_message m = {.kind = KEEPER_LISTEN};

	if (c->keeper >= 0)
		keeper_send(c->keeper, &m, c->session.listen_fd);
}

void collect_setup_changed(struct collector *c)
{
	tell_keeper(c);
	save_setup(c);
	collect_clocks(c);
}

/* ---- the kernel's side ---- */

static void open_sched(struct collector *c)
{
	const struct profile_options *o = c->options;
	struct sched_ask ask = {.mode = o->cpuctxsw,
				.want = SCHED_BACKEND_BPF,
				.calls = o->syscalls,
				.lives = o->sample != SCHED_MODE_NONE || o->off_cpu_ns >= 0,
				.calls_threshold_ns = (uint64_t)o->syscall_threshold_ns};
	char why[512] = "";

	if (ask.mode != SCHED_MODE_NONE || ask.calls || ask.lives)
		c->sched = sched_open_for(&ask, why, sizeof(why));
	c->model.has_kernel_events = c->sched != NULL;
	c->model.keep_all_switches = ask.mode == SCHED_MODE_SYSTEM;
	if (why[0])
		notes_say(c, 2, "%s", why);
}

/* --sampling-period: by a counter of the CPU, if it has one. */
static void set_period(struct collector *c, struct sample_ask *ask)
{
	uint64_t period = (uint64_t)c->options->sample_period;
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
		db_meta_capture(c->db, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", text);
		return;
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)period);
	db_meta_capture(c->db, "LINUX_PERF_OPTIONS:SAMPLING_PERIOD", text);
	ask->period = period;
	ask->period_type = e.type;
	ask->period_config = e.config[0];
}

/* Whose: those of the samples; without samples, those of the context switches. */
static enum sched_mode sample_scope(const struct profile_options *o)
{
	if (o->sample != SCHED_MODE_NONE)
		return o->sample;
	return o->cpuctxsw != SCHED_MODE_NONE ? o->cpuctxsw : SCHED_MODE_TREE;
}

static void open_samples(struct collector *c)
{
	const struct profile_options *o = c->options;
	char why[512], no_python[512], no_off_cpu[512] = "";
	struct sched_maps maps;
	struct sample_ask ask = {.scope = sample_scope(o),
				 .frequency = o->sample != SCHED_MODE_NONE ? o->sample_hz : 0,
				 .per_stack =
					 o->stacks.is_native ? (unsigned)o->samples_per_stack : 0,
				 .stack_bytes = SAMPLE_STACK_BYTES,
				 .python = o->python_sampling,
				 .off_cpu_ns = o->off_cpu_ns,
				 .kernel = sched_maps(c->sched, &maps) ? &maps : NULL,
				 .no_off_cpu = no_off_cpu,
				 .pauses = o->sample != SCHED_MODE_NONE &&
					   capture_waits(&o->capture) && !o->capture.flight_ns,
				 .stacks_most = flight_sample_most(c->options),
				 .on_ring = loop_watch_ring,
				 .ctx = c};

	if (!ask.frequency && ask.off_cpu_ns < 0)
		return;
	if (ask.frequency)
		set_period(c, &ask);
	c->sample = sample_open(&ask, why, no_python, sizeof(why));
	if (no_python[0])
		notes_say(c, 2, "%s", no_python);
	if (no_off_cpu[0])
		notes_say(c, 2, "%s", no_off_cpu);
	if (why[0])
		notes_say(c, 2, "%s", why);
}

static int open_db(struct collector *c, const struct collect_ask *ask,
		   const struct clock_snapshot *zero, char *why, size_t why_len)
{
	struct db_open how = {.path = c->report,
			      .overwrite = c->capture.is_session || ask->options->force_overwrite,
			      .utc_epoch_ns = zero->real,
			      .system_clock_ns = zero->mono};

	c->db = db_open(&how, why, why_len);
	return c->db ? 0 : -EIO;
}

/* The report, and the session's folder; where nothing is recorded yet, the one is in the other. */
static int open_places(struct collector *c, const struct collect_ask *ask,
		       const struct clock_snapshot *zero, uint32_t mode, char *why, size_t why_len)
{
	struct sl_session control;
	int err;

	c->report = ask->report;
	c->capture.is_session = !ask->report;
	err = ask->report ? open_db(c, ask, zero, why, why_len) : 0;
	if (err)
		return err;
	/* Opening the report has taken most of the time that this needs. */
	control = settings(ask, mode, clock_calibrate(mode, zero, 3));
	err = session_create(&c->session, &control, ask->report, why, why_len);
	if (err || ask->report)
		return err;
	c->report = c->capture.path = session_db_path(&c->session);
	return c->report ? open_db(c, ask, zero, why, why_len) : -ENOMEM;
}

/* One heap for all threads, which grows by a MiB and keeps what is freed: page faults are dear in virtual machines. */
static void set_up_heap(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int collect_open(struct collector *c, const struct collect_ask *ask, char *why, size_t why_len)
{
	uint32_t mode = clock_mode_detect();
	struct clock_snapshot zero = clock_snapshot_take(mode, true);
	int err;

	c->options = ask->options;
	c->is_quiet = ask->is_quiet;
	c->keeper = -1;
	c->signal_fd = c->counters_timer = -1;
	c->root_status = -1;
	c->zero_real = zero.real;
	c->session.listen_fd = -1;
	c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->uptime = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0)
		return -errno;
	/* Before anything big is in memory, and before there are threads. */
	c->keeper = keeper_start();
	set_up_heap();
	err = open_places(c, ask, &zero, mode, why, why_len);
	if (err) {
		collect_abandon(c, !c->db);
		return err;
	}
	clock_map_init(&c->clock, mode, zero.mono);
	clock_map_add(&c->clock, zero.ticks, zero.mono);
	model_init(&c->model, c->db, &c->clock);
	c->model.file_access = ask->options->osrt_file_access;
	c->model.no_osrt = !(ask->options->trace & SL_TRACE_OSRT);
	c->model.watch = loop_watch_proc;
	c->model.watch_ctx = c;
	set_arenas(c);
	c->root = c->model.root_pid = ask->root;
	give_keeper_socket(c);
	loop_add(c, c->session.listen_fd, LOOP_LISTEN, NULL);
	notes_begin(c);
	python_open(c, ask->preload);
	open_sched(c);
	open_samples(c);
	collect_counters_open(c);
	err = capture_open(c);
	if (!err)
		err = flight_open(c);
	if (err) {
		collect_abandon(c, false);
		return err;
	}
	if (!capture_is_on(c))
		collect_setup_changed(c);
	else
		collect_counters_begin(c, clock_snapshot_take(mode, false).mono);
	return 0;
}

/* What the collector before was recording, if it says so. */
static void resume_windows(struct collector *c)
{
	struct windows *w = &c->capture.windows;
	void *list;
	size_t bytes;

	w->hold = UINT64_MAX;
	c->capture.state = CAPTURE_OVER;
	c->capture.has_begun = true;
	c->capture.ended = CAPTURE_SOURCE_EXIT;
	if (db_state_get(c->db, "windows", &list, &bytes) != 0)
		return;
	w->list = list;
	w->cnt = w->cap = bytes / sizeof(struct window);
	c->arenas.windows = w;
	c->capture.has_begun = w->cnt > 0;
}

void collect_resume(struct collector *c, int listen_fd)
{
	c->model.watch = loop_watch_proc;
	c->model.watch_ctx = c;
	set_arenas(c);
	resume_windows(c);
	c->session.listen_fd = listen_fd;
	if (listen_fd >= 0)
		loop_add(c, listen_fd, LOOP_LISTEN, NULL);
	if (c->session.control) {
		c->session.control->collector_pid = (uint32_t)getpid();
		tell_keeper(c);
		give_keeper_socket(c);
	}
}
