/* compare_gate.c - conditions on a comparison, for continuous integration. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/options.h"
#include "exporters/compare/compare.h"
#include "exporters/text/cell.h"

/* ---- reading one ---- */

static int wrong(const char *text, const char *at, const char *want, char *why, size_t why_len)
{
	snprintf(why, why_len,
		 "--fail-on '%s': %s at '%s'; write for instance 'cpu > +3%%', 'step.min > +3%%', "
		 "'kernel[*gemm*].total > "
		 "+2ms' or 'gpu_memory > 70GB'",
		 text, want, at);
	return -1;
}

static const struct compare_kind *kind_of(const struct comparison *c, const char *name)
{
	for (size_t i = 0; i < c->kind_cnt; i++)
		if (strcmp(c->kinds[i].name, name) == 0)
			return &c->kinds[i];
	return NULL;
}

static int read_kind(const struct comparison *c, const char **p, struct compare_gate *g, char *why,
		     size_t why_len)
{
	size_t n = strspn(*p, "abcdefghijklmnopqrstuvwxyz_");
	const char *near = NULL;

	snprintf(g->kind, sizeof(g->kind), "%.*s", (int)n, *p);
	if (n == 0)
		return wrong(g->text, *p, "the name of what is compared is missing", why, why_len);
	if (!kind_of(c, g->kind)) {
		for (size_t i = 0; i < c->kind_cnt; i++)
			near = sl_nearest(g->kind, near, c->kinds[i].name);
		snprintf(why, why_len, "--fail-on '%s': '%s' is not compared%s%s%s", g->text,
			 g->kind, near ? "; did you mean '" : "", near ? near : "",
			 near ? "'?" : "");
		return -1;
	}
	*p += n;
	return 0;
}

static int read_metric(const char **p, struct compare_gate *g, char *why, size_t why_len)
{
	size_t n;

	g->metric = METRIC_TOTAL;
	if (**p != '.')
		return 0;
	n = strspn(*p + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (int m = 0; m < METRIC_CNT; m++)
		if (strlen(compare_metric_names[m]) == n &&
		    memcmp(compare_metric_names[m], *p + 1, n) == 0) {
			g->metric = (enum compare_metric)m;
			*p += n + 1;
			return 0;
		}
	return wrong(g->text, *p + 1, "total, count, mean, median, p99, min or max is expected",
		     why, why_len);
}

static int read_op(const char **p, struct compare_gate *g, char *why, size_t why_len)
{
	if (**p != '>' && **p != '<')
		return wrong(g->text, *p, "<, <=, > or >= is expected", why, why_len);
	g->op = **p;
	(*p)++;
	if (**p == '=') {
		g->op = g->op == '>' ? 'g' : 'l';
		(*p)++;
	}
	return 0;
}

static int read_limit(const struct comparison *c, const char **p, struct compare_gate *g, char *why,
		      size_t why_len)
{
	static const struct {
		const char *unit;
		double factor;
		bool bytes, ns;
	} units[] = {{"", 1, true, true},
		     {"ns", 1, false, true},
		     {"us", 1e3, false, true},
		     {"ms", 1e6, false, true},
		     {"s", 1e9, false, true},
		     {"B", 1, true, false},
		     {"kB", 1e3, true, false},
		     {"KB", 1e3, true, false},
		     {"MB", 1e6, true, false},
		     {"GB", 1e9, true, false},
		     {"KiB", 1024, true, false},
		     {"MiB", 1048576, true, false},
		     {"GiB", 1073741824, true, false}};
	bool is_bytes = kind_of(c, g->kind)->is_bytes,
	     is_count = g->metric == METRIC_COUNT || kind_of(c, g->kind)->is_count;
	const char *begin = *p;
	char *end;
	size_t n;

	g->is_change = *begin == '+' || *begin == '-';
	g->limit = strtod(begin + g->is_change, &end);
	if (end == begin + g->is_change || !isdigit((unsigned char)begin[g->is_change]))
		return wrong(g->text, begin, "a number is expected", why, why_len);
	if (*begin == '-')
		g->limit = -g->limit;
	end += strspn(end, " ");
	n = strcspn(end, " ");
	*p = end + n + strspn(end + n, " ");
	if (n == 1 && *end == '%') {
		g->is_percent = true;
		if (!g->is_change)
			return wrong(g->text, begin, "a change in per cent has a sign:", why,
				     why_len);
		return 0;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].unit) == n && memcmp(units[i].unit, end, n) == 0 &&
		    (n == 0 || (!is_count && (is_bytes ? units[i].bytes : units[i].ns)))) {
			g->limit *= units[i].factor;
			return 0;
		}
	return wrong(g->text, end,
		     is_count   ? "%% or nothing is expected"
		     : is_bytes ? "%%, B, kB, MB or GB is expected"
				: "%, ns, us, ms or s is expected",
		     why, why_len);
}

int compare_gate_parse(const struct comparison *c, const char *text, struct compare_gate *g,
		       char *why, size_t why_len)
{
	const char *p = text + strspn(text, " "), *close;

	*g = (struct compare_gate){.text = text};
	if (read_kind(c, &p, g, why, why_len) != 0)
		return -1;
	if (*p == '[') {
		close = strrchr(p, ']');
		if (!close)
			return wrong(text, p, "a ']' is missing", why, why_len);
		g->pattern = strndup(p + 1, (size_t)(close - p - 1));
		p = close + 1;
	}
	if (read_metric(&p, g, why, why_len) != 0)
		return -1;
	p += strspn(p, " ");
	if (read_op(&p, g, why, why_len) != 0)
		return -1;
	p += strspn(p, " ");
	if (read_limit(c, &p, g, why, why_len) != 0)
		return -1;
	return *p ? wrong(text, p, "nothing more is expected", why, why_len) : 0;
}

void compare_gate_free(struct compare_gate *g)
{
	free(g->pattern);
}

/* ---- looking ---- */

static bool exceeds(const struct compare_gate *g, double found)
{
	switch (g->op) {
	case '>':
		return found > g->limit;
	case 'g':
		return found >= g->limit;
	case '<':
		return found < g->limit;
	default:
		return found <= g->limit;
	}
}

/* The figure that the condition tests; NaN: unknown. */
static double found_in(const struct compare_gate *g, double from, double to)
{
	if (!g->is_change)
		return to;
	if (!g->is_percent)
		return to - from;
	return from == to ? 0 : (to - from) * 100 / fabs(from);
}

/* Chance alone may have done it. Without repeats that is unknown, and the figure counts. */
static bool is_chance(const struct compare_gate *g, const struct compare_view *v, double p)
{
	return g->is_change && p >= v->alpha;
}

bool compare_gate_is_held(const struct comparison *c, const struct compare_view *v,
			  const struct compare_gate *g, size_t set)
{
	return g->is_change && (c->sets[0].cnt < v->min_runs || c->sets[set].cnt < v->min_runs);
}

/* Keeps the worst row that fires the gate; else the worst that would with enough runs. */
static void note(struct compare_gate *g, const struct compare_row *row, size_t set, double found,
		 bool is_held)
{
	bool up = g->op == '>' || g->op == 'g';

	if (isnan(found) || !exceeds(g, found) || (is_held && g->fired))
		return;
	if ((is_held ? g->was_held : g->fired) && (up ? found <= g->found : found >= g->found))
		return;
	g->fired = !is_held;
	g->was_held = is_held;
	g->worst = row;
	g->set = set;
	g->found = found;
}

static void check_row(const struct comparison *c, const struct compare_view *v,
		      struct compare_gate *g, const struct compare_row *row)
{
	const struct compare_figure *base = &row->figure[0];
	bool is_sum = g->metric == METRIC_TOTAL || g->metric == METRIC_COUNT;

	for (size_t s = 1; s < c->set_cnt; s++) {
		const struct compare_figure *now = &row->figure[s];

		if (g->is_change && (!base->is_there || !now->is_there) &&
		    (g->is_percent || !is_sum))
			continue;
		if (!g->is_change && !now->is_there)
			continue;
		g->was_checked = true;
		if (!is_chance(g, v, now->p[g->metric]))
			note(g, row, s, found_in(g, base->value[g->metric], now->value[g->metric]),
			     compare_gate_is_held(c, v, g, s));
	}
}

/* The sum over all of the kind, per run of the set. */
static void sums_of(const struct comparison *c, const struct compare_gate *g, size_t s,
		    double *sums)
{
	for (size_t r = 0; r < c->sets[s].cnt; r++) {
		sums[r] = 0;
		for (size_t i = 0; i < c->row_cnt; i++) {
			const struct compare_item *item = c->rows[i].figure[s].items[r];

			if (item && strcmp(c->rows[i].kind->name, g->kind) == 0)
				sums[r] += item->metric[g->metric];
		}
	}
}

static void check_all(const struct comparison *c, const struct compare_view *v,
		      struct compare_gate *g)
{
	size_t most = 1;
	double *base, *now;

	for (size_t s = 0; s < c->set_cnt; s++)
		most = c->sets[s].cnt > most ? c->sets[s].cnt : most;
	base = calloc(2 * most, sizeof(*base));
	if (!base)
		return;
	now = base + most;
	for (size_t s = 1; s < c->set_cnt; s++) {
		double p;

		sums_of(c, g, 0, base);
		sums_of(c, g, s, now);
		p = compare_same(base, c->sets[0].cnt, now, c->sets[s].cnt);
		g->was_checked = true;
		if (!is_chance(g, v, p))
			note(g, NULL, s,
			     found_in(g, compare_median(base, c->sets[0].cnt),
				      compare_median(now, c->sets[s].cnt)),
			     compare_gate_is_held(c, v, g, s));
	}
	free(base);
}

void compare_gate_check(const struct comparison *c, const struct compare_view *v,
			struct compare_gate *g)
{
	bool is_sum = g->metric == METRIC_TOTAL || g->metric == METRIC_COUNT, any = false;

	for (size_t i = 0; i < c->row_cnt; i++) {
		const struct compare_row *row = &c->rows[i];

		if (strcmp(row->kind->name, g->kind) != 0)
			continue;
		if (g->pattern && sqlite3_strglob(g->pattern, row->name) != 0 &&
		    (!row->other || sqlite3_strglob(g->pattern, row->other) != 0))
			continue;
		any = true;
		if (g->pattern || !is_sum || row->kind->is_single)
			check_row(c, v, g, row);
	}
	if (any && !g->was_checked && !g->pattern && is_sum)
		check_all(c, v, g);
}

void compare_gate_print(const struct comparison *c, const struct compare_gate *g, FILE *out)
{
	const struct compare_kind *k = kind_of(c, g->kind);
	const char *unit = g->is_percent                              ? " %"
			   : g->metric == METRIC_COUNT || k->is_count ? ""
			   : k->is_bytes                              ? " B"
								      : " ns";

	fprintf(out, "sightline: compare: %s: found %s%.10g%s", g->text,
		g->is_change && g->found > 0 ? "+" : "",
		g->is_percent ? round(g->found * 100) / 100 : g->found, unit);
	if (g->worst && *g->worst->name) {
		fputs(" in ", out);
		text_put_people(out, g->worst->name);
	}
	fputs(" of ", out);
	text_put_people(out, c->sets[g->set].label);
	fputs(g->was_held ? ", of too few runs to fail\n" : "\n", out);
}
