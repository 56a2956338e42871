/*
 * rows_table.c - reads stretches one after the other, or one alone, or a part of it, in either direction.
 *
 * Constraints only narrow the reading: SQLite looks at each row that comes out again.
 */
#include "exporters/sql/tables/rows_table.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/saturate.h"
#include "exporters/sql/tables/vtab.h"

enum { /* how a table is read; its arguments in this order */
	OF_NUMBER = 1,
	FIRST_LOW = 2,
	FIRST_HIGH = 4,
	OTHER_LOW = 8,
	OTHER_HIGH = 16,
	ARGUMENTS = 5,
	DOWNWARDS = 32,
	LAST_AT = 64,  /* its argument comes after those */
	WITH_ARG = 128 /* the last */
};

#define STRETCHES 8 /* about how many a table has */

struct bounds {
	int64_t low, high; /* both with */
};

struct cursor {
	sqlite3_vtab_cursor base;
	const struct rows_table *t;
	struct rows_reader reader;
	struct bounds first, other;
	bool reads, by_first, by_other, by_last, down;
	int64_t last;                /* the last row whose first word is at most that */
	size_t stretch, stretch_end; /* to be read */
	size_t at, end;              /* rows of the stretch: at is read; downwards at - 1 */
	const int64_t *record;       /* NULL: at the end */
};

int rows_shown_clear(struct rows_shown *s)
{
	if (s->readers)
		return SQLITE_LOCKED;
	for (size_t i = 0; i < s->cnt; i++)
		if (i == 0 || s->list[i].rows != s->list[i - 1].rows)
			rows_free(s->list[i].rows);
	free(s->list);
	*s = (struct rows_shown){0};
	return SQLITE_OK;
}

int rows_shown_add(struct rows_shown *s, const struct rows_stretch *stretch)
{
	struct rows_stretch *more = reallocarray(s->list, s->cnt + 1, sizeof(*more));
	size_t i;

	if (!more)
		return SQLITE_NOMEM;
	s->list = more;
	for (i = s->cnt++; i > 0 && more[i - 1].number > stretch->number; i--)
		more[i] = more[i - 1];
	more[i] = *stretch;
	return SQLITE_OK;
}

static const struct rows_table *table_of(sqlite3_vtab *v)
{
	return ((struct vtab *)v)->of;
}

static int table_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	char *sql = sqlite3_mprintf("CREATE TABLE x(%s)", ((const struct rows_table *)of)->columns);
	int rc = sql ? vtab_connect(db, of, sql, out) : SQLITE_NOMEM;

	(void)argc, (void)argv, (void)why;
	sqlite3_free(sql);
	return rc;
}

static unsigned use_of(const struct rows_table *t, int column, unsigned char op)
{
	bool low = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
	bool high = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
	bool eq = op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (column < 0)
		return 0;
	if (column == t->number)
		return eq ? OF_NUMBER : 0;
	if (column == t->first)
		return eq ? FIRST_LOW | FIRST_HIGH : low ? FIRST_LOW : high ? FIRST_HIGH : 0;
	if (column == t->other)
		return low ? OTHER_LOW : high ? OTHER_HIGH : 0;
	return 0;
}

/* By number; within one by the first word, then in either direction. */
static void use_order(const struct rows_table *t, sqlite3_index_info *info)
{
	int k = 0, cnt = info->nOrderBy;
	bool one = info->idxNum & OF_NUMBER;

	if (cnt > k && info->aOrderBy[k].iColumn == t->number && !info->aOrderBy[k].desc)
		k++;
	else if (!one)
		return;
	if (cnt > k && t->first >= 0 && info->aOrderBy[k].iColumn == t->first &&
	    (one || !info->aOrderBy[k].desc)) {
		info->idxNum |= info->aOrderBy[k].desc ? DOWNWARDS : 0;
		k++;
	}
	info->orderByConsumed = cnt == k;
	if (cnt != k)
		info->idxNum &= ~DOWNWARDS;
}

/* The constraint that gives a hidden column its value; -1: none, -2: one that cannot be used. */
static int hidden(const sqlite3_index_info *info, int column)
{
	for (int i = 0; column >= 0 && i < info->nConstraint; i++)
		if (info->aConstraint[i].iColumn == column &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return info->aConstraint[i].usable ? i : -2;
	return -1;
}

static void use_hidden(sqlite3_index_info *info, int constraint, int use, int *argument)
{
	if (constraint < 0)
		return;
	info->idxNum |= use;
	info->aConstraintUsage[constraint].argvIndex = ++*argument;
	info->aConstraintUsage[constraint].omit = 1;
}

static double rows_expected(const struct rows_table *t, const sqlite3_index_info *info)
{
	double cnt = (double)t->rows + 1;

	if (info->idxStr || (info->idxNum & LAST_AT))
		return 2;
	if (info->idxNum & OF_NUMBER)
		cnt = cnt / STRETCHES + 1;
	if ((info->idxNum & OF_NUMBER) && (info->idxNum & (FIRST_LOW | FIRST_HIGH)))
		cnt = cnt / 100 + 1;
	return cnt;
}

static int table_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	const struct rows_table *t = table_of(v);
	int of[ARGUMENTS] = {-1, -1, -1, -1, -1}, argument = 0;
	int at = hidden(info, t->at), arg = hidden(info, t->arg);

	for (int i = 0; i < info->nConstraint; i++) {
		unsigned use =
			!info->aConstraint[i].usable
				? 0
				: use_of(t, info->aConstraint[i].iColumn, info->aConstraint[i].op);

		/* names are compared byte by byte */
		if ((use & OF_NUMBER) && t->names &&
		    strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			use = 0;
		if (use && !(info->idxNum & (int)use)) {
			info->idxNum |= (int)use;
			for (int k = 0; k < ARGUMENTS; k++)
				if (use >> k & 1)
					of[k] = i;
		}
	}
	if (at == -2 || arg == -2)
		return SQLITE_CONSTRAINT;
	for (int k = 0; k < ARGUMENTS; k++)
		if (of[k] >= 0 && !(k == 2 && of[1] == of[2]))
			info->aConstraintUsage[of[k]].argvIndex = ++argument;
	if (of[1] >= 0 && of[1] == of[2]) {
		info->idxNum &= ~FIRST_HIGH;
		info->idxStr = (char *)(uintptr_t) "=";
	}
	use_hidden(info, at, LAST_AT, &argument);
	use_hidden(info, arg, WITH_ARG, &argument);
	use_order(t, info);
	info->estimatedCost = rows_expected(t, info);
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	return SQLITE_OK;
}

static int table_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	int rc = vtab_open(sizeof(struct cursor), out);

	if (rc == SQLITE_OK)
		((struct cursor *)*out)->t = table_of(v);
	return rc;
}

/* Rows are there from the first filter on. */
static int begin_reading(struct cursor *c, sqlite3_value *arg)
{
	int rc = c->t->fill(c->t, arg);

	if (rc == SQLITE_OK && !c->reads) {
		c->reads = true;
		c->t->shown->readers++;
	}
	return rc;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	rows_close(&c->reader);
	c->t->shown->readers -= c->reads;
	return vtab_close(base);
}

/* ---- reading ---- */

/* The part of the stretch that is looked at. */
static int begin_stretch(struct cursor *c)
{
	const struct rows_stretch *s = &c->t->shown->list[c->stretch];
	int rc = SQLITE_OK;

	c->at = s->first;
	c->end = s->last;
	if (c->by_first && c->first.low > INT64_MIN)
		rc = rows_find(s->rows, &c->reader, c->at, c->end, c->first.low, &c->at);
	if (rc == SQLITE_OK && c->by_first && c->first.high < INT64_MAX)
		rc = rows_find(s->rows, &c->reader, c->at, c->end, c->first.high + 1, &c->end);
	if (rc == SQLITE_OK && c->by_last) {
		if (c->last < INT64_MAX)
			rc = rows_find(s->rows, &c->reader, c->at, c->end, c->last + 1, &c->end);
		c->at = c->end > c->at ? c->end - 1 : c->end;
	}
	return rc;
}

/* The row that comes next, if there is one. */
static int go_on(struct cursor *c)
{
	for (;;) {
		const struct rows_stretch *s = &c->t->shown->list[c->stretch];

		while (c->at < c->end) {
			const int64_t *r;
			int64_t other;

			c->record = r = rows_at(s->rows, &c->reader, c->down ? c->end - 1 : c->at);
			if (!r)
				return SQLITE_IOERR;
			other = r[c->t->other_word];
			if (!c->by_other ||
			    (other != ROWS_NULL && other >= c->other.low && other <= c->other.high))
				return SQLITE_OK;
			c->at += !c->down;
			c->end -= c->down;
		}
		c->record = NULL;
		if (++c->stretch >= c->stretch_end)
			return SQLITE_OK;
		if (begin_stretch(c) != SQLITE_OK)
			return SQLITE_IOERR;
	}
}

static void bound(struct bounds *b, sqlite3_value *v, bool is_low, bool is_high)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	if (sqlite3_value_type(v) == SQLITE_INTEGER) {
		low = high = sqlite3_value_int64(v);
	} else if (sqlite3_value_type(v) == SQLITE_FLOAT) {
		int64_t near = sat_int(sqlite3_value_double(v));

		low = near > INT64_MIN ? near - 1 : near;
		high = near < INT64_MAX ? near + 1 : near;
	}
	if (is_low)
		b->low = low;
	if (is_high)
		b->high = high;
}

static int64_t number_of(const struct rows_table *t, sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);
	int64_t i = 0;

	if (!t->names)
		return sqlite3_value_int64(v);
	while (t->names[i] && (!text || strcmp(t->names[i], text) != 0))
		i++;
	return t->names[i] ? i : -1;
}

static int table_filter(sqlite3_vtab_cursor *base, int use, const char *equal, int argc,
			sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct rows_shown *shown = c->t->shown;
	int k = 0, rc;

	rc = begin_reading(c, use & WITH_ARG ? argv[argc - 1] : NULL);
	if (rc != SQLITE_OK)
		return vtab_fail(base->pVtab, rc);
	c->first = c->other = (struct bounds){INT64_MIN, INT64_MAX};
	c->by_first = use & (FIRST_LOW | FIRST_HIGH);
	c->by_other = use & (OTHER_LOW | OTHER_HIGH);
	c->down = use & DOWNWARDS;
	c->by_last = use & LAST_AT;
	c->record = NULL;
	c->stretch = 0;
	c->stretch_end = shown->cnt;
	if (use & OF_NUMBER) {
		int64_t number = number_of(c->t, argv[k++]);

		while (c->stretch < shown->cnt && shown->list[c->stretch].number != number)
			c->stretch++;
		c->stretch_end = c->stretch < shown->cnt ? c->stretch + 1 : c->stretch;
	}
	if (use & FIRST_LOW)
		bound(&c->first, argv[k++], true, equal);
	if (use & FIRST_HIGH)
		bound(&c->first, argv[k++], false, true);
	if (use & OTHER_LOW)
		bound(&c->other, argv[k++], true, false);
	if (use & OTHER_HIGH)
		bound(&c->other, argv[k++], false, true);
	if (use & LAST_AT) {
		if (sqlite3_value_type(argv[k]) == SQLITE_NULL)
			return SQLITE_OK;
		c->last = sqlite3_value_int64(argv[k]);
	}
	if (c->stretch >= c->stretch_end)
		return SQLITE_OK;
	return begin_stretch(c) == SQLITE_OK ? go_on(c) : SQLITE_IOERR;
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	c->at += !c->down;
	c->end -= c->down;
	return go_on(c);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
	return !((struct cursor *)base)->record;
}

void rows_give(sqlite3_context *out, int64_t word)
{
	if (word != ROWS_NULL)
		sqlite3_result_int64(out, word);
}

void rows_give_words(sqlite3_context *out, const struct sweeps *sweeps,
		     const struct rows_stretch *s, const int64_t *record, int column)
{
	(void)sweeps, (void)s;
	rows_give(out, record[column]);
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct cursor *c = (struct cursor *)base;
	const struct rows_table *t = c->t;
	const struct rows_stretch *s = &t->shown->list[c->stretch];

	if (column == t->at || column == t->arg)
		return SQLITE_OK;
	if (column != t->number)
		t->column(out, t->sweeps, s, c->record, column);
	else if (t->names)
		sqlite3_result_text(out, t->names[s->number], -1, SQLITE_STATIC);
	else
		sqlite3_result_int64(out, s->number);
	return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	struct cursor *c = (struct cursor *)base;

	*out = (int64_t)c->stretch << 40 | (int64_t)(c->down ? c->end - 1 : c->at);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = table_connect,
	.xBestIndex = table_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
};

int rows_table_register(sqlite3 *db, struct rows_table *t, void (*free)(void *))
{
	return sqlite3_create_module_v2(db, t->name, &module, t, free);
}
