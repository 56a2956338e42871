/* sweeps.c - the SQL functions sl_..._sweep(), and the results that a connection keeps. */
#include "exporters/sql/sweeps.h"

#include <stdio.h>
#include <stdlib.h>

#include "exporters/events/launches.h"
#include "exporters/sql/hist_internal.h"
#include "exporters/sql/steps.h"

void sweep_bind(sqlite3_stmt *stmt, int at, struct sweep_id id)
{
	if (id.known)
		sqlite3_bind_int64(stmt, at, id.value);
	else
		sqlite3_bind_null(stmt, at);
}

void sweep_span_add(struct sweep_span *s, struct sweep_id start, struct sweep_id end)
{
	if (start.known && (s->first == ROWS_NULL || start.value < s->first))
		s->first = start.value;
	/* ROWS_NULL is below all */
	if (start.known && start.value > s->last_start)
		s->last_start = start.value;
	if (end.known && end.value > s->last_end)
		s->last_end = end.value;
}

int sweep_span_write(sqlite3 *db, const char *table, const struct sweep_span *s, bool of_calls)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO temp.event_spans VALUES (?, ?, ?)", -1, &stmt,
				    NULL);
	int64_t last = s->last_end;

	if (of_calls && last != ROWS_NULL && s->last_start > last)
		last = s->last_start;
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		sweep_bind(stmt, 2, (struct sweep_id){s->first, s->first != ROWS_NULL});
		sweep_bind(stmt, 3, (struct sweep_id){last, last != ROWS_NULL});
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

int sweep_insert(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- functions ---- */

static void give(sqlite3_context *out, int rc, int64_t rows)
{
	if (rc != SQLITE_OK)
		hist_fail(out, rc);
	else
		sqlite3_result_int64(out, rows);
}

#define SWEEP(name)                                                                           \
	static void sql_##name(sqlite3_context *out, int argc, sqlite3_value **argv)          \
	{                                                                                     \
		int64_t rows = 0;                                                             \
		int rc = name(sqlite3_context_db_handle(out), sqlite3_user_data(out), &rows); \
                                                                                              \
		(void)argc, (void)argv;                                                       \
		give(out, rc, rows);                                                          \
	}
SWEEP(cuda_sweep)
SWEEP(os_sweep)
SWEEP(copies_sweep)
SWEEP(gpu_sweep)
SWEEP(sched_sweep)

static const struct {
	const char *name;
	void (*run)(sqlite3_context *out, int argc, sqlite3_value **argv);
} functions[] = {
	{"sl_cuda_sweep", sql_cuda_sweep},     {"sl_os_sweep", sql_os_sweep},
	{"sl_copies_sweep", sql_copies_sweep}, {"sl_gpu_sweep", sql_gpu_sweep},
	{"sl_sched_sweep", sql_sched_sweep},
};

/* When the connection is closed: no table is open any more. */
static void sweeps_free(void *of)
{
	struct sweeps *s = ((const struct rows_table *)of)->sweeps;

	rows_shown_clear(&s->busy);
	rows_shown_clear(&s->cuda_calls);
	rows_shown_clear(&s->os_calls);
	rows_shown_clear(&s->copies);
	free(s->gpu);
	free(s);
}

/* Registered anew, a function would lose its swept rows, which tables show. */
static bool is_registered(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT sl_sched_sweep()", -1, &stmt, NULL);

	sqlite3_finalize(stmt);
	return rc == SQLITE_OK;
}

int sweeps_register(sqlite3 *db)
{
	struct sweeps *s = is_registered(db) ? NULL : calloc(1, sizeof(*s));
	int rc = SQLITE_OK;

	if (!s)
		return is_registered(db) ? SQLITE_OK : SQLITE_NOMEM;
	s->tables[0] = cuda_calls_table(s);
	s->tables[1] = os_calls_table(s);
	s->tables[2] = gpu_busy_table(s);
	s->tables[3] = copies_table(s);
	/* A module owns all: it is closed after its tables. */
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(s->tables) / sizeof(*s->tables); i++)
		rc = rows_table_register(db, &s->tables[i], i == 0 ? sweeps_free : NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(*functions); i++)
		rc = sqlite3_create_function(db, functions[i].name, 0,
					     SQLITE_UTF8 | SQLITE_DIRECTONLY, s, functions[i].run,
					     NULL, NULL);
	if (rc == SQLITE_OK)
		rc = launches_register(db);
	if (rc == SQLITE_OK)
		rc = thread_states_register(db);
	return rc == SQLITE_OK ? steps_register(db) : rc;
}
