/* vtab.c - tables that are computed. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/tables/vtab.h"

int vtab_connect(sqlite3 *db, void *of, const char *columns, sqlite3_vtab **out)
{
	struct vtab *v = sqlite3_malloc(sizeof(*v));
	int rc = sqlite3_declare_vtab(db, columns);

	if (!v)
		return SQLITE_NOMEM;
	memset(v, 0, sizeof(*v));
	v->db = db;
	v->of = of;
	*out = &v->base;
	return rc;
}

int vtab_disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

int vtab_fail(sqlite3_vtab *v, int rc)
{
	if (rc == SQLITE_ERROR) {
		sqlite3_free(v->zErrMsg);
		v->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(((struct vtab *)v)->db));
	}
	return rc;
}

int vtab_open(size_t size, sqlite3_vtab_cursor **out)
{
	*out = calloc(1, size); /* aligned to 16, as sqlite3_malloc() is not */
	return *out ? SQLITE_OK : SQLITE_NOMEM;
}

int vtab_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

/* ---- tables without a module of their own ---- */

static const struct vtab_table *table_of(const sqlite3_vtab *v)
{
	return ((const struct vtab *)v)->of;
}

static int table_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of, ((const struct vtab_table *)of)->columns, out);
}

/* The plan has a bit for each argument, then one for each column that is read. */
static int table_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	const struct vtab_table *t = table_of(v);
	int at[VTAB_ARGS] = {0}, given = 0;

	info->estimatedCost = 1e7;
	info->estimatedRows = t->rows;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		int arg = c->iColumn - t->first_arg;

		if (arg < 0 || arg >= t->arg_cnt || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!c->usable)
			return SQLITE_CONSTRAINT;
		at[arg] = i;
		info->idxNum |= 1 << arg;
	}
	for (int arg = 0; arg < t->arg_cnt; arg++)
		if (info->idxNum & 1 << arg) {
			info->aConstraintUsage[at[arg]].argvIndex = ++given;
			info->aConstraintUsage[at[arg]].omit = 1;
		}
	info->orderByConsumed = info->nOrderBy > 0 && info->nOrderBy <= t->order_cnt;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn != t->order + i || info->aOrderBy[i].desc)
			info->orderByConsumed = 0;
	info->idxNum |= (int)(info->colUsed << VTAB_ARGS & INT_MAX);
	return SQLITE_OK;
}

static int table_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	return vtab_open(table_of(v)->cursor_size, out);
}

static int table_close(sqlite3_vtab_cursor *c)
{
	table_of(c->pVtab)->end((struct vtab_cursor *)c);
	return vtab_close(c);
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct vtab_cursor *c = (struct vtab_cursor *)base;
	int rc = table_of(base->pVtab)->next(c);

	c->row = rc == SQLITE_ROW ? c->row + 1 : 0;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			sqlite3_value **argv)
{
	const struct vtab_table *t = table_of(base->pVtab);
	sqlite3 *db = ((struct vtab *)base->pVtab)->db;
	struct vtab_cursor *c = (struct vtab_cursor *)base;
	sqlite3_value *args[VTAB_ARGS] = {NULL};
	int rc;

	(void)text, (void)argc;
	for (int arg = 0; arg < t->arg_cnt; arg++)
		if (plan & 1 << arg)
			args[arg] = *argv++;
	t->end(c);
	c->row = 0;
	c->used = (unsigned)plan >> VTAB_ARGS;
	rc = t->begin(c, db, args);
	return rc == SQLITE_OK ? table_next(base) : vtab_fail(base->pVtab, rc);
}

static int table_eof(sqlite3_vtab_cursor *c)
{
	return ((struct vtab_cursor *)c)->row == 0;
}

static int table_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = ((struct vtab_cursor *)c)->row;
	return SQLITE_OK;
}

static int table_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int column)
{
	const struct vtab_table *t = table_of(c->pVtab);

	return t->arg_cnt > 0 && column >= t->first_arg
		       ? SQLITE_OK
		       : t->column((struct vtab_cursor *)c, out, column);
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

int vtab_register(sqlite3 *db, const char *name, const struct vtab_table *t)
{
	return sqlite3_create_module(db, name, &module, (void *)(uintptr_t)t);
}
