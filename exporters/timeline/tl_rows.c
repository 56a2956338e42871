/*
 * tl_rows.c - rows of a table, many at a time: a function in the WHERE of a statement takes their values as SQLite decodes them,
 * which spares a step and a call for each value; the statement gives a row only when there is no room for more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/sql_rows.h"
#include "exporters/timeline/tl_internal.h"

#define POINTER "tl_each"
#define ROWS    128

static void each(sqlite3_context *out, int cnt, sqlite3_value **values)
{
	/* The pointer's type is a text that would be compared for each row. */
	struct tl_each *e = sqlite3_get_auxdata(out, 0);

	if (!e) {
		e = sqlite3_value_pointer(values[0], POINTER);
		sqlite3_set_auxdata(out, 0, e, NULL);
	}
	/* Without a result it is NULL, which gives no row either. */
	if (e && e->row(e, cnt - 1, values + 1))
		sqlite3_result_int(out, 1);
}

int tl_each_begin(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	/* To put it in place again would fail while another statement runs. */
	bool is_there =
		sqlite3_prepare_v2(db, "SELECT sl_tl_each(NULL)", -1, &stmt, NULL) == SQLITE_OK;

	sqlite3_finalize(stmt);
	if (is_there ||
	    sqlite3_create_function_v2(db, "sl_tl_each", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
				       each, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return -1;
}

int tl_each_prepare(sqlite3 *db, struct tl_each *e, char *sql, sqlite3_stmt **stmt)
{
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_pointer(*stmt, 1, e, POINTER, NULL);
	return rc == SQLITE_OK ? 0 : -1;
}

uint64_t tl_rows_cnt(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", table);
	sqlite3_stmt *stmt = NULL;
	uint64_t rows = 0;

	if (sql && (stmt = sql_first(db, sql)) != NULL)
		rows = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rows;
}

void tl_bound(const struct tl_run *r, const char *table, char *buf, size_t len)
{
	const struct tl_options *opt = r->opt;

	int64_t after, upto;

	*buf = '\0';
	if (opt->only_table && strcmp(opt->only_table, table) == 0)
		snprintf(buf, len, "rowid = %lld AND ", (long long)opt->only_row);
	else if (opt->part > 0)
		snprintf(buf, len, "rowid <= %lld AND ",
			 (long long)((double)tl_rows_cnt(r->db, table) * opt->part));
	else if (opt->rows && opt->rows(opt->of_rows, table, &after, &upto))
		snprintf(buf, len, "rowid > %lld AND rowid <= %lld AND ", (long long)after,
			 (long long)upto);
}

/* ---- rows that are kept until their turn ---- */

struct tl_rows {
	struct tl_each each; /* first */
	const struct tl_source *s;
	sqlite3_stmt *stmt;
	uint32_t cnt, at, cols;
	int text_col; /* -1: none */
	size_t text_len[ROWS];
	char *texts;
	size_t texts_len, texts_room;
	bool is_done, failed;
	int64_t num[];
};

static bool keep_text(struct tl_rows *r, sqlite3_value *value, int64_t *at)
{
	const void *text = sqlite3_value_blob(value);
	size_t len = (size_t)sqlite3_value_bytes(value), want = r->texts_len + len;

	if (want > r->texts_room) {
		char *more = realloc(r->texts, want * 2);

		if (!more)
			return false;
		r->texts = more;
		r->texts_room = want * 2;
	}
	if (len > 0)
		memcpy(r->texts + r->texts_len, text, len);
	*at = (int64_t)r->texts_len;
	r->text_len[r->cnt] = len;
	r->texts_len = want;
	return true;
}

static bool take(struct tl_each *e, int cnt, sqlite3_value **values)
{
	struct tl_rows *r = (struct tl_rows *)e;
	int64_t *num = r->num + (size_t)r->cnt * r->cols;

	if (tl_is_late(r->s, sqlite3_value_int64(values[0])))
		return false;
	for (int i = 0; i < cnt; i++) {
		if (i != r->text_col) {
			/* The number is 0 for NULL. */
			num[i] = sqlite3_value_int64(values[i]);
			if (num[i] != 0 || sqlite3_value_type(values[i]) != SQLITE_NULL)
				continue;
		} else if (sqlite3_value_type(values[i]) != SQLITE_NULL) {
			if (!keep_text(r, values[i], &num[i]))
				return r->failed = true;
			continue;
		}
		num[i] = TL_NONE;
	}
	return ++r->cnt == ROWS;
}

struct tl_rows *tl_rows_new(sqlite3 *db, const struct tl_source *s, int text_col,
			    const char *columns, const char *where)
{
	struct tl_rows *r = calloc(1, sizeof(*r) + sizeof(int64_t) * ROWS * (size_t)s->col_cnt);
	char *sql;

	if (!r)
		return NULL;
	r->each.row = take;
	r->s = s;
	r->cols = (uint32_t)s->col_cnt;
	r->text_col = text_col;
	if (strcmp(where, "1") == 0)
		sql = sqlite3_mprintf("SELECT 1 FROM main.\"%w\" WHERE %s sl_tl_each(?1, rowid%s)",
				      s->def->table, s->bound, columns);
	else
		sql = sqlite3_mprintf("SELECT 1 FROM main.\"%w\" WHERE %s CASE WHEN %s THEN "
				      "sl_tl_each(?1, rowid%s) END",
				      s->def->table, s->bound, where, columns);
	if (tl_each_prepare(db, &r->each, sql, &r->stmt) == 0)
		return r;
	tl_rows_free(r);
	return NULL;
}

void tl_rows_free(struct tl_rows *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->stmt);
	free(r->texts);
	free(r);
}

int tl_rows_next(struct tl_rows *r, const int64_t **row)
{
	if (r->at == r->cnt) {
		int rc = SQLITE_DONE;

		r->at = r->cnt = 0;
		r->texts_len = 0;
		if (!r->is_done)
			rc = sqlite3_step(r->stmt);
		r->is_done |= rc == SQLITE_DONE;
		if (r->failed)
			return SQLITE_NOMEM;
		if (rc != SQLITE_ROW && (rc != SQLITE_DONE || r->cnt == 0))
			return rc;
	}
	*row = r->num + (size_t)r->at++ * r->cols;
	return SQLITE_ROW;
}

struct tl_text tl_rows_text(const struct tl_rows *r, const int64_t *row)
{
	size_t i = (size_t)(row - r->num) / r->cols;

	return (struct tl_text){0, r->texts ? r->texts + row[r->text_col] : "", r->text_len[i]};
}
