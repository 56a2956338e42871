/*
 * stack_views.c - stacks and their events, the same for all reports:
 *
 *   SL_CHAIN_FRAMES(stack, depth, frame, kind, symbol, module, file, line, inlined, unresolved, ip)
 *   SL_CHAIN_SAMPLES(id, start, till, globalTid, periodic, stack)
 *   SL_CHAIN_CALLS(source, start, end, globalTid, nameId, level, result, correlationId, bytes, pathId, stack)
 *   SL_CHAIN_LAUNCHES(start, end, globalTid, correlationId, nameId, stack)
 *
 * The last has calls of CUDA also where a filter hides them: the launched work may be shown. stack is NULL where there is
 * none. source: 1 libc, 2 CUDA, 3 system calls, 4 libraries above CUDA; a call of these is made up of calls of CUDA, with
 * rows of their own. kind: as in SL_FRAMES.
 *
 * Our reports have every distinct stack once, and all events share their numbers. nsys has a table for each kind of
 * event, with numbers of its own, so there the number of the table is made part of the stack's.
 */
#include <stdio.h>

#include "exporters/read/db_read.h"
#include "exporters/read/db_views.h"
#include "exporters/read/sql_rows.h"

/* Stacks with cpuCycles 0 were taken when a thread was switched, not when time had passed; ours say until when it was off the CPU. */
#define SAMPLES(stack)                                                                           \
	"CREATE TEMP VIEW SL_CHAIN_SAMPLES AS SELECT id, start, end AS till, globalTid, end IS " \
	"NULL AND (cpuCycles > 0 OR "                                                            \
	"NOT EXISTS (SELECT 1 FROM COMPOSITE_EVENTS WHERE cpuCycles > 0)) AS periodic, " stack   \
	" AS stack FROM COMPOSITE_EVENTS;"

static const char ours[] =
	"CREATE TEMP VIEW SL_CHAIN_FRAMES AS SELECT s.id AS stack, s.depth, f.id AS frame, f.kind, "
	"f.symbol, f.module, f.file, f.line, f.inlined, f.unresolved, f.originalIP AS ip "
	"FROM SL_STACKS AS s CROSS JOIN SL_FRAMES AS f ON f.id = s.frameId;" SAMPLES(
		"nullif(stackId, 0)");

/* Frames of Python are known by their file. The tables of nsys; %d: the number of the table. */
static const char frames_of[] =
	"SELECT id * 4 + %d AS stack, stackDepth AS depth, NULL AS frame, "
	"CASE WHEN specialEntry = 1 THEN 4 WHEN kernelMode = 1 THEN 2 WHEN module IN (SELECT id "
	"FROM StringIds WHERE value LIKE '%%.py') THEN 1 ELSE 0 END AS kind, symbol, module, "
	"file, line, 0 AS inlined, unresolved, originalIP AS ip FROM %s";

static const char *const chains[] = {"SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS", "CUDA_CALLCHAINS",
				     "SYSCALL_CALLCHAINS"};

int db_read_chain_frames(sqlite3 *db, int (*each)(void *ctx, const char *select), void *ctx)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < (int)(sizeof(chains) / sizeof(*chains)) && rc == SQLITE_OK; i++) {
		char *select;

		/* A view of no parts is none. */
		if (i && !db_read_has_column(db, chains[i], NULL))
			continue;
		select = sqlite3_mprintf(frames_of, i, chains[i]);
		rc = select ? each(ctx, select) : SQLITE_NOMEM;
		sqlite3_free(select);
	}
	return rc;
}

#define CALLS(source, level, correlation)                                    \
	"SELECT " source " AS source, start, end, globalTid, nameId, " level \
	" AS level, +returnValue AS result, " correlation                    \
	" AS correlationId, NULL AS bytes, NULL AS pathId, %s AS stack"

/* The parts of SL_CHAIN_CALLS; %s: the number of a stack. */
static const struct {
	const char *table, *select;
	int chains; /* of nsys's reports: as above */
} calls[] = {
	{"OSRT_API",
	 "SELECT 1 AS source, start, end, globalTid, nameId, coalesce(nestingLevel, 0) AS level, "
	 "+returnValue AS result, NULL AS correlationId, +bytesDone AS bytes, +pathId AS pathId, "
	 "%s AS stack "
	 "FROM OSRT_API WHERE coalesce(eventClass, 27) = 27",
	 1},
	{"CUPTI_ACTIVITY_KIND_RUNTIME",
	 CALLS("2", "0", "+correlationId") " FROM CUPTI_ACTIVITY_KIND_RUNTIME", 2},
	{"SYSCALL", CALLS("3", "0", "NULL") " FROM SYSCALL", 3},
	{"CUBLAS_EVENTS", CALLS("4", "0", "NULL") " FROM CUBLAS_EVENTS", 2},
	{"CUDNN_EVENTS", CALLS("4", "0", "NULL") " FROM CUDNN_EVENTS", 2},
	{"SL_LIBRARY_API", CALLS("4", "+nestingLevel", "NULL") " FROM SL_LIBRARY_API", 2},
};

int db_read_chain_calls(sqlite3 *db, int (*each)(void *ctx, const char *select), void *ctx)
{
	bool own = db_read_has(db, "SL_STACKS");
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && rc == SQLITE_OK; i++) {
		char stack[80], *select;

		if (i && !db_read_has_column(db, calls[i].table, NULL))
			continue;
		/* As nullif(callchainId, 0), which calls a function. */
		snprintf(stack, sizeof(stack),
			 own ? "CASE WHEN callchainId <> 0 THEN callchainId END"
			     : "CASE WHEN callchainId <> 0 THEN callchainId * 4 + %d END",
			 calls[i].chains);
		select = sqlite3_mprintf(calls[i].select, stack);
		rc = select ? each(ctx, select) : SQLITE_NOMEM;
		sqlite3_free(select);
	}
	return rc;
}

static int add_part(void *ctx, const char *select)
{
	sqlite3_str *sql = ctx;

	sqlite3_str_appendf(sql, "%s%s", sqlite3_str_length(sql) ? " UNION ALL " : "", select);
	return sqlite3_str_errcode(sql);
}

/*
 * Adds the first part always, the other parts where the report has them: SQLite puts a condition on the view into each of its
 * parts only where all of these are tables and a column has the same type in each (+x has none), and else makes whole rows
 * first.
 */
static int add_calls(sqlite3 *db)
{
	sqlite3_str *parts = sqlite3_str_new(db);
	int rc = db_read_chain_calls(db, add_part, parts);
	char *text = sqlite3_str_finish(parts), *sql = NULL;

	if (rc == SQLITE_OK)
		sql = sqlite3_mprintf("CREATE TEMP VIEW SL_CHAIN_CALLS AS %s", text);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : rc == SQLITE_OK ? SQLITE_NOMEM : rc;
	sqlite3_free(text);
	sqlite3_free(sql);
	return rc;
}

static int add_frames(sqlite3 *db)
{
	sqlite3_str *parts = sqlite3_str_new(db);
	int rc = db_read_chain_frames(db, add_part, parts);
	char *text = sqlite3_str_finish(parts), *sql = NULL;

	if (rc == SQLITE_OK)
		sql = sqlite3_mprintf("CREATE TEMP VIEW SL_CHAIN_FRAMES AS %s;" SAMPLES("id * 4"),
				      text);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : rc == SQLITE_OK ? SQLITE_NOMEM : rc;
	sqlite3_free(text);
	sqlite3_free(sql);
	return rc;
}

bool db_read_has_samples(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	bool has =
		(stmt = sql_first(db, "SELECT 1 FROM SL_CHAIN_SAMPLES WHERE periodic LIMIT 1")) !=
		NULL;

	sqlite3_finalize(stmt);
	return has;
}

#define LAUNCHES                                                                              \
	"CREATE TEMP VIEW SL_CHAIN_LAUNCHES AS SELECT start, end, globalTid, correlationId, " \
	"nameId, %s AS stack FROM %sCUPTI_ACTIVITY_KIND_RUNTIME"

int db_read_add_stack_views(sqlite3 *db)
{
	bool own = db_read_has(db, "SL_STACKS");
	bool whole = db_read_has_column(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId") &&
		     db_read_has_column(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId");
	char *launches = sqlite3_mprintf(
		LAUNCHES, own ? "nullif(callchainId, 0)" : "nullif(callchainId, 0) * 4 + 2",
		whole ? "main." : "");
	int rc = !launches ? SQLITE_NOMEM
		 : own     ? sqlite3_exec(db, ours, NULL, NULL, NULL)
			   : add_frames(db);

	if (rc == SQLITE_OK)
		rc = add_calls(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, launches, NULL, NULL, NULL);
	sqlite3_free(launches);
	return rc;
}
