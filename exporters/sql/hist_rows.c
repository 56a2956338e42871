/*
 * hist_rows.c - the tables that sl_hist() and sl_figures() have counted, for FROM: sl_hist_rows(number)
 * gives k0, k1, ..., k7, n; sl_figures_rows(number) the figures of each key.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/hist_internal.h"
#include "exporters/sql/vtab.h"

/* ---- what both have in common: one hidden column, which must be given ---- */

struct rows_cursor {
	sqlite3_vtab_cursor base;
	struct hist *h;
	int64_t at, cnt;
	struct hist_values handle; /* of a row's values */
	/* the row, as kept in the file */
	int64_t key[HIST_KEYS];
	uint32_t type, count;
	/* the group's figures */
	const struct group *group;
	long double squares;
	double mean, median;
};

#define HIDDEN_OF_ROWS    (HIST_KEYS + 1)
#define FIGURES           8
#define EXTRA             (FIGURES + PERCENTILES_MAX)
#define HIDDEN_OF_FIGURES (EXTRA + 1)

static int rows_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of, "CREATE TABLE x(k0,k1,k2,k3,k4,k5,k6,k7,n,number HIDDEN)", out);
}

static int figures_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			   sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(
		db, of,
		"CREATE TABLE "
		"x(key,calls,time,least,most,mean,squares,med,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9,p10,"
		"p11,p12,p13,p14,p15,extra,number HIDDEN)",
		out);
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
static int figures_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	return best_index(info, HIDDEN_OF_FIGURES);
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

/* The table that is asked for; none: no rows (nothing was counted). */
static void find_table(struct rows_cursor *c, int idx, sqlite3_value **argv)
{
	struct hist *h = ((struct hist_of_db *)((struct vtab *)c->base.pVtab)->of)->first;
	int64_t number = idx ? sqlite3_value_int64(argv[0]) : 0;

	while (h && h->number != number)
		h = h->next;
	c->h = h;
	c->at = 0;
	c->cnt = h ? h->spilled_cnt + h->cnt : 0;
}

/* ---- rows ---- */

static int rows_load(struct rows_cursor *c)
{
	struct hist *h = c->h;
	size_t i;

	if (!h || rows_eof(&c->base))
		return SQLITE_OK;
	if (c->at < h->spilled_cnt)
		return fread(c->key, sizeof(*c->key), h->keys, h->spilled) == h->keys &&
				       fread(&c->type, sizeof(c->type), 1, h->spilled) == 1 &&
				       fread(&c->count, sizeof(c->count), 1, h->spilled) == 1
			       ? SQLITE_OK
			       : SQLITE_IOERR;
	i = (size_t)(c->at - h->spilled_cnt);
	memcpy(c->key, &h->key[i * h->keys], h->keys * sizeof(*c->key));
	c->type = h->type[i];
	c->count = h->count[i];
	c->group = h->group ? &h->group[i] : NULL;
	return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
		       sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	(void)s, (void)argc;
	find_table(c, idx, argv);
	if (c->h && c->h->spilled)
		rewind(c->h->spilled);
	return rows_load(c);
}
static int rows_next(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	c->at++;
	return rows_load(c);
}
static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	if (col == HIST_KEYS) {
		sqlite3_result_int64(out, c->group ? c->group->calls : c->count);
	} else if (col == (int)c->h->keys && c->group) {
		c->handle = (struct hist_values){HIST_VALUES, c->h->number, c->at};
		sqlite3_result_blob(out, &c->handle, sizeof(c->handle), SQLITE_TRANSIENT);
	} else if (col < (int)c->h->keys) {
		hist_give_value(out, &c->h->pool, c->key[col], c->type >> (4 * col) & 15);
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

/* ---- figures ---- */

static double number_of(const struct group *g, size_t i)
{
	return g->real ? hist_real(g->pair[i].value) : (double)g->pair[i].value;
}

/* The smallest value that at least num/den of all do not exceed (more than that: @above); NULL's come first. */
static size_t rank_of(const struct group *g, int64_t num, int64_t den, bool above)
{
	__int128 want = (__int128)g->calls * num;
	int64_t upto = g->nulls;
	size_t i = 0;

	for (; i + 1 < g->cnt; i++) {
		upto += g->pair[i].n;
		if ((__int128)upto * den >= want + above)
			break;
	}
	return i;
}

static void figures_load(struct rows_cursor *c)
{
	struct group *g;

	if (rows_eof(&c->base))
		return;
	g = &c->h->group[c->at];
	c->group = g;
	hist_group_sort(g);
	c->mean = (g->real ? g->real_sum : (double)g->sum) / (double)g->calls;
	c->squares = 0;
	for (size_t i = 0; i < g->cnt; i++) {
		long double off = (long double)number_of(g, i) - c->mean;

		c->squares += (long double)g->pair[i].n * off * off;
	}
	if (g->cnt > 0) {
		size_t low = rank_of(g, 1, 2, false), high = rank_of(g, 1, 2, true);

		c->median = g->real ? (number_of(g, low) + number_of(g, high)) / 2.0
				    : (double)(g->pair[low].value + g->pair[high].value) / 2.0;
	}
}

static int figures_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
			  sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	(void)s, (void)argc;
	find_table(c, idx, argv);
	figures_load(c);
	return SQLITE_OK;
}
static int figures_next(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *c = (struct rows_cursor *)base;

	c->at++;
	figures_load(c);
	return SQLITE_OK;
}

static void give_pair(sqlite3_context *out, const struct group *g, size_t i)
{
	if (g->real)
		sqlite3_result_double(out, number_of(g, i));
	else
		sqlite3_result_int64(out, g->pair[i].value);
}

static int figures_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	const struct rows_cursor *c = (struct rows_cursor *)base;
	const struct group *g = c->group;
	const struct percentiles *p = &c->h->of->percent;

	if (col == 0)
		hist_give_value(out, &c->h->pool, c->h->key[c->at], c->h->type[c->at]);
	else if (col == 1)
		sqlite3_result_int64(out, g->calls);
	else if (col == EXTRA)
		sqlite3_result_int64(out, g->extra);
	else if (g->cnt == 0)
		sqlite3_result_null(out);
	else if (col == 2 && g->real)
		sqlite3_result_double(out, g->real_sum);
	else if (col == 2)
		sqlite3_result_int64(out, g->sum);
	else if (col == 3)
		give_pair(out, g, 0);
	else if (col == 4)
		give_pair(out, g, g->cnt - 1);
	else if (col == 5)
		sqlite3_result_double(out, c->mean);
	else if (col == 6)
		sqlite3_result_double(out, (double)c->squares);
	else if (col == 7)
		sqlite3_result_double(out, c->median);
	else if ((size_t)(col - FIGURES) < p->cnt)
		give_pair(
			out, g,
			rank_of(g, p->each[col - FIGURES].num, p->each[col - FIGURES].den, false));
	return SQLITE_OK;
}

const sqlite3_module hist_figures_module = {
	.xConnect = figures_connect,
	.xBestIndex = figures_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = vtab_close,
	.xFilter = figures_filter,
	.xNext = figures_next,
	.xEof = rows_eof,
	.xColumn = figures_column,
	.xRowid = rows_rowid,
};
