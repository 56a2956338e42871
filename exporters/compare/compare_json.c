/*
 * compare_json.c - a comparison for programs: one object, everything in it, in ns and bytes.
 */
#include <math.h>
#include <string.h>

#include "exporters/text/cell.h"
#include "exporters/compare/compare.h"
#include "exporters/text/format.h"

static void put_number(FILE *out, double value)
{
	struct cell c = {.kind = CELL_REAL, .real = value};
	char text[CELL_NUMBER_MAX];

	if (!isnan(value) && !isinf(value) && value == floor(value) && fabs(value) < 9e15)
		c = (struct cell){.kind = CELL_INT, .num = (int64_t)value};
	fputs(cell_number(&c, text) ? text : "null", out);
}

static void put_text(FILE *out, const char *text)
{
	json_string(out, text, strlen(text));
}

static void put_metrics(FILE *out, const double *value)
{
	for (int m = 0; m < METRIC_CNT; m++) {
		fprintf(out, "%s\"%s\": ", m ? ", " : "", compare_metric_names[m]);
		put_number(out, value[m]);
	}
}

static void put_figure(FILE *out, const struct compare_row *row, size_t s)
{
	const struct compare_figure *f = &row->figure[s];

	if (!f->is_there) {
		fputs("null", out);
		return;
	}
	fputc('{', out);
	put_metrics(out, f->value);
	if (s && row->figure[0].is_there) {
		double change[METRIC_CNT];
		bool tested = false;

		for (int m = 0; m < METRIC_CNT; m++) {
			change[m] = compare_change(&row->figure[0], f, m);
			tested |= f->p[m] >= 0;
		}
		fputs(", \"change_percent\": {", out);
		put_metrics(out, change);
		fputc('}', out);
		if (tested) {
			fputs(", \"p\": {", out);
			for (int m = 0; m < METRIC_CNT; m++)
				change[m] = f->p[m] >= 0 ? f->p[m] : NAN;
			put_metrics(out, change);
			fputc('}', out);
		}
	}
	fputc('}', out);
}

static void put_row(FILE *out, const struct comparison *c, const struct compare_row *row)
{
	fputs("{\"name\": ", out);
	put_text(out, row->name);
	if (row->other && row->figure[0].is_there) {
		fputs(", \"other_name\": ", out);
		put_text(out, row->other);
	}
	fputs(", \"sets\": [", out);
	for (size_t s = 0; s < c->set_cnt; s++) {
		fputs(s ? ", " : "", out);
		put_figure(out, row, s);
	}
	fputs("]}", out);
}

static void put_sets(FILE *out, const struct comparison *c)
{
	for (size_t s = 0; s < c->set_cnt; s++) {
		fputs(s ? ", {\"label\": " : "{\"label\": ", out);
		put_text(out, c->sets[s].label);
		fputs(", \"runs\": [", out);
		for (size_t r = 0; r < c->sets[s].cnt; r++) {
			fputs(r ? ", " : "", out);
			put_text(out, c->sets[s].runs[r].path);
		}
		fputs("]}", out);
	}
}

static void put_gates(FILE *out, const struct comparison *c)
{
	for (size_t i = 0; i < c->gate_cnt; i++) {
		const struct compare_gate *g = &c->gates[i];

		fputs(i ? ", {\"condition\": " : "{\"condition\": ", out);
		put_text(out, g->text);
		fprintf(out, ", \"fired\": %s", g->fired ? "true" : "false");
		if (g->fired) {
			fprintf(out, ", \"set\": %zu, \"name\": ", g->set);
			put_text(out, g->worst ? g->worst->name : "");
			fputs(", \"value\": ", out);
			put_number(out, g->found);
		}
		fputc('}', out);
	}
}

static int write_json(const struct comparison *c, const struct compare_view *v, FILE *out)
{
	bool any = false;

	(void)v;
	fputs("{\"sets\": [", out);
	put_sets(out, c);
	fputs("],\n \"kinds\": [", out);
	for (size_t k = 0; k < c->kind_cnt; k++) {
		bool first = true;

		for (size_t i = 0; i < c->row_cnt; i++) {
			if (c->rows[i].kind != &c->kinds[k])
				continue;
			if (first)
				fprintf(out,
					"%s\n  {\"name\": \"%s\", \"title\": \"%s\", \"unit\": "
					"\"%s\", \"rows\": [",
					any ? "," : "", c->kinds[k].name, c->kinds[k].title,
					c->kinds[k].is_bytes ? "bytes" : "ns");
			fputs(first ? "\n   " : ",\n   ", out);
			put_row(out, c, &c->rows[i]);
			first = false;
			any = true;
		}
		fputs(first ? "" : "]}", out);
	}
	fputs("],\n \"gates\": [", out);
	put_gates(out, c);
	fputs("]}\n", out);
	return 0;
}

const struct compare_format compare_json = {"json", write_json};
