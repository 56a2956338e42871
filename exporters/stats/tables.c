/* tables.c - plans tables (reports x inputs x formats x outputs) and makes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/read/db_read.h"
#include "exporters/read/report_input.h"
#include "exporters/stats/tables.h"

static int no_memory(const struct tables *t)
{
	sl_warn("%s: out of memory", t->kind->command);
	return SL_EXIT_FAIL;
}

/* ---- lists ---- */

static int add_word(struct words *w, const char *text, size_t len)
{
	char **more = reallocarray(w->word, w->cnt + 1, sizeof(*more));
	char *copy = strndup(text, len);

	if (more)
		w->word = more;
	if (!more || !copy) {
		free(copy);
		return -1;
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

/* The i-th word; the last one stands for all positions after it. */
static const char *word_at(const struct words *w, size_t i, const char *none)
{
	if (w->cnt == 0)
		return none;
	return w->word[i < w->cnt ? i : w->cnt - 1];
}

/* ---- options ---- */

/* The option's place among the words before "--", and @value: the text after its '='; 0: not there. */
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
bool tables_wants_help(int argc, char **argv, const char *option, const char **name)
{
	int at = find_option(argc, argv, option, name);

	if (at > 0 && !*name && at + 1 < argc && argv[at + 1][0] != '-' &&
	    access(argv[at + 1], F_OK) != 0)
		*name = argv[at + 1];
	return at > 0;
}

int tables_help_formats(const struct report_kind *kind, const char *name)
{
	if (format_help(stdout, name) == 0)
		return 0;
	sl_warn("%s: no format is called '%s' (see --help-formats)", kind->command, name);
	return SL_EXIT_USAGE;
}

int tables_help_reports(const struct report_kind *kind, int argc, char **argv, const char *name)
{
	char option[32];
	const char *dirs;
	int at;

	snprintf(option, sizeof(option), "--%s-dir", kind->noun);
	at = find_option(argc, argv, option, &dirs);
	if (at > 0 && !dirs && at + 1 < argc)
		dirs = argv[at + 1];
	return report_help(kind, stdout, name, dirs);
}

static int add_filters(struct tables *t)
{
	char why[TABLES_WHY];

	if (db_filter_time(&t->filter, t->opt_time, why, sizeof(why)) == 0 &&
	    db_filter_nvtx(&t->filter, t->opt_nvtx, why, sizeof(why)) == 0 &&
	    db_filter_pid(&t->filter, t->opt_pid, why, sizeof(why)) == 0 &&
	    percentiles_parse(&t->percent, t->opt_percentiles, why, sizeof(why)) == 0)
		return 0;
	sl_warn("%s: %s", t->kind->command, why);
	return SL_EXIT_USAGE;
}

/* Options may also stand after the files: there is no program here whose options they could be. */
int tables_parse(struct tables *t, const struct opt *opts, int argc, char **argv)
{
	int rc = 0, at = 0;

	bounds_open(&t->bounds, argc, argv);
	while (rc == 0 && at < argc) {
		bool only_files = false;
		int n;

		t->opt_reports = t->opt_formats = t->opt_outputs = t->opt_dirs = NULL;
		t->opt_time = t->opt_pid = t->opt_nvtx = t->opt_percentiles = NULL;
		n = opt_parse(opts, argc - at, argv + at, t->kind->command);
		if (n == OPT_HELP_SHOWN)
			return n;
		if (n < 0)
			return -n;
		only_files = n > 1 && strcmp(argv[at + n - 1], "--") == 0;
		at += n;
		if (add_list(&t->spec_r, t->opt_reports) < 0 ||
		    add_list(&t->spec_f, t->opt_formats) < 0 ||
		    add_list(&t->spec_o, t->opt_outputs) < 0)
			rc = no_memory(t);
		if (rc == 0)
			rc = add_filters(t);
		if (t->opt_dirs)
			t->dirs = t->opt_dirs;
		if (t->opt_nvtx)
			t->nvtx = t->opt_nvtx;
		do {
			if (rc == 0 && at < argc &&
			    add_word(&t->inputs, argv[at], strlen(argv[at])) < 0)
				rc = no_memory(t);
			at += only_files;
		} while (only_files && at < argc);
	}
	return rc;
}

static void find_unit(struct tables *t)
{
	static const struct {
		const char *word;
		size_t unit;
	} also[] = {
		{"ns", 0}, {"nanoseconds", 0},  {"us", 1}, {"microseconds", 1},
		{"ms", 2}, {"milliseconds", 2}, {"s", 3},
	};

	t->unit = &time_units[0];
	for (size_t i = 0; t->timeunit && time_units[i].option; i++)
		if (strcmp(time_units[i].option, t->timeunit) == 0)
			t->unit = &time_units[i];
	for (size_t i = 0; t->timeunit && i < sizeof(also) / sizeof(also[0]); i++)
		if (strcmp(also[i].word, t->timeunit) == 0)
			t->unit = &time_units[also[i].unit];
}

/* ---- planning ---- */

sqlite3 *tables_open_quietly(const struct tables *t, const char *input, char *why, size_t why_len)
{
	char reason[TABLES_WHY / 2];
	sqlite3 *db = db_read_open(input, why, why_len);

	if (db && db_filter_apply(db, &t->filter, reason, sizeof(reason)) < 0) {
		snprintf(why, why_len, "%s: %s", input, reason);
		sqlite3_close(db);
		db = NULL;
	}
	return db;
}

/* An input, filtered; NULL after one line on stderr. */
static sqlite3 *tables_open(const struct tables *t, const char *input)
{
	char why[TABLES_WHY];
	sqlite3 *db = tables_open_quietly(t, input, why, sizeof(why));

	if (!db)
		sl_warn("%s: %s", t->kind->command, why);
	return db;
}

/* Warns of a report that is read before its end: it lacks the tables that are written last. */
static void warn_unfinished(const struct tables *t, sqlite3 *db, const char *input)
{
	if (!t->quiet && db_read_is_unfinished(db))
		sl_warn("%s: %s is not finished, stacks may have no names yet: it is being "
			"written, or 'sightline recover' ends it",
			t->kind->command, input);
}

int tables_check_inputs(struct tables *t)
{
	const struct report_input how = {
		.command = t->kind->command, .sqlite = t->sqlite, .quiet = t->quiet};

	if (t->inputs.cnt == 0) {
		sl_warn("%s: no report is named: %s", t->kind->command, t->usage);
		return SL_EXIT_USAGE;
	}
	for (size_t i = 0; i < t->inputs.cnt; i++) {
		char **input = &t->inputs.word[i];
		sqlite3 *db;
		int rc = report_input_find(&how, input);

		if (rc)
			return rc;
		db = tables_open(t, *input);
		if (!db)
			return SL_EXIT_FAIL;
		warn_unfinished(t, db, *input);
		sqlite3_close(db);
	}
	return 0;
}

char *tables_file(const char *base, const char *input, const char *name, const char *extension)
{
	char *path = NULL;
	int base_len = (int)strlen(base);

	if (strcmp(base, ".") == 0) {
		const char *file = strrchr(input, '/');
		const char *dot = strrchr(file ? file + 1 : input, '.');

		base = input;
		base_len = dot && dot != (file ? file + 1 : input) ? (int)(dot - input)
								   : (int)strlen(input);
	}
	if (asprintf(&path, "%.*s_%s.%s", base_len, base, name, extension) < 0)
		return NULL;
	return path;
}

int tables_check_file(const struct tables *t, const char *path)
{
	if (t->force_overwrite || access(path, F_OK) != 0)
		return 0;
	sl_warn("%s: %s exists already; --force-overwrite=true replaces it", t->kind->command,
		path);
	return SL_EXIT_FAIL;
}

/* As with nsys, the arguments of a report are part of its file's name, and so is the range. */
static char *target_name(const struct tables *t, const struct table_job *job)
{
	const struct report *r = job->report;
	const char *given = r->args + strlen(r->args) - r->given;
	const char *range = t->nvtx;
	char *name;

	if (asprintf(&name, "%s%s%s%s%s", r->name, *given ? "_" : "", given, range ? "_nvtx=" : "",
		     range ? range : "") < 0)
		return NULL;
	for (char *p = name; *p; p++)
		*p = *p == ':' ? '_' : *p == '/' ? '-' : *p;
	return name;
}

static int plan_target(struct tables *t, struct table_job *job, const char *output)
{
	char *name;

	if (job->kind == OUTPUT_CONSOLE)
		return 0;
	name = target_name(t, job);
	job->target = !name ? NULL
		      : job->kind == OUTPUT_COMMAND
			      ? strdup(output + 1)
			      : tables_file(output, job->input, name, job->format->extension);
	free(name);
	if (!job->target) {
		return no_memory(t);
	}
	if (job->kind != OUTPUT_FILE)
		return 0;
	if (tables_check_file(t, job->target))
		return SL_EXIT_FAIL;
	for (const struct table_job *other = t->jobs; other < job; other++) {
		if (other->kind == OUTPUT_FILE && strcmp(other->target, job->target) == 0) {
			sl_warn("%s: two tables would go to %s; name another -o, or use '-o .'",
				t->kind->command, job->target);
			return SL_EXIT_USAGE;
		}
	}
	return 0;
}

static int plan_job(struct tables *t, struct table_job *job, size_t i, const char *input)
{
	const char *output = word_at(&t->spec_o, i, "-");
	char why[TABLES_WHY];

	job->input = input;
	job->report = &t->report[i];
	job->kind = strcmp(output, "-") == 0 ? OUTPUT_CONSOLE
		    : *output == '@'         ? OUTPUT_COMMAND
					     : OUTPUT_FILE;
	job->format = format_parse(word_at(&t->spec_f, i, "."),
				   job->kind == OUTPUT_CONSOLE ? &format_column : &format_csv,
				   &job->opt, why, sizeof(why));
	if (!job->format) {
		sl_warn("%s: %s", t->kind->command, why);
		return SL_EXIT_USAGE;
	}
	return plan_target(t, job, output);
}

static int load_reports(struct tables *t)
{
	char *defaults = NULL;
	char why[TABLES_WHY];
	int rc = 0;

	/* nsys analyze spells its default, too */
	if (t->kind == &rule_kind && t->spec_r.cnt == 1 && strcmp(t->spec_r.word[0], "all") == 0) {
		free_words(&t->spec_r);
		t->spec_r = (struct words){0};
	}
	t->all_defaults = t->spec_r.cnt == 0;
	if (t->all_defaults) {
		defaults = report_defaults(t->kind);
		rc = add_list(&t->spec_r, defaults) < 0 ? no_memory(t) : 0;
		free(defaults);
	}
	t->per_input = t->spec_r.cnt;
	if (t->spec_f.cnt > t->per_input)
		t->per_input = t->spec_f.cnt;
	if (t->spec_o.cnt > t->per_input)
		t->per_input = t->spec_o.cnt;
	t->report = calloc(t->per_input ? t->per_input : 1, sizeof(*t->report));
	t->job_cnt = t->per_input * t->inputs.cnt;
	t->jobs = calloc(t->job_cnt ? t->job_cnt : 1, sizeof(*t->jobs));
	if (rc == 0 && (!t->report || !t->jobs)) {
		rc = no_memory(t);
	}
	for (size_t i = 0; i < t->per_input && rc == 0; i++) {
		rc = report_load(t->kind, word_at(&t->spec_r, i, ""), t->dirs, &t->report[i], why,
				 sizeof(why));
		t->report[i].percent = &t->percent;
		if (rc)
			sl_warn("%s: %s", t->kind->command, why);
	}
	return rc;
}

int tables_plan(struct tables *t)
{
	int rc = load_reports(t);

	find_unit(t);

	for (size_t i = 0; i < t->job_cnt && rc == 0; i++)
		rc = plan_job(t, &t->jobs[i], i % t->per_input, t->inputs.word[i / t->per_input]);
	return rc;
}

void tables_free(struct tables *t)
{
	bounds_free(&t->bounds);
	for (size_t i = 0; t->jobs && i < t->job_cnt; i++)
		free(t->jobs[i].target);
	for (size_t i = 0; t->report && i < t->per_input; i++)
		report_free(&t->report[i]);
	free(t->jobs);
	free(t->report);
	db_filter_free(&t->filter);
	free_words(&t->inputs);
	free_words(&t->spec_r);
	free_words(&t->spec_f);
	free_words(&t->spec_o);
}
