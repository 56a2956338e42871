/* sweeps.c - the SQL functions sl_gpu_sweep() and sl_sched_sweep(). */
#include <stddef.h>

#include "exporters/sql/hist_internal.h"
#include "exporters/sql/sweeps.h"

struct sweep_id sweep_id(sqlite3_stmt *stmt, int col)
{
	struct sweep_id id = {.known = sqlite3_column_type(stmt, col) != SQLITE_NULL};

	if (id.known)
		id.value = sqlite3_column_int64(stmt, col);
	return id;
}

void sweep_bind(sqlite3_stmt *stmt, int at, struct sweep_id id)
{
	if (id.known)
		sqlite3_bind_int64(stmt, at, id.value);
	else
		sqlite3_bind_null(stmt, at);
}

int sweep_insert(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void give(sqlite3_context *out, int rc, int64_t rows)
{
	if (rc != SQLITE_OK)
		hist_fail(out, rc);
	else
		sqlite3_result_int64(out, rows);
}

static void sql_gpu_sweep(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	int64_t rows = 0;
	int rc = gpu_sweep(sqlite3_context_db_handle(out), &rows);

	(void)argc, (void)argv;
	give(out, rc, rows);
}

static void sql_sched_sweep(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	int64_t rows = 0;
	int rc = sched_sweep(sqlite3_context_db_handle(out), &rows);

	(void)argc, (void)argv;
	give(out, rc, rows);
}

int sweeps_register(sqlite3 *db)
{
	int rc = sqlite3_create_function(db, "sl_gpu_sweep", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY,
					 NULL, sql_gpu_sweep, NULL, NULL);

	return rc != SQLITE_OK ? rc
			       : sqlite3_create_function(db, "sl_sched_sweep", 0,
							 SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
							 sql_sched_sweep, NULL, NULL);
}
