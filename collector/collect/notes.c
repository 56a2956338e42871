/* notes.c - rows of a report besides events: the machine, the run, and what is missing. */
#include "collector/collect/notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/collect/collect_block.h"
#include "collector/collect/collect_counters.h"
#include "collector/collect/collect_host.h"
#include "collector/decode/function_table.h"
#include "collector/mask/mask.h"
#include "preload/wire/clock.h"

enum {
	SOURCE_DAEMON = 2,
	INFO = 1,
	WARNING = 2
};
#define GLOBAL_VID (INT64_C(1) << 48)

static void say(struct collector *c, int severity, bool is_quiet, const char *format, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, ap);
	if (!c->report.is_quiet && !is_quiet)
		sl_warn("%s", text);
	db_diagnostic(c->report.db, c->clocks.now, SOURCE_DAEMON, severity, text, GLOBAL_VID);
}

void notes_say(struct collector *c, int severity, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(c, severity, false, format, ap);
	va_end(ap);
}

void notes_say_asked(struct collector *c, bool is_default, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(c, is_default ? INFO : WARNING, is_default, format, ap);
	va_end(ap);
}

static void number(struct collector *c, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	db_meta_capture(c->report.db, name, text);
}

static void system_env(struct collector *c)
{
	struct utsname u;
	char text[256];
	int i = 0;

	if (uname(&u) < 0)
		return;
	db_system_env(c->report.db, "Hostname", i++, u.nodename);
	snprintf(text, sizeof(text), "%s %s", u.sysname, u.release);
	db_system_env(c->report.db, "OsVersion", i++, text);
	db_system_env(c->report.db, "OsBuild", i++, u.version);
	db_system_env(c->report.db, "CpuArchitecture", i++, u.machine);
	snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	db_system_env(c->report.db, "CpuCores", i++, text);
	snprintf(text, sizeof(text), "%lld",
		 (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	db_system_env(c->report.db, "PhysicalMemoryBytes", i++, text);
	db_system_env(c->report.db, "EventClock", i++,
		      c->clocks.map.mode == SL_CLOCK_TSC ? "counter" : "CLOCK_MONOTONIC");
}

static void cuda_settings(struct collector *c)
{
	const struct profile_options *o = c->options;
	static const struct {
		uint32_t kind;
		const char *name;
	} kinds[] = {{SL_TRACE_CUDA, "PROCESS_0:COLLECT_CUDA_TRACE"},
		     {SL_TRACE_NVTX, "PROCESS_0:COLLECT_NVTX_TRACE"},
		     {SL_TRACE_CUBLAS, "PROCESS_0:COLLECT_CUBLAS_TRACE"},
		     {SL_TRACE_CUDNN, "PROCESS_0:COLLECT_CUDNN_TRACE"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		db_meta_capture(c->report.db, kinds[i].name,
				o->trace & kinds[i].kind ? "true" : "false");
	if (!(o->trace & SL_TRACE_CUDA))
		return;
	/* Calls that ask for errors, versions and attributes have no rows. */
	db_meta_capture(c->report.db, "PROCESS_0:CUDA_SKIP_SOME_API_CALLS", "true");
	number(c, "PROCESS_0:CUDA_FLUSH_PERIOD", o->cuda.flush_ms);
	db_meta_capture(c->report.db, "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE",
			o->cuda.flags & SL_CUDA_GRAPH_NODES ? "node" : "graph");
}

void notes_frequency(struct collector *c)
{
	const struct profile_options *o = c->options;

	/* --sampling-period is noted where it works. */
	if (c->kernel.sample.open && o->kernel.sample != SCHED_MODE_NONE &&
	    !o->kernel.sample_period)
		number(c, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", o->kernel.sample_hz);
}

void notes_begin(struct collector *c)
{
	static const char *const scopes[] = {"none", "process-tree", "system-wide"};
	const struct profile_options *o = c->options;

	if (!capture_waits(&o->capture))
		db_diagnostic(c->report.db, 0, SOURCE_DAEMON, INFO, "Profiling has started.",
			      GLOBAL_VID);
	system_env(c);
	db_meta_capture(c->report.db, "CAPTURE_EVENT_TYPE",
			o->trace & SL_TRACE_OSRT ? "osrt" : "none");
	if (o->program.duration_s)
		number(c, "RUN_DURATION_MS", o->program.duration_s * 1000);
	db_meta_capture(c->report.db, "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE",
			scopes[o->kernel.cpuctxsw]);
	number(c, "OSRT_OPTIONS:THRESHOLD_NS", o->osrt.threshold_ns);
	if (o->kernel.syscalls)
		number(c, "SL_SYSCALL_THRESHOLD_NS", o->kernel.syscall_threshold_ns);
	if (o->kernel.off_cpu_ns >= 0)
		number(c, "SL_OFF_CPU_THRESHOLD_NS", o->kernel.off_cpu_ns);
	if (o->kernel.events.scope != SCHED_MODE_NONE)
		number(c, "SL_EVENT_SAMPLING_INTERVAL_MS", o->kernel.event_ms);
	/* db_frames.c reads it, perhaps in another process. */
	if (!o->resolve_symbols)
		db_meta_capture(c->report.db, "SL_RESOLVE_SYMBOLS", "false");
	db_meta_capture(c->report.db, "OSRT_OPTIONS:FILE_ACCESS",
			o->osrt.file_access ? "true" : "false");
	cuda_settings(c);
}

void notes_command(struct collector *c, int argc, char **argv)
{
	char name[64], cwd[4096], *arg;
	struct mask m = {0};

	if (argc < 1)
		return;
	db_meta_capture(c->report.db, "PROCESS_0:COMMAND", argv[0]);
	for (int i = 0; i < argc; i++) {
		snprintf(name, sizeof(name), "PROCESS_0:ARGUMENT_%d", i - 1);
		arg = mask_argument(&m, argv[i]);
		if (arg && i)
			db_meta_capture(c->report.db, name, arg);
		free(arg);
	}
	if (getcwd(cwd, sizeof(cwd)))
		db_meta_capture(c->report.db, "PROCESS_0:WORKING_DIR", cwd);
	number(c, "PROCESS_0:PID", c->root.pid);
}

/* 12345678 as "12,345,678". */
static const char *grouped(uint64_t n, char *text)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return text;
}

static void say_python_samples(struct collector *c, uint64_t lost)
{
	uint32_t version = c->kernel.sample.open ? sample_unknown_python(c->kernel.sample.open) : 0;
	bool is_default = c->options->kernel.python_is_default;

	if (lost)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"Python's frames of CPU samples: no room", (int64_t)lost);
	if (version == SAMPLE_PYTHON_NAMELESS)
		notes_say_asked(c, is_default,
				"a Python without symbols, whose version is unknown: samples are "
				"without its functions");
	else if (version)
		notes_say_asked(
			c, is_default,
			"Python %u.%u: where its stacks lie is not known, so samples are without "
			"its functions",
			version >> 8, version & 0xff);
	if (c->kernel.sample.open && sample_refused_python(c->kernel.sample.open))
		notes_say_asked(
			c, is_default,
			"other users' processes may not be looked into, so samples of theirs are "
			"without Python's functions (needs root, or CAP_SYS_PTRACE)");
}

static void lost_of(struct collector *c, const char *what, uint64_t cnt)
{
	if (cnt)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL, what, (int64_t)cnt);
}

static void say_samples(struct collector *c)
{
	struct sample_losses now = c->kernel.sample.losses, before = c->kernel.sample.losses_before;
	uint64_t lost = now.lost - before.lost, cut = now.truncated - before.truncated,
		 broken = now.broken - before.broken, all = now.samples - before.samples;
	char n[32];

	if (lost) {
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"CPU samples: the kernel's buffer was full", (int64_t)lost);
		notes_say_asked(c, c->options->kernel.sample_is_default,
				"%s CPU samples were lost: the kernel's buffer was full; a lower "
				"--sampling-frequency avoids it",
				grouped(lost, n));
	}
	lost_of(c, "CPU samples: throttled by the kernel", now.throttled - before.throttled);
	lost_of(c, "CPU samples: of threads that had just ended", now.ended - before.ended);
	lost_of(c, "page faults: the kernel's buffer was full",
		now.faults_full - before.faults_full);
	lost_of(c, "page faults: the kernel did not run the program that samples them",
		now.faults_missed - before.faults_missed);
	if (cut)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"callers in stacks of CPU samples: deeper than what comes along",
			(int64_t)cut);
	if (broken)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"callers in stacks of CPU samples: no unwinding table, or a damaged stack",
			(int64_t)broken);
	say_python_samples(c, now.python - before.python);
	lost_of(c, "names of Python's frames: the code object was gone before it was read",
		now.nameless - before.nameless);
	/* Code made at run time has neither tables nor, mostly, frame pointers: a note only if it is much. */
	if ((cut + broken) * 100 > all && !c->options->kernel.sample_is_default)
		notes_say(c, INFO,
			  "%s of the CPU samples lack their outer callers (see SL_LOST_EVENTS)",
			  grouped(cut + broken, n));
}

static void say_off_cpu(struct collector *c)
{
	const struct sample_losses *now = &c->kernel.sample.losses,
				   *before = &c->kernel.sample.losses_before;
	uint64_t full = now->away_full - before->away_full,
		 crowd = now->away_crowd - before->away_crowd,
		 cut = now->away_truncated - before->away_truncated,
		 broken = now->away_broken - before->away_broken, all = now->away - before->away;
	char n[32];

	if (full)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"stacks of threads without a CPU: the kernel's buffer was full",
			(int64_t)full);
	if (crowd)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"stacks of threads without a CPU: too many threads", (int64_t)crowd);
	if (full + crowd)
		notes_say(c, WARNING,
			  "%s stacks of threads without a CPU were lost: %s; a higher "
			  "--off-cpu-threshold makes them fewer",
			  grouped(full + crowd, n),
			  full ? "the kernel's buffer was full" : "there were too many threads");
	if (cut)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"callers in stacks of threads without a CPU: deeper than what is kept",
			(int64_t)cut);
	if (broken)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"callers in stacks of threads without a CPU: no unwinding table, or a "
			"damaged stack",
			(int64_t)broken);
	if ((cut + broken) * 100 > all)
		notes_say(c, INFO,
			  "%s of the stacks of threads without a CPU lack their outer callers (see "
			  "SL_LOST_EVENTS)",
			  grouped(cut + broken, n));
}

static void say_gpus(struct collector *c)
{
	const struct gpu_report *r = &c->arenas.gpu;
	char n[32];

	if (r->lost.dropped)
		notes_say(c, WARNING,
			  "%s records of the GPU's work were lost inside CUPTI, whose buffers were "
			  "full (see SL_LOST_EVENTS)",
			  grouped(r->lost.dropped, n));
	if (r->lost.untimed)
		notes_say(c, WARNING,
			  "%s kernels, copies or the like have no row: CUPTI has no times for "
			  "them, or they still ran when their process ended (see "
			  "SL_LOST_EVENTS)",
			  grouped(r->lost.untimed, n));
	if (r->lost.backward)
		notes_say(
			c, WARNING,
			"%s kernels, copies or the like have no row: CUPTI has an end before the "
			"start for them, as its device buffers are exhausted; record a part of the "
			"run (--capture-range), or whole graphs (--cuda-graph-trace=graph) (see "
			"SL_LOST_EVENTS)",
			grouped(r->lost.backward, n));
	if (r->lost.incomplete)
		notes_say(c, WARNING,
			  "at least %s records of the GPU's work were lost in buffers that CUPTI "
			  "did not complete (see SL_LOST_EVENTS)",
			  grouped(r->lost.incomplete, n));
	if (r->hurried)
		notes_say(c, WARNING,
			  "%s calls and records of GPUs did not wait for each other, too many "
			  "waited: some may stand twice, or without what they started",
			  grouped(r->hurried, n));
}

static void say_kernel_losses(struct collector *c)
{
	char n[32];

	if (c->kernel.sched.lost)
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"context switches: lost by the kernel", (int64_t)c->kernel.sched.lost);
	/* A few are skipped in nearly every run: those stand in the report alone. */
	if (c->kernel.sched.lost * 100 > c->kernel.sched.written + c->model.kernel_rows.cnt)
		notes_say(c, WARNING,
			  "%s context-switch events were lost by the kernel (its buffer was "
			  "full, or it skipped them)",
			  grouped(c->kernel.sched.lost, n));
	if (c->kernel.sched.calls_lost) {
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"system calls: the kernel's buffer was full",
			(int64_t)c->kernel.sched.calls_lost);
		notes_say(
			c, WARNING,
			"%s system calls were not recorded: the kernel's buffer was full; a higher "
			"--syscall-threshold avoids it",
			grouped(c->kernel.sched.calls_lost, n));
	}
}

static void say_other_records(struct collector *c)
{
	const uint64_t *of = c->arenas.lost.of;
	uint64_t nvtx = of[SL_LOST_NVTX] + of[SL_LOST_NVTX_END], gpu = of[SL_LOST_GPU], other = 0;
	char n[32];

	for (unsigned kind = 0; kind < SL_LOST_KINDS; kind++)
		other += of[kind];
	other -= nvtx + gpu + of[SL_LOST_LEFT] + of[SL_LOST_NVTX_COUNTER];
	if (of[SL_LOST_NVTX_COUNTER])
		notes_say(c, INFO,
			  "%s samples of NVTX counters were not recorded: the report has no rows "
			  "for them",
			  grouped(of[SL_LOST_NVTX_COUNTER], n));
	if (of[SL_LOST_LEFT])
		notes_say_asked(c, true,
				"%s calls did not return: longjmp(), an exception or exit() left "
				"them; they have no row",
				grouped(of[SL_LOST_LEFT], n));
	if (nvtx)
		notes_say(c, WARNING,
			  "%s NVTX ranges, marks or ends of ranges were not recorded: rings full; "
			  "there are no totals of them; a larger --buffer-size or --on-full=block "
			  "avoids it",
			  grouped(nvtx, n));
	if (gpu)
		notes_say(c, WARNING,
			  "%s calls of GPU libraries or records of the GPU's work were not "
			  "recorded: rings full; a larger --buffer-size or --on-full=block avoids "
			  "it",
			  grouped(gpu, n));
	if (other)
		notes_say(c, WARNING,
			  "%s names, descriptions of files or totals by file were not recorded: "
			  "rings full (see SL_LOST_EVENTS)",
			  grouped(other, n));
}

static void say_losses(struct collector *c)
{
	static const char *const policy[] = {"wait", "drop", "block"};
	const struct arenas *as = &c->arenas;
	char n[32];

	if (as->lost.full)
		notes_say(c, WARNING,
			  "%s calls were not recorded: rings full (policy %s); totals are exact "
			  "(SL_OSRT_TOTALS); a larger --buffer-size or --on-full=block avoids it",
			  grouped(as->lost.full, n), policy[c->options->rings.on_full]);
	if (as->lost.other)
		notes_say(c, WARNING,
			  "%s calls were not recorded: made inside the tracer by signal handlers, "
			  "or by more threads than there are slots (see SL_LOST_EVENTS)",
			  grouped(as->lost.other, n));
	say_other_records(c);
	if (as->lost.disk + c->kernel.sched.dead)
		notes_say(c, WARNING, "%s rows were lost: %s (see SL_LOST_EVENTS)",
			  grouped(as->lost.disk + c->kernel.sched.dead, n), as->lost.why);
	say_kernel_losses(c);
	say_samples(c);
	collect_counters_say(c);
	collect_host_say(c);
	collect_block_say(c);
	say_off_cpu(c);
	say_gpus(c);
	if (as->lost.corrupt)
		notes_say(c, WARNING,
			  "%s records made no sense and were left out (did the program "
			  "overwrite shared memory?)",
			  grouped(as->lost.corrupt, n));
	if (c->intake.turned_away)
		notes_say(c, WARNING,
			  "%s programs were not traced: the collector had no descriptors left "
			  "(ulimit -n)",
			  grouped(c->intake.turned_away, n));
	if (c->intake.silent.closed)
		notes_say(c, WARNING,
			  "%s connections were closed, as nothing came over them for a second, or "
			  "too many waited",
			  grouped(c->intake.silent.closed, n));
	if (as->lost.no_room)
		notes_say(c, WARNING,
			  "%s processes were not traced, or not to their end: their rings find no "
			  "place in the collector's memory (ulimit -v?)",
			  grouped(as->lost.no_room, n));
	if (as->lost.refused)
		notes_say(c, WARNING,
			  "%s processes were refused: their libtrace.so is of another build",
			  grouped(as->lost.refused, n));
	if (db_strings_lost(c->report.db))
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL, "texts: no room in the report",
			(int64_t)db_strings_lost(c->report.db));
	if (as->lost.greedy)
		notes_say(c, WARNING,
			  "%s records were dropped: their program filled the collector's memory "
			  "(see SL_LOST_EVENTS)",
			  grouped(as->lost.greedy, n));
	if (as->lost.unsound) {
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"rings: refused, no sealed memfd or not of a traced process",
			(int64_t)as->lost.unsound);
		notes_say(c, WARNING,
			  "%s rings were refused: no sealed memfd, or sent by a process that is "
			  "not traced",
			  grouped(as->lost.unsound, n));
	}
}

/* The program has the collector's limits. */
static const char *why_not_entered(void)
{
	struct rlimit room;
	int fd = memfd_create("sightline-probe", MFD_CLOEXEC);

	if (fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		return "memfd_create is refused: a container's seccomp profile?";
	if (fd >= 0)
		close(fd);
	if (!getrlimit(RLIMIT_AS, &room) && room.rlim_cur != RLIM_INFINITY)
		return "the rings need more address space than ulimit -v leaves it, or it is "
		       "statically linked or "
		       "setuid";
	return "statically linked, setuid, of another word size, or another loader";
}

void notes_end(struct collector *c)
{
	function_table_write(c->report.db);
	say_losses(c);
	if (c->options->trace && !c->model.counts.traced_images && !c->arenas.lost.no_room &&
	    !c->arenas.lost.refused)
		notes_say(c, WARNING,
			  "the program could not be entered (%s): the report has its processes and "
			  "context switches only",
			  why_not_entered());
	db_diagnostic(c->report.db, c->clocks.now, SOURCE_DAEMON, INFO, "Profiling has stopped.",
		      GLOBAL_VID);
}
