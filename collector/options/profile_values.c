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
#include "collector/base/trace_kind.h"
#include "collector/options/trigger.h"

static const char sample_unsaid[] = "none";

void profile_options_init(struct profile_options *options)
{
	*options = (struct profile_options){
		.trace = SL_TRACE_CUDA | SL_TRACE_NVTX | SL_TRACE_OSRT,
		.osrt_threshold_ns = 1000,
		.cuda_flush_ms = 1000,
		.cpuctxsw = SCHED_MODE_TREE,
		.syscall_threshold_ns = 1000,
		.sample_hz = 1000,
		.samples_per_stack = 1,
		.event_ms = 10,
		.off_cpu_ns = -1,
		.inherit_environment = true,
		.show_output = true,
		.kill_signal = SIGTERM,
		.wait_all = true,
		.stop_on_exit = true,
		.on_full = SL_FULL_WAIT,
		.buffer_mib = 64,
		.flush_on_profiler_stop = true,
		.capture = {.end = CAPTURE_END_STOP_SHUTDOWN, .hotkey = "F12"},
		.stacks = STACK_OPTIONS_DEFAULT,
		.resolve_symbols = true,
	};
}

void profile_words_init(struct profile_words *w, enum option_side side)
{
	memset(w, 0, sizeof(*w));
	w->side = side;
	profile_options_init(&w->o);
	w->trace = "cuda,nvtx,osrt";
	w->cpuctxsw = "process-tree";
	w->syscall = "none";
	w->sample = sample_unsaid;
	w->wait = "all";
	w->kill = "sigterm";
	w->on_full = "wait";
	w->export = "sqlite";
	w->cuda_graph_trace = "graph";
	w->cuda_event_trace = "auto";
	w->stacks = (struct stack_words){.osrt_ns = STACK_OSRT_NS, .depth = STACK_DEPTH};
}

static void read_trace(struct profile_words *w)
{
	char later[512] = "";

	w->o.trace = 0;
	for (const char *p = w->trace; *p;) {
		size_t len = strcspn(p, ","), used = strlen(later);
		uint32_t kind = trace_kind_find(p, len);

		w->o.trace |= kind;
		if (len == 7 && memcmp(p, "syscall", 7) == 0)
			w->o.syscalls = true;
		else if (!kind && len > 0 && !(len == 4 && memcmp(p, "none", 4) == 0))
			snprintf(later + used, sizeof(later) - used, "%s%.*s", used ? ", " : "",
				 (int)len, p);
		p += len + (p[len] == ',');
	}
	if (later[0])
		sl_warn("%s: not yet traced: %s", w->cmd, later);
}

static int wrong(const struct profile_words *w, const char *option, const char *takes,
		 const char *got)
{
	sl_warn("%s: option '--%s' takes %s, not '%s' (see 'sightline %s --help')", w->cmd, option,
		takes, got, w->cmd);
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
	w->o.kill_signal = profile_kill_signal(w->kill);
	if (w->o.kill_signal >= 0)
		return 0;
	return wrong(w, "kill", "none, sigkill, sigterm or a signal's number", w->kill);
}

/*
 * graph or node, and after colons what nsys has in addition: how graphs that run on the device are traced, and NVTX
 * ranges around nodes. There is one way here, so these are taken and have no effect.
 */
static int read_cuda(struct profile_words *w)
{
	static const char *const more[] = {"host-only", "host-and-device", "nvtx-live",
					   "nvtx-precapture"};
	const char *p = w->cuda_graph_trace;
	size_t len = strcspn(p, ":");
	bool is_node = len == 4 && memcmp(p, "node", 4) == 0;
	bool is_known = is_node || (len == 5 && memcmp(p, "graph", 5) == 0);

	for (p += len; *p && is_known; p += len) {
		len = strcspn(++p, ":");
		is_known = false;
		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			is_known |= strlen(more[i]) == len && memcmp(p, more[i], len) == 0;
	}
	if (!is_known)
		return wrong(w, "cuda-graph-trace", "graph or node", w->cuda_graph_trace);
	w->o.cuda_flags = (is_node ? SL_CUDA_GRAPH_NODES : 0u) |
			  (w->cuda_memory_usage ? SL_CUDA_MEMORY_USAGE : 0u) |
			  (w->cuda_event_trace[0] == 't' ? SL_CUDA_EVENTS : 0u) |
			  (w->o.cuda_um_cpu_faults || w->o.cuda_um_gpu_faults ? SL_CUDA_UM : 0u);
	return 0;
}

static int read_env(struct profile_words *w)
{
	const char *cursor = w->o.env_vars;
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

	if (!by_nvtx && (w->side == OPTIONS_LAUNCH || w->is_more))
		c.nvtx = NULL;
	if (by_nvtx && !c.nvtx && w->side == OPTIONS_START && !w->is_joined)
		c.nvtx = "as launch gives it";
	return capture_options_read(&w->o.capture, &c, w->cmd);
}

static int check_triggers(const struct profile_options *o, const char *cmd)
{
	static struct triggers ts;

	if (!o->capture.triggers)
		return 0;
	if (triggers_read(&ts, o->capture.triggers, cmd))
		return -SL_EXIT_USAGE;
	return triggers_check(&ts, o->trace, o->osrt_threshold_ns, cmd);
}

/* Python's frames come with CPU samples, so there is one frequency for both. */
static int read_samples(struct profile_words *w)
{
	struct profile_options *o = &w->o;

	if (o->sample_period && w->has_sample_hz) {
		sl_warn("%s: '--sampling-period' and '--sampling-frequency' exclude each other: "
			"give one of them (see 'sightline %s --help')",
			w->cmd, w->cmd);
		return -SL_EXIT_USAGE;
	}
	o->sample = w->sample[0] == 's'   ? SCHED_MODE_SYSTEM
		    : w->sample[0] == 'n' ? SCHED_MODE_NONE
					  : SCHED_MODE_TREE;
	if (!o->python_sampling)
		return 0;
	if (w->sample == sample_unsaid)
		o->sample = SCHED_MODE_TREE;
	else if (o->sample == SCHED_MODE_NONE && o->off_cpu_ns < 0)
		sl_warn("%s: --sample=none: --python-sampling has no effect", w->cmd);
	if (w->python_hz && !w->has_sample_hz)
		o->sample_hz = w->python_hz;
	return 0;
}

/* What the flight recorder does not keep. */
static void leave_out(struct profile_options *o, const char *cmd)
{
	if (o->syscalls)
		sl_warn("%s: system calls are not kept by --flight: --syscall has no effect", cmd);
	if (o->events.scope != SCHED_MODE_NONE)
		sl_warn("%s: event counters are not kept by --flight: --event-sample has no effect",
			cmd);
	o->syscalls = false;
	o->events.scope = SCHED_MODE_NONE;
}

int profile_read_off_cpu(const char *word, int64_t *ns, const char *cmd)
{
	char *end;
	long long value;

	*ns = -1;
	if (!word || strcmp(word, "none") == 0)
		return 0;
	errno = 0;
	value = strtoll(word, &end, 10);
	if (*word >= '0' && *word <= '9' && !*end && !errno && value <= OFF_CPU_MOST_NS) {
		*ns = value;
		return 0;
	}
	sl_warn("%s: option '--off-cpu-threshold' takes nanoseconds or none, not '%s' (see "
		"'sightline %s --help')",
		cmd, word, cmd);
	return -SL_EXIT_USAGE;
}

int profile_words_settle(struct profile_words *w, const char *cmd, struct profile_options *options)
{
	struct profile_options *o = &w->o;
	int rc;

	w->cmd = cmd;
	o->cpuctxsw = w->cpuctxsw[0] == 'p'   ? SCHED_MODE_TREE
		      : w->cpuctxsw[0] == 's' ? SCHED_MODE_SYSTEM
					      : SCHED_MODE_NONE;
	o->syscalls = w->syscall[0] == 'p';
	if (w->syscall[1] == 'i')
		sl_warn("%s: --syscall=pid-namespace: those of the process tree are recorded",
			w->cmd);
	o->wait_all = w->wait[0] == 'a';
	o->on_full = w->on_full[0] == 'w'   ? SL_FULL_WAIT
		     : w->on_full[0] == 'd' ? SL_FULL_DROP
					    : SL_FULL_BLOCK;
	rc = profile_read_off_cpu(w->off_cpu, &o->off_cpu_ns, w->cmd);
	if (rc == 0)
		rc = read_samples(w);
	if (rc == 0)
		rc = event_options_read(&o->events, &w->events, w->may_help, w->cmd);
	if (rc == 0)
		rc = read_kill(w);
	if (rc == 0)
		rc = read_cuda(w);
	if (rc == 0)
		rc = read_env(w);
	if (rc == 0)
		rc = python_options_check(o, w->cmd);
	if (rc == 0)
		rc = read_capture(w);
	if (rc == 0)
		rc = stack_options_read(&o->stacks, &w->stacks, w->cmd);
	if (rc == 0 && o->session_new && !*o->session_new) {
		sl_warn("%s: option '--session-new' needs a name (see 'sightline %s --help')",
			w->cmd, w->cmd);
		rc = -SL_EXIT_USAGE;
	}
	if (rc < 0)
		return rc;
	if (!o->stop_on_exit && o->duration_s == 0) {
		sl_warn("%s: '--stop-on-exit=false' needs an end: give --duration=SECONDS "
			"too",
			w->cmd);
		return -SL_EXIT_USAGE;
	}
	read_trace(w);
	if (o->capture.flight_ns)
		leave_out(o, w->cmd);
	if (check_triggers(o, w->cmd))
		return -SL_EXIT_USAGE;
	if (strcmp(w->export, "sqlite") != 0 && strcmp(w->export, "none") != 0)
		sl_warn("%s: accepted, but not yet in effect: --export=%s (the report is "
			"SQLite)",
			w->cmd, w->export);
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
