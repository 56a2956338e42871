/* notes.c - rows of a report besides events: the machine, the run, and losses. */
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
#include "collector/collect/event_sources.h"
#include "collector/decode/function_table.h"
#include "collector/mask/mask.h"
#include "preload/wire/clock.h"

#define SOURCE_DAEMON 2
#define GLOBAL_VID    (INT64_C(1) << 48)

void notes_say(struct collector *c, int severity, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	recording_vsay(&c->recording, severity, false, format, ap);
	va_end(ap);
}

void notes_say_asked(struct collector *c, bool is_default, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	recording_vsay(&c->recording, is_default ? SAY_INFO : SAY_WARNING, is_default, format, ap);
	va_end(ap);
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
	recording_number(&c->recording, "PROCESS_0:CUDA_FLUSH_PERIOD", o->cuda.flush_ms);
	db_meta_capture(c->report.db, "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE",
			o->cuda.flags & SL_CUDA_GRAPH_NODES ? "node" : "graph");
}

void notes_begin(struct collector *c)
{
	static const char *const scopes[] = {"none", "process-tree", "system-wide"};
	const struct profile_options *o = c->options;

	if (!capture_waits(&o->capture))
		db_diagnostic(c->report.db, 0, SOURCE_DAEMON, SAY_INFO, "Profiling has started.",
			      GLOBAL_VID);
	system_env(c);
	db_meta_capture(c->report.db, "CAPTURE_EVENT_TYPE",
			o->trace & SL_TRACE_OSRT ? "osrt" : "none");
	if (o->program.duration_s)
		recording_number(&c->recording, "RUN_DURATION_MS", o->program.duration_s * 1000);
	db_meta_capture(c->report.db, "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE",
			scopes[o->kernel.cpuctxsw]);
	recording_number(&c->recording, "OSRT_OPTIONS:THRESHOLD_NS", o->osrt.threshold_ns);
	if (o->kernel.syscalls)
		recording_number(&c->recording, "SL_SYSCALL_THRESHOLD_NS",
				 o->kernel.syscall_threshold_ns);
	if (o->kernel.off_cpu_ns >= 0)
		recording_number(&c->recording, "SL_OFF_CPU_THRESHOLD_NS", o->kernel.off_cpu_ns);
	if (o->kernel.events.scope != SCHED_MODE_NONE)
		recording_number(&c->recording, "SL_EVENT_SAMPLING_INTERVAL_MS",
				 o->kernel.event_ms);
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
	recording_number(&c->recording, "PROCESS_0:PID", c->root.pid);
}

static void say_gpus(struct collector *c)
{
	const struct gpu_report *r = &c->arenas.gpu;
	char n[32];

	if (r->lost.dropped)
		notes_say(c, SAY_WARNING,
			  "%s records of the GPU's work were lost inside CUPTI, whose buffers were "
			  "full (see SL_LOST_EVENTS)",
			  recording_grouped(r->lost.dropped, n));
	if (r->lost.untimed)
		notes_say(c, SAY_WARNING,
			  "%s kernels, copies or the like have no row: CUPTI has no times for "
			  "them, or they still ran when their process ended (see "
			  "SL_LOST_EVENTS)",
			  recording_grouped(r->lost.untimed, n));
	if (r->lost.backward)
		notes_say(
			c, SAY_WARNING,
			"%s kernels, copies or the like have no row: CUPTI has an end before the "
			"start for them, as its device buffers are exhausted; record a part of the "
			"run (--capture-range), or whole graphs (--cuda-graph-trace=graph) (see "
			"SL_LOST_EVENTS)",
			recording_grouped(r->lost.backward, n));
	if (r->lost.incomplete)
		notes_say(c, SAY_WARNING,
			  "at least %s records of the GPU's work were lost in buffers that CUPTI "
			  "did not complete (see SL_LOST_EVENTS)",
			  recording_grouped(r->lost.incomplete, n));
	if (r->hurried)
		notes_say(c, SAY_WARNING,
			  "%s calls and records of GPUs did not wait for each other, too many "
			  "waited: some may stand twice, or without what they started",
			  recording_grouped(r->hurried, n));
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
		notes_say(c, SAY_INFO,
			  "%s samples of NVTX counters were not recorded: the report has no rows "
			  "for them",
			  recording_grouped(of[SL_LOST_NVTX_COUNTER], n));
	if (of[SL_LOST_LEFT])
		notes_say_asked(c, true,
				"%s calls did not return: longjmp(), an exception or exit() left "
				"them; they have no row",
				recording_grouped(of[SL_LOST_LEFT], n));
	if (nvtx)
		notes_say(c, SAY_WARNING,
			  "%s NVTX ranges, marks or ends of ranges were not recorded: rings full; "
			  "there are no totals of them; a larger --buffer-size or --on-full=block "
			  "avoids it",
			  recording_grouped(nvtx, n));
	if (gpu)
		notes_say(c, SAY_WARNING,
			  "%s calls of GPU libraries or records of the GPU's work were not "
			  "recorded: rings full; a larger --buffer-size or --on-full=block avoids "
			  "it",
			  recording_grouped(gpu, n));
	if (other)
		notes_say(c, SAY_WARNING,
			  "%s names, descriptions of files or totals by file were not recorded: "
			  "rings full (see SL_LOST_EVENTS)",
			  recording_grouped(other, n));
}

static void say_losses(struct collector *c)
{
	static const char *const policy[] = {"wait", "drop", "block"};
	const struct arenas *as = &c->arenas;
	char n[32];

	if (as->lost.full)
		notes_say(c, SAY_WARNING,
			  "%s calls were not recorded: rings full (policy %s); totals are exact "
			  "(SL_OSRT_TOTALS); a larger --buffer-size or --on-full=block avoids it",
			  recording_grouped(as->lost.full, n), policy[c->options->rings.on_full]);
	if (as->lost.other)
		notes_say(c, SAY_WARNING,
			  "%s calls were not recorded: made inside the tracer by signal handlers, "
			  "or by more threads than there are slots (see SL_LOST_EVENTS)",
			  recording_grouped(as->lost.other, n));
	say_other_records(c);
	if (as->lost.disk)
		notes_say(c, SAY_WARNING, "%s rows were lost: %s (see SL_LOST_EVENTS)",
			  recording_grouped(as->lost.disk, n), as->lost.why);
	sources_note_losses(&c->recording);
	say_gpus(c);
	if (as->lost.corrupt)
		notes_say(c, SAY_WARNING,
			  "%s records made no sense and were left out (did the program "
			  "overwrite shared memory?)",
			  recording_grouped(as->lost.corrupt, n));
	if (c->intake.turned_away)
		notes_say(c, SAY_WARNING,
			  "%s programs were not traced: the collector had no descriptors left "
			  "(ulimit -n)",
			  recording_grouped(c->intake.turned_away, n));
	if (c->intake.silent.closed)
		notes_say(c, SAY_WARNING,
			  "%s connections were closed, as nothing came over them for a second, or "
			  "too many waited",
			  recording_grouped(c->intake.silent.closed, n));
	if (as->lost.no_room)
		notes_say(c, SAY_WARNING,
			  "%s processes were not traced, or not to their end: their rings find no "
			  "place in the collector's memory (ulimit -v?)",
			  recording_grouped(as->lost.no_room, n));
	if (as->lost.refused)
		notes_say(c, SAY_WARNING,
			  "%s processes were refused: their libtrace.so is of another build",
			  recording_grouped(as->lost.refused, n));
	if (db_strings_lost(c->report.db))
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL, "texts: no room in the report",
			(int64_t)db_strings_lost(c->report.db));
	if (as->lost.greedy)
		notes_say(c, SAY_WARNING,
			  "%s records were dropped: their program filled the collector's memory "
			  "(see SL_LOST_EVENTS)",
			  recording_grouped(as->lost.greedy, n));
	if (as->lost.unsound) {
		db_lost(c->report.db, 0, c->clocks.now, DB_NULL,
			"rings: refused, no sealed memfd or not of a traced process",
			(int64_t)as->lost.unsound);
		notes_say(c, SAY_WARNING,
			  "%s rings were refused: no sealed memfd, or sent by a process that is "
			  "not traced",
			  recording_grouped(as->lost.unsound, n));
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
	/* One that was entered while it ran has answered; its image is recorded with its first call. */
	if (c->options->trace && !c->root.is_attached && !c->model.counts.traced_images &&
	    !c->arenas.lost.no_room && !c->arenas.lost.refused)
		notes_say(c, SAY_WARNING,
			  "the program could not be entered (%s): the report has its processes and "
			  "context switches only",
			  why_not_entered());
	db_diagnostic(c->report.db, c->clocks.now, SOURCE_DAEMON, SAY_INFO,
		      "Profiling has stopped.", GLOBAL_VID);
}
