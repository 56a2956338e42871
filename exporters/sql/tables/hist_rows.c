/*
 * hist_rows.c - table functions that read the counts of sl_hist() and sl_stats(): sl_hist_rows(number),
 * sl_stats_rows(number), sl_hist_values(hist).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/tables/hist_values.h"
#include "exporters/sql/tables/vtab.h"

/* ---- all have one hidden column, which must be given ---- */

struct rows_cursor {
	sqlite3_vtab_cursor base;
	struct hist *h;
	int64_t at, cnt;
	struct hist_values handle; /* of a row's values */
	/* statistics of the row */
	const struct group *group;
	double mean, median, stddev;
};

enum { /* columns of sl_hist_rows() after the keys */
	HIST = HIST_KEYS - 1,
	COUNT,
	SUM, /* of sl_sums() */
	LEAST,
	MOST,
	OTHERS,
	HIDDEN_OF_ROWS
};

enum { /* columns of sl_stats_rows() */
	KEY,
	N,
	TOTAL,
	MIN,
	MAX,
	MEAN,
	MEDIAN,
	STDDEV,
	PERCENTILE,
	EXTRA = PERCENTILE + PERCENTILES_MAX,
	HIDDEN_OF_STATS
};

enum { /* columns of sl_hist_values() */
	VALUE,
	TIMES,
	HIDDEN_OF_VALUES
};

static int rows_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(
		db, of,
		"CREATE TABLE x(k0,k1,k2,k3,k4,k5,k6,hist,n,total,least,most,others,number HIDDEN)",
		out);
}

static int stats_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(
		db, of,
		"CREATE TABLE "
		"x(key,n,total,min,max,mean,median,stddev,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9,p10,"
		"p11,p12,p13,p14,p15,extra,number HIDDEN)",
		out);
}

static int values_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			  sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of, "CREATE TABLE x(value, times, handle HIDDEN)", out);
}

static int best_index(sqlite3_index_info *info, int hidden)
{
	info->estimatedCost = 1e12;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != hidden || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!c->usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = 1;
		info->estimatedCost = 1e5;
		info->estimatedRows = 100000;
	}
	return SQLITE_OK;
}
static int rows_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	return best_index(info, HIDDEN_OF_ROWS);
}
static int stats_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	return best_index(info, HIDDEN_OF_STATS);
}
static int values_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	return best_index(info, HIDDEN_OF_VALUES);
}

static int rows_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return vtab_open(sizeof(struct rows_cursor), out);
}
static int rows_eof(sqlite3_vtab_cursor *base)
{
	const struct rows_cursor *c = (struct rows_cursor *)base;

	return c->at >= c->cnt;
}
static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct rows_cursor *)base)->at;
	return SQLITE_OK;
}

/* The table with this number; without one (nothing was counted) there are no rows. */
static void find_table(struct rows_cursor *c, int idx, sqlite3_value **argv)
{
	struct hist *h = ((struct hist_of_db *)((struct vtab *)c->base.pVtab)->of)->first;
	int64_t number = idx ? sqlite3_value_int64(argv[0]) : 0;

	while (h && h->number != number)
		h = h->next;
	c->h = h;
	c->at = 0;
	c->cnt = h ? h->cnt : 0;
}

/* ---- sl_hist_rows ---- */

static int rows_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
		       sqlite3_value **argv)
{
	(void)s, (void)argc;
	find_table((struct rows_cursor *)base, idx, argv);
	return SQLITE_OK;
}
static int rows_next(sqlite3_vtab_cursor *base)
{
	((struct rows_cursor *)base)->at++;
	return SQLITE_OK;
}
static void give_sum(sqlite3_context *out, const struct group *g, int col)
{
	if (col == SUM)
		sqlite3_result_int64(out, g->sum);
	else if (col == LEAST)
		sqlite3_result_int64(out, g->least);
	else if (col == MOST)
		sqlite3_result_int64(out, g->most);
	else if (g->nulls < g->n)
		sqlite3_result_int64(out, g->extra);
}
static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct rows_cursor *c = (struct rows_cursor *)base;
	const struct hist *h = c->h;

	if (col == COUNT && h->group) {
		sqlite3_result_int64(out, h->group[c->at].n);
	} else if (col > COUNT && h->group) {
		give_sum(out, &h->group[c->at], col);
	} else if (col == HIST) {
		c->handle = (struct hist_values){HIST_VALUES, h->number, c->at};
		sqlite3_result_blob(out, &c->handle, sizeof(c->handle), SQLITE_TRANSIENT);
	} else if (col < (int)h->keys) {
		hist_give_value(out, &h->pool, h->key[c->at * h->keys + col],
				h->type[c->at] >> (4 * col) & 15);
	}
	return SQLITE_OK;
}

const sqlite3_module hist_rows_module = {
	.xConnect = rows_connect,
	.xBestIndex = rows_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = vtab_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};

/* ---- sl_stats_rows ---- */

static double number_of(const struct group *g, size_t i)
{
	return g->real ? hist_real(g->pair[i].value) : (double)g->pair[i].value;
}

/* The smallest value that at least num/den of all do not exceed (more than that: @above); NULL's come first. */
static size_t rank_of(const struct group *g, int64_t num, int64_t den, bool above)
{
	__int128 want = (__int128)g->n * num;
	int64_t upto = g->nulls;
	size_t i = 0;

	for (; i + 1 < g->cnt; i++) {
		upto += g->pair[i].n;
		if ((__int128)upto * den >= want + above)
			break;
	}
	return i;
}

static void stats_load(struct rows_cursor *c)
{
	long double squares = 0;
	struct group *g;

	if (rows_eof(&c->base))
		return;
	g = &c->h->group[c->at];
	c->group = g;
	hist_group_sort(g);
	c->mean = (g->real ? g->real_sum : (double)g->sum) / (double)g->n;
	for (size_t i = 0; i < g->cnt; i++) {
		long double off = (long double)number_of(g, i) - c->mean;

		squares += (long double)g->pair[i].n * off * off;
	}
	c->stddev = sqrt((double)squares / (double)(g->n - 1));
	if (g->cnt > 0) {
		size_t low = rank_of(g, 1, 2, false), high = rank_of(g, 1, 2, true);

		c->median = g->real ? (number_of(g, low) + number_of(g, high)) / 2.0
				    : (double)((__int128)g->pair[low].value + g->pair[high].value) /
					      2.0;
	}
}

static int stats_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
			sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	(void)s, (void)argc;
	find_table(c, idx, argv);
	stats_load(c);
	return SQLITE_OK;
}
static int stats_next(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	c->at++;
	stats_load(c);
	return SQLITE_OK;
}

static void give_pair(sqlite3_context *out, const struct group *g, size_t i)
{
	if (g->real)
		sqlite3_result_double(out, number_of(g, i));
	else
		sqlite3_result_int64(out, g->pair[i].value);
}

static int stats_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	const struct rows_cursor *c = (struct rows_cursor *)base;
	const struct group *g = c->group;
	const struct percentiles *p = &c->h->of->percent;

	if (col == KEY)
		hist_give_value(out, &c->h->pool, c->h->key[c->at], c->h->type[c->at]);
	else if (col == N)
		sqlite3_result_int64(out, g->n);
	else if (col == EXTRA)
		sqlite3_result_int64(out, g->extra);
	else if (col == STDDEV && g->n <= 1)
		sqlite3_result_double(out, 0);
	else if (g->cnt == 0)
		sqlite3_result_null(out);
	else if (col == TOTAL && g->real)
		sqlite3_result_double(out, g->real_sum);
	else if (col == TOTAL)
		sqlite3_result_int64(out, g->sum);
	else if (col == MIN)
		give_pair(out, g, 0);
	else if (col == MAX)
		give_pair(out, g, g->cnt - 1);
	else if (col == MEAN)
		sqlite3_result_double(out, c->mean);
	else if (col == MEDIAN)
		sqlite3_result_double(out, c->median);
	else if (col == STDDEV)
		sqlite3_result_double(out, c->stddev);
	else if ((size_t)(col - PERCENTILE) < p->cnt)
		give_pair(out, g,
			  rank_of(g, p->each[col - PERCENTILE].num, p->each[col - PERCENTILE].den,
				  false));
	return SQLITE_OK;
}

const sqlite3_module hist_stats_module = {
	.xConnect = stats_connect,
	.xBestIndex = stats_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = vtab_close,
	.xFilter = stats_filter,
	.xNext = stats_next,
	.xEof = rows_eof,
	.xColumn = stats_column,
	.xRowid = rows_rowid,
};

/* ---- sl_hist_values ---- */

static int values_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
			 sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)base;
	struct group *g = idx ? hist_find_values(((struct vtab *)base->pVtab)->of, argv[0]) : NULL;

	(void)s, (void)argc;
	if (g)
		hist_group_sort(g);
	c->group = g;
	c->at = 0;
	return SQLITE_OK;
}

/* sl_stats() may take the values while they are read: then there are none. */
static int values_eof(sqlite3_vtab_cursor *base)
{
	const struct rows_cursor *c = (struct rows_cursor *)base;

	return !c->group || (size_t)c->at >= c->group->cnt;
}

/* A value may be kept several times, and is one row. */
static size_t values_end(const struct rows_cursor *c)
{
	const struct group *g = c->group;
	size_t end = (size_t)c->at + 1;

	while (end < g->cnt && g->pair[end].value == g->pair[c->at].value)
		end++;
	return end;
}
static int values_next(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	c->at = values_eof(base) ? c->at : (int64_t)values_end(c);
	return SQLITE_OK;
}

static int64_t values_times(const struct rows_cursor *c)
{
	int64_t times = 0;

	for (size_t i = (size_t)c->at, end = values_end(c); i < end; i++)
		times += c->group->pair[i].n;
	return times;
}
static int values_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	const struct rows_cursor *c = (struct rows_cursor *)base;

	if (values_eof(base))
		return SQLITE_OK;
	if (col == VALUE)
		give_pair(out, c->group, (size_t)c->at);
	else if (col == TIMES)
		sqlite3_result_int64(out, values_times(c));
	return SQLITE_OK;
}

const sqlite3_module hist_values_module = {
	.xConnect = values_connect,
	.xBestIndex = values_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = vtab_close,
	.xFilter = values_filter,
	.xNext = values_next,
	.xEof = values_eof,
	.xColumn = values_column,
	.xRowid = rows_rowid,
};
