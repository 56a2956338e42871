/* compare_match.c - puts the same things of different reports into one row, and judges the difference. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/compare/compare.h"

#define EXACT_RUNS 60 /* in both together */

const char *const compare_metric_names[METRIC_CNT] = {
	[METRIC_TOTAL] = "total",   [METRIC_COUNT] = "count", [METRIC_MEAN] = "mean",
	[METRIC_MEDIAN] = "median", [METRIC_P99] = "p99",     [METRIC_MIN] = "min",
	[METRIC_MAX] = "max",
};

/* ---- names ---- */

/* Hexadecimal digits that are no word: eight or more, with a number among them. */
static size_t hex_length(const char *p)
{
	size_t n = strspn(p, "0123456789abcdefABCDEF");

	return n >= 8 && strcspn(p, "0123456789") < n ? n : 0;
}

char *compare_alike(const char *name)
{
	char *out = malloc(strlen(name) + 1), *to = out;

	if (!out)
		return NULL;
	while (*name) {
		size_t n = strspn(name, "0123456789");
		size_t hex = to == out || !isalnum((unsigned char)name[-1]) ? hex_length(name) : 0;

		if (hex > n)
			n = hex;
		if (n)
			*to++ = '#';
		else
			*to++ = *name++;
		name += n;
	}
	*to = 0;
	return out;
}

/* ---- the same, or not? ---- */

struct ranked {
	double value;
	bool first;  /* of the first sample */
	size_t rank; /* twice the mean rank of those of equal value: whole */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static void rank(struct ranked *r, size_t cnt)
{
	qsort(r, cnt, sizeof(*r), by_value);
	for (size_t i = 0, j; i < cnt; i = j) {
		for (j = i; j < cnt && r[j].value == r[i].value; j++)
			;
		for (size_t k = i; k < j; k++)
			r[k].rank = i + 1 + j;
	}
}

/*
 * How probable is a sum of ranks at least as far from its mean as @sum, over all ways to choose @n of the ranks?
 * ways[k * width + s]: in how many ways do k of those seen so far add up to s. Exact with equal values, too.
 */
static double exact(const struct ranked *r, size_t cnt, size_t n, size_t sum)
{
	size_t width = cnt * (cnt + 1) + 1;
	double *ways = calloc((n + 1) * width, sizeof(*ways)), far = 0, all = 0;
	double mean = (double)n * (double)(cnt + 1), distance = fabs((double)sum - mean);

	if (!ways)
		return -1;
	ways[0] = 1;
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = n; k-- > 0;)
			for (size_t s = width - r[i].rank; s-- > 0;)
				ways[(k + 1) * width + s + r[i].rank] += ways[k * width + s];
	for (size_t s = 0; s < width; s++) {
		all += ways[n * width + s];
		if (fabs((double)s - mean) >= distance - 1e-9)
			far += ways[n * width + s];
	}
	free(ways);
	return far / all;
}

/* The probability by the normal distribution, with its correction for equal values. */
static double approximate(const struct ranked *r, size_t cnt, size_t n, size_t sum)
{
	double a = (double)n, b = (double)(cnt - n), all = (double)cnt, ties = 0;
	double mean = a * (all + 1), spread;

	for (size_t i = 0, j; i < cnt; i = j) {
		for (j = i; j < cnt && r[j].value == r[i].value; j++)
			;
		double t = (double)(j - i);

		ties += t * t * t - t;
	}
	/* sums are of doubled ranks */
	spread = 2 * sqrt(a * b / 12 * (all + 1 - ties / (all * (all - 1))));
	if (spread == 0)
		return 1;
	double z = (fabs((double)sum - mean) - 1) / spread;

	return z <= 0 ? 1 : erfc(z / sqrt(2));
}

/* Mann and Whitney's test. */
double compare_same(const double *a, size_t a_cnt, const double *b, size_t b_cnt)
{
	size_t cnt = a_cnt + b_cnt, sum = 0;
	struct ranked *r;
	double p;

	if (a_cnt < COMPARE_RUNS || b_cnt < COMPARE_RUNS)
		return -1;
	r = calloc(cnt, sizeof(*r));
	if (!r)
		return -1;
	for (size_t i = 0; i < cnt; i++)
		r[i] = (struct ranked){.value = i < a_cnt ? a[i] : b[i - a_cnt],
				       .first = i < a_cnt};
	rank(r, cnt);
	for (size_t i = 0; i < cnt; i++)
		sum += r[i].first ? r[i].rank : 0;
	p = cnt <= EXACT_RUNS ? exact(r, cnt, a_cnt, sum) : approximate(r, cnt, a_cnt, sum);
	free(r);
	return p;
}

/* ---- rows ---- */

/* An item and where it comes from, while rows are looked for. */
struct place {
	const struct compare_item *item;
	size_t set, run;
};

static int by_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->item->name, y->item->name);

	if (order == 0)
		order = (x->set > y->set) - (x->set < y->set);
	return order ? order : (x->run > y->run) - (x->run < y->run);
}

struct compare_row *compare_new_row(struct comparison *c, const struct compare_kind *kind,
				    const char *name)
{
	struct compare_row *more, *row;

	if ((c->row_cnt & (c->row_cnt - 1)) == 0) {
		more = reallocarray(c->rows, c->row_cnt ? c->row_cnt * 2 : 1, sizeof(*more));
		if (!more)
			return NULL;
		c->rows = more;
	}
	row = &c->rows[c->row_cnt++];
	*row = (struct compare_row){.kind = kind, .name = name};
	row->figure = calloc(c->set_cnt, sizeof(*row->figure));
	for (size_t s = 0; row->figure && s < c->set_cnt; s++) {
		row->figure[s].items =
			calloc(c->sets[s].cnt + 1, sizeof(const struct compare_item *));
		if (!row->figure[s].items)
			return NULL;
	}
	return row->figure ? row : NULL;
}

static int rows_by_name(struct comparison *c, const struct compare_kind *kind,
			const struct place *places, size_t cnt)
{
	struct compare_row *row = NULL;

	for (size_t i = 0; i < cnt; i++) {
		const struct place *p = &places[i];

		if (!row || strcmp(row->name, p->item->name) != 0)
			row = compare_new_row(c, kind, p->item->name);
		if (!row || !row->figure[p->set].items)
			return -1;
		row->figure[p->set].items[p->run] = p->item;
		row->figure[p->set].is_there = true;
	}
	return 0;
}

static void free_row(const struct comparison *c, struct compare_row *row)
{
	for (size_t s = 0; row->figure && s < c->set_cnt; s++)
		free(row->figure[s].items);
	free(row->figure);
}

static const char *alike_of(const struct compare_row *row, const struct comparison *c)
{
	for (size_t s = 0; s < c->set_cnt; s++)
		for (size_t r = 0; r < c->sets[s].cnt; r++)
			if (row->figure[s].items[r])
				return row->figure[s].items[r]->alike;
	return "";
}

struct left {
	const char *alike;
	size_t row;
	bool in_base;
};

static int by_alike(const void *a, const void *b)
{
	const struct left *x = a, *y = b;
	int order = strcmp(x->alike, y->alike);

	if (order == 0)
		order = (int)y->in_base - (int)x->in_base;
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Moves the items of set @s from @from to @to. */
static void merge(struct compare_row *to, struct compare_row *from, size_t s)
{
	const struct compare_item **items = to->figure[s].items;

	to->figure[s].items = from->figure[s].items;
	to->figure[s].is_there = true;
	from->figure[s].items = items;
	from->figure[s].is_there = false;
	if (!to->other)
		to->other = from->name;
}

/* Rows from @first on that only the base, or only set @s has: one of each of a likeness belong together. */
static int match_alike(struct comparison *c, size_t first, size_t s)
{
	struct left *left = calloc(c->row_cnt - first + 1, sizeof(*left));
	size_t cnt = 0;

	if (!left)
		return -1;
	for (size_t i = first; i < c->row_cnt; i++) {
		const struct compare_figure *f = c->rows[i].figure;

		if (f[0].is_there != f[s].is_there)
			left[cnt++] = (struct left){alike_of(&c->rows[i], c), i, f[0].is_there};
	}
	qsort(left, cnt, sizeof(*left), by_alike);
	for (size_t i = 0, j; i < cnt; i = j) {
		for (j = i; j < cnt && strcmp(left[j].alike, left[i].alike) == 0; j++)
			;
		if (j - i == 2 && left[i].in_base && !left[i + 1].in_base)
			merge(&c->rows[left[i].row], &c->rows[left[i + 1].row], s);
	}
	free(left);
	return 0;
}

/* Rows whose last figure went to another. */
static void drop_empty(struct comparison *c, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < c->row_cnt; i++) {
		bool there = false;

		for (size_t s = 0; s < c->set_cnt; s++)
			there |= c->rows[i].figure[s].is_there;
		if (there)
			c->rows[kept++] = c->rows[i];
		else
			free_row(c, &c->rows[i]);
	}
	c->row_cnt = kept;
}

static int match_kind(struct comparison *c, size_t kind)
{
	struct place *places;
	size_t cnt = 0, first = c->row_cnt;
	int rc;

	for (size_t s = 0; s < c->set_cnt; s++)
		for (size_t r = 0; r < c->sets[s].cnt; r++)
			cnt += c->sets[s].runs[r].cnt[kind];
	places = calloc(cnt + 1, sizeof(*places));
	if (!places)
		return -1;
	cnt = 0;
	for (size_t s = 0; s < c->set_cnt; s++)
		for (size_t r = 0; r < c->sets[s].cnt; r++)
			for (size_t i = 0; i < c->sets[s].runs[r].cnt[kind]; i++)
				places[cnt++] =
					(struct place){&c->sets[s].runs[r].items[kind][i], s, r};
	qsort(places, cnt, sizeof(*places), by_name);
	rc = rows_by_name(c, &c->kinds[kind], places, cnt);
	free(places);
	if (rc == 0)
		rc = compare_pool(c, first);
	for (size_t s = 1; s < c->set_cnt && rc == 0; s++)
		rc = match_alike(c, first, s);
	if (rc == 0)
		drop_empty(c, first);
	return rc;
}

/* ---- figures ---- */

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The metric in each run of the set: where it is absent, a sum is 0 and the others are unknown. */
size_t compare_values(const struct compare_figure *f, const struct compare_set *set,
		      enum compare_metric m, double *values)
{
	size_t cnt = 0;

	for (size_t r = 0; r < set->cnt; r++) {
		if (f->items[r])
			values[cnt++] = f->items[r]->metric[m];
		else if (m == METRIC_TOTAL || m == METRIC_COUNT)
			values[cnt++] = 0;
	}
	return cnt;
}

double compare_median(double *values, size_t cnt)
{
	qsort(values, cnt, sizeof(*values), by_number);
	return cnt ? (values[(cnt - 1) / 2] + values[cnt / 2]) / 2 : NAN;
}

static int fill_figures(struct comparison *c, struct compare_row *row)
{
	size_t most = 0;
	double *base, *now;

	for (size_t s = 0; s < c->set_cnt; s++)
		most = c->sets[s].cnt > most ? c->sets[s].cnt : most;
	base = calloc(2 * most + 2, sizeof(*base));
	if (!base)
		return -1;
	now = base + most + 1;
	for (int m = 0; m < METRIC_CNT; m++)
		for (size_t s = 0; s < c->set_cnt; s++) {
			size_t a = compare_values(&row->figure[0], &c->sets[0], m, base);
			size_t b = compare_values(&row->figure[s], &c->sets[s], m, now);

			row->figure[s].p[m] = s ? compare_same(base, a, now, b) : -1;
			row->figure[s].value[m] = compare_median(now, b);
		}
	free(base);
	return 0;
}

double compare_change(const struct compare_figure *base, const struct compare_figure *now,
		      enum compare_metric m)
{
	double from = base->value[m], to = now->value[m];

	if (!base->is_there || !now->is_there)
		return NAN;
	if (from == to)
		return 0;
	return (to - from) * 100 / fabs(from);
}

/* The greatest change of total against the base, absent as zero. */
static double weight(const struct comparison *c, const struct compare_row *row)
{
	const struct compare_figure *f = row->figure;
	double most = 0;

	for (size_t s = 1; s < c->set_cnt; s++) {
		double from = f[0].is_there ? f[0].value[METRIC_TOTAL] : 0;
		double to = f[s].is_there ? f[s].value[METRIC_TOTAL] : 0;

		most = fmax(most, fabs(to - from));
	}
	return most;
}

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct comparison *c = ctx;
	const struct compare_row *x = a, *y = b;
	double wx, wy;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	wx = weight(c, x);
	wy = weight(c, y);
	return wx != wy ? (wx < wy) - (wx > wy) : strcmp(x->name, y->name);
}

int compare_match(struct comparison *c)
{
	for (size_t k = 0; k < c->kind_cnt; k++)
		if (match_kind(c, k) != 0)
			return -1;
	for (size_t i = 0; i < c->row_cnt; i++)
		if (fill_figures(c, &c->rows[i]) != 0)
			return -1;
	if (c->row_cnt)
		qsort_r(c->rows, c->row_cnt, sizeof(*c->rows), by_weight, c);
	return 0;
}

static void compare_free_item(struct compare_item *item)
{
	free(item->name);
	free(item->alike);
	free(item->few);
}

static void free_run(const struct comparison *c, struct compare_run *run)
{
	for (size_t k = 0; run->items && run->cnt && k < c->kind_cnt; k++) {
		for (size_t i = 0; i < run->cnt[k]; i++)
			compare_free_item(&run->items[k][i]);
		free(run->items[k]);
	}
	free(run->items);
	free(run->cnt);
}

void compare_free(struct comparison *c)
{
	for (size_t i = 0; i < c->row_cnt; i++)
		free_row(c, &c->rows[i]);
	for (size_t s = 0; s < c->set_cnt; s++) {
		for (size_t r = 0; r < c->sets[s].cnt; r++)
			free_run(c, &c->sets[s].runs[r]);
		free(c->sets[s].runs);
		free(c->sets[s].label);
	}
	for (size_t i = 0; i < c->pooled_cnt; i++) {
		compare_free_item(c->pooled[i]);
		free(c->pooled[i]);
	}
	free(c->pooled);
	free(c->rows);
	free(c->sets);
	free(c->kinds);
	db_filter_free(&c->filter);
}
