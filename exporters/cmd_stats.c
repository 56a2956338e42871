/*
 * cmd_stats.c - sightline stats: tables out of reports.
 *
 * Everything is checked first (inputs, reports, formats, targets), then done: wrong use or a bad
 * input leaves nothing half done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/cmd.h"
#include "exporters/db_read.h"
#include "exporters/output.h"
#include "exporters/query.h"
#include "exporters/report.h"

#define WHY 2048

struct words {
	char **word;
	size_t cnt;
};

struct job {
	const struct report *report;
	const struct format *format;
	struct format_options opt;
	enum output_kind kind;
	char *target; /* path or command */
	const char *input;
};

struct stats {
	const char *dirs, *timeunit, *sqlite;
	bool force_export, force_overwrite, quiet, help_formats, help_reports;
	struct words inputs;
	struct words spec_r, spec_f, spec_o;
	struct report *report; /* one per job of an input */
	struct job *jobs;
	size_t per_input, job_cnt;
	const struct time_unit *unit;
	bool all_defaults; /* no -r was given */
	bool fail;         /* some report failed */
};

static const char usage[] = "sightline stats [options] REPORT.sqlite...";
static const char examples[] =
	"Examples:\n"
	"  sightline stats run.sqlite                              the default reports\n"
	"  sightline stats -r osrt_sum,file_access_sum run.sqlite  these two\n"
	"  sightline stats -r osrt_trace -f csv -o . run.sqlite    into run_osrt_trace.csv\n"
	"  sightline stats -r osrt_sum -f json -q run.sqlite | jq  for other programs\n"
	"  sightline stats -r ./my.sql run.sqlite                  your own SQL\n"
	"  sightline stats -f csv,column -o .,- run.sqlite         position by position\n";

/* ---- lists ---- */

static int add_word(struct words *w, const char *text, size_t len)
{
	char **more = reallocarray(w->word, w->cnt + 1, sizeof(*more));
	char *copy = strndup(text, len);

	if (more)
		w->word = more;
	if (!more || !copy) {
		free(copy);
		sl_warn("stats: out of memory");
		return SL_EXIT_FAIL;
	}
	/* "\," is a comma that does not separate */
	for (char *p = copy; (p = strstr(p, "\\,")) != NULL; p++)
		memmove(p, p + 1, strlen(p));
	w->word[w->cnt++] = copy;
	return 0;
}

static int add_list(struct words *w, const char *list)
{
	while (list && *list) {
		size_t len = 0;
		int rc;

		while (list[len] && (list[len] != ',' || (len > 0 && list[len - 1] == '\\')))
			len++;
		rc = len > 0 ? add_word(w, list, len) : 0;
		if (rc)
			return rc;
		list += len + (list[len] == ',');
	}
	return 0;
}

static void free_words(struct words *w)
{
	for (size_t i = 0; i < w->cnt; i++)
		free(w->word[i]);
	free(w->word);
}

/* The i-th word; the last one stands for all that follow. */
static const char *word_at(const struct words *w, size_t i, const char *none)
{
	if (w->cnt == 0)
		return none;
	return w->word[i < w->cnt ? i : w->cnt - 1];
}

/* ---- options ---- */

/* The option's place among the words before "--", and what stands behind its '='; 0: not there. */
static int find_option(int argc, char **argv, const char *option, const char **value)
{
	size_t len = strlen(option);

	*value = NULL;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], option, len) != 0 ||
		    (argv[i][len] != '=' && argv[i][len] != '\0'))
			continue;
		if (argv[i][len] == '=')
			*value = argv[i] + len + 1;
		return i;
	}
	return 0;
}

/*
 * --help-reports and --help-formats take a name or nothing, which no other option does: here a name
 * may follow as a word of its own only when it cannot be a report file. True when help was asked for.
 */
static bool wants_help(int argc, char **argv, const char *option, const char **name)
{
	int at = find_option(argc, argv, option, name);

	if (at > 0 && !*name && at + 1 < argc && argv[at + 1][0] != '-' &&
	    access(argv[at + 1], F_OK) != 0)
		*name = argv[at + 1];
	return at > 0;
}

static int help_reports(int argc, char **argv, const char *name)
{
	const char *dirs;
	int at = find_option(argc, argv, "--report-dir", &dirs);

	if (at > 0 && !dirs && at + 1 < argc)
		dirs = argv[at + 1];
	return report_help(stdout, name, dirs);
}

/* Options may also stand behind the files: there is no program here whose options they could be. */
static int parse(struct stats *st, int argc, char **argv)
{
	const char *reports, *formats, *outputs, *dirs;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'r', "report", OPT_LIST, NULL, "NAME[:ARG...][,...]",
		 "reports to print, or paths of .sql files", &reports, NULL},
		{'f', "format", OPT_LIST, NULL, "FORMAT[:MODIFIER...][,...]",
		 "column, table, csv, tsv, json, hdoc, htable, or . (column on the console, else "
		 "csv)",
		 &formats, NULL},
		{'o', "output", OPT_LIST, NULL, "TARGET[,...]",
		 "- (console), BASE (file BASE_report.ext), . (base from the input), @COMMAND "
		 "(pipe)",
		 &outputs, NULL},
		{0, "timeunit", OPT_ENUM,
		 "nsec,usec,msec,seconds,ns,us,ms,s,nanoseconds,microseconds,milliseconds", "UNIT",
		 "nsec, usec, msec or seconds: unit of the columns marked (ns)", &st->timeunit,
		 NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "only errors besides the tables", &st->quiet,
		 NULL},
		{0, "report-dir", OPT_LIST, NULL, "DIR[,...]",
		 "folders searched first for NAME.sql", &dirs, NULL},
		{0, "force-overwrite", OPT_BOOL, NULL, "true|false", "replace existing files",
		 &st->force_overwrite, NULL},
		{0, "force-export", OPT_BOOL, NULL, "true|false",
		 "accepted; nothing is exported here, so nothing is ever stale", &st->force_export,
		 NULL},
		{0, "sqlite", OPT_STRING, NULL, "FILE", "database to read for FILE.nsys-rep",
		 &st->sqlite, NULL},
		{0, "filter-time", OPT_LATER, "value", "RANGE", "only events in a time range", NULL,
		 NULL},
		{0, "filter-nvtx", OPT_LATER, "value", "RANGE", "only events in an NVTX range",
		 NULL, NULL},
		{0, "help-reports", OPT_FLAG, NULL, NULL,
		 "list the reports; --help-reports=NAME tells columns and units, =ALL everything",
		 &st->help_reports, NULL},
		{0, "help-formats", OPT_FLAG, NULL, NULL, "list the formats; also =NAME",
		 &st->help_formats, NULL},
		{0},
	};
	int rc = 0, at = 0;

	while (rc == 0 && at < argc) {
		bool only_files = false;

		reports = formats = outputs = dirs = NULL;
		int n = opt_parse(opts, argc - at, argv + at, "stats");

		if (n == OPT_HELP_SHOWN)
			return n;
		if (n < 0)
			return -n;
		only_files = n > 1 && strcmp(argv[at + n - 1], "--") == 0;
		at += n;
		rc = add_list(&st->spec_r, reports);
		if (rc == 0)
			rc = add_list(&st->spec_f, formats);
		if (rc == 0)
			rc = add_list(&st->spec_o, outputs);
		if (dirs) {
			st->dirs = dirs;
		}
		do {
			if (rc == 0 && at < argc)
				rc = add_word(&st->inputs, argv[at], strlen(argv[at]));
			at += only_files;
		} while (only_files && at < argc);
	}
	return rc;
}

static void find_unit(struct stats *st)
{
	static const struct {
		const char *word;
		size_t unit;
	} also[] = {
		{"ns", 0}, {"nanoseconds", 0},  {"us", 1}, {"microseconds", 1},
		{"ms", 2}, {"milliseconds", 2}, {"s", 3},
	};

	st->unit = &time_units[0];
	for (size_t i = 0; st->timeunit && time_units[i].option; i++)
		if (strcmp(time_units[i].option, st->timeunit) == 0)
			st->unit = &time_units[i];
	for (size_t i = 0; st->timeunit && i < sizeof(also) / sizeof(also[0]); i++)
		if (strcmp(also[i].word, st->timeunit) == 0)
			st->unit = &time_units[also[i].unit];
}

/* ---- planning ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* x.nsys-rep stands for the database beside it; we say so. */
static int resolve_input(struct stats *st, char **input)
{
	char *sqlite;

	if (!ends_with(*input, ".nsys-rep"))
		return 0;
	if (st->sqlite)
		sqlite = strdup(st->sqlite);
	else if (asprintf(&sqlite, "%.*s.sqlite", (int)(strlen(*input) - strlen(".nsys-rep")),
			  *input) < 0)
		sqlite = NULL;
	if (!sqlite) {
		sl_warn("stats: out of memory");
		return SL_EXIT_FAIL;
	}
	if (access(sqlite, F_OK) != 0) {
		sl_warn("stats: %s cannot be read itself, and there is no %s; make it with: nsys "
			"export --type sqlite %s",
			*input, sqlite, *input);
		free(sqlite);
		return SL_EXIT_FAIL;
	}
	if (!st->quiet)
		fprintf(stderr, "sightline: using %s for %s\n", sqlite, *input);
	free(*input);
	*input = sqlite;
	return 0;
}

static int check_inputs(struct stats *st)
{
	char why[WHY];

	if (st->inputs.cnt == 0) {
		sl_warn("stats: no report is named: %s", usage);
		return SL_EXIT_USAGE;
	}
	for (size_t i = 0; i < st->inputs.cnt; i++) {
		char **input = &st->inputs.word[i];
		sqlite3 *db;
		int rc = resolve_input(st, input);

		if (rc)
			return rc;
		db = db_read_open(*input, why, sizeof(why));
		if (!db) {
			sl_warn("stats: %s", why);
			return SL_EXIT_FAIL;
		}
		sqlite3_close(db);
	}
	return 0;
}

/* The file that one report of one input goes to. */
static char *file_target(const char *base, const char *input, const struct job *job)
{
	char *path = NULL;
	int base_len = (int)strlen(base);

	if (strcmp(base, ".") == 0) {
		const char *name = strrchr(input, '/');
		const char *dot = strrchr(name ? name + 1 : input, '.');

		base = input;
		base_len = dot && dot != (name ? name + 1 : input) ? (int)(dot - input)
								   : (int)strlen(input);
	}
	if (asprintf(&path, "%.*s_%s.%s", base_len, base, job->report->name,
		     job->format->extension) < 0)
		return NULL;
	return path;
}

static int plan_target(struct stats *st, struct job *job, const char *output)
{
	if (job->kind == OUTPUT_CONSOLE)
		return 0;
	job->target = job->kind == OUTPUT_COMMAND ? strdup(output + 1)
						  : file_target(output, job->input, job);
	if (!job->target) {
		sl_warn("stats: out of memory");
		return SL_EXIT_FAIL;
	}
	if (job->kind != OUTPUT_FILE)
		return 0;
	if (!st->force_overwrite && access(job->target, F_OK) == 0) {
		sl_warn("stats: %s exists already; --force-overwrite=true replaces it",
			job->target);
		return SL_EXIT_FAIL;
	}
	for (const struct job *other = st->jobs; other < job; other++) {
		if (other->kind == OUTPUT_FILE && strcmp(other->target, job->target) == 0) {
			sl_warn("stats: two tables would go to %s; name another -o, or use '-o .'",
				job->target);
			return SL_EXIT_USAGE;
		}
	}
	return 0;
}

static int plan_job(struct stats *st, struct job *job, size_t i, const char *input)
{
	const char *output = word_at(&st->spec_o, i, "-");
	char why[WHY];

	job->input = input;
	job->report = &st->report[i];
	job->kind = strcmp(output, "-") == 0 ? OUTPUT_CONSOLE
		    : *output == '@'         ? OUTPUT_COMMAND
					     : OUTPUT_FILE;
	job->format = format_parse(word_at(&st->spec_f, i, "."),
				   job->kind == OUTPUT_CONSOLE ? &format_column : &format_csv,
				   &job->opt, why, sizeof(why));
	if (!job->format) {
		sl_warn("stats: %s", why);
		return SL_EXIT_USAGE;
	}
	return plan_target(st, job, output);
}

static int load_reports(struct stats *st)
{
	char *defaults = NULL;
	char why[WHY];
	int rc = 0;

	st->all_defaults = st->spec_r.cnt == 0;
	if (st->all_defaults) {
		defaults = report_defaults();
		rc = add_list(&st->spec_r, defaults);
		free(defaults);
	}
	st->per_input = st->spec_r.cnt;
	if (st->spec_f.cnt > st->per_input)
		st->per_input = st->spec_f.cnt;
	if (st->spec_o.cnt > st->per_input)
		st->per_input = st->spec_o.cnt;
	st->report = calloc(st->per_input ? st->per_input : 1, sizeof(*st->report));
	st->job_cnt = st->per_input * st->inputs.cnt;
	st->jobs = calloc(st->job_cnt ? st->job_cnt : 1, sizeof(*st->jobs));
	if (rc == 0 && (!st->report || !st->jobs)) {
		sl_warn("stats: out of memory");
		rc = SL_EXIT_FAIL;
	}
	for (size_t i = 0; i < st->per_input && rc == 0; i++) {
		rc = report_load(word_at(&st->spec_r, i, ""), st->dirs, &st->report[i], why,
				 sizeof(why));
		if (rc)
			sl_warn("stats: %s", why);
	}
	return rc;
}

static int plan(struct stats *st)
{
	int rc = load_reports(st);

	for (size_t i = 0; i < st->job_cnt && rc == 0; i++)
		rc = plan_job(st, &st->jobs[i], i % st->per_input,
			      st->inputs.word[i / st->per_input]);
	return rc;
}

/* ---- running ---- */

/*
 * Lines about what is going on. They go to stdout among tables for people, as with nsys, and to
 * stderr where a program may be reading stdout.
 */
static FILE *progress(const struct stats *st, const struct job *job)
{
	if (st->quiet)
		return NULL;
	return job->kind == OUTPUT_CONSOLE && !job->format->for_people ? stderr : stdout;
}

static void say_start(FILE *log, const struct job *job)
{
	if (!log)
		return;
	fprintf(log, "Processing [%s] with [%s]", job->input, job->report->name);
	if (job->kind != OUTPUT_CONSOLE)
		fprintf(log, " to [%s%s]", job->kind == OUTPUT_COMMAND ? "@" : "", job->target);
	fprintf(log, "...%s", job->kind == OUTPUT_CONSOLE ? "\n" : " ");
	fflush(log);
}

static void say_end(FILE *log, const struct job *job, long long rows)
{
	if (!log || rows < 0)
		return;
	if (job->kind != OUTPUT_CONSOLE)
		fprintf(log, "PROCESSED%s\n", rows == 0 ? " (EMPTY RESULTS)" : "");
	fflush(log);
}

static int write_table(const struct stats *st, const struct job *job, sqlite3 *db, long long *rows)
{
	struct output out = {
		.kind = job->kind,
		.target = job->target,
		.overwrite = st->force_overwrite,
	};
	struct sheet sheet = {
		.title = job->report->title,
		.name = job->report->name,
		.console = job->kind == OUTPUT_CONSOLE,
		.opt = job->opt,
	};
	char why[WHY] = "";
	int rc = output_open(&out, why, sizeof(why));

	if (rc == 0) {
		sheet.out = out.f;
		*rows = query_run(db, job->report, st->unit, job->format, &sheet, why, sizeof(why));
		if (*rows < 0) {
			char ignored[WHY];

			output_close(&out, false, ignored, sizeof(ignored));
			rc = -1;
		} else {
			rc = output_close(&out, true, why, sizeof(why));
		}
	}
	if (rc < 0) {
		if (!st->quiet && job->kind != OUTPUT_CONSOLE) {
			putchar('\n');
			fflush(stdout);
		}
		sl_warn("stats: %s: %s", job->input, why);
	}
	return rc;
}

static int run_job(struct stats *st, const struct job *job)
{
	FILE *log = progress(st, job);
	char why[WHY];
	long long rows = -1;
	int rc = 0;
	sqlite3 *db = db_read_open(job->input, why, sizeof(why));

	if (!db) {
		sl_warn("stats: %s", why);
		return -1;
	}
	if (query_has_data(db, job->report, why, sizeof(why))) {
		say_start(log, job);
		rc = write_table(st, job, db, &rows);
		if (rc == 0)
			say_end(log, job, rows);
	} else if (!st->all_defaults || !report_quiet(job->report)) {
		say_start(log, job);
		if (log)
			fprintf(log, "%sSKIPPED: %s does not contain %s data.\n\n",
				job->kind == OUTPUT_CONSOLE ? "" : "\n", job->input, why);
	}
	sqlite3_close(db);
	return rc;
}

static void free_stats(struct stats *st)
{
	for (size_t i = 0; st->jobs && i < st->job_cnt; i++)
		free(st->jobs[i].target);
	for (size_t i = 0; st->report && i < st->per_input; i++)
		report_free(&st->report[i]);
	free(st->jobs);
	free(st->report);
	free_words(&st->inputs);
	free_words(&st->spec_r);
	free_words(&st->spec_f);
	free_words(&st->spec_o);
}

int cmd_stats(int argc, char **argv)
{
	struct stats st = {0};
	const char *name = NULL;
	int rc;

	if (wants_help(argc, argv, "--help-formats", &name)) {
		if (format_help(stdout, name) == 0)
			return 0;
		sl_warn("stats: no format is called '%s' (see --help-formats)", name);
		return SL_EXIT_USAGE;
	}
	if (wants_help(argc, argv, "--help-reports", &name))
		return help_reports(argc, argv, name);
	rc = parse(&st, argc, argv);
	find_unit(&st);
	if (rc == 0)
		rc = check_inputs(&st);
	if (rc == 0)
		rc = plan(&st);
	for (size_t i = 0; i < st.job_cnt && rc == 0; i++)
		if (run_job(&st, &st.jobs[i]) < 0)
			st.fail = true;
	free_stats(&st);
	if (rc == OPT_HELP_SHOWN)
		return 0;
	return rc ? rc : st.fail ? SL_EXIT_FAIL : 0;
}
