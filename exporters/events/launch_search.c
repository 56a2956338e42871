/*
 * launch_search.c - ids ascend about as rows do: a bisection by rowid finds the neighbourhood, and only where nothing is there all
 * rows are looked at.
 */
#include "exporters/events/launch_search.h"

#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/read/sql_rows.h"

struct key {
	int64_t process, id;
};

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* The first number of a statement, which is freed. */
static int64_t number_of(sqlite3 *db, char *sql)
{
	int64_t number = sql ? sql_number(db, sql, LAUNCH_NONE) : LAUNCH_NONE;

	sqlite3_free(sql);
	return number;
}

int64_t table_row_near(sqlite3 *db, const char *table, const char *column, int64_t value)
{
	int64_t low = 1,
		high = number_of(db, sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", table));

	while (low < high) {
		int64_t mid = low + (high - low) / 2;
		int64_t there = number_of(
			db, sqlite3_mprintf("SELECT \"%w\" FROM main.\"%w\" WHERE rowid >= %lld "
					    "AND \"%w\" IS NOT NULL ORDER BY rowid LIMIT 1",
					    column, table, (long long)mid, column));

		if (there != LAUNCH_NONE && there < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The process of a row, as SQL: of a call, or of work. */
static char *process_sql(sqlite3 *db, const char *table, bool is_call)
{
	if (is_call)
		return sqlite3_mprintf("globalTid >> 24");
	return sqlite3_mprintf("coalesce(%s, %lld)",
			       has_column(db, table, "globalPid") ? "globalPid >> 24" : "NULL",
			       (long long)gpu_work_unsaid(db));
}

static bool read_key(sqlite3 *db, const char *table, bool is_call, int64_t row, struct key *key)
{
	char *process = process_sql(db, table, is_call);

	*key = (struct key){LAUNCH_NONE, LAUNCH_NONE};
	if (process) {
		key->process = number_of(db, sqlite3_mprintf("SELECT %s FROM main.\"%w\" WHERE "
							     "rowid = %lld",
							     process, table, (long long)row));
		key->id = number_of(db, sqlite3_mprintf("SELECT correlationId FROM main.\"%w\" "
							"WHERE rowid = %lld",
							table, (long long)row));
	}
	sqlite3_free(process);
	return key->process != LAUNCH_NONE && launch_is_id(key->id);
}

/* Rows with that key from @low to @high: of calls the first to begin. */
static unsigned rows_with(sqlite3 *db, const char *table, bool is_call, const struct key *key,
			  int64_t low, int64_t high, struct launch_row *found, unsigned room)
{
	char *process = process_sql(db, table, is_call);
	char *sql =
		process ? sqlite3_mprintf("SELECT rowid, start FROM main.\"%w\" WHERE rowid "
					  "BETWEEN ?1 AND ?2 AND correlationId = ?3 AND %s = "
					  "?4%s LIMIT ?5",
					  table, process,
					  is_call ? " AND start IS NOT NULL ORDER BY start" : "")
			: NULL;
	sqlite3_stmt *stmt = NULL;
	unsigned cnt = 0;

	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, low);
		sqlite3_bind_int64(stmt, 2, high);
		sqlite3_bind_int64(stmt, 3, key->id);
		sqlite3_bind_int64(stmt, 4, key->process);
		sqlite3_bind_int64(stmt, 5, room);
		while (cnt < room && sqlite3_step(stmt) == SQLITE_ROW)
			found[cnt++] = (struct launch_row){table, sqlite3_column_int64(stmt, 0),
							   sqlite3_column_int64(stmt, 1)};
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	sqlite3_free(process);
	return cnt;
}

static unsigned rows_near(sqlite3 *db, const char *table, bool is_call, const struct key *key,
			  struct launch_row *found, unsigned room)
{
	int64_t near = table_row_near(db, table, "correlationId", key->id);

	return rows_with(db, table, is_call, key, near - TABLE_ROWS_NEAR, near + TABLE_ROWS_NEAR,
			 found, room);
}

static bool find_call(sqlite3 *db, const struct key *key, struct launch_row *found)
{
	return rows_near(db, LAUNCH_CALLS, true, key, found, 1) ||
	       rows_with(db, LAUNCH_CALLS, true, key, INT64_MIN, INT64_MAX, found, 1);
}

bool launch_search_call(sqlite3 *db, const char *table, int64_t work, struct launch_row *found)
{
	struct key key;

	return read_key(db, table, false, work, &key) && find_call(db, &key, found);
}

unsigned launch_search_work(sqlite3 *db, int64_t call, struct launch_row *found, unsigned room)
{
	struct launch_row first;
	struct key key;
	unsigned cnt = 0;

	if (!read_key(db, LAUNCH_CALLS, true, call, &key) || !find_call(db, &key, &first) ||
	    first.row != call)
		return 0;
	for (size_t i = 0; i < GPU_WORK_KINDS; i++)
		cnt += rows_near(db, gpu_work_tables[i].name, false, &key, found + cnt, room - cnt);
	for (size_t i = 0; cnt == 0 && i < GPU_WORK_KINDS; i++)
		cnt = rows_with(db, gpu_work_tables[i].name, false, &key, INT64_MIN, INT64_MAX,
				found, room);
	return cnt;
}
