/* figures.c - the figures at the top, and the messages of the recording itself. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"

/* ---- the figures ---- */

/* @exact: for tests and for people who point at it; @value and @sub are escaped here. */
static void figure(struct page *p, const char *id, const char *label, double exact,
		   const char *value, const char *sub, bool alarm)
{
	fprintf(p->out, "<div id=\"fig-%s\"%s><dt>", id, alarm ? " class=\"alarm\"" : "");
	html_str(p->out, label);
	fprintf(p->out, "</dt><dd data-v=\"%.15g\">", exact);
	html_str(p->out, value);
	fputs("</dd>", p->out);
	if (*sub) {
		fputs("<dd class=\"sub\">", p->out);
		html_str(p->out, sub);
		fputs("</dd>", p->out);
	}
	fputs("</div>\n", p->out);
}

double page_wall(const struct page *p)
{
	int64_t ns = wall_ns(&p->scan.wall);

	return ns > 0 ? (double)ns : 1;
}

static int figure_time(struct page *p)
{
	const struct wall *w = &p->scan.wall;
	char value[HUMAN_MAX], sub[128], part[HUMAN_MAX];
	double span = page_wall(p);
	int len = snprintf(sub, sizeof(sub), "%s", wall_basis_text(w->basis));

	if (w->recorded && len > 0 && (size_t)len < sizeof(sub))
		snprintf(sub + len, sizeof(sub) - (size_t)len, "; %s recorded",
			 human_time(part, (double)w->recorded));
	figure(p, "wall", "Wall time", span, human_time(value, span), sub, false);
	return 0;
}

static int figure_processes(struct page *p)
{
	int64_t cnt, traced, failed, threads;
	char value[HUMAN_MAX], sub[128], more[64] = "";
	struct scan *s = &p->scan;

	if (!db_read_has(p->db, "SL_PROCESS_TREE")) {
		if (s->process_cnt > 0)
			figure(p, "processes", "Processes", (double)s->process_cnt,
			       human_count(value, (double)s->process_cnt), "with events", false);
		return 0;
	}
	if (scan_number(s, "SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE", 0, &cnt) < 0 ||
	    scan_number(s, "SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE WHERE traced = 1",
			0, &traced) < 0 ||
	    scan_number(
		    s,
		    "SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE WHERE exitStatus & 127",
		    0, &failed) < 0 ||
	    scan_number(s, "SELECT count(DISTINCT globalTid) FROM ThreadNames", 0, &threads) < 0)
		return page_scan_failed(p);
	if (failed > 0)
		snprintf(more, sizeof(more), ", %lld ended by a signal", (long long)failed);
	snprintf(sub, sizeof(sub), "%lld traced, %lld threads%s", (long long)traced,
		 (long long)threads, more);
	figure(p, "processes", "Processes", (double)cnt, human_count(value, (double)cnt), sub,
	       failed > 0);
	return 0;
}

static int figure_gpu(struct page *p)
{
	const struct scan *s = &p->scan;
	double span = (double)(s->axis.to - s->axis.from), sum = 0, peak = 0;
	uint64_t kernels = s->kernel_time.all;
	char value[HUMAN_MAX], sub[160] = "", text[HUMAN_MAX], apart[80] = "";
	size_t len = 0, with_memory = 0;

	for (size_t i = 0; i < s->gpu_cnt; i++) {
		sum += 100 * (double)s->gpus[i].busy_ns / span;
		if (s->gpus[i].memory) {
			peak = s->gpus[i].memory->peak > peak ? s->gpus[i].memory->peak : peak;
			with_memory++;
		}
		if (i < 4 && len < sizeof(sub) - 24)
			len += (size_t)snprintf(sub + len, sizeof(sub) - len, "%sGPU %lld %.1f %%",
						i ? ", " : "", (long long)s->gpus[i].id,
						100 * (double)s->gpus[i].busy_ns / span);
	}
	if (s->has_gpu_work) {
		if (s->gpu_cnt == 1)
			snprintf(sub, sizeof(sub), "of the wall time, kernels and copies");
		else if (s->gpu_cnt > 4)
			snprintf(sub, sizeof(sub), "mean of %zu GPUs", s->gpu_cnt);
		sum /= (double)s->gpu_cnt;
		figure(p, "gpu", "GPU busy", sum, human_percent(value, sum), sub, false);
		if (s->graph_cnt)
			snprintf(apart, sizeof(apart), "; without those of %s graph launch%s",
				 human_count(text, (double)s->graph_cnt),
				 s->graph_cnt == 1 ? "" : "es");
		snprintf(sub, sizeof(sub), "%s of kernel time%s",
			 human_time(text, (double)s->kernel_sum_ns), apart);
		figure(p, "kernels", "Kernels", (double)kernels,
		       human_count(value, (double)kernels), sub, false);
		snprintf(sub, sizeof(sub), "in %s cop%s%s", human_count(text, (double)s->copy_cnt),
			 s->copy_cnt == 1 ? "y" : "ies", apart);
		figure(p, "copied", "Copied by GPUs", s->copy_bytes,
		       human_bytes(value, s->copy_bytes), sub, false);
	}
	if (s->has_memory)
		figure(p, "memory", "GPU memory, peak", peak, human_bytes(value, peak),
		       with_memory > 1 ? "on the GPU with the most" : "", false);
	return 0;
}

static int figure_cpu(struct page *p)
{
	const struct scan *s = &p->scan;
	double span = (double)(s->axis.to - s->axis.from), used = (double)s->cpu_ns / span;
	char value[HUMAN_MAX], sub[128];

	if (!s->has_cpu)
		return 0;
	if (s->cpu_cnt > 0) {
		snprintf(sub, sizeof(sub), "recorded threads, %.2f of %d processors on average",
			 used, s->cpu_cnt);
		figure(p, "cpu", "CPU busy", 100 * used / s->cpu_cnt,
		       human_percent(value, 100 * used / s->cpu_cnt), sub, false);
	} else {
		snprintf(value, sizeof(value), "%.2f", used);
		figure(p, "cpu", "CPU busy", used, value, "processors on average, recorded threads",
		       false);
	}
	return 0;
}

/* Calls of stdio and of the kernel are no calls of one kind; a byte moves through one of both. */
static void figure_moved(struct page *p, const char *id, const char *label, double bytes,
			 double calls, double stdio)
{
	char value[HUMAN_MAX], sub[128], n[HUMAN_MAX], of[HUMAN_MAX];

	snprintf(sub, sizeof(sub), "in %s call%s%s%s%s", human_count(n, calls),
		 calls == 1 ? "" : "s", stdio > 0 ? ", " : "",
		 stdio > 0 ? human_count(of, stdio) : "", stdio > 0 ? " of them of stdio" : "");
	figure(p, id, label, bytes, human_bytes(value, bytes), sub, false);
}

static int figure_io(struct page *p)
{
	const struct scan *s = &p->scan;

	if (!s->io_known || s->read_calls + s->write_calls == 0)
		return 0;
	figure_moved(p, "read", "Read", s->read_bytes, s->read_calls, s->read_stdio);
	figure_moved(p, "written", "Written", s->write_bytes, s->write_calls, s->write_stdio);
	return 0;
}

#define LOST_SWITCHES "what LIKE 'context switches: %by the kernel'"

static int figure_quality(struct page *p)
{
	struct scan *s = &p->scan;
	int64_t lost, unreported, errors, warnings;
	char value[HUMAN_MAX], sub[128];

	if (scan_number(s, "SELECT sum(count) FROM SL_LOST_EVENTS WHERE NOT " LOST_SWITCHES, 0,
			&lost) < 0 ||
	    scan_number(s, "SELECT sum(count) FROM SL_LOST_EVENTS WHERE " LOST_SWITCHES, 0,
			&unreported) < 0 ||
	    scan_number(s, "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 3", 0, &errors) <
		    0 ||
	    scan_number(s, "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 2", 0,
			&warnings) < 0)
		return page_scan_failed(p);
	if (lost > 0)
		figure(p, "lost", "Lost events", (double)lost, human_count(value, (double)lost),
		       "see Recording", true);
	/* A few in nearly every run, and they stand in the report under their own name. */
	if (unreported > 0)
		figure(p, "lost-switches", "Context switches lost", (double)unreported,
		       human_count(value, (double)unreported),
		       "the kernel skipped them, or its buffer was full; see Recording", false);
	if (errors + warnings > 0) {
		snprintf(sub, sizeof(sub), "%lld error%s, %lld warning%s; see Recording",
			 (long long)errors, errors == 1 ? "" : "s", (long long)warnings,
			 warnings == 1 ? "" : "s");
		figure(p, "diagnostics", "Diagnostics", (double)(errors + warnings),
		       human_count(value, (double)(errors + warnings)), sub, errors > 0);
	}
	return 0;
}

int page_figures(struct page *p)
{
	int rc;

	page_section(p, "figures", "At a glance", NULL);
	fputs("<dl class=\"figures\">\n", p->out);
	rc = figure_time(p) < 0 || figure_gpu(p) < 0 || figure_cpu(p) < 0 || figure_io(p) < 0 ||
			     figure_processes(p) < 0 || figure_quality(p) < 0
		     ? -1
		     : 0;
	fputs("</dl>\n", p->out);
	page_section_end(p);
	return rc;
}

/* ---- the recording ---- */

/* A row of a list of properties, when the query gives a text. */
static int property(struct page *p, const char *name, const char *sql)
{
	sqlite3_stmt *stmt = scan_prepare(&p->scan, sql);
	const char *text;
	int rc;

	if (!stmt)
		return page_scan_failed(p);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && (text = (const char *)sqlite3_column_text(stmt, 0)) && *text) {
		fprintf(p->out, "<div><dt>%s</dt><dd>", name);
		html_text(p->out, text, (size_t)sqlite3_column_bytes(stmt, 0));
		fputs("</dd></div>\n", p->out);
	}
	sqlite3_finalize(stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		scan_fail(&p->scan, rc);
		return page_scan_failed(p);
	}
	return 0;
}

static int put_properties(struct page *p)
{
	static const struct {
		const char *name, *sql;
	} list[] = {
		{"Command",
		 "SELECT group_concat(value, ' ') FROM (SELECT value FROM META_DATA_CAPTURE "
		 "WHERE name = 'PROCESS_0:COMMAND' OR name GLOB 'PROCESS_0:ARGUMENT_*' "
		 "ORDER BY name <> 'PROCESS_0:COMMAND', length(name), name)"},
		{"Folder",
		 "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:WORKING_DIR'"},
		{"Began",
		 "SELECT replace(utcTime, 'T', ' ') || ' UTC' FROM TARGET_INFO_SESSION_START_TIME"},
		{"Machine", "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"},
		{"System", "SELECT group_concat(value, ', ') FROM TARGET_INFO_SYSTEM_ENV "
			   "WHERE name IN ('OsVersion', 'OsDescription', 'KernelVersion')"},
		{"Processors", "SELECT group_concat(value, ' \u00d7 ') FROM (SELECT value FROM "
			       "TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores' OR "
			       "name = 'CpuDescription' AND value <> 'unknown' OR "
			       "name = 'CpuArchitecture' ORDER BY name <> 'CpuCores', name DESC)"},
		{"GPUs", "SELECT group_concat(text, ', ') FROM (SELECT CASE WHEN count(*) > 1 THEN "
			 "count(*) || ' \u00d7 ' ELSE '' END || name AS text FROM TARGET_INFO_GPU "
			 "WHERE name IS NOT NULL GROUP BY name)"},
		{"Written by",
		 "SELECT group_concat(value, ' ') FROM (SELECT value FROM META_DATA_EXPORT "
		 "WHERE name IN ('EXPORT_PRODUCT_NAME', 'EXPORT_PRODUCT_VERSION') "
		 "ORDER BY name)"},
		{"Schema",
		 "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'"},
		{"Complete", "SELECT 'no: it was still being written' FROM META_DATA_EXPORT "
			     "WHERE name = 'SL_COMPLETE' AND value = '0'"},
	};
	int rc = 0;

	fputs("<dl class=\"properties\">\n<div><dt>Report</dt><dd>", p->out);
	html_str(p->out, p->input);
	fputs("</dd></div>\n", p->out);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && rc == 0; i++)
		rc = property(p, list[i].name, list[i].sql);
	fputs("</dl>\n", p->out);
	return rc;
}

/* Losses, and messages of the tracer: the worst first. Its everyday remarks (severity 1) are folded. */
static int put_report_of(struct page *p, const char *title, const char *sql)
{
	char no_args[] = "";
	struct report r = {.kind = &report_kind, .name = "recording", .sql = sql, .args = no_args};
	long long rows;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f) {
		snprintf(p->why, sizeof(p->why), "out of memory");
		return -1;
	}
	rows = table_of(p->db, &r, p->rows, f, NULL, NULL, p->why, sizeof(p->why));
	fclose(f);
	if (rows > 0)
		fprintf(p->out, "<h3>%s</h3>\n%s", title, text);
	if (rows > p->rows)
		fprintf(p->out, "<p class=\"note\">The first %d of %lld.</p>\n", p->rows, rows);
	free(text);
	return rows < 0 ? -1 : 0;
}

int page_recording(struct page *p)
{
	int rc;

	page_section(p, "recording", "Recording", NULL);
	rc = put_properties(p);
	if (rc == 0)
		rc = put_report_of(p, "Losses",
				   "-- about: What was lost, and why. Calls whose rows found no "
				   "room (rings full) are in all totals.\n"
				   "SELECT what AS \"What\", sum(count) AS \"Count\", min(start) "
				   "AS \"First (ns)\", max(end) AS \"Last (ns)\" FROM "
				   "SL_LOST_EVENTS GROUP BY what ORDER BY sum(count) DESC, what");
	if (rc == 0)
		rc = put_report_of(
			p, "Diagnostics",
			"-- about: What the tracer had to say.\n"
			"SELECT CASE severity WHEN 3 THEN 'error' WHEN 2 THEN 'warning' WHEN 1 "
			"THEN 'info' ELSE 'note' END AS \"Severity\", min(timestamp) AS \"Time "
			"(ns)\", count(*) AS \"Times\", text AS \"Text\" FROM DIAGNOSTIC_EVENT "
			"GROUP BY severity, text ORDER BY severity NOT IN (2, 3), -severity, "
			"min(timestamp)");
	page_section_end(p);
	return rc;
}
