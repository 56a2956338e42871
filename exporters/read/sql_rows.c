/* sql_rows.c - statements that are run once. */
#include "exporters/read/sql_rows.h"

int sql_rows(sqlite3 *db, const char *sql, sql_row *row, void *ctx)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), err = SQLITE_OK;

	while (rc == SQLITE_OK && err == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		err = row(ctx, stmt);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return err != SQLITE_OK ? err : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static sqlite3_stmt *first(sqlite3_stmt *stmt)
{
	if (sqlite3_step(stmt) == SQLITE_ROW)
		return stmt;
	sqlite3_finalize(stmt);
	return NULL;
}

sqlite3_stmt *sql_first(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	return sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK ? first(stmt) : NULL;
}

sqlite3_stmt *sql_first_of(sqlite3 *db, const char *sql, int64_t id)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(stmt, 1, id);
	return first(stmt);
}

int64_t sql_number(sqlite3 *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *stmt = sql_first(db, sql);

	if (stmt && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		otherwise = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return otherwise;
}

/* ---- values ---- */

struct reader {
	int (*row)(void *ctx, sqlite3_value **values);
	void *ctx;
	int rc;
};
#define READER "sightline reader"

static void read_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct reader **known = sqlite3_aggregate_context(out, sizeof(struct reader *)), *r;

	/* The pointer is the same in all rows; asking SQLite for it costs more than this check. */
	if (known && !*known && argc)
		*known = sqlite3_value_pointer(argv[0], READER);
	r = known ? *known : NULL;
	if (!r)
		sqlite3_result_error_code(out, known ? SQLITE_MISUSE : SQLITE_NOMEM);
	else if (r->rc == SQLITE_OK && (r->rc = r->row(r->ctx, argv + 1)) != SQLITE_OK)
		sqlite3_result_error_code(out, r->rc);
}

static void read_final(sqlite3_context *out)
{
	(void)out;
}

/* A connection has no sl_read() before its first use. */
static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **stmt)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, stmt, NULL);

	if (rc != SQLITE_ERROR)
		return rc;
	sqlite3_create_function(db, "sl_read", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL,
				read_step, read_final);
	return sqlite3_prepare_v2(db, sql, -1, stmt, NULL);
}

int sql_values(sqlite3 *db, const char *columns, const char *from,
	       int (*row)(void *ctx, sqlite3_value **values), void *ctx)
{
	struct reader r = {.row = row, .ctx = ctx};
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf("SELECT sl_read(?1, %s) FROM %s", columns, from);
	int rc = sql ? prepare(db, sql, &stmt) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_pointer(stmt, 1, &r, READER, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = SQLITE_OK;
	sqlite3_finalize(stmt);
	return r.rc != SQLITE_OK ? r.rc : rc == SQLITE_DONE ? SQLITE_OK : rc;
}
