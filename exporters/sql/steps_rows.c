/* steps_rows.c - sl_steps(range) as a table: the steps of each thread, numbered from 1 on. */
#include <string.h>

#include "exporters/sql/steps_internal.h"
#include "exporters/sql/tables/vtab.h"

enum {
	NO,
	TID,
	START,
	END,
	NAME,
	STEM
};

struct cursor {
	struct vtab_cursor base;
	struct steps s;
	char *range;
	const int64_t *row;
	int64_t no;
	int64_t tid, stem; /* of the row before */
};

static void rows_end(struct vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	steps_free(&c->s);
	sqlite3_free(c->range);
	c->range = NULL;
}

static int rows_next(struct vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	int rc = sorter_next(c->s.rows, &c->row);

	if (rc != SQLITE_ROW)
		return rc;
	if (base->row == 0 || c->row[ST_TID] != c->tid || c->row[ST_STEM] != c->stem)
		c->no = 0;
	c->no++;
	c->tid = c->row[ST_TID];
	c->stem = c->row[ST_STEM];
	return SQLITE_ROW;
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

static int rows_begin(struct vtab_cursor *base, sqlite3 *db, sqlite3_value *const *args)
{
	struct cursor *c = (struct cursor *)base;
	const char *range = args[0] ? (const char *)sqlite3_value_text(args[0]) : NULL;
	int rc;

	c->range = range ? sqlite3_mprintf("%s", range) : NULL;
	if (range && !c->range)
		return SQLITE_NOMEM;
	rc = find(c, db, false);
	return rc == SQLITE_OK && !range && c->s.found.none ? find(c, db, true) : rc;
}

static void give_text(const struct cursor *c, sqlite3_context *out, const char *text, size_t len)
{
	if (c->s.found.is_until)
		sqlite3_result_text(out, sqlite3_mprintf("until %.*s", (int)len, text), -1,
				    sqlite3_free);
	else
		sqlite3_result_text(out, text, (int)len, SQLITE_TRANSIENT);
}

static int rows_column(struct vtab_cursor *base, sqlite3_context *out, int col)
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

int steps_register(sqlite3 *db)
{
	static const struct vtab_table table = {
		.columns = "CREATE TABLE x(no INTEGER, tid INTEGER, start INTEGER, end INTEGER, "
			   "name TEXT, stem TEXT, range HIDDEN)",
		.first_arg = STEM + 1,
		.arg_cnt = 1,
		.rows = 10000,
		.cursor_size = sizeof(struct cursor),
		.begin = rows_begin,
		.next = rows_next,
		.column = rows_column,
		.end = rows_end,
	};

	return vtab_register(db, "sl_steps", &table);
}
