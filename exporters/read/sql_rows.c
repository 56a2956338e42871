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
