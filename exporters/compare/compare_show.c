/* compare_show.c - a comparison for people: aligned text, or Markdown for a pull request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/text/cell.h"
#include "exporters/text/view_line.h"
#include "exporters/compare/compare.h"

#define CELL_BYTES 48
#define NAME_WIDTH 100
#define COLS_MAX   64

/* A table of short texts and, last in each row, a name of any length. */
struct grid {
	const struct compare_view *view;
	FILE *out;
	bool is_markdown;
	size_t cols, rows, max;
	struct line {
		char cell[COLS_MAX][CELL_BYTES];
		const char *name, *more;           /* more: the name in the other sets, or NULL */
		const struct compare_place *worst; /* NULL: it has none */
		int colour[COLS_MAX];              /* 0 none, 31 worse, 32 better */
	} * line;                                  /* the first is the head */
};

static struct line *add_line(struct grid *g, const char *name)
{
	if (!grow(&g->line, g->rows, &g->max, sizeof(*g->line)))
		return NULL;
	memset(&g->line[g->rows], 0, sizeof(*g->line));
	g->line[g->rows].name = name;
	return &g->line[g->rows++];
}

/* ---- figures ---- */

static void scaled(double value, const char *const *units, double step, char cell[CELL_BYTES])
{
	size_t i = 0;

	while (units[i + 1] && fabs(value) >= step * 0.9995) {
		value /= step;
		i++;
	}
	snprintf(cell, CELL_BYTES, "%.*f %s",
		 fabs(value) >= 99.95 || (i == 0 && value == floor(value)) ? 0
		 : fabs(value) >= 9.995                                    ? 1
									   : 2,
		 value, units[i]);
}

static void amount(double value, const struct compare_kind *k, enum compare_metric m,
		   char cell[CELL_BYTES])
{
	static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", NULL};
	static const char *const times[] = {"ns", "us", "ms", "s", NULL};
	static const char *const counts[] = {"", "k", "M", "G", "T", NULL};

	if (isnan(value))
		snprintf(cell, CELL_BYTES, "-");
	else if (m == METRIC_COUNT)
		snprintf(cell, CELL_BYTES, "%.10g", value);
	else if (k->is_count)
		scaled(value, counts, 1000, cell);
	else if (k->is_bytes)
		scaled(value, bytes, 1000, cell);
	else
		scaled(value, times, 1000, cell);
}

/* "+3.2 %", "new", "gone"; "~" in front where repeats do not show that it is more than chance. */
static void change(struct line *l, size_t col, const struct compare_row *row, size_t set,
		   enum compare_metric m, const struct compare_view *v)
{
	const struct compare_figure *base = &row->figure[0], *now = &row->figure[set];
	double percent = compare_change(base, now, m);
	bool chance = now->p[m] >= v->alpha && percent != 0;
	char *cell = l->cell[col];

	if (!base->is_there || !now->is_there)
		snprintf(cell, CELL_BYTES, "%s",
			 now->is_there    ? "new"
			 : base->is_there ? "gone"
					  : "-");
	else if (isinf(percent) || fabs(percent) >= 99999.5)
		snprintf(cell, CELL_BYTES, "%s%s", chance ? "~" : "",
			 percent > 0 ? ">99999 %" : "<-99999 %");
	else
		snprintf(cell, CELL_BYTES, "%s%+.1f %%", chance ? "~" : "", percent + 0.0);
	if (!chance && !isnan(percent) && fabs(percent) >= v->min_change && fabs(percent) > 0)
		l->colour[col] = percent > 0 ? 31 : 32;
}

static void probability(double p, char cell[CELL_BYTES])
{
	if (p < 0)
		snprintf(cell, CELL_BYTES, "-");
	else
		snprintf(cell, CELL_BYTES, p < 0.001 ? "<0.001" : "%.3f", p);
}

/* ---- writing ---- */

static void put_name(const struct grid *g, const char *name)
{
	size_t width;
	char *text = text_people(name, strlen(name), g->is_markdown ? 0 : NAME_WIDTH, &width);

	if (!g->is_markdown) {
		fputs(text ? text : "", g->out);
	} else if (text && *text) {
		fputs("<code>", g->out);
		for (const char *p = text; *p; p++) {
			if (strchr("<>&|*_`[]\\~", *p))
				fprintf(g->out, "&#%d;", *p);
			else
				putc(*p, g->out);
		}
		fputs("</code>", g->out);
	}
	free(text);
}

static void write_markdown(const struct grid *g)
{
	for (size_t i = 0; i < g->rows; i++) {
		const struct line *l = &g->line[i];

		for (size_t c = 0; c < g->cols; c++)
			fprintf(g->out, "| %s ", l->cell[c]);
		fputs("| ", g->out);
		if (i == 0)
			fputs(l->name, g->out);
		else
			put_name(g, l->name);
		if (l->more) {
			fputs(" → ", g->out);
			put_name(g, l->more);
		}
		fputs(" |\n", g->out);
		for (size_t c = 0; i == 0 && c < g->cols; c++)
			fputs("|---:", g->out);
		if (i == 0)
			fputs("|---|\n", g->out);
	}
}

static void write_text(const struct grid *g)
{
	int width[COLS_MAX] = {0};

	for (size_t i = 0; i < g->rows; i++)
		for (size_t c = 0; c < g->cols; c++)
			if ((int)strlen(g->line[i].cell[c]) > width[c])
				width[c] = (int)strlen(g->line[i].cell[c]);
	for (size_t i = 0; i < g->rows; i++) {
		const struct line *l = &g->line[i];

		for (size_t c = 0; c < g->cols; c++) {
			int colour = g->view->colour ? l->colour[c] : 0;

			fprintf(g->out, "  ");
			if (colour)
				fprintf(g->out, "\033[%dm", colour);
			fprintf(g->out, "%*s", width[c], l->cell[c]);
			if (colour)
				fputs("\033[0m", g->out);
		}
		fputs("  ", g->out);
		put_name(g, l->name);
		if (l->more) {
			fputs(" -> ", g->out);
			put_name(g, l->more);
		}
		putc('\n', g->out);
		if (l->worst) {
			fputs("      at worst: ", g->out);
			text_put_view(g->out, l->worst->report, l->worst->row, l->worst->start,
				      l->worst->end);
			putc('\n', g->out);
		}
	}
}

static void write_grid(struct grid *g, const char *title)
{
	fprintf(g->out, g->is_markdown ? "\n### %s\n\n" : "\n%s\n\n", title);
	if (g->is_markdown)
		write_markdown(g);
	else
		write_text(g);
	free(g->line);
	g->line = NULL;
	g->rows = g->max = 0;
}

/* ---- contents of the tables ---- */

static void set_name(const struct comparison *c, size_t s, char *buf, size_t len)
{
	if (c->sets[s].cnt > 1)
		snprintf(buf, len, "%s (%zu runs)", c->sets[s].label, c->sets[s].cnt);
	else
		snprintf(buf, len, "%s", c->sets[s].label);
}

static void write_head(struct grid *g, const struct comparison *c)
{
	char name[4200];

	fputs(g->is_markdown ? "## Comparison\n\n" : "", g->out);
	for (size_t s = 0; s < c->set_cnt; s++) {
		set_name(c, s, name, sizeof(name));
		if (g->is_markdown)
			fprintf(g->out, "* **%c**: ", (char)('A' + s % 26));
		else
			fprintf(g->out, "%c  ", (char)('A' + s % 26));
		put_name(g, name);
		fputs(s ? "\n" : g->is_markdown ? " (base)\n" : "  (base)\n", g->out);
	}
}

/* A figure of the summary, all sets side by side. */
static int add_summary(struct grid *g, const struct comparison *c, const struct compare_row *row,
		       enum compare_metric m, const char *title)
{
	struct line *l = add_line(g, title);
	size_t col = 0;

	if (!l)
		return -1;
	for (size_t s = 0; s < c->set_cnt && col + 2 <= COLS_MAX; s++) {
		amount(row->figure[s].is_there ? row->figure[s].value[m] : NAN, row->kind, m,
		       l->cell[col++]);
		if (s)
			change(l, col++, row, s, m, g->view);
	}
	return 0;
}

/* Calls @add for what the summary has: what varies least from run to run first, among it the fastest step. */
static int each_of_summary(struct grid *g, const struct comparison *c,
			   int (*add)(struct grid *g, const struct comparison *c,
				      const struct compare_row *row, enum compare_metric m,
				      const char *title))
{
	const struct compare_row *step = compare_steps(c);
	int rc = 0;

	for (unsigned steady = 2; steady-- > 0;) {
		for (size_t i = 0; i < c->row_cnt && rc == 0; i++)
			if (c->rows[i].kind->is_single && c->rows[i].kind->is_steady == steady)
				rc = add(g, c, &c->rows[i], METRIC_TOTAL, c->rows[i].kind->title);
		if (steady && step && rc == 0)
			rc = add(g, c, step, METRIC_MIN, "Fastest step");
	}
	return rc;
}

/* The figures of whole reports. */
static int write_summary(struct grid *g, const struct comparison *c)
{
	struct line *l = add_line(g, "");

	if (!l)
		return -1;
	g->cols = 0;
	for (size_t s = 0; s < c->set_cnt && g->cols + 2 <= COLS_MAX; s++) {
		snprintf(l->cell[g->cols++], CELL_BYTES, "%c", (char)('A' + s % 26));
		if (s)
			snprintf(l->cell[g->cols++], CELL_BYTES, "change");
	}
	if (each_of_summary(g, c, add_summary) != 0)
		return -1;
	if (g->rows > 1)
		write_grid(g, "Summary");
	g->rows = 0;
	return 0;
}

static int add_noise(struct grid *g, const struct comparison *c, const struct compare_row *row,
		     enum compare_metric m, const char *title)
{
	double noise = compare_noise(c, row, m);
	struct line *l = isnan(noise) ? NULL : add_line(g, title);

	for (size_t i = 0; l && i < COMPARE_PLANS; i++)
		snprintf(l->cell[1 + i], CELL_BYTES, "%.1f %%", compare_found(noise, i));
	if (l)
		snprintf(l->cell[0], CELL_BYTES, "%.1f %%", noise);
	return 0;
}

/* What so many runs would find, at the noise of these. */
static int write_noise(struct grid *g, const struct comparison *c)
{
	struct line *l = add_line(g, "");

	if (!l)
		return -1;
	g->cols = 1 + COMPARE_PLANS;
	snprintf(l->cell[0], CELL_BYTES, "noise");
	for (size_t i = 0; i < COMPARE_PLANS; i++)
		snprintf(l->cell[1 + i], CELL_BYTES, "%zu runs", compare_plans[i]);
	if (each_of_summary(g, c, add_noise) != 0)
		return -1;
	if (g->rows > 1)
		write_grid(g,
			   "The smallest change that so many runs a side find, four times of five");
	g->rows = 0;
	return 0;
}

/* Does the row belong into the table of @set? */
static bool is_worth(const struct compare_row *row, size_t set, const struct compare_view *v)
{
	static const enum compare_metric look[] = {METRIC_TOTAL, METRIC_MEDIAN, METRIC_P99};
	const struct compare_figure *base = &row->figure[0], *now = &row->figure[set];

	if (base->is_there != now->is_there)
		return true;
	for (size_t i = 0; i < sizeof(look) / sizeof(*look) && base->is_there; i++)
		if (fabs(compare_change(base, now, look[i])) >= v->min_change)
			return true;
	return false;
}

static int add_row(struct grid *g, const struct compare_row *row, size_t s, bool with_p)
{
	const struct compare_figure *f = row->figure;
	struct line *l = add_line(g, row->name);
	size_t col = 0;

	if (!l)
		return -1;
	l->more = f[0].is_there ? row->other : NULL;
	l->worst = f[s].is_there ? &f[s].worst : &f[0].worst;
	if (!l->worst->report)
		l->worst = NULL;
	change(l, col++, row, s, METRIC_TOTAL, g->view);
	amount(f[0].is_there ? f[0].value[METRIC_TOTAL] : NAN, row->kind, METRIC_TOTAL,
	       l->cell[col++]);
	amount(f[s].is_there ? f[s].value[METRIC_TOTAL] : NAN, row->kind, METRIC_TOTAL,
	       l->cell[col++]);
	amount(f[0].is_there ? f[0].value[METRIC_COUNT] : NAN, row->kind, METRIC_COUNT,
	       l->cell[col++]);
	amount(f[s].is_there ? f[s].value[METRIC_COUNT] : NAN, row->kind, METRIC_COUNT,
	       l->cell[col++]);
	amount(f[0].value[METRIC_MEDIAN], row->kind, METRIC_MEDIAN, l->cell[col++]);
	amount(f[s].value[METRIC_MEDIAN], row->kind, METRIC_MEDIAN, l->cell[col++]);
	change(l, col++, row, s, METRIC_MEDIAN, g->view);
	change(l, col++, row, s, METRIC_P99, g->view);
	if (with_p)
		probability(f[s].p[METRIC_TOTAL], l->cell[col++]);
	return 0;
}

static int write_kind(struct grid *g, const struct comparison *c, const struct compare_kind *k,
		      size_t s)
{
	static const char *const heads[] = {"change", "total", "",       "count",      "",
					    "median", "",      "change", "p99 change", "p"};
	bool with_p = c->sets[0].cnt >= COMPARE_RUNS && c->sets[s].cnt >= COMPARE_RUNS;
	long shown = 0, small = 0, more = 0;
	struct line *l = add_line(g, "name");
	char title[160];

	if (!l)
		return -1;
	g->cols = with_p ? 10 : 9;
	for (size_t i = 0; i < g->cols; i++)
		snprintf(l->cell[i], CELL_BYTES, "%s%s%c", heads[i], *heads[i] ? " " : "",
			 i == 1 || i == 3 || i == 5 ? 'A' : (char)('A' + s % 26));
	for (size_t i = 0; i < g->cols; i++)
		if (i == 0 || i > 6)
			snprintf(l->cell[i], CELL_BYTES, "%s", heads[i]);
	for (size_t i = 0; i < c->row_cnt; i++) {
		if (c->rows[i].kind != k ||
		    (!c->rows[i].figure[0].is_there && !c->rows[i].figure[s].is_there))
			continue;
		if (!is_worth(&c->rows[i], s, g->view))
			small++;
		else if (g->view->top >= 0 && shown >= g->view->top)
			more++;
		else if (add_row(g, &c->rows[i], s, with_p) != 0)
			return -1;
		else
			shown++;
	}
	if (c->set_cnt > 2)
		snprintf(title, sizeof(title), "%s: A -> %c", k->title, (char)('A' + s % 26));
	else
		snprintf(title, sizeof(title), "%s", k->title);
	if (shown)
		write_grid(g, title);
	else if (small)
		fprintf(g->out, g->is_markdown ? "\n### %s\n" : "\n%s\n", title);
	g->rows = 0;
	if (small || more)
		fputs(g->is_markdown ? "\n" : "", g->out);
	if (more)
		fprintf(g->out, "  %ld more changed less (--top=all shows them)\n", more);
	if (small)
		fprintf(g->out, "  %ld changed by less than %g %%\n", small, g->view->min_change);
	return 0;
}

static int write_people(const struct comparison *c, const struct compare_view *v, FILE *out,
			bool is_markdown)
{
	struct grid g = {.view = v, .out = out, .is_markdown = is_markdown};
	int rc;

	write_head(&g, c);
	rc = write_summary(&g, c);
	if (rc == 0 && v->alpha == COMPARE_ALPHA)
		rc = write_noise(&g, c);
	for (size_t k = 0; k < c->kind_cnt && rc == 0; k++)
		for (size_t s = 1; s < c->set_cnt && rc == 0 && !c->kinds[k].is_single; s++)
			rc = write_kind(&g, c, &c->kinds[k], s);
	free(g.line);
	return rc;
}

static int write_as_text(const struct comparison *c, const struct compare_view *v, FILE *out)
{
	return write_people(c, v, out, false);
}

static int write_as_markdown(const struct comparison *c, const struct compare_view *v, FILE *out)
{
	return write_people(c, v, out, true);
}

const struct compare_format compare_text = {"text", write_as_text};
const struct compare_format compare_markdown = {"markdown", write_as_markdown};
