/* steps_rows.c - sl_steps(range) as a table: the steps of each thread, numbered from 1 on. */
#include <string.h>

#include "exporters/sql/steps_internal.h"
#include "exporters/sql/vtab.h"

enum {
	NO,
	TID,
	START,
	END,
	NAME,
	STEM,
	RANGE
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct steps s;
	char *range;
	const int64_t *row; /* NULL: at the end */
	int64_t no, nr;
	int64_t tid, stem; /* of the row before */
};

static int rows_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of,
			    "CREATE TABLE x(no INTEGER, tid INTEGER, start INTEGER, end INTEGER, "
			    "name TEXT, stem TEXT, range HIDDEN)",
			    out);
}

static int rows_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	info->estimatedCost = 1e7;
	info->estimatedRows = 10000;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != RANGE || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!c->usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
	}
	return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return vtab_open(sizeof(struct cursor), out);
}

static int rows_close(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	steps_free(&c->s);
	sqlite3_free(c->range);
	return vtab_close(base);
}

static int rows_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	int rc = sorter_next(c->s.rows, &c->row);

	if (rc == SQLITE_DONE) {
		c->row = NULL;
		return SQLITE_OK;
	}
	if (rc != SQLITE_ROW)
		return rc;
	if (c->nr++ == 0 || c->row[ST_TID] != c->tid || c->row[ST_STEM] != c->stem)
		c->no = 0;
	c->no++;
	c->tid = c->row[ST_TID];
	c->stem = c->row[ST_STEM];
	return SQLITE_OK;
}

static int find(struct cursor *c, sqlite3 *db, bool is_start_end)
{
	int rc;

	steps_free(&c->s);
	c->s.db = db;
	c->s.range = c->range;
	c->s.is_start_end = is_start_end;
	rc = steps_read(&c->s);
	return rc == SQLITE_OK ? steps_choose(&c->s) : rc;
}

static int rows_filter(sqlite3_vtab_cursor *base, int idx, const char *plan, int argc,
		       sqlite3_value **argv)
{
	const struct vtab *v = (struct vtab *)base->pVtab;
	struct cursor *c = (struct cursor *)base;
	const char *range = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	int rc;

	(void)idx, (void)plan;
	sqlite3_free(c->range);
	c->range = range ? sqlite3_mprintf("%s", range) : NULL;
	if (range && !c->range)
		return SQLITE_NOMEM;
	c->nr = 0;
	rc = find(c, v->db, false);
	if (rc == SQLITE_OK && !range && c->s.found.none)
		rc = find(c, v->db, true);
	if (rc == SQLITE_ERROR) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(v->db));
	}
	return rc == SQLITE_OK ? rows_next(base) : rc;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->row == NULL;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->nr;
	return SQLITE_OK;
}

static void give_text(const struct cursor *c, sqlite3_context *out, const char *text, size_t len)
{
	if (c->s.found.is_until)
		sqlite3_result_text(out, sqlite3_mprintf("until %.*s", (int)len, text), -1,
				    sqlite3_free);
	else
		sqlite3_result_text(out, text, (int)len, SQLITE_TRANSIENT);
}

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct cursor *c = (struct cursor *)base;
	const struct text *stem = &c->s.stems.text[c->row[ST_STEM]];
	const char *text;
	size_t len;
	int rc = SQLITE_OK;

	switch (col) {
	case NO:
		sqlite3_result_int64(out, c->no);
		break;
	case TID:
		sqlite3_result_int64(out, c->row[ST_TID]);
		break;
	case START:
		sqlite3_result_int64(out, c->row[ST_START]);
		break;
	case END:
		sqlite3_result_int64(out, c->row[ST_END]);
		break;
	case NAME:
		rc = texts_get(&c->s.names, c->row[ST_NAME], &text, &len);
		if (rc == SQLITE_OK)
			give_text(c, out, text, len);
		break;
	case STEM:
		give_text(c, out, stem->data, stem->len);
		break;
	default:
		break;
	}
	return rc;
}

static const sqlite3_module rows_module = {
	.xConnect = rows_connect,
	.xBestIndex = rows_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};

int steps_register(sqlite3 *db)
{
	return sqlite3_create_module(db, "sl_steps", &rows_module, NULL);
}
