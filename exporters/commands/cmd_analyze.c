/*
 * cmd_analyze.c - sightline analyze: faults of the traced program, ranked by their cost.
 *
 * All rules run before anything is printed: the ranking stands first, the evidence after it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "exporters/analyze/analyze.h"
#include "exporters/analyze/limit.h"
#include "exporters/read/db_read.h"
#include "exporters/why/answer/why.h"

#define EVIDENCE_TEXT 1024 /* bytes of a text in JSON, unless --max-bytes=0 */

static const char usage[] = "sightline analyze [options] REPORT.sqlite...";
static const char examples[] =
	"Examples:\n"
	"  sightline analyze run.sqlite                      # what costs most, with the evidence\n"
	"  sightline analyze -r gpu_gaps:gap=10 run.sqlite   # this rule: gaps from 10 ms on\n"
	"  sightline analyze rank*.sqlite                    # all ranks in one list\n"
	"  sightline analyze --filter-nvtx step run.sqlite   # only what happened in these ranges\n"
	"  sightline analyze -q -f json run.sqlite | jq .findings\n"
	"  sightline analyze --fail-on=severe run.sqlite     # a check for CI: exit status 3\n"
	"  sightline analyze -r ./mine.sql run.sqlite        # your own rule (see --help-rules)\n";

/* ---- options ---- */

static int parse(struct analyze *a, int argc, char **argv)
{
	struct tables *t = &a->t;
	bool unused;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'r', "rule", OPT_LIST, report_names(&rule_kind), "NAME[:ARG...][,...]",
		 "rules to apply, or paths of .sql files", &t->opt_reports, NULL},
		{'o', "output", OPT_LIST, NULL, "TARGET[,...]",
		 "- (console), BASE (files BASE_findings.ext, BASE_rule.ext), . (base from the "
		 "input), @COMMAND (pipe)",
		 &t->opt_outputs, NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "only errors besides findings and tables",
		 &t->quiet, NULL},
		{0, "fail-on", OPT_LIST, NULL, "SEVERITY|PERCENT%|RULE[,...]",
		 "exit status 3 when there is a finding of this severity (info, bad, severe) or "
		 "worse, of at least so much of the time, or of this rule",
		 &a->fail_on, NULL},
		{0, "rule-dir", OPT_LIST, NULL, "DIR[,...]", "folders searched first for NAME.sql",
		 &t->opt_dirs, NULL},
		TABLES_OPTS(t, &unused),
		{0, "help-rules", OPT_FLAG, NULL, NULL,
		 "list the rules; --help-rules=NAME shows arguments and columns, =ALL everything",
		 &unused, NULL},
		{0},
	};

	return tables_parse(t, opts, argc, argv);
}

static int severity_of(const char *word)
{
	for (int i = 0; i < SEVERITY_CNT; i++)
		if (strcmp(severity_names[i], word) == 0)
			return i;
	return -1;
}

/* "5%" as 0.05; -1: it is none. */
static double share_of(const char *word)
{
	char *end;
	double percent = strtod(word, &end);

	return end != word && strcmp(end, "%") == 0 && percent >= 0 ? percent / 100 : -1;
}

/* Every word of --fail-on means something; a rule must be one that runs. */
static int check_fail_on(const struct analyze *a)
{
	const char *list = a->fail_on;
	char word[64];

	while (report_next_word(&list, word, sizeof(word))) {
		const char *near = NULL;
		bool known = severity_of(word) >= 0 || share_of(word) >= 0;

		for (size_t i = 0; i < a->t.per_input && !known; i++)
			known = strcmp(a->t.report[i].name, word) == 0;
		if (known)
			continue;
		for (int i = 0; i < SEVERITY_CNT; i++)
			near = sl_nearest(word, near, severity_names[i]);
		for (size_t i = 0; i < a->t.per_input; i++)
			near = sl_nearest(word, near, a->t.report[i].name);
		sl_warn("analyze: --fail-on: '%s' is no severity, no percentage and no rule that "
			"runs here%s%s%s",
			word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		return SL_EXIT_USAGE;
	}
	return 0;
}

/* ---- running ---- */

/* Many rules on a large report take a while: a line of progress on a terminal. */
static void show_progress(const struct analyze *a, const struct table_job *job)
{
	static int shown = -1;
	size_t nr = job ? (size_t)(job - a->t.jobs) + 1 : 0;

	if (shown < 0)
		shown = !a->t.quiet && isatty(STDERR_FILENO);
	if (!shown)
		return;
	if (job)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", nr, a->t.job_cnt, job->report->name);
	else
		fputs("\r\033[K", stderr);
}

/* Runs one rule into memory. */
static int run_rule(struct analyze *a, struct analysis *an, size_t i)
{
	const struct table_job *job = &a->t.jobs[i];
	struct evidence *ev = &a->ev[i];
	struct sheet s = {
		.title = job->report->title,
		.name = job->report->name,
		.console = job->kind == OUTPUT_CONSOLE && job->format != &format_json,
		.opt = job->opt,
		.text_max = a->t.bounds.max_bytes ? EVIDENCE_TEXT : 0,
	};
	char why[TABLES_WHY] = "out of memory";

	ev->first = a->fs.cnt;
	ev->outcome = OUTCOME_FAILED;
	ev->rows = -1;
	s.out = open_memstream(&ev->text, &ev->len);
	if (s.out) {
		ev->rows = findings_run(an, job->report, a->t.unit, job->format, &s, &a->fs, why,
					sizeof(why));
		if (fclose(s.out) != 0 && ev->rows >= 0) {
			snprintf(why, sizeof(why), "out of memory");
			ev->rows = -1;
		}
	}
	ev->found = a->fs.cnt - ev->first;
	ev->wall = an->wall;
	if (ev->rows == FINDINGS_NO_DATA) {
		ev->outcome = OUTCOME_NO_DATA;
		snprintf(ev->missing, sizeof(ev->missing), "%.120s", why);
	} else if (ev->rows < 0) {
		show_progress(a, NULL);
		sl_warn("analyze: %s: %s", job->input, why);
		return -1;
	} else {
		ev->outcome = OUTCOME_DONE;
	}
	return 0;
}

/* Is the load of ranks asked about? */
static bool wants_ranks(const struct analyze *a)
{
	for (size_t i = 0; a->t.inputs.cnt > 1 && i < a->t.per_input; i++)
		if (strcmp(a->t.report[i].name, "gpu_imbalance") == 0)
			return true;
	return false;
}

/* Is there a head of the list, where the time of an input went? */
static bool has_head(const struct analyze *a, size_t in)
{
	const struct format *format = a->t.jobs[in * a->t.per_input].format;

	return a->t.all_defaults && (format->for_people || format == &format_json) &&
	       findings_have_limit(&a->t.filter);
}

/* The head is a part of the answer: half of it, of all reports together. */
static int put_head_json(const struct analyze *a, const struct why *y, const char *input, FILE *out)
{
	struct bounds b = {.limit = a->t.bounds.limit,
			   .max_bytes = a->t.bounds.max_bytes / 2 / (int64_t)a->t.inputs.cnt};
	static char name[] = "why", option[] = "-f", format[] = "json";
	char *words[] = {name, option, format, (char *)(uintptr_t)input, NULL};
	int rc;

	bounds_open(&b, 4, words);
	rc = why_put_json(out, y, input, &b);
	bounds_free(&b);
	return rc;
}

/* The head of the list. */
static int run_why(struct analyze *a, size_t in, const struct analysis *an,
		   struct gain_limit *limit)
{
	const struct format *format = a->t.jobs[in * a->t.per_input].format;
	const char *input = a->t.inputs.word[in];
	char why[TABLES_WHY] = "out of memory";
	sqlite3 *db;
	struct why y;
	size_t len;
	FILE *out;
	int rc = -1;

	/* To explain a span of time, why needs the events before the span too. */
	db = a->t.filter.time_cnt ? db_read_open(input, why, sizeof(why)) : an->db;
	if (db && (rc = why_run(&y, db, &a->t.filter, &(struct why_ask){.wall = &an->wall}, why,
				sizeof(why))) == 0) {
		out = open_memstream(&a->head[in], &len);
		if (out && format == &format_json)
			rc = put_head_json(a, &y, input, out);
		else if (out)
			why_put_text(out, &y, input, true);
		rc = out && fclose(out) == 0 && rc == 0 ? 0 : -1;
		*limit = findings_limit_of(&y);
	}
	if (rc < 0)
		sl_warn("analyze: %s: %s", input, why);
	if (db)
		why_free(&y);
	if (db != an->db)
		sqlite3_close(db);
	return rc;
}

static int run_input(struct analyze *a, size_t in, struct ranks *ranks)
{
	struct analysis an;
	struct gain_limit limit = {0};
	size_t first = a->fs.cnt;
	char why[TABLES_WHY] = "out of memory";
	bool head;
	int rc = 0;

	if (analysis_open(&an, a->t.inputs.word[in], &a->t.filter, a->t.all_defaults, why,
			  sizeof(why)) < 0) {
		sl_warn("analyze: %s", why);
		for (size_t i = 0; i < a->t.per_input; i++)
			a->ev[in * a->t.per_input + i].outcome = OUTCOME_FAILED;
		return SL_EXIT_FAIL;
	}
	head = a->t.per_input && has_head(a, in);
	if (head && run_why(a, in, &an, &limit) < 0)
		rc = SL_EXIT_FAIL;
	for (size_t i = in * a->t.per_input; i < (in + 1) * a->t.per_input; i++) {
		show_progress(a, &a->t.jobs[i]);
		if (run_rule(a, &an, i) < 0)
			rc = SL_EXIT_FAIL;
	}
	if (head) {
		findings_limit(&a->fs, first, &limit, wall_ns(&an.wall));
	} else if (findings_limit_report(&a->fs, first, &an, why, sizeof(why)) < 0) {
		sl_warn("analyze: %s: %s", an.input, why);
		rc = SL_EXIT_FAIL;
	}
	if (ranks && rc == 0 && ranks_add(ranks, &an, why, sizeof(why)) < 0) {
		sl_warn("analyze: %s: %s", an.input, why);
		rc = SL_EXIT_FAIL;
	}
	analysis_close(&an);
	return rc;
}

static int run_rules(struct analyze *a)
{
	struct ranks ranks = {0};
	bool with_ranks = wants_ranks(a);
	int rc = 0;

	for (size_t in = 0; in < a->t.inputs.cnt; in++)
		if (run_input(a, in, with_ranks ? &ranks : NULL) != 0)
			rc = SL_EXIT_FAIL;
	if (ranks_judge(&ranks, &a->fs) < 0) {
		sl_warn("analyze: out of memory");
		rc = SL_EXIT_FAIL;
	}
	free(ranks.list);
	show_progress(a, NULL);
	findings_rank(&a->fs);
	return rc;
}

/* ---- printing ---- */

struct target {
	enum output_kind kind;
	const char *target;
};

/* Writes one text to one place: the list when @job is NULL, else that job's evidence. */
static int write_one(const struct analyze *a, struct target to, const struct table_job *job,
		     const struct table_job *like, const char *input)
{
	struct output out = {
		.kind = to.kind, .target = to.target, .overwrite = a->t.force_overwrite};
	const struct evidence *ev = job ? &a->ev[job - a->t.jobs] : NULL;
	char why[TABLES_WHY] = "";
	int rc = output_open(&out, why, sizeof(why));

	if (rc == 0) {
		if (ev)
			fwrite(ev->text, 1, ev->len, out.f);
		else
			rc = analyze_list(a, like->format, &like->opt, input, out.f,
					  to.kind == OUTPUT_CONSOLE);
		if (rc < 0) {
			output_close(&out, false, why, sizeof(why));
			snprintf(why, sizeof(why), "out of memory");
		} else {
			rc = output_close(&out, true, why, sizeof(why));
		}
	}
	if (rc < 0)
		sl_warn("analyze: %s", why);
	else if (to.kind == OUTPUT_FILE && !a->t.quiet)
		printf("Wrote %s\n", to.target);
	return rc;
}

/* Where the list of an input goes: where its first table goes, in that one's format. */
static char *list_file(const struct analyze *a, size_t in)
{
	const struct table_job *job = &a->t.jobs[in * a->t.per_input];
	const char *base = a->t.spec_o.cnt > 0 ? a->t.spec_o.word[0] : "-";

	return tables_file(base, job->input, "findings", job->format->extension);
}

static int write_lists(const struct analyze *a)
{
	int rc = 0;

	for (size_t in = 0; in < a->t.inputs.cnt && a->t.per_input > 0; in++) {
		const struct table_job *job = &a->t.jobs[in * a->t.per_input];
		struct target to = {job->kind, job->target};
		char *file = NULL;

		if (job->kind == OUTPUT_FILE)
			to.target = file = list_file(a, in);
		if (write_one(a, to, NULL, job, job->kind == OUTPUT_CONSOLE ? NULL : job->input) <
		    0)
			rc = SL_EXIT_FAIL;
		free(file);
		if (job->kind == OUTPUT_CONSOLE)
			break; /* one for all */
	}
	return rc;
}

/* Is there something to show? Rules that were not named show only findings. */
static bool worth_it(const struct analyze *a, size_t i)
{
	const struct evidence *ev = &a->ev[i];
	bool inside = a->t.jobs[i].format == &format_json && a->t.jobs[0].format == &format_json;

	return ev->outcome == OUTCOME_DONE && !inside && (ev->found > 0 || !a->t.all_defaults) &&
	       (ev->rows > 0 || a->t.jobs[i].kind != OUTPUT_CONSOLE);
}

/* Evidence in the order of the findings, then that of rules that found nothing. */
static int write_evidence(const struct analyze *a)
{
	bool *done = calloc(a->t.job_cnt ? a->t.job_cnt : 1, sizeof(*done));
	int rc = 0;

	if (!done) {
		sl_warn("analyze: out of memory");
		return SL_EXIT_FAIL;
	}
	for (size_t k = 0; k < a->fs.cnt + a->t.job_cnt; k++) {
		size_t i = k < a->fs.cnt ? analyze_job_of(a, &a->fs.list[k]) : k - a->fs.cnt;
		const struct table_job *job = &a->t.jobs[i];

		if (i == a->t.job_cnt || done[i] || !worth_it(a, i))
			continue;
		done[i] = true;
		if (job->kind == OUTPUT_CONSOLE && a->t.inputs.cnt > 1 && job->format->for_people)
			printf("\n%s:", job->input);
		if (write_one(a, (struct target){job->kind, job->target}, job, job, NULL) < 0)
			rc = SL_EXIT_FAIL;
	}
	free(done);
	return rc;
}

/* An exit status after one line on stderr when --fail-on asked for it. */
static int verdict(const struct analyze *a)
{
	for (size_t i = 0; i < a->fs.cnt; i++) {
		const struct finding *f = &a->fs.list[i];
		const char *list = a->fail_on;
		char word[64];

		while (report_next_word(&list, word, sizeof(word))) {
			int severity = severity_of(word);
			double share = share_of(word);

			if (severity >= 0 ? (int)f->severity < severity
			    : share >= 0  ? f->share < share
					  : strcmp(f->rule, word) != 0)
				continue;
			sl_warn("analyze: --fail-on=%s: %s%s%s: %s", word, f->input,
				*f->input ? ": " : "", f->rule, f->text);
			return SL_EXIT_FOUND;
		}
	}
	return 0;
}

/* For a first look a few rows do; -r shows as many as asked for. */
static int shorten(struct analyze *a)
{
	for (size_t i = 0; a->t.all_defaults && i < a->t.per_input; i++) {
		const struct table_job *job = &a->t.jobs[i];
		struct report *rule = &a->t.report[i];
		char *args;

		if (job->kind != OUTPUT_CONSOLE || !job->format->for_people)
			continue;
		if (asprintf(&args, "%s:rows=10", rule->args) < 0) {
			sl_warn("analyze: out of memory");
			return SL_EXIT_FAIL;
		}
		free(rule->args);
		rule->args = args;
	}
	return 0;
}

static int plan(struct analyze *a)
{
	int rc = tables_check_inputs(&a->t);

	if (rc == 0)
		rc = tables_plan(&a->t);
	if (rc == 0)
		rc = check_fail_on(a);
	if (rc == 0 && a->t.jobs)
		rc = shorten(a);
	for (size_t in = 0; in < a->t.inputs.cnt && rc == 0 && a->t.jobs && a->t.per_input > 0;
	     in++) {
		char *file = list_file(a, in);

		if (a->t.jobs[in * a->t.per_input].kind == OUTPUT_FILE)
			rc = tables_check_file(&a->t, file ? file : "");
		free(file);
	}
	a->ev = calloc(a->t.job_cnt ? a->t.job_cnt : 1, sizeof(*a->ev));
	a->head = calloc(a->t.inputs.cnt ? a->t.inputs.cnt : 1, sizeof(*a->head));
	if (rc == 0 && (!a->ev || !a->head)) {
		sl_warn("analyze: out of memory");
		rc = SL_EXIT_FAIL;
	}
	return rc;
}

int cmd_analyze(int argc, char **argv)
{
	struct analyze a = {.t = {.kind = &rule_kind, .usage = usage}};
	const char *name = NULL;
	int rc, written;

	if (tables_wants_help(argc, argv, "--help-formats", &name))
		return tables_help_formats(a.t.kind, name);
	if (tables_wants_help(argc, argv, "--help-rules", &name))
		return tables_help_reports(a.t.kind, argc, argv, name);
	rc = parse(&a, argc, argv);
	bounds_default(&a.t.bounds);
	if (rc == 0)
		rc = plan(&a);
	if (rc == 0) {
		rc = run_rules(&a);
		written = write_lists(&a);
		if (written == 0)
			written = write_evidence(&a);
		fflush(stdout);
		rc = rc ? rc : written ? written : verdict(&a);
		if (rc == 0 && analyze_abstains(&a))
			rc = SL_EXIT_ABSTAINED;
	}
	for (size_t i = 0; a.ev && i < a.t.job_cnt; i++)
		free(a.ev[i].text);
	free(a.ev);
	for (size_t i = 0; a.head && i < a.t.inputs.cnt; i++)
		free(a.head[i]);
	free(a.head);
	findings_free(&a.fs);
	tables_free(&a.t);
	return rc == OPT_HELP_SHOWN ? 0 : rc;
}
