/*
 * profile_values.c - turns words of options into values. The option table has checked numbers, truth values and words of a
 * list.
 */
#include "collector/options/profile_values.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/options/python_options.h"
#include "collector/options/ranks_options.h"
#include "collector/base/trace_kind.h"
#include "collector/options/trigger.h"

static const char sample_unsaid[] = "process-tree", cpuctxsw_unsaid[] = "process-tree";

void profile_options_init(struct profile_options *options)
{
	*options = (struct profile_options){
		.trace = SL_TRACE_CUDA | SL_TRACE_NVTX | SL_TRACE_OSRT,
		.osrt.threshold_ns = 1000,
		.cuda.flush_ms = 1000,
		.kernel.cpuctxsw = SCHED_MODE_TREE,
		.kernel.syscall_threshold_ns = 1000,
		.kernel.sample = SCHED_MODE_TREE,
		.kernel.sample_hz = SAMPLE_HZ_UNASKED,
		.kernel.python_sampling = true,
		.kernel.is_default = {true, true, true},
		.kernel.samples_per_stack = 1,
		.kernel.event_ms = 10,
		.kernel.off_cpu_ns = -1,
		.program.inherit_environment = true,
		.program.mask_arguments = "secrets",
		.program.show_output = true,
		.program.kill_signal = SIGTERM,
		.program.wait_all = true,
		.program.stop_on_exit = true,
		.rings.on_full = SL_FULL_WAIT,
		.rings.buffer_mib = 64,
		.cuda.flush_on_profiler_stop = true,
		.capture = {.end = CAPTURE_END_STOP_SHUTDOWN, .hotkey = "F12"},
		.stacks = STACK_OPTIONS_DEFAULT,
		.resolve_symbols = true,
		.after.ranks_every = 60,
	};
}

bool profile_kernel_is_default(const struct profile_options *options)
{
	const struct kernel_options *k = &options->kernel;

	return k->is_default.cpuctxsw && k->is_default.sample && k->is_default.python &&
	       !k->syscalls && k->off_cpu_ns < 0 && k->events.scope == SCHED_MODE_NONE &&
	       k->block_io == WISH_AUTO && !capture_waits(&options->capture) &&
	       !options->capture.flight_ns;
}

void profile_words_init(struct profile_words *w, enum option_side side)
{
	memset(w, 0, sizeof(*w));
	w->parse.side = side;
	profile_options_init(&w->o);
	w->word.trace = "cuda,nvtx,osrt";
	w->word.cpuctxsw = cpuctxsw_unsaid;
	w->word.syscall = "none";
	w->word.sample = sample_unsaid;
	w->word.wait = "all";
	w->word.kill = "sigterm";
	w->word.on_full = "wait";
	w->word.live = "auto";
	w->word.block_io = "auto";
	w->word.export = "sqlite";
	w->word.cuda_cupti = "auto";
	w->word.cuda_event_trace = "auto";
	w->health.hz = -1;
	w->stacks = (struct stack_words){.osrt_ns = STACK_OSRT_NS, .depth = STACK_DEPTH};
}

static void read_trace(struct profile_words *w)
{
	char later[512] = "";

	w->o.trace = 0;
	for (const char *p = w->word.trace; *p;) {
		size_t len = strcspn(p, ","), used = strlen(later);
		uint32_t kind = trace_kind_find(p, len);

		w->o.trace |= kind;
		if (len == 7 && memcmp(p, "syscall", 7) == 0)
			w->o.kernel.syscalls = true;
		else if (!kind && len > 0 && !(len == 4 && memcmp(p, "none", 4) == 0))
			snprintf(later + used, sizeof(later) - used, "%s%.*s", used ? ", " : "",
				 (int)len, p);
		p += len + (p[len] == ',');
	}
	if (later[0])
		sl_warn("%s: not yet traced: %s", w->parse.cmd, later);
}

static int wrong(const struct profile_words *w, const char *option, const char *takes,
		 const char *got)
{
	sl_warn("%s: option '--%s' takes %s, not '%s' (see 'sightline %s --help')", w->parse.cmd,
		option, takes, got, w->parse.cmd);
	return -SL_EXIT_USAGE;
}

int profile_kill_signal(const char *word)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"none", 0}, {"sigkill", SIGKILL}, {"sigterm", SIGTERM}, {"sigint", SIGINT}};
	char *end;
	long n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(word, names[i].name) == 0)
			return names[i].number;
	n = strtol(word, &end, 10);
	return end == word || *end || n < 1 || n > SIGRTMAX ? -1 : (int)n;
}

static int read_kill(struct profile_words *w)
{
	w->o.program.kill_signal = profile_kill_signal(w->word.kill);
	if (w->o.program.kill_signal >= 0)
		return 0;
	return wrong(w, "kill", "none, sigkill, sigterm or a signal's number", w->word.kill);
}

/*
 * graph or node, and after colons two additions of nsys: how graphs that run on the device are
 * traced, and NVTX ranges around nodes. Sightline has one way, so the additions are accepted and
 * have no effect.
 */
static int read_cuda(struct profile_words *w)
{
	static const char *const more[] = {"host-only", "host-and-device", "nvtx-live",
					   "nvtx-precapture"};
	const char *given = w->word.cuda_graph_trace, *p = given ? given : "";
	size_t len = strcspn(p, ":");
	bool is_node = len == 4 && memcmp(p, "node", 4) == 0;
	bool is_whole = len == 5 && memcmp(p, "graph", 5) == 0;
	bool is_known = is_node || is_whole || !given;

	for (p += len; given && *p && is_known; p += len) {
		len = strcspn(++p, ":");
		is_known = false;
		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			is_known |= strlen(more[i]) == len && memcmp(p, more[i], len) == 0;
	}
	if (!is_known)
		return wrong(w, "cuda-graph-trace", "graph or node", given);
	w->o.cuda.flags = (w->word.cuda_cupti[0] == 'n' ? SL_CUDA_NO_CUPTI : 0u) |
			  (is_node ? SL_CUDA_GRAPH_NODES : 0u) |
			  (is_whole ? SL_CUDA_GRAPH_WHOLE : 0u) |
			  (w->has.cuda_memory_usage ? SL_CUDA_MEMORY_USAGE : 0u) |
			  (w->word.cuda_event_trace[0] == 't' ? SL_CUDA_EVENTS : 0u) |
			  (w->o.cuda.um_cpu_faults || w->o.cuda.um_gpu_faults ? SL_CUDA_UM : 0u);
	return 0;
}

static int read_env(struct profile_words *w)
{
	const char *cursor = w->o.program.env_vars;
	int rc = 0;
	char *entry;

	while (rc == 0 && (entry = profile_env_next(&cursor))) {
		if (!strchr(entry, '=') || entry[0] == '=') {
			rc = wrong(w, "env-var",
				   "NAME=VALUE,... (a comma inside a value is written \\,)", entry);
		} else {
			char *value = strchr(entry, '=');

			*value++ = 0;
			w->capture.any_nvtx |= capture_is_any_nvtx(entry, value);
		}
		free(entry);
	}
	return rc;
}

/* The name of the range is the program's matter, when it counts the collection's: `launch` and `start` have a half each. */
static int read_capture(struct profile_words *w)
{
	struct capture_words c = w->capture;
	bool by_nvtx = c.range && strcasecmp(c.range, "nvtx") == 0;

	if (!by_nvtx && (w->parse.side == OPTIONS_LAUNCH || w->parse.is_more))
		c.nvtx = NULL;
	if (by_nvtx && !c.nvtx && w->parse.side == OPTIONS_START && !w->parse.is_joined)
		c.nvtx = "as launch gives it";
	return capture_options_read(&w->o.capture, &c, w->parse.cmd);
}

static int check_triggers(const struct profile_options *o, const char *cmd)
{
	static struct triggers ts;

	if (!o->capture.triggers)
		return 0;
	if (triggers_read(&ts, o->capture.triggers, cmd))
		return -SL_EXIT_USAGE;
	if (triggers_have(&ts, TRIGGER_RANK_LATE) && !o->after.ranks) {
		sl_warn("%s: option '--trigger': rank-late compares the ranks of a job, through "
			"the folder of "
			"--ranks=FOLDER",
			cmd);
		return -SL_EXIT_USAGE;
	}
	return triggers_check(&ts, o->trace, o->osrt.threshold_ns, cmd);
}

/* Python's frames come with CPU samples, so there is one frequency for both. */
static void read_frequency(struct profile_words *w)
{
	struct profile_options *o = &w->o;

	if (w->has.sample_hz)
		return;
	if (w->python_hz)
		o->kernel.sample_hz = w->python_hz;
	else
		o->kernel.sample_hz = o->kernel.is_default.sample ? SAMPLE_HZ_UNASKED : SAMPLE_HZ;
}

static int read_samples(struct profile_words *w)
{
	struct profile_options *o = &w->o;
	bool asks_python;

	if (o->kernel.sample_period && w->has.sample_hz) {
		sl_warn("%s: '--sampling-period' and '--sampling-frequency' exclude each other: "
			"give one of them (see 'sightline %s --help')",
			w->parse.cmd, w->parse.cmd);
		return -SL_EXIT_USAGE;
	}
	o->kernel.sample = w->word.sample[0] == 's'   ? SCHED_MODE_SYSTEM
			   : w->word.sample[0] == 'n' ? SCHED_MODE_NONE
						      : SCHED_MODE_TREE;
	if (!w->has.python_sampling)
		o->kernel.python_sampling = true;
	o->kernel.is_default.python = !w->has.python_sampling;
	asks_python = w->has.python_sampling && o->kernel.python_sampling;
	o->kernel.is_default.sample = w->word.sample == sample_unsaid && !asks_python &&
				      !w->has.sample_hz && !w->python_hz &&
				      !o->kernel.sample_period;
	if (asks_python && o->kernel.sample == SCHED_MODE_NONE && o->kernel.off_cpu_ns < 0)
		sl_warn("%s: --sample=none: --python-sampling has no effect", w->parse.cmd);
	read_frequency(w);
	return 0;
}

/* Turns off events that the flight recorder does not keep. */
static void leave_out(struct profile_options *o, const char *cmd)
{
	if (o->kernel.syscalls)
		sl_warn("%s: system calls are not kept by --flight: --syscall has no effect", cmd);
	if (o->kernel.events.scope != SCHED_MODE_NONE)
		sl_warn("%s: event counters are not kept by --flight: --event-sample has no effect",
			cmd);
	if (o->kernel.block_io == WISH_YES)
		sl_warn("%s: block I/O is not kept by --flight: --block-io has no effect", cmd);
	o->kernel.syscalls = false;
	o->kernel.events.scope = SCHED_MODE_NONE;
	o->kernel.block_io = WISH_NO;
}

enum wish profile_wish(const char *word)
{
	return word[0] == 't' ? WISH_YES : word[0] == 'f' ? WISH_NO : WISH_AUTO;
}

int profile_read_off_cpu(const char *word, int64_t *ns, const char *cmd)
{
	const char *rest = "";
	char *end;
	long long value;

	*ns = -1;
	if (!word || strcmp(word, "none") == 0)
		return 0;
	errno = 0;
	value = strtoll(word, &end, 10);
	if (*word >= '0' && *word <= '9' && *end) {
		value = time_read(word, &rest);
		errno = value ? 0 : EINVAL;
	}
	if (*word >= '0' && *word <= '9' && !*rest && !errno && value <= OFF_CPU_MOST_NS) {
		*ns = value;
		return 0;
	}
	sl_warn("%s: option '--off-cpu-threshold' takes a time (1ms, 50us; without a unit, "
		"nanoseconds) or none, not '%s' (see 'sightline %s --help')",
		cmd, word, cmd);
	return -SL_EXIT_USAGE;
}

int profile_words_settle(struct profile_words *w, const char *cmd, struct profile_options *options)
{
	struct profile_options *o = &w->o;
	int rc;

	w->parse.cmd = cmd;
	o->kernel.cpuctxsw = w->word.cpuctxsw[0] == 'p'   ? SCHED_MODE_TREE
			     : w->word.cpuctxsw[0] == 's' ? SCHED_MODE_SYSTEM
							  : SCHED_MODE_NONE;
	o->kernel.is_default.cpuctxsw = w->word.cpuctxsw == cpuctxsw_unsaid;
	o->kernel.syscalls = w->word.syscall[0] == 'p';
	if (w->word.syscall[1] == 'i')
		sl_warn("%s: --syscall=pid-namespace: those of the process tree are recorded",
			w->parse.cmd);
	o->program.wait_all = w->word.wait[0] == 'a';
	o->rings.on_full = w->word.on_full[0] == 'w'   ? SL_FULL_WAIT
			   : w->word.on_full[0] == 'd' ? SL_FULL_DROP
						       : SL_FULL_BLOCK;
	o->rings.live_always = w->word.live[1] == 'l';
	o->kernel.block_io = profile_wish(w->word.block_io);
	rc = profile_read_off_cpu(w->word.off_cpu, &o->kernel.off_cpu_ns, w->parse.cmd);
	if (rc == 0)
		rc = read_samples(w);
	if (rc == 0)
		rc = event_options_read(&o->kernel.events, &w->events, w->may_help, w->parse.cmd);
	if (rc == 0)
		rc = read_kill(w);
	if (rc == 0)
		rc = read_cuda(w);
	if (rc == 0)
		rc = read_env(w);
	if (rc == 0)
		rc = python_options_check(o, w->parse.cmd);
	if (rc == 0)
		rc = read_capture(w);
	if (rc == 0)
		rc = stack_options_read(&o->stacks, &w->stacks, w->parse.cmd);
	if (rc == 0 && o->session_new && !*o->session_new) {
		sl_warn("%s: option '--session-new' needs a name (see 'sightline %s --help')",
			w->parse.cmd, w->parse.cmd);
		rc = -SL_EXIT_USAGE;
	}
	/* `start` sends no dataset: its options are those of sessions that have theirs. */
	if (rc == 0 && w->parse.side != OPTIONS_START)
		rc = ranks_options_settle(o, w->parse.cmd);
	if (rc < 0)
		return rc;
	if (!o->program.stop_on_exit && o->program.duration_s == 0) {
		sl_warn("%s: '--stop-on-exit=false' needs an end: give --duration=SECONDS "
			"too",
			w->parse.cmd);
		return -SL_EXIT_USAGE;
	}
	read_trace(w);
	rc = health_options_read(&o->cuda.health, &w->health, o->trace & SL_TRACE_CUDA, w->may_help,
				 w->parse.cmd);
	if (rc)
		return rc;
	if (o->capture.flight_ns)
		leave_out(o, w->parse.cmd);
	if (check_triggers(o, w->parse.cmd))
		return -SL_EXIT_USAGE;
	if (strcmp(w->word.export, "sqlite") != 0 && strcmp(w->word.export, "none") != 0)
		sl_warn("%s: accepted, but not yet in effect: --export=%s (the report is "
			"SQLite)",
			w->parse.cmd, w->word.export);
	*options = *o;
	return 0;
}

char *profile_env_next(const char **cursor)
{
	const char *p = *cursor;
	size_t len = 0;
	char *entry;

	while (p && *p == ',')
		p++;
	if (!p || !*p)
		return NULL;
	entry = malloc(strlen(p) + 1);
	if (!entry)
		return NULL;
	for (; *p && *p != ','; p++) {
		if (p[0] == '\\' && p[1] == ',')
			p++;
		entry[len++] = *p;
	}
	entry[len] = '\0';
	*cursor = p;
	return entry;
}
