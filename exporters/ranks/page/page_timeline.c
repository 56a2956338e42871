/* page_timeline.c - the slowest step of a run over the ranks that took most time of their own in it, from their reports. */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/ranks/page/ranks_page.h"

#define WIDE  1000.0
#define LABEL 80.0
#define LANE  9 /* points: ranges, calls, GPU */
#define ROW   34

struct axis {
	double from, to; /* ns */
};

static struct axis axis_of(const struct ranks_page *p)
{
	struct axis x = {(double)p->slowest[0].start, (double)p->slowest[0].end};

	for (size_t i = 1; i < p->slowest_cnt; i++) {
		if ((double)p->slowest[i].start < x.from)
			x.from = (double)p->slowest[i].start;
		if ((double)p->slowest[i].end > x.to)
			x.to = (double)p->slowest[i].end;
	}
	if (x.to <= x.from)
		x.to = x.from + 1;
	return x;
}

static double at(const struct axis *x, int64_t time)
{
	double part = ((double)time - x->from) / (x->to - x->from);

	return LABEL + (WIDE - LABEL) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static void put_bar(FILE *out, const struct axis *x, const struct bar *b, size_t row)
{
	static const char *const colours[] = {"var(--bar)", "var(--c3)", "var(--c2)", "var(--c1)"};
	static const int lanes[] = {0, 1, 2, 2};
	double left = at(x, b->start), right = at(x, b->end);
	char time[HUMAN_MAX];

	fprintf(out, "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>",
		left, row * ROW + 2 + (size_t)lanes[b->kind] * (LANE + 1),
		right - left < 0.5 ? 0.5 : right - left, LANE, colours[b->kind]);
	html_str(out, b->name);
	fprintf(out, ", %s</title></rect>\n", human_time(time, (double)(b->end - b->start)));
}

static void put_row(FILE *out, const struct axis *x, const struct page_slow *s, size_t row)
{
	fprintf(out,
		"<text x=\"0\" y=\"%zu\" font-size=\"13\" fill=\"var(--text)\">rank %lld</text>\n"
		"<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\" fill=\"none\" "
		"stroke=\"var(--line)\"/>\n",
		row * ROW + 20, (long long)s->rank, at(x, s->start), row * ROW + 1,
		at(x, s->end) - at(x, s->start), ROW - 3);
	for (size_t i = 0; i < s->bars.cnt; i++)
		put_bar(out, x, &s->bars.list[i], row);
	if (!s->is_there)
		fprintf(out,
			"<text x=\"%.1f\" y=\"%zu\" font-size=\"12\" fill=\"var(--quiet)\">its "
			"report is not "
			"here</text>\n",
			at(x, s->start) + 6, row * ROW + 20);
}

void ranks_page_timeline(const struct ranks_page *p, FILE *out)
{
	struct axis x;
	bool any = false;
	char time[HUMAN_MAX];

	if (!p->slowest_cnt)
		return;
	x = axis_of(p);
	for (size_t i = 0; i < p->slowest_cnt; i++)
		any |= p->slowest[i].is_there;
	fprintf(out,
		"<section id=\"slowest\">\n<h2>The slowest step</h2>\n<p class=\"about\">Step "
		"%lld (the first apart), %s long, "
		"over the %zu ranks that took most time of their own in it, by the clocks of their "
		"nodes. "
		"Above ranges, then calls of the main thread of a hundredth of it at least, below "
		"kernels, "
		"those of NCCL in orange.</p>\n",
		(long long)p->slowest[0].step, human_time(time, x.to - x.from), p->slowest_cnt);
	if (!any)
		fputs("<p class=\"note\">None of their reports is here: where they are, "
		      "<code>sightline ranks "
		      "fetch</code> takes the span out of them, and <code>sightline ranks report "
		      "-d DATASET "
		      "FETCHED.sqlite</code> shows it.</p>\n",
		      out);
	fprintf(out,
		"<svg role=\"img\" aria-label=\"Ranks in the slowest step\" width=\"100%%\" "
		"viewBox=\"0 0 %g "
		"%zu\">\n",
		WIDE, p->slowest_cnt * ROW + 2);
	for (size_t i = 0; i < p->slowest_cnt; i++)
		put_row(out, &x, &p->slowest[i], i);
	fputs("</svg>\n</section>\n", out);
}
