/*
 * ranks_test.h - what the tests of ranks share: reports written by hand, and their roll-ups. Include it first.
 *
 * report() makes a report of our schema from SQL over short views, whose triggers fill the tables. A process P has the id P<<24
 * with the machine's bit 48, its thread T the id of P plus T. Session time 0 is EPOCH.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "exporters/ranks/rollup.h"

#define EPOCH      INT64_C(1200000000000) /* 20 minutes after 1970: sums of it can be done by head */
#define EPOCH_TEXT "1200000000000"
#define EPOCH_MIN  20

static char test_dir[64];
static char why[1024];

static inline int test_setup(void **state)
{
	(void)state;
	snprintf(test_dir, sizeof(test_dir), "/tmp/sl-ranks-XXXXXX");
	*why = 0;
	return mkdtemp(test_dir) ? 0 : -1;
}

static inline int test_teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", test_dir);
	return system(cmd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* A file of the test's folder; in one of eight static buffers. */
static inline const char *in_dir(const char *name)
{
	static char paths[8][512];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
	return path;
}

static inline void exec_sql(sqlite3 *db, const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

/* Of SQL's operators |, & and << have one precedence, so ids are sums. */
#define PID_OF_NEW "(new.pid * 16777216 + 281474976710656)"
#define TID_OF_NEW "(new.pid * 16777216 + new.tid + 281474976710656)"
#define VIEW(name, columns)                                 \
	"CREATE TEMP VIEW " #name " AS SELECT " columns ";" \
	"CREATE TEMP TRIGGER t_" #name " INSTEAD OF INSERT ON " #name " BEGIN "
#define END_VIEW "END;"
#define TEXT_OF(column)                                                                            \
	"INSERT INTO StringIds(value) SELECT new." column " WHERE new." column " IS NOT NULL AND " \
	"NOT EXISTS (SELECT 1 FROM StringIds WHERE value = new." column ");"
#define ID_OF(column) "(SELECT id FROM StringIds WHERE value = new." column ")"

/* clang-format off */
static const char short_views[] =
	VIEW(process, "0 AS pid, 0 AS parent, 0 AS start, 0 AS end")
	"INSERT INTO SL_PROCESS_TREE VALUES(" PID_OF_NEW ", new.parent * 16777216 + 281474976710656, new.start, new.end, 1, 1, "
	"'/usr/bin/p', 'p', 0);"
	"INSERT INTO PROCESSES VALUES(" PID_OF_NEW ", new.pid, '/usr/bin/p');"
	END_VIEW
	VIEW(variable, "0 AS pid, '' AS name, '' AS value")
	"INSERT INTO SL_RANK_VARIABLES VALUES(" PID_OF_NEW ", new.name, new.value);"
	END_VIEW
	VIEW(mark, "0 AS pid, 0 AS tid, 0 AS start, 0 AS end, '' AS name")
	"INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES(new.start, new.end, 59, new.name, "
	TID_OF_NEW ", 0);"
	END_VIEW
	VIEW(cuda, "0 AS pid, 0 AS tid, 0 AS start, 0 AS end, 0 AS correlation, '' AS name")
	TEXT_OF("name")
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(new.start, new.end, 0, " TID_OF_NEW ", new.correlation, " ID_OF("name") ", 0, NULL);"
	END_VIEW
	VIEW(kernel, "0 AS pid, 0 AS start, 0 AS end, 0 AS correlation, '' AS name")
	TEXT_OF("name")
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
	"shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
	"localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES(new.start, new.end, 0, 1, 7, "
	"new.correlation, " PID_OF_NEW ", " ID_OF("name") ", " ID_OF("name") ", 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]');"
	END_VIEW
	VIEW(libc, "0 AS pid, 0 AS tid, 0 AS start, 0 AS end, '' AS name, '' AS path, 0 AS bytes")
	TEXT_OF("name") TEXT_OF("path")
	"INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId, "
	"bytesDone) VALUES(new.start, new.end, 27, " TID_OF_NEW ", " ID_OF("name") ", 0, 0, 0, 0, " ID_OF("path") ", new.bytes);"
	END_VIEW
	VIEW(nccl, "0 AS pid, 0 AS tid, 0 AS start, 0 AS end, '' AS name, 0 AS comm, 0 AS cnt, 0 AS type, 0 AS result")
	TEXT_OF("name")
	"INSERT INTO StringIds(value) SELECT 'nccl' WHERE NOT EXISTS (SELECT 1 FROM StringIds WHERE value = 'nccl');"
	"INSERT INTO SL_LIBRARY_API VALUES(new.start, new.end, " TID_OF_NEW ", (SELECT id FROM StringIds WHERE value = 'nccl'), "
	ID_OF("name") ", (SELECT coalesce(max(callId), 0) + 1 FROM SL_LIBRARY_API), new.result, 0, NULL);"
	"INSERT INTO SL_GPU_ARGUMENTS SELECT (SELECT max(callId) FROM SL_LIBRARY_API), role - 26, role, value FROM (SELECT 26 AS role, "
	"new.cnt AS value UNION ALL SELECT 27, new.type UNION ALL SELECT 30, new.comm) WHERE value IS NOT NULL;"
	END_VIEW
	VIEW(comm, "0 AS pid, 0 AS handle, 0 AS hash, 0 AS size, 0 AS rank, 0 AS start, 0 AS end")
	"INSERT INTO SL_NCCL_COMMUNICATORS VALUES(" PID_OF_NEW ", new.handle, new.hash, NULL, new.size, new.rank, new.start, new.end, NULL);"
	END_VIEW
	/* Of MPI; requests are calls that do not block. */
	VIEW(mpi, "0 AS pid, 0 AS tid, 0 AS start, 0 AS end, '' AS name, 0 AS comm, 0 AS bytes, 0 AS seq, 0 AS request")
	TEXT_OF("name")
	"INSERT INTO MPI_COLLECTIVES_EVENTS SELECT new.start, new.end, " TID_OF_NEW ", " ID_OF("name") ", 1, new.comm, NULL, new.bytes, NULL, "
	"new.request, new.seq;"
	END_VIEW
	VIEW(mpi_comm, "0 AS pid, 0 AS uid, 0 AS size, 0 AS own")
	"INSERT INTO MPI_COMMUNICATORS(timestamp, commHandle, localRank, size, commUid, globalPid) VALUES(0, new.uid, new.own, new.size, "
	"new.uid, " PID_OF_NEW ");"
	END_VIEW
	/* From @start on the thread runs (1), sleeps (0), or has no CPU though it could run (2). */
	VIEW(cpu, "0 AS pid, 0 AS tid, 0 AS start, 0 AS state")
	"INSERT INTO SCHED_EVENTS VALUES(new.start, 0, new.state = 1, " TID_OF_NEW ", CASE new.state WHEN 0 THEN 2 WHEN 2 THEN 1 END, "
	"NULL);"
	END_VIEW
	/* A CPU sample in one frame. */
	VIEW(sample, "0 AS pid, 0 AS tid, 0 AS start, '' AS module, '' AS symbol")
	TEXT_OF("module") TEXT_OF("symbol")
	"INSERT INTO SL_FRAMES(id, kind, symbol, module, inlined) SELECT coalesce(max(id), 0) + 1, 0, " ID_OF("symbol") ", " ID_OF("module")
	", 0 FROM SL_FRAMES;"
	"INSERT INTO SL_STACKS SELECT max(id), 0, max(id) FROM SL_FRAMES;"
	"INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId) SELECT new.start, 0, 1, " TID_OF_NEW
	", 1, max(id) FROM SL_FRAMES;"
	END_VIEW;
/* clang-format on */

static inline const char *schema_text(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			return e->text;
	fail_msg("schema.sql is not in the program");
	return NULL;
}

/* A report with the rows that @sql inserts; its path. */
static inline const char *report(const char *name, const char *sql)
{
	const char *path = in_dir(name);
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	exec_sql(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
	exec_sql(db, schema_text());
	exec_sql(db,
		 "INSERT OR IGNORE INTO StringIds VALUES(0, '');"
		 "INSERT INTO ANALYSIS_DETAILS VALUES(0, 0, 0, 0);"
		 "DELETE FROM TARGET_INFO_SESSION_START_TIME;"
		 "INSERT INTO TARGET_INFO_SESSION_START_TIME(utcEpochNs) VALUES(" EPOCH_TEXT ")");
	exec_sql(db, short_views);
	exec_sql(db, sql);
	exec_sql(db, "COMMIT");
	sqlite3_close(db);
	return path;
}

/* The rows of a query: columns by spaces, rows by lines; NULL is "-". Valid until the next but one. */
static inline const char *rows(sqlite3 *db, const char *sql)
{
	static char *texts[2];
	static unsigned turn;
	char **text = &texts[turn++ % 2];
	size_t size;
	sqlite3_stmt *q = NULL;
	FILE *out;

	free(*text);
	out = open_memstream(text, &size);
	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(q) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const char *value = (const char *)sqlite3_column_text(q, i);

			fprintf(out, "%s%s", value ? value : "-",
				i + 1 < sqlite3_column_count(q) ? " " : "\n");
		}
	sqlite3_finalize(q);
	fclose(out);
	return *text;
}

#define assert_rows(db, sql, want) assert_string_equal(rows(db, sql), want)

/* The text of a file; valid until the next. */
static inline const char *file_text(const char *path)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "re");

	if (!f)
		fail_msg("%s cannot be read", path);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static inline void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		fail_msg("%s cannot be written", path);
}

/* The rows of a query over the table file(whole), which has the JSON of a file. */
static inline const char *json_rows(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *put;
	const char *got;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	exec_sql(db, "CREATE TABLE file(whole)");
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO file VALUES(?)", -1, &put, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(put, 1, file_text(path), -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(put), SQLITE_DONE);
	sqlite3_finalize(put);
	got = rows(db, sql);
	sqlite3_close(db);
	return got;
}

/* Makes the folders of run @run, and the manifest of a node in it. */
static inline void put_manifest(const char *run, const char *node, const char *json)
{
	char cmd[512], name[256];

	snprintf(cmd, sizeof(cmd), "mkdir -p \"%s/_nodes/run=%s\"", test_dir, run);
	assert_int_equal(system(cmd), 0);
	snprintf(name, sizeof(name), "_nodes/run=%s/node=%s.json", run, node);
	put_file(in_dir(name), json);
}

/* Has the file Parquet's marks at both ends? */
static inline bool is_parquet(const char *path)
{
	char marks[9] = "";
	FILE *f = fopen(path, "re");
	bool ok = f && fread(marks, 1, 4, f) == 4 && fseek(f, -4, SEEK_END) == 0 &&
		  fread(marks + 4, 1, 4, f) == 4 && strcmp(marks, "PAR1PAR1") == 0;

	if (f)
		fclose(f);
	return ok;
}

/* ---- roll-ups ---- */

/* The rows of the roll-up of one report. */
static struct dataset rolled;
static struct rollup_found found;

/* rollup_add() into an empty dataset; ends the one before. */
static inline int roll_as(const char *path, const struct rollup_ask *ask)
{
	if (rolled.db)
		dataset_end(&rolled);
	assert_int_equal(dataset_begin(&rolled), SQLITE_OK);
	return rollup_add(&rolled, path, ask, &found, why, sizeof(why));
}

/* Ranks from the report; ranges that are called step are the steps. */
static inline void roll(const char *path)
{
	const struct rollup_ask ask = {.rank = -1, .range = "step%"};

	if (roll_as(path, &ask) != 0)
		fail_msg("%s", why);
}

static inline void roll_sql(const char *sql)
{
	roll(report("r.sqlite", sql));
}

static inline int roll_teardown(void **state)
{
	if (rolled.db)
		dataset_end(&rolled);
	return test_teardown(state);
}

#define ROLL_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, roll_teardown)
