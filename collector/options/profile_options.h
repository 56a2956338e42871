/*
 * profile_options.h - values of the options of `sightline profile`.
 *
 * One table (profile_options.def) serves the command line, --command-file and SIGHTLINE_OPTIONS of a
 * bare preload, so all three spell alike. Strings live as long as the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/options/capture_options.h"
#include "collector/options/event_options.h"
#include "collector/options/event_scope.h"
#include "collector/options/health_options.h"
#include "collector/options/stack_options.h"
#include "preload/wire/session.h"

enum wish {
	WISH_AUTO, /* where it is permitted; where it is not, nothing is printed */
	WISH_YES,
	WISH_NO
};

/* Events of the kernel to record: context switches, system calls, samples, counters, block requests. */
struct kernel_options {
	enum sched_mode cpuctxsw;
	bool syscalls; /* of the tree, seen by the kernel */
	int64_t syscall_threshold_ns;
	enum sched_mode sample; /* whose CPU samples */
	int64_t sample_hz;      /* per second of CPU time */
	int64_t sample_period; /* instead of that: a sample after so many cycles of the CPU; 0: not */
	int64_t samples_per_stack; /* every so many of a thread's have their stack */
	bool python_sampling;      /* with Python's frames */
	int64_t off_cpu_ns; /* threads without a CPU for so long have their stack; -1: none */
	struct event_options events; /* events to count */
	int64_t event_ms;            /* so often */
	int64_t host_hz;    /* counters of the machine are read so often per second; 0: not */
	enum wish block_io; /* requests to block devices */
	struct {
		bool cpuctxsw, sample, python, off_cpu;
	} is_default; /* no option asks for these: where they are refused, nothing is printed */
};

struct profile_options {
	const char *output; /* pattern for output_name(); NULL: report<N>.sqlite */
	bool force_overwrite;
	uint32_t trace; /* SL_TRACE_*: calls to hook; 0: the program runs without the shim */
	struct {
		int64_t threshold_ns;
		bool file_access;
	} osrt;
	struct {
		uint32_t flags; /* SL_CUDA_*: kinds of records from CUPTI */
		bool um_cpu_faults, um_gpu_faults;
		int64_t flush_ms; /* 0: when buffers are full */
		bool flush_on_profiler_stop;
		struct health_options health;
	} cuda;
	struct kernel_options kernel;
	struct {
		const char *
			env_vars; /* "A=B,C=D" as given, NULL none; take apart with profile_env_next() */
		bool inherit_environment;
		bool show_output; /* false: stdout and stderr of the program go to /dev/null */
		int kill_signal; /* for processes that run when collection ends before the program; 0: none */
		bool wait_all; /* wait for the whole process tree, not only for the first process */
		bool stop_on_exit;          /* end collection when the program ends */
		int64_t duration_s;         /* 0: until the program ends */
		const char *mask_arguments; /* "secrets", "all", "none": mask/mask.h */
	} program;
	bool stats; /* print the default reports at the end */
	struct {
		enum sl_on_full on_full;
		int64_t buffer_mib; /* backlog of records per process image */
		bool live_always; /* records become rows at once, whatever that costs the program */
	} rings;
	struct capture_options capture;
	struct stack_options stacks;
	bool resolve_symbols;    /* find the functions and lines of native frames */
	const char *session_new; /* name of the session, NULL: made up */
	struct {
		const char *start, *report; /* commands for sh; NULL none */
		const char *ranks,
			*run; /* --ranks: the dataset that reports go into; name of the run; NULL none */
		int64_t ranks_every; /* s; 0: at the end alone */
	} after;
	struct {
		const char *steps;     /* --python-step: MODULE:FUNC,... NULL none */
		const char *functions; /* --python-functions-trace: file, NULL none */
		const char *pytorch;   /* --pytorch, NULL none */
	} python;
};

/* Sets the defaults. */
void profile_options_init(struct profile_options *options);

/* Commands that take an option: `launch` options of the program, `start` options of one collection. */
enum option_side {
	OPTIONS_PROFILE = 1,
	OPTIONS_LAUNCH = 2,
	OPTIONS_START = 4,
};

/* True: no option asks for events of the kernel, or leaves out a part of them, and nothing waits for a range. */
bool profile_kernel_is_default(const struct profile_options *options);

/* As opt_parse(): index of the program's name in @argv, -SL_EXIT_USAGE or OPT_HELP_SHOWN. Calls init itself. */
int profile_options_parse(struct profile_options *options, int argc, char **argv);

/* The same for the options of another command; @session: value of --session, or NULL. */
int profile_options_parse_for(struct profile_options *options, enum option_side side, int argc,
			      char **argv, const char **session);

/*
 * For another process, which reads them with profile_options_add(): the options that were given to the last
 * profile_options_parse_for(), each as one word. -o is among them in any case, and means the same there.
 * 0, or -SL_EXIT_USAGE after one line on stderr.
 */
int profile_options_send(void (*take)(void *to, const char *word), void *to);

/*
 * Parses more options, over earlier ones of this process: @words end with NULL, and are copied. On
 * trouble (-SL_EXIT_USAGE) all is as it was, without a message: the sender has checked them.
 */
int profile_options_add(struct profile_options *options, enum option_side side, char **words);

/*
 * Options in one string, taken apart as a shell does with blanks, quotes and backslashes (no variables, no
 * globs). @source names the string in messages ("SIGHTLINE_OPTIONS"). Calls init itself. 0 or -SL_EXIT_USAGE.
 */
int profile_options_from_string(struct profile_options *options, const char *text,
				const char *source);

/* As if given by -o, also for profile_options_add(). */
void profile_options_set_output(struct profile_options *options, const char *pattern);

/* Returns the signal of --kill, 0 for none, -1 for an invalid word. */
int profile_kill_signal(const char *word);

/*
 * The next NAME=VALUE of options->env_vars: malloc'd, NULL at the end. *@cursor starts as env_vars.
 * A comma that belongs to a value is written "\,".
 */
char *profile_env_next(const char **cursor);
