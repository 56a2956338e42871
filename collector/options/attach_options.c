/* attach_options.c - the options of `sightline attach`, and their meaning. */
#include "collector/options/attach_options.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/options/profile_values.h"

#define OFF_CPU_NS 80000

/* As they were typed, and in `o` values that need no more reading. */
static struct {
	struct profile_options o;
	const char *pids, *cpuctxsw, *syscall, *sample, *off_cpu, *block_io;
	struct {
		bool cpuctxsw, syscall, sample, frequency, python_sampling, calls;
	} has; /* given by the user */
	int64_t frequency, python_frequency;
	struct health_words health;
	struct stack_words stacks;
	bool inject;
	uint32_t pid[ATTACH_PIDS_MAX];
	size_t cnt;
} raw;

static const struct opt opts[] = {
	{.kind = OPT_ABOUT,
	 .values = "sightline attach -p PID[,PID...] [options]",
	 .help = "Records context switches, CPU samples and system calls of processes that run "
		 "already, and of all\nthat they have started or will, until they end, --duration "
		 "is over, or Ctrl-C. Nothing is done to them\nwithout --inject.\n"
		 "Example:\n"
		 "  sightline attach -p $(pgrep -d, redis-server) -d 10 --syscall=process-tree\n"
		 "  sightline stats -r syscall_sum report1.sqlite"},
	{.kind = OPT_GROUP, .help = "Options:"},
	{'p', "pid", OPT_LIST, NULL, "PID,...", "processes, with everything below them", &raw.pids,
	 NULL},
	{'o', "output", OPT_STRING, NULL, "NAME",
	 "report file (default: report1.sqlite, report2.sqlite, ...), as\n"
	 "'sightline profile' has it",
	 &raw.o.output, NULL},
	{'f', "force-overwrite", OPT_BOOL, NULL, NULL,
	 "replace an existing report (default: false)", &raw.o.force_overwrite, NULL},
	{'d', "duration", OPT_INT, "0:31536000", "SECONDS",
	 "end after this time; 0: with the processes (default: 0)", &raw.o.program.duration_s,
	 NULL},
	{0, "inject", OPT_BOOL, NULL, NULL,
	 "bring libtrace.so into the processes, which then have their calls\n"
	 "of the C library recorded as under 'sightline profile', and leave\n"
	 "them again at the end; one thread of each is stopped for some\n"
	 "milliseconds (default: false)",
	 &raw.inject, NULL},
	{0, "cpuctxsw", OPT_ENUM, "process-tree,system-wide,none", "SCOPE",
	 "context switches of process-tree, system-wide or none\n(default: process-tree)",
	 &raw.cpuctxsw, &raw.has.cpuctxsw},
	{'s', "sample", OPT_ENUM, "process-tree,system-wide,none", "SCOPE",
	 "CPU samples with stacks of process-tree, system-wide or none\n(default: process-tree)",
	 &raw.sample, &raw.has.sample},
	{0, "sampling-frequency", OPT_INT, "100:8000", "HZ",
	 "samples per second of CPU time (default: 1000)", &raw.frequency, &raw.has.frequency},
	{0, "python-sampling", OPT_BOOL, NULL, NULL,
	 "CPU samples, and the stacks of --off-cpu-threshold, with\n"
	 "Python's functions in them (default: true, where eBPF is\n"
	 "permitted)",
	 &raw.o.kernel.python_sampling, &raw.has.python_sampling},
	{0, "python-sampling-frequency", OPT_INT, "1:2000", "HZ",
	 "the same as --sampling-frequency, which goes before it", &raw.python_frequency, NULL},
	{0, "off-cpu-threshold", OPT_STRING, NULL, "TIME",
	 "threads that leave the CPU by themselves, and have none for so\n"
	 "long, have the stack that they left it with; none, or e.g. 80us,\n"
	 "1ms (default: 80us beside CPU samples, where eBPF is permitted;\n"
	 "without a unit, ns)",
	 &raw.off_cpu, NULL},
	{0, "syscall", OPT_ENUM, "process-tree,none", "SCOPE",
	 "system calls of process-tree or none (default: none). Each\n"
	 "costs the program about 0.3 us",
	 &raw.syscall, &raw.has.syscall},
	{0, "syscall-threshold", OPT_INT, "0:1000000000000", "NS",
	 "shorter ones get no row of their own; they are counted exactly,\n"
	 "per thread and call (default: 1000)",
	 &raw.o.kernel.syscall_threshold_ns, NULL},
	{0, "gpu-metrics-devices", OPT_LIST, ",none,all,cuda-visible,help", "IDS",
	 "sample hardware metrics of these GPUs, whoever uses them:\n"
	 "numbers, all, cuda-visible, none, or help, which lists them",
	 &raw.health.devices, NULL},
	{0, "gpu-metrics-set", OPT_LIST, ",help", "NAME",
	 "which metrics (default: the first that fits)", &raw.health.set, NULL},
	{0, "gpu-metrics-frequency", OPT_STRING, NULL, "HZ",
	 "samples per second, 10 to 200000 (default: 10000)", &raw.health.frequency, NULL},
	{0, "gpu-health", OPT_INT, "0:100", "HZ",
	 "readings per second of the GPUs' power, clocks, memory, ...\n"
	 "(default: 0; 10 with --gpu-metrics-devices)",
	 &raw.health.hz, NULL},
	{0, "host-counters", OPT_INT, "0:100", "HZ",
	 "read counters of the machine so often per second: processors,\n"
	 "memory, pressure, the cgroup of the first process, disks,\n"
	 "network, energy; 0: not (default: 0)",
	 &raw.o.kernel.host_hz, NULL},
	{0, "block-io", OPT_ENUM, "auto,true,false", "WHETHER",
	 "requests to block devices, of the processes and of the kernel's\n"
	 "own threads (default: auto: where eBPF is permitted and context\n"
	 "switches are recorded)",
	 &raw.block_io, NULL},
	{0, "mask-arguments", OPT_ENUM, "secrets,all,none", "WHICH",
	 "arguments whose values the report does not have. secrets: those\n"
	 "called password, token, key, secret or the like; all: each one but\n"
	 "the program's name (default: secrets)",
	 &raw.o.program.mask_arguments, NULL},
	{.kind = OPT_GROUP, .help = "With --inject:"},
	{0, "osrt-threshold", OPT_INT, "0:1000000000000", "NS",
	 "calls shorter than this get no row of their own; they are\n"
	 "counted exactly, per thread and function (default: 1000)",
	 &raw.o.osrt.threshold_ns, &raw.has.calls},
	{0, "osrt-file-access", OPT_BOOL, NULL, NULL,
	 "rows for every call on a file, however short, and one per\n"
	 "open file (default: false)",
	 &raw.o.osrt.file_access, &raw.has.calls},
	{0, "osrt-backtrace-threshold", OPT_INT, "0:1000000000000", "NS",
	 "calls into the C library as long as this get the stack that\n"
	 "made them (default: 80000)",
	 &raw.stacks.osrt_ns, &raw.has.calls},
	{0, "osrt-backtrace-depth", OPT_INT, "1:255", "N",
	 "frames of a stack at most, of native code and of Python each\n"
	 "(default: 128)",
	 &raw.stacks.depth, &raw.has.calls},
	{0, "python-backtrace", OPT_LIST, "cuda,osrt,all,none", "KIND,...",
	 "Python's frames, too, of calls that get a stack: osrt, all or\n"
	 "none (default: osrt)",
	 &raw.stacks.python, &raw.has.calls},
	{.kind = OPT_GROUP, .help = "At the end:"},
	{0, "stats", OPT_BOOL, NULL, NULL,
	 "print the default tables at the end, as 'sightline stats'\ndoes (default: false)",
	 &raw.o.stats, NULL},
	{0},
};

static int wrong_pid(const char *word, size_t len)
{
	sl_warn("attach: option '--pid' takes numbers of processes, not '%.*s' (see 'sightline "
		"attach --help')",
		(int)len, word);
	return SL_EXIT_USAGE;
}

static int read_pids(void)
{
	for (const char *p = raw.pids; p && *p;) {
		size_t len = strcspn(p, ",");
		char *end;
		unsigned long pid = strtoul(p, &end, 10);
		bool is_known = false;

		if (!len || *p < '0' || *p > '9' || end != p + len || !pid || pid > INT32_MAX)
			return wrong_pid(p, len);
		for (size_t i = 0; i < raw.cnt; i++)
			is_known |= raw.pid[i] == pid;
		if (raw.cnt == ATTACH_PIDS_MAX) {
			sl_warn("attach: at most %d processes; what they start is followed anyway",
				ATTACH_PIDS_MAX);
			return SL_EXIT_USAGE;
		}
		if (!is_known)
			raw.pid[raw.cnt++] = (uint32_t)pid;
		p += len + (p[len] == ',');
	}
	if (raw.cnt)
		return 0;
	sl_warn("attach: no process given: -p PID (see 'sightline attach --help')");
	return SL_EXIT_USAGE;
}

static void read_samples(void)
{
	raw.o.kernel.sample = raw.sample[0] == 'p'   ? SCHED_MODE_TREE
			      : raw.sample[0] == 's' ? SCHED_MODE_SYSTEM
						     : SCHED_MODE_NONE;
	raw.o.kernel.is_default.python = !raw.has.python_sampling;
	raw.o.kernel.is_default.sample = false; /* the command is for them, above all */
	raw.o.kernel.sample_hz =
		raw.python_frequency && !raw.has.frequency ? raw.python_frequency : raw.frequency;
	if (raw.has.python_sampling && raw.o.kernel.python_sampling &&
	    raw.o.kernel.sample == SCHED_MODE_NONE && raw.o.kernel.off_cpu_ns < 0)
		sl_warn("attach: --sample=none: --python-sampling has no effect");
}

/* Calls are seen from inside alone. 0, or an exit status. */
static int read_calls(void)
{
	if (!raw.inject && raw.has.calls) {
		sl_warn("attach: --osrt-*, --python-backtrace: calls and stacks of calls are "
			"recorded with --inject alone; --python-sampling=true shows Python's "
			"functions in CPU samples");
		return SL_EXIT_USAGE;
	}
	if (raw.inject)
		raw.o.trace = SL_TRACE_OSRT;
	return raw.inject ? -stack_options_read(&raw.o.stacks, &raw.stacks, "attach") : 0;
}

/* 0, or an exit status + 1. */
static int read_options(int argc, char **argv)
{
	int first, rc;

	profile_options_init(&raw.o);
	raw.o.trace = 0;
	raw.o.program.kill_signal = 0;
	raw.o.capture.start_later = true; /* when they have been followed */
	raw.cpuctxsw = "process-tree";
	raw.syscall = "none";
	raw.block_io = "auto";
	raw.sample = "process-tree";
	raw.frequency = SAMPLE_HZ;
	raw.health.hz = -1;
	raw.stacks = (struct stack_words){.osrt_ns = STACK_OSRT_NS, .depth = STACK_DEPTH};
	first = opt_parse(opts, argc, argv, "attach");
	if (first == OPT_HELP_SHOWN)
		return 1;
	if (first < 0)
		return -first + 1;
	if (first < argc) {
		sl_warn("attach: '%s' is too much: processes are named by -p PID (see 'sightline "
			"attach --help')",
			argv[first]);
		return SL_EXIT_USAGE + 1;
	}
	raw.o.kernel.cpuctxsw = raw.cpuctxsw[0] == 'p'   ? SCHED_MODE_TREE
				: raw.cpuctxsw[0] == 's' ? SCHED_MODE_SYSTEM
							 : SCHED_MODE_NONE;
	raw.o.kernel.syscalls = raw.syscall[0] == 'p';
	raw.o.kernel.block_io = profile_wish(raw.block_io);
	rc = read_calls();
	if (rc)
		return rc + 1;
	if (profile_read_off_cpu(raw.off_cpu, &raw.o.kernel.off_cpu_ns, "attach"))
		return SL_EXIT_USAGE + 1;
	read_samples();
	/* A wait has no other stack. */
	if (!raw.off_cpu && raw.o.kernel.sample == SCHED_MODE_TREE) {
		raw.o.kernel.is_default.off_cpu = true;
		raw.o.kernel.off_cpu_ns = OFF_CPU_NS;
	}
	rc = health_options_read(&raw.o.cuda.health, &raw.health, false, true, "attach");
	if (rc)
		return rc == OPT_HELP_SHOWN ? 1 : -rc + 1;
	if (!raw.inject && raw.o.kernel.cpuctxsw == SCHED_MODE_NONE && !raw.o.kernel.syscalls &&
	    raw.o.kernel.sample == SCHED_MODE_NONE && raw.o.kernel.off_cpu_ns < 0) {
		sl_warn("attach: nothing to record: neither context switches, nor system calls, "
			"nor CPU samples (see 'sightline attach --help')");
		return SL_EXIT_USAGE + 1;
	}
	rc = read_pids();
	return rc ? rc + 1 : 0;
}

int attach_options_read(int argc, char **argv, struct attach_options *to)
{
	int rc = read_options(argc, argv);

	to->o = raw.o;
	to->inject = raw.inject;
	to->cnt = raw.cnt;
	memcpy(to->pid, raw.pid, sizeof(to->pid));
	to->asks_kernel = raw.has.syscall || raw.has.cpuctxsw || raw.has.sample ||
			  raw.has.python_sampling || raw.off_cpu;
	return rc;
}
