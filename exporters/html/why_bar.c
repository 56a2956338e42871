/*
 * why_bar.c - the first card: where the time of the focus thread went, as a bar with a line for each reason, and a bar for
 * each GPU's work on the same scale. The numbers and words are those of sightline why.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"
#include "exporters/read/db_read.h"
#include "exporters/analyze/limit.h"
#include "exporters/why/answer/why.h"
#include "exporters/why/why_out.h"

#define GPUS_MAX   8
#define PLACES_MAX 3

/* Reasons of one kind have one colour of the charts; time of unknown use is hatched. */
#define COLOUR_CPU     "k0"
#define COLOUR_FILE    "k1"
#define COLOUR_GPU     "k2"
#define COLOUR_THREAD  "k3"
#define COLOUR_EVENT   "k4"
#define COLOUR_NO_CPU  "k7"
#define COLOUR_UNKNOWN "unknown"

static const char *const class_of[WHY_REASON_CNT] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = COLOUR_##colour,
#include "exporters/why/walk/reasons.def"
};

/* One piece of a bar; returns where the next begins. */
static double put_piece(FILE *out, const char *class, const char *what, int64_t ns, double at,
			int64_t scale)
{
	double width = scale > 0 ? 100 * (double)ns / (double)scale : 0;
	char time[WHY_TIME_MAX];

	if (ns <= 0)
		return at;
	fprintf(out,
		"<svg class=\"%s\" x=\"%.4f%%\" y=\"0\" width=\"%.4f%%\" height=\"26\" "
		"data-v=\"%lld\">"
		"<title>",
		class, at, width, (long long)ns);
	html_str(out, what);
	fprintf(out, ": %.1f %%, %s</title><rect width=\"100%%\" height=\"100%%\"%s/></svg>\n",
		width, why_time_text(ns, time),
		strcmp(class, "unknown") == 0 ? " fill=\"url(#hatch)\"" : "");
	return at + width;
}

static void begin_bar(FILE *out, const char *what)
{
	fputs("<div class=\"why-bar\"><svg width=\"100%\" height=\"26\" role=\"img\" aria-label=\"",
	      out);
	html_str(out, what);
	fputs("\">\n", out);
}

static void put_part(FILE *out, const struct why *y, const struct why_part *p)
{
	const char *place = y->walk.places.list[p->cause.place].text;
	char *name = why_string(y, &y->model.names, p->cause.name);
	char *object = why_string(y, &y->model.objects, p->cause.object);
	char time[WHY_TIME_MAX], buf[96];

	fprintf(out, "<span class=\"place\">%s ", why_time_text(p->ns, time));
	html_str(out, place ? place : "no stack");
	if (name && *name)
		fputs(", ", out), html_str(out, name);
	if (object && *object)
		fputs(" of ", out), html_str(out, object);
	if (p->thread != y->focus)
		fputs(" [", out), html_str(out, why_thread_text(y, p->thread, buf, sizeof(buf))),
			fputs("]", out);
	fputs("</span>", out);
	free(name);
	free(object);
}

static void put_reasons(FILE *out, const struct why *y)
{
	double at = 0;

	begin_bar(out, "Where the time went");
	for (unsigned r = 0; r < WHY_REASON_CNT; r++)
		at = put_piece(out, class_of[y->order[r]], why_reason_text(y->order[r]),
			       y->of_reason[y->order[r]], at, y->ns);
	fputs("</svg></div>\n<ul class=\"why\">\n", out);
	for (unsigned r = 0; r < WHY_REASON_CNT && why_shows_reason(y, r); r++) {
		uint32_t reason = y->order[r];
		const struct why_part *p = why_shown_part(y, reason);
		char time[WHY_TIME_MAX];

		fprintf(out,
			"<li class=\"%s\"><span class=\"share\">%.1f %%</span> <span "
			"class=\"time\">%s</span> <span class=\"what\">%s</span>\n",
			class_of[reason], 100.0 * (double)y->of_reason[reason] / (double)y->ns,
			why_time_text(y->of_reason[reason], time), why_reason_text(reason));
		if (p)
			put_part(out, y, p);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* From the first launch to the last completion, on the scale of the bar above; the rest of it is empty. */
static void put_gpu(FILE *out, const struct why *y, const struct why_gpu *g)
{
	const struct {
		const char *class, *what;
		int64_t ns;
	} pieces[] = {
		{"k2", why_reason_text(WHY_GPU_KERNEL), g->kernel},
		{"k5", why_reason_text(WHY_GPU_ONLY), g->copy},
		{"k6", why_reason_text(WHY_GPU_LATENCY), g->latency},
		{"k3", why_reason_text(WHY_GPU_LAUNCH), g->launch},
		{"k7", "idle: the host does something else", g->host},
		{"unknown", why_reason_text(WHY_UNKNOWN), g->unknown},
	};
	double at = g->from > y->from ? 100 * (double)(g->from - y->from) / (double)y->ns : 0;
	char what[32];

	snprintf(what, sizeof(what), "GPU %u", g->device);
	fprintf(out, "<p class=\"gpu\"><b>%s</b>", what);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (pieces[i].ns > 0)
			fprintf(out, " <span class=\"%s\">%s</span>", pieces[i].class,
				pieces[i].what);
	fputs("</p>\n", out);
	begin_bar(out, what);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		at = put_piece(out, pieces[i].class, pieces[i].what, pieces[i].ns, at, y->ns);
	fputs("</svg></div>\n", out);
}

/* The commands that open the timeline where the first culprits take their time longest at once. */
static void put_places(FILE *out, const struct why *y, const char *report)
{
	for (size_t i = 0, nr = 0; i < y->culprits_cnt && nr < PLACES_MAX; i++) {
		const struct why_culprit *c = &y->culprits[i];
		const char *place = y->walk.places.list[c->place].text;
		char time[WHY_TIME_MAX];

		if (c->worst_from == c->worst_to)
			continue;
		fprintf(out, "%s%8s  %s: %s", nr++ ? "" : "Where to look\n",
			why_time_text(c->ns, time), place ? place : "no stack",
			why_reason_text(why_main_reason(c)));
		why_put_view(out, y, c, report);
		putc('\n', out);
	}
}

static int put_rest(FILE *out, const struct why *y, const char *report)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -1;
	for (size_t i = 0; i < y->gpus.list_cnt && i < GPUS_MAX; i++)
		put_gpu(out, y, &y->gpus.list[i]);
	why_put_hangs(f, y);
	why_put_busy(f, y);
	why_put_gains(f, y, true);
	why_put_runners(f, y);
	put_places(f, y, report);
	why_put_tail(f, y);
	why_put_gpus(f, y);
	why_put_notes(f, y);
	if (fclose(f) != 0)
		return -1;
	if (len)
		fputs("<pre class=\"why\">", out);
	for (char *rest = text, *line; len && (line = strsep(&rest, "\n")) && *line;) {
		html_str(out, line);
		putc('\n', out);
	}
	if (len)
		fputs("</pre>\n", out);
	free(text);
	return 0;
}

static int put_card(struct page *p, const struct why *y)
{
	const struct why_process *process = &y->model.processes[y->model.threads[y->focus].process];
	char time[WHY_TIME_MAX], buf[96];
	int rc;

	page_section(p, "why", "Where the time went", NULL);
	fprintf(p->out, "<p>%s: %s, of ", why_time_text(y->ns, time),
		y->busy.is_moved ? "life of the process that the root process waits for"
				 : wall_basis_text(y->model.wall.basis));
	html_str(p->out, why_thread_text(y, y->focus, buf, sizeof(buf)));
	if (process->exe)
		fputs(" of ", p->out), html_str(p->out, process->exe);
	fputs(".</p>\n<svg width=\"0\" height=\"0\" class=\"hatch\"><defs><pattern id=\"hatch\" "
	      "width=\"6\" height=\"6\" "
	      "patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\"/></pattern></defs></svg>\n",
	      p->out);
	put_reasons(p->out, y);
	rc = put_rest(p->out, y, p->input);
	page_section_end(p);
	return rc;
}

/* Why does not explain the time of ranges or of some processes here: such a page has no card. */
int page_why(struct page *p)
{
	/* It cuts to a filter's times itself, and so reads the whole report. */
	bool whole = !db_filter_any(p->filter);
	struct why_ask ask = {.wall = whole ? &p->scan.wall : NULL};
	sqlite3 *db;
	struct why y;
	int rc;

	if (p->filter && (p->filter->nvtx_cnt || p->filter->pid_cnt))
		return 0;
	page_progress(p, "where the time went", "");
	db = whole ? p->db : db_read_open(p->input, p->why, sizeof(p->why));
	if (!db)
		return -1;
	rc = why_run(&y, db, p->filter, &ask, p->why, sizeof(p->why));
	if (rc < 0 && page_tolerates(p->why))
		rc = 0;
	else if (rc == 0 && y.focus != WHY_NONE && y.ns > 0) {
		p->limit = findings_limit_of(&y);
		rc = put_card(p, &y);
	}
	why_free(&y);
	if (!whole)
		sqlite3_close(db);
	return rc;
}
