/*
 * findings_html.c - the findings of the rules, the costliest first, each with its evidence.
 *
 * Rules do not depend on the rest of the page: they run in a thread, with a connection of their own, while that is made.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/analyze/findings.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"

#define EVIDENCE_ROWS 10

struct page_rulings {
	const struct page *page;
	pthread_t thread;
	bool is_thread;
	atomic_bool is_unwanted;
	int rc;
	char why[PAGE_WHY];
	struct analysis analysis; /* with a connection of its own: rules leave tables after */
	struct findings findings;
	struct {
		char rule[64];
		char *table; /* evidence */
	} * evidence;
	size_t evidence_cnt;
	size_t run;   /* rules that had their data */
	char *failed; /* notes of rules that failed over the report's contents */
	size_t failed_len;
	FILE *failures; /* writes it */
};

static long long run_rule(void *ctx, const struct report *rule, const struct format *format,
			  struct sheet *s, char *why, size_t why_len)
{
	struct page_rulings *r = ctx;

	return findings_run(&r->analysis, rule, &time_units[0], format, s, &r->findings, why,
			    why_len);
}

static int apply(struct page_rulings *r, const char *name)
{
	void *more = reallocarray(r->evidence, r->evidence_cnt + 1, sizeof(*r->evidence));
	struct report rule;
	long long rows;
	size_t len;
	FILE *f;

	if (more)
		r->evidence = more;
	f = more ? open_memstream(&r->evidence[r->evidence_cnt].table, &len) : NULL;
	if (!f) {
		snprintf(r->why, sizeof(r->why), "out of memory");
		return -1;
	}
	snprintf(r->evidence[r->evidence_cnt++].rule, sizeof(r->evidence->rule), "%s", name);
	rows = -1;
	if (report_load(&rule_kind, name, NULL, &rule, r->why, sizeof(r->why)) == 0) {
		rows = table_of(NULL, &rule, EVIDENCE_ROWS, f, run_rule, r, r->why, sizeof(r->why));
		report_free(&rule);
	}
	fclose(f);
	if (rows == FINDINGS_NO_DATA)
		return 0;
	if (rows < 0 && page_tolerates(r->why)) {
		fputs("<p class=\"note\">Not run: ", r->failures);
		html_str(r->failures, r->why);
		fputs(".</p>\n", r->failures);
		return 0;
	}
	r->run++;
	return rows < 0 ? -1 : 0;
}

/* The evidence of a rule, once: a second finding of the same rule refers to the first. */
static char *take_evidence(struct page_rulings *r, const char *rule)
{
	for (size_t i = 0; i < r->evidence_cnt; i++) {
		if (strcmp(r->evidence[i].rule, rule) == 0) {
			char *table = r->evidence[i].table;

			r->evidence[i].table = NULL;
			return table;
		}
	}
	return NULL;
}

/* The command that opens the timeline at the finding's worst place. */
static void put_place(FILE *out, const struct finding *f)
{
	char *line = NULL;
	size_t len;
	FILE *command = open_memstream(&line, &len);

	if (!command)
		return;
	findings_put_view(command, f);
	if (fclose(command) == 0 && len) {
		fputs("<p class=\"look\">At worst: <code>", out);
		html_str(out, line);
		fputs("</code></p>\n", out);
	}
	free(line);
}

static void put_finding(struct page *p, struct page_rulings *r, const struct finding *f)
{
	FILE *out = p->out;
	char text[HUMAN_MAX];
	char *table = take_evidence(r, f->rule);
	/* Share of the page's wall time, which may be longer than the span from the first to the last event. */
	double share =
		f->share < 0 || f->cost_ns < 0 ? f->share : (double)f->cost_ns / page_wall(p);

	fprintf(out, "<li class=\"finding %s\"><h3>", severity_names[f->severity]);
	html_str(out, f->title);
	fprintf(out, "</h3><p class=\"cost\"><span class=\"badge\">%s</span> ",
		severity_names[f->severity]);
	if (share >= 0)
		fprintf(out, "<b>%s%.1f %%</b> of the wall time", share < 0.0005 ? "&lt; " : "",
			share < 0.0005 ? 0.1 : 100 * share);
	if (f->cost_ns >= 0)
		fprintf(out, "%s%s could be won", share >= 0 ? ", " : "",
			human_time(text, (double)f->cost_ns));
	fputs("</p>\n<p>", out);
	html_str(out, f->text);
	fputs("</p>\n", out);
	if (f->advice && *f->advice) {
		fputs("<p class=\"advice\">", out);
		html_str(out, f->advice);
		fputs("</p>\n", out);
	}
	put_place(out, f);
	if (table && *table)
		fprintf(out, "<details><summary>Evidence <code>%s</code></summary>%s</details>\n",
			f->rule, table);
	else
		fprintf(out, "<p class=\"note\"><code>%s</code></p>\n", f->rule);
	fputs("</li>\n", out);
	free(table);
}

static void put_findings(struct page *p, struct page_rulings *r)
{
	page_section(p, "findings", "Findings",
		     r->findings.cnt
			     ? "What costs most stands first. The time that could be won is an "
			       "estimate on the careful side."
			     : NULL);
	if (r->findings.cnt == 0)
		fprintf(p->out, "<p>None of the %zu rules that apply here found anything.</p>\n",
			r->run);
	else
		fputs("<ol class=\"findings\">\n", p->out);
	for (size_t i = 0; i < r->findings.cnt; i++)
		put_finding(p, r, &r->findings.list[i]);
	if (r->findings.cnt > 0)
		fputs("</ol>\n", p->out);
	fputs(r->failed, p->out);
	page_section_end(p);
}

static int run_rules(struct page_rulings *r)
{
	char *names = report_defaults(&rule_kind), *rest = names, *name;
	int rc = analysis_open(&r->analysis, r->page->input, r->page->filter, true, r->why,
			       sizeof(r->why));

	r->failures = open_memstream(&r->failed, &r->failed_len);
	if (!r->failures) {
		snprintf(r->why, sizeof(r->why), "out of memory");
		rc = -1;
	}
	while (rest && rc == 0 && !atomic_load(&r->is_unwanted) &&
	       (name = strsep(&rest, ",")) != NULL)
		if (*name)
			rc = apply(r, name);
	if (r->failures && fclose(r->failures) != 0)
		rc = -1;
	free(names);
	return rc;
}

static void *work(void *arg)
{
	struct page_rulings *r = arg;

	r->rc = run_rules(r);
	return NULL;
}

struct page_rulings *page_findings_start(struct page *p)
{
	struct page_rulings *r = calloc(1, sizeof(*r));

	if (!r) {
		snprintf(p->why, sizeof(p->why), "out of memory");
		return NULL;
	}
	r->page = p;
	/* Where no thread can be created, page_findings() runs them. */
	r->is_thread = pthread_create(&r->thread, NULL, work, r) == 0;
	return r;
}

int page_findings(struct page *p, struct page_rulings *r)
{
	page_progress(p, "rules", "");
	if (r->is_thread)
		pthread_join(r->thread, NULL);
	else
		work(r);
	r->is_thread = false;
	if (r->rc != 0)
		snprintf(p->why, sizeof(p->why), "%s", r->why);
	if (r->rc != 0 || (r->run == 0 && r->failed_len == 0))
		return r->rc;
	findings_limit(&r->findings, 0, &p->limit, wall_ns(&r->analysis.wall));
	findings_rank(&r->findings);
	put_findings(p, r);
	return 0;
}

void page_findings_end(struct page_rulings *r)
{
	if (!r)
		return;
	if (r->is_thread) { /* when the page has failed meanwhile */
		atomic_store(&r->is_unwanted, true);
		pthread_join(r->thread, NULL);
	}
	for (size_t i = 0; i < r->evidence_cnt; i++)
		free(r->evidence[i].table);
	free(r->evidence);
	free(r->failed);
	findings_free(&r->findings);
	analysis_close(&r->analysis);
	free(r);
}
