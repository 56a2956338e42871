/*
 * profile_options.c - the table of `sightline profile` and what its words mean.
 *
 * Everything is parsed into one static place that the table points to, then checked and copied out:
 * nothing half-parsed ever reaches the caller.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/profile_options.h"

#include "collector/cmd.h"

/* Kinds of --trace; the first two have an effect. */
static const char trace_kinds[] =
	"osrt,none,cuda,cuda-hw,cuda-sw,nvtx,cufft,opengl,opengl-annotations,cudnn,cublas,cublas-"
	"verbose,"
	"cusolver,cusolver-verbose,cusparse,cusparse-verbose,cudla,cudla-verbose,openacc,openmp,"
	"mpi,"
	"nccl,ucx,oshmem,openxr,openxr-annotations,python-gil,gds,s3,s3-verbose,syscall,tegra-"
	"accelerators,"
	"vulkan,vulkan-annotations,dx11,dx11-annotations,dx12,dx12-annotations,wddm,nvvideo,"
	"nvmedia";

static struct {
	struct profile_options o;
	const char *trace, *cpuctxsw, *wait, *kill, *on_full, *export, *command_file;
	const char *cuda_graph_trace, *cuda_event_trace;
	bool cuda_memory_usage;
	struct capture_words capture;
} raw;

#define GROUP(title)                {.kind = OPT_GROUP, .help = title},
#define LATER(letter, name, values) {letter, name, OPT_LATER, values, NULL, "", NULL, NULL},
#define OLD(letter, name, values)   {letter, name, OPT_LATER, values, NULL, NULL, NULL, NULL},
static const struct opt table[] = {
#include "collector/profile_options.def"
	{0},
};

static void raw_init(void)
{
	memset(&raw, 0, sizeof(raw));
	profile_options_init(&raw.o);
	raw.trace = "cuda,nvtx,osrt";
	raw.cpuctxsw = "process-tree";
	raw.wait = "all";
	raw.kill = "sigterm";
	raw.on_full = "wait";
	raw.export = "sqlite";
	raw.cuda_graph_trace = "graph";
	raw.cuda_event_trace = "auto";
}

void profile_options_init(struct profile_options *options)
{
	*options = (struct profile_options){
		.trace = SL_TRACE_CUDA | SL_TRACE_NVTX | SL_TRACE_OSRT,
		.osrt_threshold_ns = 1000,
		.cuda_flush_ms = 1000,
		.cpuctxsw = SCHED_MODE_TREE,
		.inherit_environment = true,
		.show_output = true,
		.kill_signal = SIGTERM,
		.wait_all = true,
		.stop_on_exit = true,
		.on_full = SL_FULL_WAIT,
		.buffer_mib = 64,
		.flush_on_profiler_stop = true,
		.capture = {.end = CAPTURE_END_STOP_SHUTDOWN, .hotkey = "F12"},
	};
}

/* ---- meaning of values that are no plain number or truth ---- */

/* cuda-hw is how nsys asks for hardware time stamps, -verbose for the calls inside calls: there is one way here. */
static uint32_t trace_kind(const char *name, size_t len)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[] = {
		{"osrt", SL_TRACE_OSRT},
		{"cuda", SL_TRACE_CUDA},
		{"cuda-hw", SL_TRACE_CUDA},
		{"cuda-sw", SL_TRACE_CUDA},
		{"nvtx", SL_TRACE_NVTX},
		{"cublas", SL_TRACE_CUBLAS},
		{"cublas-verbose", SL_TRACE_CUBLAS},
		{"cudnn", SL_TRACE_CUDNN},
		{"nccl", SL_TRACE_NCCL},
		{"cufft", SL_TRACE_CUFFT},
		{"cusparse", SL_TRACE_CUSPARSE},
		{"cusparse-verbose", SL_TRACE_CUSPARSE},
		{"cusolver", SL_TRACE_CUSOLVER},
		{"cusolver-verbose", SL_TRACE_CUSOLVER},
		{"gds", SL_TRACE_GDS},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0)
			return kinds[i].kind;
	return 0;
}

static void read_trace(void)
{
	char later[512] = "";

	raw.o.trace = 0;
	for (const char *p = raw.trace; *p;) {
		size_t len = strcspn(p, ","), used = strlen(later);
		uint32_t kind = trace_kind(p, len);

		raw.o.trace |= kind;
		if (!kind && len > 0 && !(len == 4 && memcmp(p, "none", 4) == 0))
			snprintf(later + used, sizeof(later) - used, "%s%.*s", used ? ", " : "",
				 (int)len, p);
		p += len + (p[len] == ',');
	}
	if (later[0])
		sl_warn("profile: not yet traced: %s", later);
}

static int read_kill(void)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"none", 0}, {"sigkill", SIGKILL}, {"sigterm", SIGTERM}, {"sigint", SIGINT}};
	char *end;
	long n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(raw.kill, names[i].name) == 0) {
			raw.o.kill_signal = names[i].number;
			return 0;
		}
	}
	n = strtol(raw.kill, &end, 10);
	if (end == raw.kill || *end || n < 1 || n > SIGRTMAX) {
		sl_warn("profile: option '--kill' takes none, sigkill, sigterm or a signal's "
			"number, not '%s' "
			"(see 'sightline profile --help')",
			raw.kill);
		return -SL_EXIT_USAGE;
	}
	raw.o.kill_signal = (int)n;
	return 0;
}

/*
 * graph or node, and behind colons what nsys has besides: how graphs that run on the device are traced, and NVTX
 * ranges around nodes. There is one way here, so these are taken and have no effect.
 */
static int read_cuda(void)
{
	static const char *const more[] = {"host-only", "host-and-device", "nvtx-live",
					   "nvtx-precapture"};
	const char *p = raw.cuda_graph_trace;
	size_t len = strcspn(p, ":");
	bool is_node = len == 4 && memcmp(p, "node", 4) == 0;
	bool is_known = is_node || (len == 5 && memcmp(p, "graph", 5) == 0);

	for (p += len; *p && is_known; p += len) {
		len = strcspn(++p, ":");
		is_known = false;
		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			is_known |= strlen(more[i]) == len && memcmp(p, more[i], len) == 0;
	}
	if (!is_known) {
		sl_warn("profile: option '--cuda-graph-trace' takes graph or node, not '%s' (see "
			"'sightline profile --help')",
			raw.cuda_graph_trace);
		return -SL_EXIT_USAGE;
	}
	raw.o.cuda_flags = (is_node ? SL_CUDA_GRAPH_NODES : 0u) |
			   (raw.cuda_memory_usage ? SL_CUDA_MEMORY_USAGE : 0u) |
			   (raw.cuda_event_trace[0] == 't' ? SL_CUDA_EVENTS : 0u) |
			   (raw.o.cuda_um_cpu_faults || raw.o.cuda_um_gpu_faults ? SL_CUDA_UM : 0u);
	return 0;
}

static int read_env(void)
{
	const char *cursor = raw.o.env_vars;
	int rc = 0;
	char *entry;

	while (rc == 0 && (entry = profile_env_next(&cursor))) {
		if (!strchr(entry, '=') || entry[0] == '=') {
			sl_warn("profile: option '--env-var' takes NAME=VALUE,..., not '%s' (a "
				"comma inside a "
				"value is written \\,)",
				entry);
			rc = -SL_EXIT_USAGE;
		}
		free(entry);
	}
	return rc;
}

/* From words to struct profile_options; the table has checked ENUM and LIST words already. */
static int settle(struct profile_options *options)
{
	struct profile_options *o = &raw.o;
	int rc;

	o->cpuctxsw = raw.cpuctxsw[0] == 'p'   ? SCHED_MODE_TREE
		      : raw.cpuctxsw[0] == 's' ? SCHED_MODE_SYSTEM
					       : SCHED_MODE_NONE;
	o->wait_all = raw.wait[0] == 'a';
	o->on_full = raw.on_full[0] == 'w'   ? SL_FULL_WAIT
		     : raw.on_full[0] == 'd' ? SL_FULL_DROP
					     : SL_FULL_BLOCK;
	rc = read_kill();
	if (rc == 0)
		rc = read_cuda();
	if (rc == 0)
		rc = read_env();
	if (rc == 0)
		rc = capture_options_read(&o->capture, &raw.capture, "profile");
	if (rc < 0)
		return rc;
	if (!o->stop_on_exit && o->duration_s == 0) {
		sl_warn("profile: '--stop-on-exit=false' needs an end: give --duration=SECONDS "
			"too");
		return -SL_EXIT_USAGE;
	}
	read_trace();
	if (strcmp(raw.export, "sqlite") != 0 && strcmp(raw.export, "none") != 0)
		sl_warn("profile: accepted, but not yet in effect: --export=%s (the report is "
			"SQLite)",
			raw.export);
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

/* ---- texts to words ---- */

struct words {
	char *text; /* holds all words, NUL after each */
	char **argv;
	int argc;
};

static void words_release(struct words *w)
{
	free(w->text);
	free(w->argv);
}

/* Copies one word from @in to *@out with quotes taken off; returns what follows, NULL when a quote never ends. */
static const char *take_word(const char *in, char **out)
{
	char quote = 0;
	char *to = *out;

	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (quote && *in == quote)
			quote = 0;
		else if (!quote && (*in == '\'' || *in == '"'))
			quote = *in;
		else if (*in == '\\' && quote != '\'' && in[1] &&
			 (!quote || in[1] == '"' || in[1] == '\\'))
			*to++ = *++in;
		else
			*to++ = *in;
	}
	*to++ = '\0';
	*out = to;
	return quote ? NULL : in;
}

/* argv[0] is @source, as a program's would be. 0, or -errno (-EINVAL: a quote without end). */
static int split(struct words *w, const char *source, const char *text)
{
	size_t len = strlen(text);
	char *to;

	*w = (struct words){0};
	w->text = malloc(2 * len + strlen(source) + 2);
	w->argv = calloc(len / 2 + 3, sizeof(*w->argv));
	if (!w->text || !w->argv)
		return -ENOMEM;
	to = stpcpy(w->text, source) + 1;
	w->argv[w->argc++] = w->text;
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (*text == '#') {
			text += strcspn(text, "\n");
			continue;
		}
		if (!*text)
			return 0;
		w->argv[w->argc++] = to;
		text = take_word(text, &to);
		if (!text)
			return -EINVAL;
	}
}

/*
 * Parses @text into raw, over what is there. The words stay allocated: options point into them, and there
 * are at most two such texts in the life of a process.
 */
static int parse_text(const char *text, const char *source)
{
	static struct words kept[2];
	static size_t kept_cnt;
	struct words *w = &kept[kept_cnt++ % 2];
	char cmd[300];
	int rc;

	words_release(w);
	rc = split(w, source, text);
	if (rc < 0) {
		sl_warn("profile: %s: %s", source,
			rc == -EINVAL ? "a quote is never closed" : "out of memory");
		return -SL_EXIT_USAGE;
	}
	/* Help would go to the output of the program that is to be traced. */
	for (int i = 1; i < w->argc; i++) {
		if (strcmp(w->argv[i], "--help") == 0 || strcmp(w->argv[i], "-h") == 0 ||
		    strcmp(w->argv[i], "--completion-data") == 0) {
			sl_warn("profile: %s: '%s' makes no sense here", source, w->argv[i]);
			return -SL_EXIT_USAGE;
		}
	}
	snprintf(cmd, sizeof(cmd), "profile: %s", source);
	rc = opt_parse(table, w->argc, w->argv, cmd);
	if (rc >= 0 && rc < w->argc) {
		sl_warn("profile: %s: '%s' is no option; programs are named on the command line "
			"only",
			source, w->argv[rc]);
		rc = -SL_EXIT_USAGE;
	}
	return rc < 0 ? rc : 0;
}

#define COMMAND_FILE_MAX 65536

static int parse_file(const char *path)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = fopen(path, "re");
	int rc = -SL_EXIT_USAGE;

	if (f)
		text = malloc(COMMAND_FILE_MAX + 1);
	if (text) {
		errno = 0;
		len = fread(text, 1, COMMAND_FILE_MAX + 1, f);
	}
	if (!text || ferror(f)) {
		sl_warn("profile: cannot read the command file '%s': %s", path, strerror(errno));
	} else if (len > COMMAND_FILE_MAX || memchr(text, 0, len)) {
		sl_warn("profile: '%s' is no command file (more than 64 KiB, or binary)", path);
	} else {
		text[len] = '\0';
		raw.command_file = NULL;
		rc = parse_text(text, path);
		if (rc == 0 && raw.command_file) {
			sl_warn("profile: %s: a command file cannot name another one", path);
			rc = -SL_EXIT_USAGE;
		}
	}
	free(text);
	if (f)
		fclose(f);
	return rc;
}

int profile_options_parse(struct profile_options *options, int argc, char **argv)
{
	const char *file;
	int first, rc;

	raw_init();
	first = opt_parse(table, argc, argv, "profile");
	if (first < 0)
		return first;
	file = raw.command_file;
	if (file) {
		/* Again from the start, the file first, so that the command line has the last word. */
		raw_init();
		rc = parse_file(file);
		if (rc < 0)
			return rc;
		first = opt_parse(table, argc, argv, "profile");
		if (first < 0)
			return first;
	}
	rc = settle(options);
	return rc < 0 ? rc : first;
}

int profile_options_from_string(struct profile_options *options, const char *text,
				const char *source)
{
	const char *file;
	int rc;

	raw_init();
	rc = parse_text(text, source);
	file = raw.command_file;
	if (rc == 0 && file) {
		raw_init();
		rc = parse_file(file);
		if (rc == 0)
			rc = parse_text(text, source);
	}
	return rc < 0 ? rc : settle(options);
}
