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

#define LETTER_LEAST 1.5 /* per cent of the bar, for a letter */
#define BAR_HEIGHT   32
#define BAR_PATTERN  22 /* below it, the pattern */

/* Pieces differ without their colours, too: by letters that the lines below the bar have, too, and by a pattern for each family. */
struct piece {
	const char *class, *what; /* class: of reason_css, without its "r-" */
	const char *pattern;      /* the family of its reason */
	char letter;
	int64_t ns;
};

static const char *const family_of[WHY_REASON_CNT] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = #colour,
#include "exporters/why/walk/reasons.def"
};

/* The letter of the @nr-th piece. */
static char letter_of(unsigned nr)
{
	return nr < 26 ? (char)('A' + nr) : (char)('a' + nr - 26);
}

/* One piece of a bar; returns where the next begins. */
static double put_piece(FILE *out, const struct piece *p, double at, int64_t scale)
{
	double width = scale > 0 ? 100 * (double)p->ns / (double)scale : 0;
	char time[WHY_TIME_MAX];

	if (p->ns <= 0)
		return at;
	fprintf(out,
		"<svg class=\"r-%s\" x=\"%.4f%%\" y=\"0\" width=\"%.4f%%\" height=\"%d\" "
		"data-v=\"%lld\"><title>%c ",
		p->class, at, width, BAR_HEIGHT, (long long)p->ns, p->letter);
	html_str(out, p->what);
	fprintf(out, ": %.1f %%, %s</title><rect class=\"fill\" width=\"100%%\" height=\"100%%\"/>",
		width, why_time_text(p->ns, time));
	if (strcmp(p->pattern, "CPU") != 0)
		fprintf(out,
			"<rect y=\"%d\" width=\"100%%\" height=\"100%%\" fill=\"url(#p-%s)\"/>",
			BAR_PATTERN, p->pattern);
	if (width >= LETTER_LEAST)
		fprintf(out, "<text x=\"50%%\" y=\"16\" aria-hidden=\"true\">%c</text>", p->letter);
	fputs("</svg>\n", out);
	return at + width;
}

static void put_key(FILE *out, const struct piece *p)
{
	fprintf(out, "<span class=\"key r-%s\">%c</span>", p->class, p->letter);
}

/* A pattern for each family; that of CPU is plain. */
static void put_patterns(FILE *out)
{
	static const char *const paths[][2] = {
		{"FILE", "M0 8L8 0"},            /* lines up */
		{"GPU", "M4 0V8"},               /* upright */
		{"THREAD", "M0 4H8"},            /* level */
		{"EVENT", "M0 0L8 8"},           /* lines down */
		{"NO_CPU", "M4 0V8M0 4H8"},      /* squares */
		{"HOST", "M2 2H4V4H2Z"},         /* dots */
		{"UNKNOWN", "M0 8L8 0M0 0L8 8"}, /* lozenges */
	};

	fputs("<svg width=\"0\" height=\"0\" class=\"patterns\"><defs>", out);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		fprintf(out,
			"<pattern id=\"p-%s\" width=\"8\" height=\"8\" "
			"patternUnits=\"userSpaceOnUse\"><path d=\"%s\"/></pattern>",
			paths[i][0], paths[i][1]);
	fputs("</defs></svg>\n", out);
}

static void begin_bar(FILE *out, const char *what)
{
	fprintf(out,
		"<div class=\"why-bar\"><svg width=\"100%%\" height=\"%d\" role=\"img\" "
		"aria-label=\"",
		BAR_HEIGHT);
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

/* The @nr-th of the reasons, most time first. */
static struct piece reason_piece(const struct why *y, unsigned nr)
{
	uint32_t reason = y->order[nr];

	return (struct piece){why_reason_name(reason), why_reason_text(reason), family_of[reason],
			      letter_of(nr), y->of_reason[reason]};
}

static void put_reasons(FILE *out, const struct why *y)
{
	double at = 0;

	begin_bar(out, "Where the time went");
	for (unsigned r = 0; r < WHY_REASON_CNT; r++) {
		struct piece p = reason_piece(y, r);

		at = put_piece(out, &p, at, y->ns);
	}
	fputs("</svg></div>\n<ul class=\"why\">\n", out);
	for (unsigned r = 0; r < WHY_REASON_CNT && why_shows_reason(y, r); r++) {
		struct piece piece = reason_piece(y, r);
		const struct why_part *p = why_shown_part(y, y->order[r]);
		char time[WHY_TIME_MAX];

		fprintf(out, "<li class=\"r-%s\">", piece.class);
		put_key(out, &piece);
		fprintf(out,
			" <span class=\"share\">%.1f %%</span> <span class=\"time\">%s</span> "
			"<span class=\"what\">%s</span>\n",
			100.0 * (double)piece.ns / (double)y->ns, why_time_text(piece.ns, time),
			piece.what);
		if (p)
			put_part(out, y, p);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

static struct piece gpu_piece(uint32_t reason, int64_t ns)
{
	return (struct piece){why_reason_name(reason), why_reason_text(reason), family_of[reason],
			      '?', ns};
}

/* From the first launch to the last completion, on the scale of the bar above; the rest of it is empty. */
static void put_gpu(FILE *out, const struct why *y, const struct why_gpu *g)
{
	struct piece pieces[] = {
		gpu_piece(WHY_GPU_KERNEL, g->kernel),
		gpu_piece(WHY_GPU_ONLY, g->copy),
		gpu_piece(WHY_GPU_LATENCY, g->latency),
		gpu_piece(WHY_GPU_LAUNCH, g->launch),
		{"HOST", "idle: the host does something else", "HOST", '?', g->host},
		gpu_piece(WHY_UNKNOWN, g->unknown),
	};
	double at = g->from > y->from ? 100 * (double)(g->from - y->from) / (double)y->ns : 0;
	char what[32];

	snprintf(what, sizeof(what), "GPU %u", g->device);
	fprintf(out, "<p class=\"gpu\"><b>%s</b>", what);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		pieces[i].letter = letter_of(i);
		if (pieces[i].ns > 0) {
			putc(' ', out);
			put_key(out, &pieces[i]);
			fprintf(out, " <span class=\"what\">%s</span>", pieces[i].what);
		}
	}
	fputs("</p>\n", out);
	begin_bar(out, what);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		at = put_piece(out, &pieces[i], at, y->ns);
	fputs("</svg></div>\n", out);
}

/* Where the first culprits take their time longest at once, with the commands that open the timeline there. */
static int put_places(FILE *out, const struct why *y, const char *report)
{
	unsigned nr = 0;

	for (size_t i = 0; i < y->culprits_cnt && nr < PLACES_MAX; i++) {
		const struct why_culprit *c = &y->culprits[i];
		const char *place = y->walk.places.list[c->place].text;
		char time[WHY_TIME_MAX], *line = NULL;
		size_t len;
		FILE *command;

		if (c->worst_from == c->worst_to)
			continue;
		command = open_memstream(&line, &len);
		if (!command)
			return -1;
		why_put_view(command, y, c, report);
		if (fclose(command) != 0) {
			free(line);
			return -1;
		}
		fprintf(out, "%s<li>%s ",
			nr++ ? "" : "<h3>Where to look</h3>\n<ol class=\"look\">\n",
			why_time_text(c->ns, time));
		html_str(out, place ? place : "no stack");
		fprintf(out, ": %s <code>", why_reason_text(why_main_reason(c)));
		html_str(out, line + strspn(line, " \n"));
		fputs("</code></li>\n", out);
		free(line);
	}
	if (nr)
		fputs("</ol>\n", out);
	return 0;
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
	return put_places(out, y, report);
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
	fputs(".</p>\n", p->out);
	put_patterns(p->out);
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
