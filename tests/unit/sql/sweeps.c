/* sweeps.c - the tables that passes over events make for rules: of small reports by hand, and of random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/tables/rows.h"
#include "exporters/events/sorter.h"

static sqlite3 *db;

static void run(const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

static int make(void **state)
{
	(void)state;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK || sql_functions(db, NULL) != SQLITE_OK)
		return -1;
	run("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	    "CREATE TABLE SL_FUNCTIONS(nameId, library, io, isStdio, file, waits, sends, "
	    "returnsBytes, copies);"
	    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclAllReduce'), (4, "
	    "'cudaLaunchKernel_v7000'), (5, 'cudaMalloc');"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, deviceId, contextId, "
	    "streamId, shortName);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, deviceId, contextId, "
	    "streamId, bytes, copyKind, correlationId, greenContextId, srcKind, dstKind, "
	    "srcDeviceId, dstDeviceId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, globalPid, deviceId, contextId, "
	    "streamId, bytes);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, globalPid, deviceId, "
	    "contextId, streamId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, "
	    "correlationId);"
	    "CREATE TABLE OSRT_API(start, end, globalTid, nameId, returnValue, pathId);"
	    "CREATE TABLE SCHED_EVENTS(start, isSchedIn, globalTid, threadState, cpu);"
	    "CREATE TABLE SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime, wakerTid);"
	    "CREATE TABLE SL_PROCESS_TREE(globalPid, traced, kind);"
	    "CREATE TEMP TABLE wall AS SELECT 0 AS start, 1000 AS end, 1000 AS ns");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

/* The database is another one now: tables are made anew. */
static void change(void)
{
	run("INSERT INTO StringIds VALUES (1000, NULL); DELETE FROM StringIds WHERE id = 1000");
}

/* Runs a step of rules/shared/. */
static void step(const char *name)
{
	char file[96];

	snprintf(file, sizeof(file), "analyze/rules/shared/%s.sql", name);
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, file) == 0) {
			run(sl_embedded[i].text);
			return;
		}
	fail_msg("no %s", file);
}

/* The rows of a query: columns by spaces, rows by lines; NULL is "-". Valid until the next but one. */
static const char *rows(const char *sql)
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

/* ---- random events ---- */

static unsigned rnd(unsigned below)
{
	static unsigned long long seed;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void random_events(void)
{
	char sql[256];

	for (unsigned i = 0; i < 300; i++) {
		unsigned start = 5 * i + rnd(40), tid = rnd(4);
		static unsigned in[4];

		snprintf(sql, sizeof(sql),
			 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%u, %u, %u, %u, %u, %u, "
			 "%u)",
			 start, start + rnd(12), (1 + rnd(2)) << 24, rnd(2), rnd(2), rnd(3),
			 1 + rnd(2));
		run(sql);
		in[tid] = !in[tid];
		snprintf(sql, sizeof(sql),
			 "INSERT INTO SCHED_EVENTS(start, isSchedIn, globalTid, threadState) "
			 "VALUES (%u, %u, %u, %u)",
			 3 * i, in[tid], (1 + tid / 2) << 24 | tid, rnd(4));
		run(sql);
	}
}

/* ---- GPUs ---- */

/*
 * Process 1, GPU 0: operations at 10..20, 15..30 (overlap), 30..40 (touches), 50..60; a copy from the host 55..58 within.
 * GPU 1: a collective 100..200, a graph 150..160. Process 2, GPU 0: a set 5..6. A launch takes 8 on average.
 */
static const char gpu_events[] =
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (50, 60, 0x1000000, 0, 1, 7, 1), (10, 20, "
	"0x1000000, 0, 1, 7, 1),"
	" (15, 30, 0x1000000, 0, 1, 8, 1), (100, 200, 0x1000000, 1, 2, 7, 2), (70, 69, 0x1000000, "
	"0, 1, 7, 1);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, deviceId, contextId, "
	"streamId, bytes, copyKind) VALUES (30, 40, 0x1000000, 0, 1, 7, 1000, 8), (55, "
	"58, 0x1000000, 0, 1, 7, 24, 1);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5, 6, 0x2000000, 0, 1, 7, NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (150, 160, 0x1000000, 1, 3, 7);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 6, 0x1000001, 4, 1), (10, 30, "
	"0x1000001, 4, 2), (40, 30, 0x1000001, 4, 3),"
	" (50, 90, 0x1000001, 5, 4), (60, 64, 0x2000001, 4, 5)";

static void a_sweep_of_gpus_has_busy_times_and_launches(void **state)
{
	(void)state;
	run(gpu_events);
	/* (6 + 20) / 2; neither one that ends before its start, nor other calls */
	assert_string_equal(rows("SELECT * FROM sl_cuda_launch ORDER BY 1"), "1 13.0\n2 4.0\n");
	/* context: NULL where there are two */
	assert_string_equal(
		rows("SELECT gpu, globalPid >> 24, deviceId, contextId, start, end, next FROM "
		     "sl_gpu_busy ORDER BY 1, 5"),
		"0 1 0 1 10 40 50\n0 1 0 1 50 60 -\n1 1 1 - 100 200 -\n2 2 0 1 5 6 -\n");
	assert_string_equal(rows("SELECT idle, busy FROM sl_gpu_busy ORDER BY gpu, end"),
			    "10 30\n- 40\n- 100\n- 1\n");
	assert_string_equal(rows("SELECT gpu, globalPid >> 24, deviceId, contextId, start, end "
				 "FROM sl_gpu_life ORDER BY 1"),
			    "0 1 0 1 10 60\n1 1 1 - 100 200\n2 2 0 1 5 6\n");
	/* n, the union, all together, from, to */
	assert_string_equal(rows("SELECT what, n, ns, total, start, end FROM sl_gpu_cover WHERE "
				 "globalPid = 0x1000000 AND deviceId = 0 "
				 "ORDER BY 1"),
			    "all 5 40 48 10 60\ncompute 3 30 35 10 60\nhost copy 1 3 3 55 "
			    "58\nkernel 3 30 35 10 60\n"
			    "not host copy 4 40 45 10 60\nnot nccl 5 40 48 10 60\n");
	assert_string_equal(rows("SELECT what, n, ns, total, start, end FROM sl_gpu_cover WHERE "
				 "deviceId = 1 ORDER BY 1"),
			    "all 2 100 110 100 200\ncompute 1 10 10 150 160\nkernel 2 100 110 100 "
			    "200\nnccl 1 100 100 100 200\n"
			    "not host copy 2 100 110 100 200\nnot nccl 1 10 10 150 160\n");
	/* small: kernels that take less than their process's launch of 13 */
	assert_string_equal(rows("SELECT globalPid >> 24, deviceId, contextId, streamId, what, "
				 "detail, n, ns, bytes, first, last, small "
				 "FROM sl_gpu_sums ORDER BY 1, 2, 3, 4, 5, 6"),
			    "1 0 1 7 kernel 1 2 20 - 10 60 2\n1 0 1 7 memcpy 1 1 3 24 55 58 -\n"
			    "1 0 1 7 memcpy 8 1 10 1000 30 40 -\n1 0 1 8 kernel 1 1 15 - 15 30 0\n"
			    "1 1 2 7 kernel 2 1 100 - 100 200 0\n1 1 3 7 graph - 1 10 - 150 160 "
			    "-\n2 0 1 7 memset - 1 1 - 5 6 -\n");
}

/* copyKind 1 to 4: between the host and a device or an array. */
static void copies_of_the_host_are_covered_apart(void **state)
{
	(void)state;
	run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10) INSERT "
	    "INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, deviceId, copyKind) SELECT 10 "
	    "* "
	    "i, 10 * i + 5, 0x1000000, 0, i FROM n");
	assert_string_equal(rows("SELECT what, n, ns, start, end FROM sl_gpu_cover WHERE what LIKE "
				 "'%host%' ORDER BY 1"),
			    "host copy 4 20 10 45\nnot host copy 7 35 0 105\n");
}

static void a_sweep_without_gpus_has_no_rows(void **state)
{
	(void)state;
	assert_string_equal(
		rows("SELECT (SELECT count(*) FROM sl_gpu_busy) + (SELECT count(*) FROM "
		     "sl_gpu_cover) + "
		     "(SELECT count(*) FROM sl_gpu_sums) + (SELECT count(*) FROM sl_cuda_launch)"),
		"0\n");
}

/* The query, of the table busy instead of sl_gpu_busy. */
static const char *of_a_table(const char *query)
{
	static char sql[256];

	snprintf(sql, sizeof(sql), "%s", query);
	for (char *p; (p = strstr(sql, "sl_gpu_busy"));)
		memcpy(p, "busy       ", 11);
	return sql;
}

/* What is looked up in it is what a table with the same rows gives. */
static void gpu_busy_answers_as_a_table(void **state)
{
	static const char *const queries[] = {
		"SELECT * FROM sl_gpu_busy WHERE gpu = 1 AND end <= 300 ORDER BY end DESC LIMIT 3",
		"SELECT * FROM sl_gpu_busy WHERE gpu = 1 AND end > 300 ORDER BY end LIMIT 3",
		"SELECT * FROM sl_gpu_busy WHERE gpu = 0 AND end BETWEEN 299.5 AND 500 ORDER BY "
		"end",
		"SELECT count(*) FROM sl_gpu_busy WHERE gpu = 2 AND end = (SELECT max(end) FROM "
		"sl_gpu_busy WHERE "
		"gpu = 2 AND end < 400.5)",
		"SELECT gpu, count(*), sum(start) FROM sl_gpu_busy WHERE idle BETWEEN 2 AND 20 "
		"GROUP "
		"BY gpu",
		"SELECT count(*) FROM sl_gpu_busy WHERE idle <> 5",
		"SELECT count(*) FROM sl_gpu_busy WHERE gpu = 1 AND end >= -1e300 AND end <= 1e300",
		"SELECT count(*) FROM sl_gpu_busy WHERE idle > 'x'",
		"SELECT count(*), sum(idle) FROM sl_gpu_busy WHERE idle < 5.5 AND idle >= 1.5",
		"SELECT count(*) FROM sl_gpu_busy WHERE gpu = 9 OR gpu = NULL OR end < NULL",
		"SELECT count(*) FROM sl_gpu_busy WHERE gpu IN (0, 3) AND end > 100 AND end > 200",
		"SELECT DISTINCT gpu, globalPid, deviceId FROM sl_gpu_busy ORDER BY gpu, end",
		"SELECT gpu, end FROM sl_gpu_busy ORDER BY gpu DESC, end DESC LIMIT 5",
		"SELECT count(*) FROM sl_gpu_busy AS a JOIN sl_gpu_busy AS b ON b.gpu = a.gpu AND "
		"b.start = a.next",
	};

	char *ours[sizeof(queries) / sizeof(queries[0])];

	(void)state;
	random_events();
	for (size_t pass = 0; pass < 2; pass++) {
		/* in memory, then in a file */
		rows_bytes_max = pass ? 100 : 1 << 20;
		change();
		run("DROP TABLE IF EXISTS temp.busy");
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
			ours[i] = strdup(rows(queries[i]));
		run("CREATE TEMP TABLE busy AS SELECT * FROM sl_gpu_busy");
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
			assert_string_equal(ours[i], rows(of_a_table(queries[i])));
			free(ours[i]);
		}
	}
	rows_bytes_max = 1 << 20;
	for (int at = -1; at < 1700; at += 7) {
		char last[160], plain[200];

		snprintf(last, sizeof(last),
			 "SELECT gpu, end FROM sl_gpu_busy WHERE gpu = 1 AND at = %d", at);
		snprintf(plain, sizeof(plain),
			 "SELECT gpu, end FROM busy WHERE gpu = 1 AND end <= %d ORDER BY "
			 "end DESC LIMIT 1",
			 at);
		assert_string_equal(rows(last), rows(plain));
	}
	assert_string_equal(rows("SELECT count(*) FROM sl_gpu_busy WHERE gpu = 1 AND at = NULL"),
			    "0\n");
	/* Functions that are added again leave it. */
	assert_int_equal(sql_functions(db, NULL), SQLITE_OK);
	assert_string_equal(rows("SELECT count(*) FROM sl_gpu_busy"),
			    rows("SELECT count(*) FROM busy"));
}

/* Rows are those of the database as it is, but for a statement that reads them already. */
static void tables_follow_the_database(void **state)
{
	sqlite3_stmt *q = NULL;

	(void)state;
	run(gpu_events);
	assert_string_equal(rows("SELECT count(*) FROM sl_gpu_busy"), "4\n");
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM sl_gpu_busy", -1, &q, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (500, 600, 0x1000000, 0, 1, 7, 1)");
	for (int i = 1; i < 4; i++)
		assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	sqlite3_finalize(q);
	assert_string_equal(rows("SELECT count(*) FROM sl_gpu_busy"), "5\n");
	assert_string_equal(rows("SELECT count(*) FROM sl_gpu_busy AS a JOIN sl_gpu_life AS b ON "
				 "b.gpu = a.gpu"),
			    "5\n");
}

/* ---- calls ---- */

static void calls_have_their_kinds(void **state)
{
	(void)state;
	run("INSERT INTO StringIds VALUES (10, 'cudaMemcpyAsync_v3020'), (11, "
	    "'cudaFreeAsync'), (12, 'cuStreamSynchronize'), (13, 'cudaMemset2D'), (14, "
	    "'cudaMemsetAsync'), (20, 'pthread_mutex_lock'), (21, 'fsync'), (22, 'read'), (23, "
	    "'pthread_join'), (24, NULL);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3, 10, 4), (9, 8, NULL, 10, "
	    "NULL), (5, 6, 7, 11, 8), (2, 3, 4, 12, 5), (3, 4, 5, 13, 6), (4, 5, 6, 14, 7), (6, "
	    "7, 8, 5, 9), (7, 8, 9, NULL, 1), (7, 8, 9, 99, 1);"
	    "INSERT INTO OSRT_API VALUES (1, 2, 3, 21, -1, 4), (2, 3, 3, 20, 0, NULL), (3, 4, 3, "
	    "22, 0, 5), (4, 5, 3, 23, 0, NULL), (5, 6, 3, 20, 1, NULL)");
	assert_string_equal(rows("SELECT * FROM sl_cuda_calls"),
			    "sync 12 2 3 4 5\nalloc 5 6 7 8 9\ncopy 10 1 2 3 4\ncopy 10 9 8 - "
			    "-\nset 13 3 4 5 6\n");
	assert_string_equal(rows("SELECT start FROM sl_cuda_calls WHERE what = 'copy'"), "1\n9\n");
	assert_string_equal(rows("SELECT count(*) FROM sl_cuda_calls WHERE what = 'Copy'"), "0\n");
	assert_string_equal(
		rows("SELECT count(*) FROM sl_cuda_calls WHERE what = 'Copy' COLLATE NOCASE"),
		"2\n");
	assert_string_equal(
		rows("SELECT * FROM sl_os_calls"),
		"lock 20 2 3 3 0 -\nlock 20 5 6 3 1 -\njoin 23 4 5 3 0 -\nsync 21 1 2 3 -1 4\n");
	/* of a table its first start and last end, of each thread its calls */
	assert_string_equal(rows("SELECT * FROM sl_event_spans WHERE first <> 0 OR last <> 0"),
			    "CUPTI_ACTIVITY_KIND_RUNTIME 1 9\nOSRT_API 1 6\n");
	assert_string_equal(rows("SELECT * FROM sl_thread_calls WHERE name GLOB 'C*'"),
			    "CUPTI_ACTIVITY_KIND_RUNTIME 3 1\nCUPTI_ACTIVITY_KIND_RUNTIME 7 1\n"
			    "CUPTI_ACTIVITY_KIND_RUNTIME 4 1\nCUPTI_ACTIVITY_KIND_RUNTIME 5 1\n"
			    "CUPTI_ACTIVITY_KIND_RUNTIME 6 1\nCUPTI_ACTIVITY_KIND_RUNTIME 8 "
			    "1\nCUPTI_ACTIVITY_KIND_RUNTIME 9 2\n");
	assert_string_equal(
		rows("SELECT globalTid, n FROM sl_thread_calls WHERE name = 'OSRT_API'"), "3 5\n");
}

/* What is not known is no first, last or length; a launch that takes no time is one. */
static void calls_without_times(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (NULL, 50, 0x1000001, 4, 1), (-8, "
	    "NULL, "
	    "0x1000001, 4, 2), (20, 20, 0x1000001, 4, 3), (30, 40, 0x1000001, 4, 4), (31, 60, "
	    "NULL, 4, 5);"
	    "INSERT INTO OSRT_API VALUES (NULL, NULL, 3, 21, 0, 4), (7, NULL, 3, 21, 0, 4)");
	/* of launches 20..20 and 30..40 */
	assert_string_equal(rows("SELECT * FROM sl_cuda_launch"), "1 5.0\n");
	assert_string_equal(rows("SELECT * FROM sl_event_spans WHERE first <> 0 OR last <> 0"),
			    "CUPTI_ACTIVITY_KIND_RUNTIME -8 60\nOSRT_API 7 -\n");
}

/* Copies in any order; ids repeat between processes, and where one repeats within one, the first call is it. */
static void copies_have_the_calls_that_made_them(void **state)
{
	(void)state;
	run("INSERT INTO StringIds VALUES (10, 'cudaMemcpyAsync_v3020'), (11, 'cudaMemcpy');"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 0x2000001, 10, 7), (1, 2, "
	    "0x1000001, 11, 7), (3, 4, 0x1000001, 10, 7), (8, 9, 0x1000001, 5, 8);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, correlationId, bytes) "
	    "VALUES (30, 40, 0x1000000, 7, 1), (10, 20, 0x2000000, 7, 2), (5, 9, 0x1000000, 8, 3), "
	    "(6, 9, NULL, 7, 4), (6, 5, 0x1000000, 7, 5), (7, 9, 0x1000000, NULL, NULL), (50, 60, "
	    "0x1000000, 7, 6)");
	for (unsigned pass = 0; pass < 2; pass++) {
		sorter_bytes_max = rows_bytes_max = pass ? 50 : 1 << 20;
		change();
		assert_string_equal(
			rows("SELECT bytes, callStart, nameId, blocking FROM sl_copies"),
			"1 1 11 1\n2 5 10 0\n3 - - -\n4 1 11 1\n- - - -\n6 1 11 1\n");
		assert_string_equal(rows("SELECT start FROM sl_copies WHERE bytes BETWEEN 2 AND 3"),
				    "10\n5\n");
	}
	sorter_bytes_max = rows_bytes_max = 1 << 20;
}

/* ---- context switches ---- */

#define T1 "16777217"
#define T2 "33554433"

/*
 * Thread 1 runs 100..200, is preempted until 260, runs until 300, sleeps, is woken at 350 and runs 400..500, waits for a disk
 * until 620 and runs until the end of the wall. Thread 2 runs 150..450; the switch after that is missing.
 */
static const char switches[] =
	"INSERT INTO SCHED_EVENTS(start, isSchedIn, globalTid, threadState) VALUES (200, 0, " T1
	", 1), (100, 1, " T1 ", NULL), (260, 1, " T1 ", NULL),"
	" (300, 0, " T1 ", 2), (400, 1, " T1 ", NULL), (500, 0, " T1 ", 3), (620, 1, " T1 ", NULL),"
	" (150, 1, " T2 ", NULL), (450, 0, " T2 ", 2), (700, 0, " T2 ", 2);"
	"INSERT INTO SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime) VALUES (400, " T1
	", NULL, 350)";

static void a_sweep_of_switches_has_the_times_of_threads(void **state)
{
	(void)state;
	run(switches);
	step("sched_threads");
	/* runs 4: 100 + 40 + 100 + 380; waits 60 and 50 */
	assert_string_equal(rows("SELECT globalTid, runs, ran, waited, preempted, first, last FROM "
				 "sched_threads ORDER BY 1"),
			    T1 " 4 620 110 1 100 1000\n" T2 " 1 300 0 0 150 450\n");
	assert_string_equal(rows("SELECT start, end FROM sched_disk"), "500 620\n");
	/* able to run, of these on a CPU, for how long: 1 alone 100..150, 450..500, 620..1000; 2 alone 300..350 */
	assert_string_equal(rows("SELECT * FROM sched_level ORDER BY 1, 2"),
			    "1 1 530\n2 1 110\n2 2 140\n");
}

static void details_of_switches_count_more_than_states(void **state)
{
	(void)state;
	/* a detail counts more than the state; a wakeup before the sleep leaves none of it */
	run("INSERT INTO SCHED_EVENTS(start, isSchedIn, globalTid, threadState) VALUES (0, 1, " T1
	    ", NULL), (10, 0, " T1 ", 1), (30, 1, " T1 ", NULL),"
	    " (40, 0, " T1 ", 2), (70, 1, " T1 ", NULL), (80, 0, " T1 ", 2), (90, 1, " T1
	    ", NULL), (95, 0, " T1 ", 2);"
	    "INSERT INTO SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime) VALUES (10, " T1
	    ", 0, NULL), (40, " T1 ", 1, NULL), (90, " T1 ", NULL, 20)");
	step("sched_threads");
	assert_string_equal(
		rows("SELECT runs, ran, waited, preempted, first, last FROM sched_threads"),
		"4 35 40 1 0 95\n");
	assert_string_equal(rows("SELECT * FROM sched_level ORDER BY 1, 2"), "1 0 40\n1 1 35\n");
}

static void a_new_thread_waits_since_its_wakeup(void **state)
{
	(void)state;
	run("INSERT INTO SCHED_EVENTS(start, isSchedIn, globalTid) VALUES (50, 1, " T1
	    "), (60, 0, " T1
	    "); INSERT INTO SL_SCHED_DETAIL(start, globalTid, wakeupTime) VALUES (50, " T1 ", 20)");
	step("sched_threads");
	assert_string_equal(rows("SELECT ran, waited, first, last FROM sched_threads"),
			    "10 30 20 60\n");
	assert_string_equal(rows("SELECT * FROM sched_level ORDER BY 1, 2"), "1 0 30\n1 1 10\n");
}

/* Of a machine that was recorded as a whole: the traced processes. */
static void only_traced_processes_are_swept(void **state)
{
	(void)state;
	run(switches);
	run("INSERT INTO SL_PROCESS_TREE VALUES (0x2000000, 1, 0), (0x1000000, 0, 0);"
	    "UPDATE SCHED_EVENTS SET cpu = CASE globalTid WHEN " T1
	    " THEN 1 ELSE isSchedIn * 8 END");
	step("sched_threads");
	assert_string_equal(rows("SELECT globalTid, runs FROM sched_threads"), T2 " 1\n");
	assert_string_equal(rows("SELECT * FROM sched_cpus"), "8\n");
}

/* ---- random: against each moment, and in little memory ---- */

static void random_reports_are_swept_as_by_slow_sql(void **state)
{
	static const char *const queries[] = {
		"SELECT * FROM sl_gpu_busy ORDER BY 1, 5",
		"SELECT * FROM sl_gpu_cover ORDER BY 1, 2, 3",
		"SELECT * FROM sched_threads ORDER BY 1",
		"SELECT * FROM sched_level ORDER BY 1, 2",
	};

	(void)state;
	random_events();
	step("sched_threads");
	run("CREATE TEMP TABLE moment AS WITH RECURSIVE m(t) AS (VALUES (0) UNION ALL SELECT t + 1 "
	    "FROM m WHERE t < 1600) SELECT t FROM m");
	/* each moment in which an operation goes on is in a busy time, and no other is */
	assert_string_equal(
		rows("SELECT gpu, sum(end - start) FROM sl_gpu_busy GROUP BY gpu"),
		rows("SELECT row_number() OVER (ORDER BY globalPid, deviceId) - 1, count(*) FROM "
		     "(SELECT DISTINCT globalPid, deviceId, t FROM moment JOIN "
		     "CUPTI_ACTIVITY_KIND_KERNEL ON t >= start AND "
		     "t < end) GROUP BY globalPid, deviceId"));
	assert_string_equal(rows("SELECT globalPid, deviceId, ns FROM sl_gpu_cover WHERE what = "
				 "'nccl' ORDER BY 1, 2"),
			    rows("SELECT globalPid, deviceId, count(*) FROM (SELECT DISTINCT "
				 "globalPid, deviceId, t FROM moment JOIN "
				 "CUPTI_ACTIVITY_KIND_KERNEL ON t >= start AND t < end AND "
				 "shortName = 2) GROUP BY 1, 2"));
	assert_string_equal(rows("SELECT sum(ns * running) FROM sched_level"),
			    rows("SELECT sum(ran) FROM sched_threads"));
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		const char *want = rows(queries[i]);

		sorter_bytes_max = rows_bytes_max = 500;
		change();
		assert_true(strlen(want) > 20);
		assert_string_equal(rows(queries[i]), want);
		sorter_bytes_max = rows_bytes_max = 1 << 20;
	}
}

/* More kinds of work than the first table of sums has room for, some of them in the same slots. */
static void many_streams(void **state)
{
	(void)state;
	run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + i % 7, 0x1000000, 0, "
	    "1, i % 500, 1 "
	    "FROM n");
	assert_string_equal(
		rows("SELECT streamId, detail, n, ns, first, last FROM sl_gpu_sums ORDER BY 1"),
		rows("SELECT streamId, shortName, count(*), sum(end - start), min(start), max(end) "
		     "FROM "
		     "CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY 1"));
}

/* The last run of a thread lasts until the argument; without one, until the end of the session. */
static void the_last_run_lasts_until_the_argument(void **state)
{
	(void)state;
	run(switches);
	run("CREATE TABLE ANALYSIS_DETAILS(duration); INSERT INTO ANALYSIS_DETAILS VALUES (800)");
	assert_string_equal(rows("SELECT ran FROM sl_sched_threads(1000) WHERE globalTid = " T1),
			    "620\n");
	assert_string_equal(rows("SELECT ran FROM sl_sched_threads(900) WHERE globalTid = " T1),
			    "520\n");
	assert_string_equal(rows("SELECT ran FROM sl_sched_threads WHERE globalTid = " T1),
			    "420\n");
	assert_string_equal(rows("SELECT ran FROM sl_sched_threads(NULL) WHERE globalTid = " T1),
			    "420\n");
	/* The rows of one value at a time are there. */
	assert_int_equal(sqlite3_exec(db,
				      "SELECT 1 FROM sl_sched_threads(1) AS a CROSS JOIN "
				      "sl_sched_threads(2) AS b",
				      NULL, NULL, NULL),
			 SQLITE_LOCKED);
	/* Tables of other passes may be read meanwhile. */
	run(gpu_events);
	assert_string_equal(rows("SELECT (SELECT count(*) FROM sl_sched_threads(gpu)) FROM "
				 "sl_gpu_busy"),
			    "2\n2\n2\n2\n");
	assert_string_equal(rows("SELECT count(*) FROM sl_sched_threads(1) AS a CROSS JOIN "
				 "sl_sched_cpus(1) AS b"),
			    "2\n");
}

/* Fills have the calls that block until they are done. */
static void fills_have_the_calls_that_made_them(void **state)
{
	(void)state;
	run("INSERT INTO StringIds VALUES (13, 'cudaMemset2D'), (14, 'cudaMemsetAsync');"
	    "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET ADD COLUMN memKind;"
	    "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET ADD COLUMN greenContextId;"
	    "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET ADD COLUMN correlationId;"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 0x1000001, 13, 7), (7, 8, "
	    "0x1000001, 14, 8);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (10, 20, 0x1000000, 0, 1, 2, 99, 4, "
	    "NULL, 7), (11, 12, 0x1000000, 0, 1, 2, 98, 1, 3, 8), (5, 4, 0x1000000, 0, 1, 2, 97, "
	    "1, "
	    "3, 7)");
	assert_string_equal(rows("SELECT * FROM sl_fills"),
			    "16777216 0 1 - 2 10 20 99 4 5 6 16777217 13 1\n"
			    "16777216 0 1 3 2 11 12 98 1 - - - - -\n");
}

/* Copies that a temporary file should hold, and that cannot be kept: no rows, until there is room. */
static void copies_without_room(void **state)
{
	(void)state;
	run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT "
	    "INTO "
	    "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, correlationId, bytes) SELECT i, i, "
	    "0x1000000, i, 1 "
	    "FROM n");
	setenv("SQLITE_TMPDIR", "/nonexistent", 1);
	sorter_bytes_max = 500;
	assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM sl_copies", NULL, NULL, NULL),
			 SQLITE_FULL);
	sorter_bytes_max = 1 << 20;
	rows_bytes_max = 500;
	assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM sl_copies", NULL, NULL, NULL),
			 SQLITE_FULL);
	rows_bytes_max = 1 << 20;
	unsetenv("SQLITE_TMPDIR");
	assert_string_equal(rows("SELECT count(*), sum(start) FROM sl_copies"), "200 20100\n");
}

static void errors_of_passes_are_returned(void **state)
{
	(void)state;
	random_events();
	setenv("SQLITE_TMPDIR", "/nonexistent", 1);
	sorter_bytes_max = 500;
	assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM sl_gpu_sums", NULL, NULL, NULL),
			 SQLITE_FULL);
	assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM sl_sched_level", NULL, NULL, NULL),
			 SQLITE_FULL);
	sorter_bytes_max = 1 << 20;
	unsetenv("SQLITE_TMPDIR");
	/* No rows are twice there after it. */
	assert_string_equal(rows("SELECT count(*) FROM sl_event_spans"), "6\n");
	run("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME");
	assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM sl_gpu_sums", NULL, NULL, NULL),
			 SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), "no such table"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sweep_of_gpus_has_busy_times_and_launches, make,
						drop),
		cmocka_unit_test_setup_teardown(copies_of_the_host_are_covered_apart, make, drop),
		cmocka_unit_test_setup_teardown(a_sweep_without_gpus_has_no_rows, make, drop),
		cmocka_unit_test_setup_teardown(gpu_busy_answers_as_a_table, make, drop),
		cmocka_unit_test_setup_teardown(calls_have_their_kinds, make, drop),
		cmocka_unit_test_setup_teardown(copies_have_the_calls_that_made_them, make, drop),
		cmocka_unit_test_setup_teardown(a_sweep_of_switches_has_the_times_of_threads, make,
						drop),
		cmocka_unit_test_setup_teardown(details_of_switches_count_more_than_states, make,
						drop),
		cmocka_unit_test_setup_teardown(a_new_thread_waits_since_its_wakeup, make, drop),
		cmocka_unit_test_setup_teardown(only_traced_processes_are_swept, make, drop),
		cmocka_unit_test_setup_teardown(random_reports_are_swept_as_by_slow_sql, make,
						drop),
		cmocka_unit_test_setup_teardown(errors_of_passes_are_returned, make, drop),
		cmocka_unit_test_setup_teardown(tables_follow_the_database, make, drop),
		cmocka_unit_test_setup_teardown(the_last_run_lasts_until_the_argument, make, drop),
		cmocka_unit_test_setup_teardown(fills_have_the_calls_that_made_them, make, drop),
		cmocka_unit_test_setup_teardown(calls_without_times, make, drop),
		cmocka_unit_test_setup_teardown(copies_without_room, make, drop),
		cmocka_unit_test_setup_teardown(many_streams, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
