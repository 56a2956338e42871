/*
 * compare_json.c - a comparison for programs: one object, everything in it, in ns and bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/compare/compare.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/text/view_line.h"

static void put_number(struct writer *w, const char *key, double value)
{
	struct cell c = {.kind = CELL_REAL, .real = value};
	char text[CELL_NUMBER_MAX];
	size_t len;

	if (!isnan(value) && !isinf(value) && value == floor(value) && fabs(value) < 9e15)
		c = (struct cell){.kind = CELL_INT, .num = (int64_t)value};
	len = cell_number(&c, text);
	if (len)
		json_raw(w, key, text, len);
	else
		json_null(w, key);
}

static void put_metrics(struct writer *w, const char *key, const double *value)
{
	json_open(w, key, '{');
	for (int m = 0; m < METRIC_CNT; m++)
		put_number(w, compare_metric_names[m], value[m]);
}

/* Where the longest is, and the command that opens it; no member where none was looked for. */
static void put_worst(struct writer *w, const struct compare_place *p)
{
	char *line = NULL;
	size_t len;
	FILE *out = p->report ? open_memstream(&line, &len) : NULL;

	if (!out)
		return;
	text_put_view(out, p->report, p->row, p->start, p->end);
	if (fclose(out) == 0) {
		json_open(w, "worst", '{');
		json_text(w, "report", p->report);
		json_int(w, "start", p->start);
		json_int(w, "end", p->end);
		json_text(w, "row", *p->row ? p->row : NULL);
		json_text(w, "view", line);
		json_close(w, '}');
	}
	free(line);
}

static void put_figure(struct writer *w, const struct compare_row *row, size_t s)
{
	const struct compare_figure *f = &row->figure[s];

	if (!f->is_there) {
		json_null(w, NULL);
		return;
	}
	put_metrics(w, NULL, f->value);
	if (s && row->figure[0].is_there) {
		double change[METRIC_CNT];
		bool tested = false;

		for (int m = 0; m < METRIC_CNT; m++) {
			change[m] = compare_change(&row->figure[0], f, m);
			tested |= f->p[m] >= 0;
		}
		put_metrics(w, "change_percent", change);
		json_close(w, '}');
		if (tested) {
			for (int m = 0; m < METRIC_CNT; m++)
				change[m] = f->p[m] >= 0 ? f->p[m] : NAN;
			put_metrics(w, "p", change);
			json_close(w, '}');
		}
	}
	put_worst(w, &f->worst);
	json_close(w, '}');
}

static void put_row(struct writer *w, const struct comparison *c, const struct compare_row *row)
{
	json_line(w, 3);
	json_open(w, NULL, '{');
	json_text(w, "name", row->name);
	if (row->other && row->figure[0].is_there)
		json_text(w, "other_name", row->other);
	json_open(w, "sets", '[');
	for (size_t s = 0; s < c->set_cnt; s++)
		put_figure(w, row, s);
	json_close(w, ']');
	json_close(w, '}');
}

static void put_sets(struct writer *w, const struct comparison *c)
{
	json_open(w, "sets", '[');
	for (size_t s = 0; s < c->set_cnt; s++) {
		size_t cnt;

		json_open(w, NULL, '{');
		json_text(w, "label", c->sets[s].label);
		cnt = bounded_list(w, "runs", c->sets[s].cnt);
		for (size_t r = 0; r < cnt; r++)
			json_text(w, NULL, c->sets[s].runs[r].path);
		json_close(w, ']');
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* Rows of a kind stand together. */
static void put_kind(struct writer *w, const struct comparison *c, size_t first, size_t all)
{
	const struct compare_kind *kind = c->rows[first].kind;
	size_t cnt;

	json_line(w, 2);
	json_open(w, NULL, '{');
	json_text(w, "name", kind->name);
	json_text(w, "title", kind->title);
	json_text(w, "unit", kind->is_bytes ? "bytes" : kind->is_count ? "count" : "ns");
	cnt = bounded_list(w, "rows", all);
	for (size_t i = 0; i < cnt; i++)
		put_row(w, c, &c->rows[first + i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void put_kinds(struct writer *w, const struct comparison *c)
{
	json_line(w, 1);
	json_open(w, "kinds", '[');
	for (size_t k = 0; k < c->kind_cnt; k++) {
		size_t first = 0, cnt = 0;

		while (first < c->row_cnt && c->rows[first].kind != &c->kinds[k])
			first++;
		while (first + cnt < c->row_cnt && c->rows[first + cnt].kind == &c->kinds[k])
			cnt++;
		if (cnt)
			put_kind(w, c, first, cnt);
	}
	json_close(w, ']');
}

static void put_gates(struct writer *w, const struct comparison *c)
{
	json_line(w, 1);
	json_open(w, "gates", '[');
	for (size_t i = 0; i < c->gate_cnt; i++) {
		const struct compare_gate *g = &c->gates[i];

		json_open(w, NULL, '{');
		json_text(w, "condition", g->text);
		json_bool(w, "fired", g->fired);
		json_bool(w, "held_for_few_runs", g->was_held);
		if (g->fired || g->was_held) {
			json_format(w, "set", "%zu", g->set);
			json_text(w, "name", g->worst ? g->worst->name : "");
			put_number(w, "value", g->found);
		}
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* How much a figure of whole runs varies, and the smallest change that these runs find in it. */
static void put_noise_of(struct writer *w, const struct comparison *c,
			 const struct compare_row *row, enum compare_metric m)
{
	double noise = compare_noise(c, row, m);
	size_t runs = c->sets[0].cnt, plan = COMPARE_PLANS;

	if (isnan(noise))
		return;
	for (size_t s = 1; s < c->set_cnt; s++)
		runs = c->sets[s].cnt < runs ? c->sets[s].cnt : runs;
	while (plan > 0 && compare_plans[plan - 1] > runs)
		plan--;
	json_open(w, NULL, '{');
	json_text(w, "kind", row->kind->name);
	json_text(w, "name", row->name);
	json_text(w, "metric", compare_metric_names[m]);
	put_number(w, "noise_percent", noise);
	put_number(w, "found_percent", plan ? compare_found(noise, plan - 1) : NAN);
	json_close(w, '}');
}

static void put_noise(struct writer *w, const struct comparison *c)
{
	const struct compare_row *step = compare_steps(c);

	json_line(w, 1);
	json_open(w, "noise", '[');
	for (size_t i = 0; i < c->row_cnt; i++)
		if (c->rows[i].kind->is_single)
			put_noise_of(w, c, &c->rows[i], METRIC_TOTAL);
	if (step)
		put_noise_of(w, c, step, METRIC_MIN);
	json_close(w, ']');
}

static void put_comparison(struct writer *w, const void *ctx)
{
	const struct comparison *c = ctx;

	json_text(w, "report", c->sets[c->set_cnt - 1].label);
	put_sets(w, c);
	put_noise(w, c);
	put_kinds(w, c);
	put_gates(w, c);
}

static int write_json(const struct comparison *c, const struct compare_view *v, FILE *out)
{
	int rc = bounded_print(out, v->bounds, put_comparison, c);

	putc('\n', out);
	return rc;
}

const struct compare_format compare_json = {"json", write_json};
