/* page.c - puts the parts together: head, contents, body, scripts. */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"

/* ---- the frame around the parts ---- */

static const char *title_of(const struct page *p)
{
	const char *base = strrchr(p->input, '/');

	return p->title ? p->title : base ? base + 1 : p->input;
}

static void put_head(const struct page *p, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	/* Nothing is loaded from anywhere, and no script runs but the two below, by their hashes. */
	fprintf(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; %s"
		"base-uri 'none'; form-action 'none'\">\n",
		page_asset("csp.txt"));
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"generator\" content=\"Sightline " SL_VERSION "\">\n<title>",
	      out);
	html_str(out, title_of(p));
	fputs("</title>\n", out);
	if (p->charts)
		fprintf(out, "<style>%s</style>\n", page_asset("uplot.css"));
	fprintf(out, "<style>%s</style>\n<style>%s</style>\n</head>\n", page_asset("page.css"),
		page_asset("reasons.css"));
}

static void put_contents(const struct page *p, FILE *out)
{
	fputs("<nav aria-label=\"Contents\"><ul>\n", out);
	for (int i = 0; i < p->section_cnt; i++)
		fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", p->sections[i].id,
			p->sections[i].title);
	fputs("</ul></nav>\n", out);
}

static int put_subtitle(struct page *p, FILE *out)
{
	sqlite3_stmt *stmt = scan_prepare(
		&p->scan,
		"SELECT group_concat(value, ' ') FROM (SELECT value FROM META_DATA_CAPTURE "
		"WHERE name = 'PROCESS_0:COMMAND' OR name GLOB 'PROCESS_0:ARGUMENT_*' "
		"ORDER BY name <> 'PROCESS_0:COMMAND', length(name), name)");
	const char *text;

	if (!stmt)
		return page_scan_failed(p);
	if (sqlite3_step(stmt) == SQLITE_ROW &&
	    (text = (const char *)sqlite3_column_text(stmt, 0)) && *text) {
		fputs("<p class=\"command\"><code>", out);
		html_str(out, text);
		fputs("</code></p>\n", out);
	}
	sqlite3_finalize(stmt);
	return 0;
}

static void put_notes(const struct page *p, FILE *out)
{
	if (!p->charts)
		fputs("<p class=\"note banner\" id=\"no-charts\">This Sightline was built without "
		      "charts: curves and histograms are missing here. All figures and tables are "
		      "there.</p>\n",
		      out);
	else if (p->chart_cnt > 0)
		fputs("<noscript><p class=\"note banner\">The charts need JavaScript; all figures "
		      "and tables are here without it.</p></noscript>\n",
		      out);
}

static void put_foot(const struct page *p, FILE *out)
{
	fputs("<footer><p>Made by Sightline " SL_VERSION " from ", out);
	html_str(out, p->input);
	fputs(".</p>\n", out);
	if (p->charts) {
		fputs("<details><summary>Licence of \xC2\xB5Plot, which draws the "
		      "charts</summary><pre>",
		      out);
		html_str(out, page_asset("uplot.txt"));
		fputs("</pre></details>\n", out);
	}
	fputs("</footer>\n", out);
}

static void put_scripts(const struct page *p, const char *data, FILE *out)
{
	const struct axis *a = &p->scan.axis;

	if (p->charts)
		fprintf(out,
			"<script type=\"application/json\" "
			"id=\"data\">{\"from\":%.17g,\"width\":%.17g,"
			"\"bins\":%d,\"charts\":[%s]}</script>\n<script>%s</script>\n",
			page_from(p) / 1e9, a->width / 1e9, CURVE_BINS, data,
			page_asset("uplot.js"));
	fprintf(out, "<script>%s</script>\n</body>\n</html>\n", page_asset("page.js"));
}

/* ---- the parts ---- */

static int make_parts(struct page *p)
{
	struct page_tables *tables = page_tables_start(p);
	struct page_rulings *rulings = tables && p->findings ? page_findings_start(p) : NULL;
	int rc = -1;

	if (!tables || (p->findings && !rulings)) {
		page_tables_end(tables);
		return -1;
	}
	page_progress(p, "reading events", "");
	p->scan.db = p->db;
	p->scan.filter = p->filter;
	p->scan.part = db_filter_any(p->filter);
	if (scan_report(&p->scan) < 0)
		page_scan_failed(p);
	else if (page_why(p) == 0 && page_figures(p) == 0 &&
		 (!p->findings || page_findings(p, rulings) == 0) && page_over_time(p) == 0 &&
		 page_distributions(p) == 0 && page_tables(p, tables) == 0 && page_flame(p) == 0 &&
		 page_processes(p) == 0 && page_recording(p) == 0)
		rc = 0;
	page_findings_end(rulings);
	page_tables_end(tables);
	page_progress(p, NULL, NULL);
	return rc;
}

/* The contents stand before the parts and follow from them: so the body is made first. */
int page_write(struct page *p, FILE *out)
{
	char *body = NULL, *data = NULL;
	size_t body_len, data_len;
	int rc = -1;

	p->charts = page_asset("uplot.js") && page_asset("uplot.css");
	p->out = open_memstream(&body, &body_len);
	p->data = open_memstream(&data, &data_len);
	snprintf(p->why, sizeof(p->why), "out of memory");
	if (p->out && p->data)
		rc = make_parts(p);
	if (p->out && fclose(p->out) != 0)
		rc = -1;
	if (p->data && fclose(p->data) != 0)
		rc = -1;
	if (rc == 0) {
		put_head(p, out);
		fputs("<body>\n<header><h1>", out);
		html_str(out, title_of(p));
		fputs("</h1>\n", out);
		rc = put_subtitle(p, out);
		fputs("</header>\n<div class=\"page\">\n", out);
		put_contents(p, out);
		fputs("<main>\n", out);
		put_notes(p, out);
		fwrite(body, 1, body_len, out);
		fputs("</main>\n</div>\n", out);
		put_foot(p, out);
		put_scripts(p, data, out);
	}
	free(body);
	free(data);
	scan_free(&p->scan);
	return rc;
}
