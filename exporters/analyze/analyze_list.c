/* analyze_list.c - the ranked list of findings: as sentences for people, as a table, as JSON. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/json.h"
#include "exporters/analyze/analyze.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/text/terminal.h"

static bool of_input(const char *name, const char *input)
{
	return !input || !*name || strcmp(name, input) == 0;
}

/* ---- for people ---- */

/* Columns to wrap at: those of the terminal, within the range that reads well. */
static size_t line_width(FILE *out)
{
	size_t columns = out == stdout ? terminal_columns(out) : 0;

	return columns < 40 ? 100 : columns < 120 ? columns : 120;
}

/* Words of @text in lines of at most @width columns; @first stands before the first. */
static void put_wrapped(FILE *out, const char *first, const char *text, size_t width)
{
	size_t indent = strlen(first), at = indent;
	bool begun = false;

	fputs(first, out);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (begun && at + 1 + len > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (begun) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += len;
		begun = true;
		text += len + strspn(text + len, " ");
	}
	putc('\n', out);
}

static void put_finding(const struct analyze *a, const struct finding *f, size_t nr, FILE *out,
			bool colour)
{
	static const char *const colours[SEVERITY_CNT] = {"\033[1m", "\033[1;33m", "\033[1;31m"};
	size_t width = line_width(out);
	char cost[32], lines[128];

	fprintf(out, "%3zu. %s%s%s  ", nr, colour ? colours[f->severity] : "",
		severity_names[f->severity], colour ? "\033[0m" : "");
	if (f->share >= 0) {
		findings_time(f->cost_ns, cost, sizeof(cost));
		fprintf(out, "%.1f %% of the time, %s: ", 100 * f->share, cost);
	}
	fprintf(out, "%s (%s)", f->title, f->rule);
	if (a->t.inputs.cnt > 1 && *f->input) {
		fputs(" in ", out);
		text_put_people(out, f->input);
	}
	putc('\n', out);
	put_wrapped(out, "     ", f->text, width);
	if (*f->advice)
		put_wrapped(out, "     > ", f->advice, width);
	if (*f->lines) {
		snprintf(lines, sizeof(lines), "No stack names a line: %s records more.", f->lines);
		put_wrapped(out, "     > ", lines, width);
	}
	if (*f->worst.row && *f->input) {
		fputs("     at worst: ", out);
		findings_put_view(out, f);
		putc('\n', out);
	}
	putc('\n', out);
}

/* Does the rule judge calls of CUDA or work of a GPU? */
static bool is_of_gpu(const struct report *rule)
{
	char needs[512];

	for (unsigned i = 0; report_field(rule->sql, "needs", i, needs, sizeof(needs)); i++)
		if (strncmp(needs, "CUPTI_", strlen("CUPTI_")) == 0 ||
		    strncmp(needs, "CUDA_", strlen("CUDA_")) == 0 ||
		    strncmp(needs, "SL_GPU_WORK", strlen("SL_GPU_WORK")) == 0 ||
		    strncmp(needs, "GPU_METRICS", strlen("GPU_METRICS")) == 0 ||
		    strncmp(needs, "SL_COUNTERS.gpuId", strlen("SL_COUNTERS.gpuId")) == 0)
			return true;
	return false;
}

/*
 * How many rules about GPUs ran on @input, when none of them had data: the program has nothing to do with any, and one by
 * one they say no more than that. 0: some had, or the rules were asked for by name.
 */
static size_t gpu_rules_in_vain(const struct analyze *a, const char *input)
{
	size_t cnt = 0;

	for (size_t i = 0; i < a->t.job_cnt && a->t.all_defaults; i++) {
		if (strcmp(a->t.jobs[i].input, input) != 0 || !is_of_gpu(a->t.jobs[i].report))
			continue;
		if (a->ev[i].outcome != OUTCOME_NO_DATA)
			return 0;
		cnt++;
	}
	return cnt;
}

/* "label: a, b (why), c." of the rules with this outcome that found nothing. */
static void put_others(const struct analyze *a, const char *input, enum outcome outcome,
		       const char *label, FILE *out)
{
	char *line = NULL, *first = NULL;
	size_t len;
	FILE *words = open_memstream(&line, &len);
	size_t gpu = outcome == OUTCOME_NO_DATA ? gpu_rules_in_vain(a, input) : 0;
	bool any = gpu > 0;

	if (words && gpu)
		fprintf(words, "%zu rules about GPUs (no CUDA call, no GPU work)", gpu);
	for (size_t i = 0; words && i < a->t.job_cnt; i++) {
		const struct evidence *ev = &a->ev[i];

		if (ev->outcome != outcome || ev->found > 0 ||
		    strcmp(a->t.jobs[i].input, input) != 0 ||
		    (gpu && is_of_gpu(a->t.jobs[i].report)))
			continue;
		fprintf(words, "%s%s", any ? ", " : "", a->t.jobs[i].report->name);
		if (outcome == OUTCOME_NO_DATA)
			fprintf(words, " (%s)", ev->missing);
		any = true;
	}
	if (!words || fclose(words) != 0)
		line = NULL;
	if (any && line && asprintf(&first, "%s: ", label) >= 0) {
		put_wrapped(out, first, line, line_width(out));
		free(first);
	}
	free(line);
}

static void put_prose(const struct analyze *a, const char *input, FILE *out, bool console)
{
	bool colour = console && sl_colour(STDOUT_FILENO);
	size_t nr = 0;

	for (size_t i = 0; i < a->t.inputs.cnt; i++)
		if (a->head[i] && of_input(a->t.inputs.word[i], input))
			fputs(a->head[i], out);
	putc('\n', out);
	for (size_t i = 0; i < a->fs.cnt; i++)
		if (of_input(a->fs.list[i].input, input))
			put_finding(a, &a->fs.list[i], ++nr, out, colour);
	if (a->t.quiet)
		return;
	for (size_t i = 0; i < a->t.inputs.cnt; i++) {
		const char *name = a->t.inputs.word[i];
		const struct wall *wall;
		char buf[32];

		if (!of_input(name, input) || a->t.per_input == 0)
			continue;
		wall = &a->ev[i * a->t.per_input].wall;
		findings_time(wall_ns(wall), buf, sizeof(buf));
		text_put_people(out, name);
		fprintf(out, ": %s wall time, %s", buf, wall_basis_text(wall->basis));
		if (wall->recorded) {
			findings_time(wall->recorded, buf, sizeof(buf));
			fprintf(out, "; %s recorded", buf);
		}
		putc('\n', out);
		put_others(a, name, OUTCOME_DONE, "  looked and clean", out);
		put_others(a, name, OUTCOME_NO_DATA, "  not recorded", out);
	}
}

/* ---- as a table ---- */

static void set_text(struct cell *c, const char *text)
{
	*c = (struct cell){.kind = CELL_TEXT, .text = text, .len = strlen(text)};
}

static int put_table(const struct analyze *a, const struct format *format,
		     const struct format_options *opt, const char *input, FILE *out, bool console)
{
	char cost_head[16];
	const char *const heads[] = {"Rank", "Severity", "Time (%)", cost_head,
				     "Rule", "Finding",  "Advice",   "Report"};
	struct sheet s = {
		.out = out,
		.title = "Findings",
		.name = "findings",
		.console = console,
		.cols = sizeof(heads) / sizeof(heads[0]),
		.heads = heads,
		.opt = *opt,
	};
	int nr = 0, rc;

	snprintf(cost_head, sizeof(cost_head), "Cost %s", a->t.unit->heading);
	rc = format->begin(&s);
	for (size_t i = 0; i < a->fs.cnt && rc == 0; i++) {
		const struct finding *f = &a->fs.list[i];
		struct cell c[sizeof(heads) / sizeof(heads[0])] = {{0}};

		if (!of_input(f->input, input))
			continue;
		c[0] = (struct cell){.kind = CELL_INT, .num = ++nr};
		set_text(&c[1], severity_names[f->severity]);
		if (f->share >= 0)
			c[2] = (struct cell){.kind = CELL_INT,
					     .num = (int64_t)(1000 * f->share + 0.5),
					     .scale = 1};
		if (f->cost_ns >= 0)
			c[3] = (struct cell){
				.kind = CELL_INT, .num = f->cost_ns, .scale = a->t.unit->scale};
		set_text(&c[4], f->rule);
		set_text(&c[5], f->text);
		set_text(&c[6], f->advice);
		if (*f->input)
			set_text(&c[7], f->input);
		rc = format->row(&s, c);
	}
	return format->end(&s) < 0 ? -1 : rc;
}

/* ---- as JSON ---- */

size_t analyze_job_of(const struct analyze *a, const struct finding *f)
{
	size_t i = 0;

	while (i < a->t.job_cnt &&
	       (f->order < a->ev[i].first || f->order >= a->ev[i].first + a->ev[i].found))
		i++;
	return i;
}

/* The next row of an array of @text: a line of its own each (fmt_json.c). NULL: there is none. */
static const char *next_row(const char *text, size_t *len)
{
	const char *row = strstr(text, "\n  {");

	if (!row)
		return NULL;
	row += 3;
	*len = strcspn(row, "\n");
	*len -= row[*len - 1] == ',';
	return row;
}

static void put_evidence(struct writer *w, const char *text)
{
	size_t cnt = 0, len;
	const char *row = text;

	while ((row = next_row(row, &len)))
		cnt++;
	json_line(w, 5);
	cnt = bounded_list(w, "evidence", cnt);
	for (row = text; cnt && (row = next_row(row, &len)); cnt--) {
		json_line(w, 2);
		json_raw(w, NULL, row, len);
	}
	if (row)
		json_line(w, 0);
	json_close(w, ']');
}

/* The place of a finding's worst occurrence, and the command that opens it; no member where there is none. */
static void put_json_worst(const struct finding *f, struct writer *w)
{
	char *line = NULL;
	size_t len;
	FILE *out;

	if (!*f->worst.row || !*f->input)
		return;
	out = open_memstream(&line, &len);
	if (!out)
		return;
	findings_put_view(out, f);
	if (fclose(out) == 0) {
		json_line(w, 5);
		json_open(w, "worst", '{');
		json_int(w, "start", f->worst.start);
		json_int(w, "end", f->worst.end);
		json_text(w, "row", f->worst.row);
		json_text(w, "view", line);
		json_close(w, '}');
	}
	free(line);
}

static void put_json_finding(const struct analyze *a, const struct finding *f, struct writer *w)
{
	size_t i = analyze_job_of(a, f);

	json_line(w, 4);
	json_open(w, NULL, '{');
	json_text(w, "report", *f->input ? f->input : NULL);
	json_text(w, "rule", f->rule);
	json_text(w, "title", f->title);
	json_text(w, "severity", severity_names[f->severity]);
	json_format(w, "cost_ns", f->cost_ns < 0 ? "null" : "%lld", f->cost_ns);
	json_format(w, "time_percent", f->share < 0 ? "null" : "%.3f", 100 * f->share);
	json_line(w, 5);
	json_text(w, "finding", f->text);
	json_line(w, 5);
	json_text(w, "advice", f->advice);
	put_json_worst(f, w);
	if (i < a->t.job_cnt && a->t.jobs[i].format == &format_json && a->ev[i].len > 0)
		put_evidence(w, a->ev[i].text);
	json_close(w, '}');
}

static void put_json_report(const struct analyze *a, size_t i, struct writer *w)
{
	const char *why = a->head[i] ? a->head[i] : "null";

	json_line(w, 4);
	json_open(w, NULL, '{');
	json_text(w, "report", a->t.inputs.word[i]);
	json_int(w, "wall_ns", a->t.per_input ? wall_ns(&a->ev[i * a->t.per_input].wall) : 0);
	json_raw(w, "why", why, strlen(why));
	json_close(w, '}');
}

static void put_json_rule(const struct analyze *a, size_t i, struct writer *w)
{
	static const char *const outcomes[] = {"silent", "no data", "failed"};
	const struct evidence *ev = &a->ev[i];

	json_line(w, 4);
	json_open(w, NULL, '{');
	json_text(w, "report", a->t.jobs[i].input);
	json_text(w, "rule", a->t.jobs[i].report->name);
	json_text(w, "result", ev->found > 0 ? "finding" : outcomes[ev->outcome]);
	if (ev->outcome == OUTCOME_NO_DATA)
		json_text(w, "missing", ev->missing);
	json_close(w, '}');
}

/* A list that is not empty ends on a line of its own. */
static void close_list(struct writer *w, bool any)
{
	if (any)
		json_line(w, 2);
	json_close(w, ']');
	json_line(w, 2);
}

bool analyze_abstains(const struct analyze *a)
{
	for (size_t i = 0; i < a->t.job_cnt; i++)
		if (a->ev[i].outcome != OUTCOME_NO_DATA)
			return false;
	for (size_t i = 0; i < a->fs.cnt; i++)
		return false;
	return a->t.job_cnt > 0;
}

struct list {
	const struct analyze *a;
	const char *input; /* NULL: of all */
};

static void put_json_reports(struct writer *w, const struct list *l)
{
	size_t cnt = 0;

	for (size_t i = 0; i < l->a->t.inputs.cnt; i++)
		cnt += of_input(l->a->t.inputs.word[i], l->input);
	cnt = bounded_list(w, "reports", cnt);
	for (size_t i = 0; i < l->a->t.inputs.cnt && cnt; i++)
		if (of_input(l->a->t.inputs.word[i], l->input)) {
			put_json_report(l->a, i, w);
			cnt--;
		}
	close_list(w, true);
}

static void put_json_findings(struct writer *w, const struct list *l)
{
	size_t cnt = 0, left;

	for (size_t i = 0; i < l->a->fs.cnt; i++)
		cnt += of_input(l->a->fs.list[i].input, l->input);
	left = cnt = bounded_list(w, "findings", cnt);
	for (size_t i = 0; i < l->a->fs.cnt && left; i++)
		if (of_input(l->a->fs.list[i].input, l->input)) {
			put_json_finding(l->a, &l->a->fs.list[i], w);
			left--;
		}
	close_list(w, cnt > 0);
}

static void put_json_rules(struct writer *w, const struct list *l)
{
	size_t cnt = 0, left;

	for (size_t i = 0; i < l->a->t.job_cnt; i++)
		cnt += of_input(l->a->t.jobs[i].input, l->input);
	left = cnt = bounded_list(w, "rules", cnt);
	for (size_t i = 0; i < l->a->t.job_cnt && left; i++)
		if (of_input(l->a->t.jobs[i].input, l->input)) {
			put_json_rule(l->a, i, w);
			left--;
		}
	close_list(w, cnt > 0);
}

static void put_json_list(struct writer *w, const void *ctx)
{
	const struct list *l = ctx;

	json_line(w, 2);
	json_text(w, "report", l->input ? l->input : l->a->t.inputs.word[0]);
	json_line(w, 2);
	put_json_reports(w, l);
	put_json_findings(w, l);
	put_json_rules(w, l);
	if (analyze_abstains(l->a)) {
		json_bool(w, "abstained", true);
		json_text(w, "reason", "no rule found the data that it looks at");
		json_text(
			w, "remedy",
			"the list of rules names the data that each one misses; 'sightline profile "
			"--help' lists the options that record it");
	}
	json_line(w, 0);
}

static int put_json(const struct analyze *a, const char *input, FILE *out)
{
	int rc = bounded_print(out, &a->t.bounds, put_json_list, &(struct list){a, input});

	putc('\n', out);
	return rc;
}

int analyze_list(const struct analyze *a, const struct format *format,
		 const struct format_options *opt, const char *input, FILE *out, bool console)
{
	if (format == &format_json)
		return put_json(a, input, out);
	if (format->for_people)
		put_prose(a, input, out, console);
	else
		return put_table(a, format, opt, input, out, console);
	return 0;
}
