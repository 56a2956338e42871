/* autopsy_page.c - an autopsy as one page, which loads nothing and runs no script. Names go through html_text.h. */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/ranks/autopsy/words.h"
#include "exporters/ranks/page/ranks_page.h"
#include "exporters/why/model/frame.h"

#define LAST_NS   30e9
#define BARS_MOST 64   /* ranks in the picture */
#define ROWS_MOST 2000 /* in the table */
#define WIDE      1000.0
#define LABEL     90.0
#define TALL      20

static void put_stack(FILE *out, const struct autopsy_thread *t)
{
	fputs("<pre>", out);
	for (size_t i = 0; i < t->stack.cnt; i++) {
		const struct autopsy_frame *f = &t->stack.list[i];

		html_str(out, f->function ? f->function : "?");
		if (f->file && f->line) {
			fputs(" (", out);
			html_str(out, f->file);
			fprintf(out, ":%lld)", (long long)f->line);
		} else if (f->module) {
			fputs(" (", out);
			html_str(out, frame_base_of(f->module));
			fputs(")", out);
		}
		putc('\n', out);
	}
	fputs("</pre>\n", out);
}

static void put_threads(FILE *out, const struct autopsy_rank *r)
{
	for (size_t i = 0; i < r->waits_cnt; i++) {
		const struct autopsy_thread *t = &r->waits[i];

		fprintf(out, "<details><summary>thread %lld, waiting in ", (long long)t->tid);
		html_str(out, t->call ? t->call : "?");
		if (t->owner)
			fprintf(out, "; thread %lld has it", (long long)t->owner);
		fputs("</summary>\n", out);
		put_stack(out, t);
		fputs("</details>\n", out);
	}
}

static void put_notes(FILE *out, const struct autopsy_rank *r)
{
	for (size_t i = 0; i < r->notes_cnt; i++) {
		fputs("<li><code>", out);
		html_str(out, r->notes[i].name ? r->notes[i].name : "");
		fputs("</code></li>\n", out);
	}
}

static void put_cause(FILE *out, const struct autopsy *a)
{
	const struct autopsy_rank *r = &a->ranks[0];
	char time[HUMAN_MAX], n[HUMAN_MAX];

	fputs("<section id=\"cause\">\n<h2>Cause</h2>\n", out);
	if (!a->ranks_cnt || r->verdict.role != AUTOPSY_CAUSE) {
		fprintf(out, "<p>%s</p>\n</section>\n", words_reason(a));
		return;
	}
	fprintf(out, "<p id=\"guilty\"><b>Rank %lld</b> on ", (long long)r->id.rank);
	html_str(out, r->id.host ? r->id.host : r->id.node);
	fprintf(out, ", process %lld: ", (long long)r->id.pid);
	words_end(out, a, r, html_str);
	fprintf(out, ". %s", words_reason(a));
	if (r->verdict.waiters)
		fprintf(out, " %zu rank%s for it.", r->verdict.waiters,
			r->verdict.waiters == 1 ? " waits" : "s wait");
	fputs("</p>\n<ul>\n", out);
	if (words_have_wait(r)) {
		fputs("<li>", out);
		words_wait(out, r, html_str);
		fputs("</li>\n", out);
	}
	put_notes(out, r);
	fputs("</ul>\n", out);
	if (r->verdict.thread) {
		fputs("<h3>Its stack</h3>\n", out);
		put_stack(out, r->verdict.thread);
	}
	put_threads(out, r);
	if (r->calls_cnt) {
		fputs("<h3>Calls of its main thread in its last 30 s</h3>\n<table><thead><tr><th "
		      "scope=\"col\">call</th><th scope=\"col\">count</th><th "
		      "scope=\"col\">time</th></tr></thead><tbody>\n",
		      out);
		for (size_t i = 0; i < r->calls_cnt; i++) {
			fputs("<tr><td>", out);
			html_str(out, r->calls[i].name ? r->calls[i].name : "?");
			fprintf(out, "</td><td>%s</td><td>%s</td></tr>\n",
				human_count(n, (double)r->calls[i].n),
				human_time(time, (double)r->calls[i].ns));
		}
		fputs("</tbody></table>\n", out);
	}
	fputs("</section>\n", out);
}

static void put_stuck(FILE *out, const struct autopsy *a)
{
	fputs("<section id=\"collectives\">\n<h2>Collectives that were not done</h2>\n", out);
	fputs(a->stuck_cnt ? "<ul>\n" : "<p class=\"note\">None is known.</p>\n", out);
	for (size_t i = 0; i < a->stuck_cnt && i < 100; i++) {
		fputs("<li>", out);
		words_stuck(out, &a->stuck[i], html_str);
		fputs("</li>\n", out);
	}
	fputs(a->stuck_cnt ? "</ul>\n</section>\n" : "</section>\n", out);
}

/* ---- the last 30 s ---- */

struct axis {
	double from, to; /* ns since 1970 */
};

static double at(const struct axis *x, double t)
{
	double part = (t - x->from) / (x->to - x->from);

	return LABEL + (WIDE - LABEL) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static void put_bar(FILE *out, const struct axis *x, double from, double to, size_t row,
		    const char *colour, const char *name)
{
	double left = at(x, from), right = at(x, to);

	if (to < x->from || from > x->to)
		return;
	fprintf(out, "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"14\" fill=\"%s\"><title>",
		left, row * TALL + 3, right - left < 0.5 ? 0.5 : right - left, colour);
	html_str(out, name ? name : "?");
	fputs("</title></rect>\n", out);
}

static struct axis axis_of(const struct autopsy *a)
{
	struct axis x = {0, 0};

	for (size_t i = 0; i < a->ranks_cnt; i++) {
		const struct autopsy_rank *r = &a->ranks[i];

		if (r->life.end != AUTOPSY_NONE && (double)r->life.end > x.to)
			x.to = (double)r->life.end;
		if ((double)r->life.progress > x.to)
			x.to = (double)r->life.progress;
	}
	x.from = x.to - LAST_NS > (double)a->start ? x.to - LAST_NS : (double)a->start;
	if (x.to <= x.from)
		x.to = x.from + 1;
	return x;
}

static void put_row(FILE *out, const struct axis *x, const struct autopsy_rank *r, size_t row)
{
	double end = r->life.end == AUTOPSY_NONE ? x->to : (double)r->life.end;
	char text[AUTOPSY_EXIT_MAX];

	fprintf(out,
		"<text x=\"0\" y=\"%zu\" font-size=\"13\" fill=\"var(--text)\">rank "
		"%lld%s</text>\n",
		row * TALL + 15, (long long)r->id.rank,
		r->verdict.role == AUTOPSY_CAUSE ? " \xe2\x97\x80" : "");
	for (size_t i = 0; i < r->ranges_cnt; i++)
		put_bar(out, x, (double)r->ranges[i].start,
			r->ranges[i].end == AUTOPSY_NONE ? end : (double)r->ranges[i].end, row,
			i % 2 ? "var(--bar)" : "var(--c0)", r->ranges[i].name);
	if (r->verdict.in)
		put_bar(out, x, (double)r->verdict.in->call, end, row, "var(--c1)",
			r->verdict.in->op);
	if (r->life.end != AUTOPSY_NONE)
		put_bar(out, x, end, end + (x->to - x->from) / 300, row, "var(--alarm)",
			autopsy_exit_text(r, text, sizeof(text)));
}

static void put_picture(FILE *out, const struct autopsy *a)
{
	struct axis x = axis_of(a);
	size_t cnt = a->ranks_cnt < BARS_MOST ? a->ranks_cnt : BARS_MOST;
	char time[HUMAN_MAX];

	fprintf(out,
		"<section id=\"last\">\n<h2>The last %s</h2>\n<p class=\"about\">Of each main "
		"thread: "
		"ranges in blue, the wait in a collective that was not done in orange, the end in "
		"red.%s",
		human_time(time, x.to - x.from),
		cnt < a->ranks_cnt ? " The first ranks only." : "");
	fprintf(out,
		"</p>\n<svg role=\"img\" aria-label=\"What ranks did at last\" width=\"100%%\" "
		"viewBox=\"0 0 %g %zu\">\n",
		WIDE, cnt * TALL + 4);
	for (size_t i = 0; i < cnt; i++)
		put_row(out, &x, &a->ranks[i], i);
	fputs("</svg>\n</section>\n", out);
}

static void put_ranks(FILE *out, const struct autopsy *a)
{
	char text[AUTOPSY_EXIT_MAX], time[HUMAN_MAX];

	fputs("<section id=\"ranks\">\n<h2>All ranks</h2>\n<div class=\"scroll\" tabindex=\"0\" "
	      "role=\"region\" "
	      "aria-label=\"All ranks\"><table><thead><tr><th scope=\"col\">rank</th><th "
	      "scope=\"col\">host</th><th scope=\"col\">end</th><th scope=\"col\">after</th><th "
	      "scope=\"col\">at</th><th scope=\"col\">in collective</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < a->ranks_cnt && i < ROWS_MOST; i++) {
		const struct autopsy_rank *r = &a->ranks[i];

		fprintf(out, "<tr><td>%lld</td><td>", (long long)r->id.rank);
		html_str(out, r->id.host ? r->id.host : "");
		fprintf(out, "</td><td>%s</td><td>%s</td><td>",
			autopsy_exit_text(r, text, sizeof(text)),
			r->life.end == AUTOPSY_NONE
				? ""
				: human_time(time, (double)(r->life.end - a->start)));
		if (r->verdict.thread) {
			fputs("<details><summary>", out);
			words_place(out, r, html_str);
			fputs("</summary>\n", out);
			put_stack(out, r->verdict.thread);
			fputs("</details>", out);
		}
		fputs("</td><td>", out);
		if (r->verdict.in) {
			html_str(out, r->verdict.in->op ? r->verdict.in->op : "?");
			fprintf(out, " %lld", (long long)r->verdict.in->seq);
		}
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n</section>\n", out);
}

void autopsy_put_page(FILE *out, const struct autopsy *a, const char *run)
{
	ranks_page_head(out, "Autopsy of run", run);
	fputs("<li><a href=\"#cause\">Cause</a></li>\n<li><a "
	      "href=\"#collectives\">Collectives</a></li>\n"
	      "<li><a href=\"#last\">Last seconds</a></li>\n<li><a href=\"#ranks\">All "
	      "ranks</a></li>\n</ul></nav>\n<main>\n",
	      out);
	if (a->unread || a->world > (int64_t)a->ranks_cnt) {
		fprintf(out, "<p class=\"note banner\" id=\"coverage\">%zu ranks", a->ranks_cnt);
		if (a->world)
			fprintf(out, " of %lld", (long long)a->world);
		fprintf(out, "; of %zu nodes there is no file of their ends.</p>\n", a->unread);
	}
	put_cause(out, a);
	put_stuck(out, a);
	put_picture(out, a);
	put_ranks(out, a);
	ranks_page_end(out);
}
