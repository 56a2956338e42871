/* projection.c - NVTX ranges, their stacks and GPU work, GPU libraries: of a small report, by hand, and of random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/sql/projection_internal.h"

static char dir[] = "/tmp/projection.XXXXXX", path[64];

static uint64_t state = 1;

static int64_t below(int64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state % (uint64_t)n);
}

static void run(sqlite3 *db, char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_free(sql);
}

static void add_call(sqlite3 *db, int64_t i, int64_t tid, int64_t span)
{
	static const char *const tables[] = {"KERNEL", "KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"};
	int64_t start = below(span), end = start + below(1 + span / (1 + below(40)));
	/* ids repeat now and then, and between processes */
	int64_t id = below(9) == 0 ? below(i + 1) : i;

	run(db,
	    sqlite3_mprintf("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(%lld,%lld,%lld,%lld)",
			    start, end, tid, id));
	for (int64_t n = below(4); n > 0; n--) {
		int64_t from = below(3) ? end + below(span) : below(span);
		const char *table = tables[below(5)];

		run(db, sqlite3_mprintf("INSERT INTO CUPTI_ACTIVITY_KIND_%s(start, end, "
					"correlationId, globalPid) VALUES(%lld,%lld,%lld,%lld)",
					table, from, from + below(span), id, tid & ~0xFFFFFFLL));
		if (strcmp(table, "KERNEL") == 0)
			run(db, sqlite3_mprintf(
					"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = "
					"%lld, shortName = %lld, mangledName = nullif(%lld, 0), "
					"graphNodeId = nullif(%lld, 0) WHERE rowid = "
					"last_insert_rowid()",
					10 + below(4), 10 + below(2), below(3), below(9) / 8));
	}
}

static void add_range(sqlite3 *db, int64_t i, int64_t tid, int64_t span, bool backwards)
{
	static const char *const texts[] = {"NULL", "'forward'", "'backward'", "''"};
	static const int64_t types[] = {59, 59, 59, 60, 34};
	int64_t start = below(span), kind = below(9);
	/* none, or before its start, or long, or short */
	int64_t end = kind == 0   ? start
		      : kind == 1 ? start - 2 * backwards
				  : start + below(kind < 4 ? span : 1 + span / 20);
	char *text = below(4) ? sqlite3_mprintf("%s", texts[below(4)])
			      : sqlite3_mprintf("'step %lld'", i);

	run(db, sqlite3_mprintf("INSERT INTO NVTX_EVENTS VALUES(%lld,%s,%lld,%s,%lld,%s,%s,%s)",
				start, kind == 8 ? "NULL" : "0", types[below(5)], text, tid,
				below(5) ? "NULL" : "5", below(3) ? "NULL" : "1",
				below(3)   ? "NULL"
				: below(2) ? "1"
					   : "2"));
	if (kind != 8)
		run(db,
		    sqlite3_mprintf(
			    "UPDATE NVTX_EVENTS SET end = %lld WHERE rowid = last_insert_rowid()",
			    end));
	sqlite3_free(text);
}

/* Calls that lie within each other, or beside, or are over at once; arguments of some, of odd kinds. */
static void add_library_call(sqlite3 *db, int64_t i, int64_t tid, int64_t span)
{
	static const int roles[] = {0, 26, 33, 34, 35, 36, 37, 33, 34, 35, 36, 5};
	static const char *const insert[] = {
		"INSERT INTO CUBLAS_EVENTS VALUES(%lld,%lld,29,%lld,%lld,%lld,0,NULL)",
		"INSERT INTO CUDNN_EVENTS VALUES(%lld,%lld,28,%lld,%lld,%lld,0,NULL)",
		"INSERT INTO SL_LIBRARY_API VALUES(%lld,%lld,%lld,%lld,%lld,%lld,0,0,NULL)",
	};
	int64_t start = below(span),
		end = start + (below(6) ? below(1 + span / (1 + below(30))) : 0);
	/* not in order of time; one name has two ids, one id no name */
	int64_t id = 100000 + i * 7919 % 99991, name = 20 + below(6), table = below(3);

	if (table == 2)
		run(db, sqlite3_mprintf(insert[2], start, end, tid, 30 + below(4), name, id));
	else
		run(db, sqlite3_mprintf(insert[table], start, end, tid, name, id));
	for (int64_t k = below(14), at = 0; at < k; at++)
		run(db, sqlite3_mprintf("INSERT INTO SL_GPU_ARGUMENTS VALUES(%lld,%lld,%d,%lld)",
					id, at, roles[at < 7 && below(2) ? at : below(12)],
					below(40)  ? below(8)
					: below(2) ? -1
						   : INT64_C(1) << 40));
}

/* Two processes that have a thread of the same number, one of them with two threads; domains 0, 1 and 2. */
static void make(int round, bool backwards)
{
	static const int64_t tids[] = {100LL << 24 | 100, 100LL << 24 | 101, 101LL << 24 | 100};
	const int64_t spans[] = {40, 1000, 200000};
	int64_t span = spans[round % 3], cnt = round % 4 == 3 ? 0 : 40 + round * 60;
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db,
	    sqlite3_mprintf(
		    "PRAGMA synchronous=OFF; BEGIN;"
		    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
		    "INSERT INTO StringIds VALUES(1, 'forward'), (2, 'library'), (10, 'gemm'), "
		    "(11, 'add'), (12, 'copy'), (20, 'cublasSgemm_v2'), (21, 'cublasCgemm'), (22, "
		    "'cublasSgemm_v2'), "
		    "(23, 'cudnnAdd'), (24, 'ncclAllReduce'), (30, 'nccl'), (31, 'cublas'), (32, "
		    "'cufft');"
		    "CREATE TABLE CUBLAS_EVENTS(start, end, eventClass, globalTid, nameId, callId, "
		    "returnValue, "
		    "callchainId);"
		    "CREATE TABLE CUDNN_EVENTS AS SELECT * FROM CUBLAS_EVENTS;"
		    "CREATE TABLE SL_LIBRARY_API(start, end, globalTid, library, nameId, callId, "
		    "returnValue, "
		    "nestingLevel, callchainId);"
		    "CREATE TABLE SL_GPU_ARGUMENTS(callId, position, role, value);"
		    "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid, "
		    "endGlobalTid, textId, domainId);"
		    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, "
		    "correlationId);"
		    "INSERT INTO NVTX_EVENTS VALUES(0, NULL, 75, NULL, 1677721700, NULL, 2, 1)"));
	for (int i = 0; i < 4; i++) {
		static const char *const kinds[] = {"KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"};

		run(db,
		    sqlite3_mprintf("CREATE TABLE CUPTI_ACTIVITY_KIND_%s(start, end, "
				    "correlationId, globalPid%s)",
				    kinds[i],
				    i == 0 ? ", demangledName, shortName, mangledName, graphNodeId"
					   : ""));
	}
	for (int64_t i = 0; i < cnt; i++) {
		add_call(db, i, tids[below(3)], span);
		add_call(db, i, tids[below(3)], span);
		add_range(db, i, tids[below(3)], span, backwards);
		add_library_call(db, i, tids[below(3)], span);
	}
	run(db, sqlite3_mprintf("COMMIT"));
	sqlite3_close(db);
}

static sqlite3 *opened(void)
{
	struct hist_of_db *tables;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(hist_register(db, NULL, &tables), SQLITE_OK);
	assert_int_equal(projection_register(db, tables), SQLITE_OK);
	return db;
}

/* The rows of a query: columns by spaces, rows by lines. NULL is "-". Valid until the next but three. */
static const char *rows_of(sqlite3 *db, const char *sql)
{
	static char *texts[4];
	static unsigned turn;
	char **text = &texts[turn++ % 4];
	size_t size;
	sqlite3_stmt *q = NULL;
	FILE *out;
	int rc;

	free(*text);
	out = open_memstream(text, &size);
	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const char *value = (const char *)sqlite3_column_text(q, i);

			fprintf(out, "%s%s", value ? value : "-",
				i + 1 < sqlite3_column_count(q) ? " " : "\n");
		}
	if (rc != SQLITE_DONE)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_finalize(q);
	fclose(out);
	return *text;
}

/* ---- by hand ---- */

/*
 * One thread. step holds forward, backward and inner (in backward); lib is a start/end range; part is of another domain,
 * begins with a call and ends with one. What call 5 starts is in no range, as it returns behind the end of step.
 *
 *   call      1: 12..14   2: 20..22   3: 62..64            4: 92..94   5: 96..105
 *   GPU       gemm 110    copy 150    gemm 170, add 200    graph 300   add 400
 */
static const char small[] =
	"INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, textId, domainId) VALUES"
	" (0, 100, 59, 'step', 1677721700, NULL, NULL), (10, 40, 59, NULL, 1677721700, 1, 0),"
	" (50, 90, 59, 'backward', 1677721700, NULL, 0), (60, 70, 59, 'inner', 1677721700, NULL, "
	"0),"
	" (5, 95, 60, 'lib', 1677721700, NULL, 0), (12, 22, 59, 'part', 1677721700, NULL, 1),"
	" (200, 300, 59, 'idle', 1677721700, NULL, 0), (400, NULL, 59, 'open', 1677721700, NULL, "
	"0),"
	" (1, 99, 34, 'mark', 1677721700, NULL, 0);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (12, 14, 1677721700, 1), (20, 22, "
	"1677721700, 2),"
	" (62, 64, 1677721700, 3), (92, 94, 1677721700, 4), (96, 105, 1677721700, 5), (16, 17, "
	"1677721700, 6);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (110, 150, 1, 1677721600, 10, 11, NULL, "
	"NULL),"
	" (170, 200, 3, 1677721600, 10, 11, NULL, NULL), (200, 210, 3, 1677721600, 11, 11, NULL, "
	"NULL),"
	" (400, 410, 5, 1677721600, 11, 11, NULL, NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (150, 160, 2, 1677721600);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300, 330, 4, 1677721600);"
	/* gemm of 2 x 3 x 4 around call 1 and in it another call; cudnn around call 3; nccl around call 4 */
	"INSERT INTO CUBLAS_EVENTS VALUES (11, 15, 29, 1677721700, 20, 7, 0, NULL), (12, 13, 29, "
	"1677721700, 21, 8, 0, NULL);"
	"INSERT INTO CUDNN_EVENTS VALUES (61, 65, 28, 1677721700, 23, 9, 0, NULL);"
	"INSERT INTO SL_LIBRARY_API VALUES (91, 95, 1677721700, 30, 24, 10, 0, 0, NULL);"
	"INSERT INTO SL_GPU_ARGUMENTS VALUES (7, 0, 33, 2), (7, 1, 34, 3), (7, 2, 35, 4), (10, 0, "
	"0, 1024);";

static sqlite3 *small_report(void)
{
	sqlite3 *db;

	make(3, false); /* empty tables */
	db = opened();
	run(db, sqlite3_mprintf("%s", small));
	return db;
}

static void work_is_in_the_ranges_that_started_it(void **unused)
{
	sqlite3 *db = small_report();

	(void)unused;
	/* work without an end or an id is nothing's, not even that of a call whose id is 0 */
	run(db, sqlite3_mprintf("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (30, 31, "
				"1677721700, 0); INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES "
				"(150, 160, NULL, 1677721600), (150, NULL, 2, 1677721600)"));
	assert_string_equal(
		rows_of(db, "SELECT number, above, path, lvl, children, n, first, last, style, "
			    "domain, start, end, coalesce(text, 'id ' || textId) FROM "
			    "sl_projection ORDER BY number"),
		"1 - :1 0 2 5 110 330 59 0 0 100 step\n"
		"2 - :2 0 0 5 110 330 60 0 5 95 lib\n"
		"3 1 :1:3 1 0 2 110 160 59 0 10 40 id 1\n"
		"4 - :4 0 0 2 110 160 59 1 12 22 part\n"
		"5 1 :1:5 1 1 2 170 210 59 0 50 90 backward\n"
		"6 5 :1:5:6 2 0 2 170 210 59 0 60 70 inner\n");
	/* ranges of one name, process and style are of one kind */
	run(db, sqlite3_mprintf(
			"INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) "
			"VALUES (61, 65, 59, 'inner', 1677721700, 0), (61, 65, 60, 'inner', "
			"1677721700, 0)"));
	assert_string_equal(
		rows_of(db,
			"SELECT count(*), count(DISTINCT kind), (SELECT count(DISTINCT kind) FROM "
			"sl_projection WHERE text = 'inner') FROM sl_projection"),
		"8 7 2\n");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void ranges_have_the_ranges_around_them(void **unused)
{
	sqlite3 *db = small_report();

	(void)unused;
	/* n: time of the ranges directly inside */
	assert_string_equal(rows_of(db,
				    "SELECT number, above, path, lvl, children, n, start, end FROM "
				    "sl_range_stacks ORDER BY number"),
			    "1 - :1 0 2 70 0 100\n"
			    "2 1 :1:2 1 0 0 10 40\n"
			    "3 - :3 0 0 0 12 22\n"
			    "4 1 :1:4 1 1 10 50 90\n"
			    "5 4 :1:4:5 2 0 0 60 70\n"
			    "6 - :6 0 0 0 200 300\n"
			    "7 - :7 0 0 0 400 -\n");
	/* what ends when another begins is not around it; what has no duration is inside */
	run(db,
	    sqlite3_mprintf(
		    "DELETE FROM NVTX_EVENTS; INSERT INTO NVTX_EVENTS(start, end, eventType, "
		    "globalTid) VALUES "
		    "(0, 10, 59, 1677721700), (10, 20, 59, 1677721700), (10, 10, 59, 1677721700), "
		    "(20, 20, 59, 1677721700), (10, 20, 59, 1677721701)"));
	assert_string_equal(rows_of(db, "SELECT tid & 255, start, end, lvl, path FROM "
					"sl_range_stacks ORDER BY number"),
			    "100 0 10 0 :1\n100 10 20 0 :2\n100 10 10 1 :2:3\n101 10 20 0 :4\n100 "
			    "20 20 0 :5\n");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static const char key_tables[] = "CREATE TEMP TABLE domain(process, domain, name);"
				 "INSERT INTO domain VALUES (100, 1, 'library');"
				 "CREATE TEMP TABLE title(id INTEGER PRIMARY KEY, tid, style, "
				 "name, UNIQUE (name, style, tid));"
				 "CREATE TEMP TABLE library_key(id, kernels, "
				 "gpu, work, library, name, size)";

static void kernels_are_counted_by_range(void **unused)
{
	sqlite3 *db = small_report();

	(void)unused;
	run(db, sqlite3_mprintf("%s", key_tables));
	run(db, sqlite3_mprintf("CREATE TEMP TABLE s AS SELECT * FROM "
				"sl_stats_rows(sl_range_kernels('demangledName'))"));
	/* extra: ranges that launched the kernel */
	assert_string_equal(rows_of(db, "SELECT name, style, key & 0xFFFFFFFF, n, total, min, max, "
					"extra FROM s JOIN "
					"temp.title ON id = key >> 32 ORDER BY 1, 2, 3"),
			    ":backward 59 10 1 30 30 30 1\n"
			    ":backward 59 11 1 10 10 10 1\n"
			    ":forward 59 10 1 40 40 40 1\n"
			    ":inner 59 10 1 30 30 30 1\n"
			    ":inner 59 11 1 10 10 10 1\n"
			    ":lib 60 10 2 70 30 40 1\n"
			    ":lib 60 11 1 10 10 10 1\n"
			    ":step 59 10 2 70 30 40 1\n"
			    ":step 59 11 1 10 10 10 1\n"
			    "library:part 59 10 1 40 40 40 1\n");
	run(db, sqlite3_mprintf("DROP TABLE s; CREATE TEMP TABLE s AS SELECT * FROM "
				"sl_stats_rows(sl_range_kernels('shortName'))"));
	assert_string_equal(rows_of(db, "SELECT key & 0xFFFFFFFF, n, total, extra FROM s JOIN "
					"temp.title ON id = key >> 32 "
					"WHERE name = ':step'"),
			    "11 3 80 1\n");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void calls_of_libraries_have_their_gpu_work(void **unused)
{
	static const char query[] =
		"SELECT library, name, size, n, total, kernels, gpu, work FROM s JOIN "
		"temp.library_key ON id = key ORDER BY 1, 2";
	sqlite3 *db = small_report();

	(void)unused;
	run(db, sqlite3_mprintf("%s", key_tables));
	run(db, sqlite3_mprintf(
			"CREATE TEMP TABLE s AS SELECT * FROM sl_stats_rows(sl_library_calls(1))"));
	/* a product takes 2 m n k operations; the launch in two calls is the outer one's */
	assert_string_equal(rows_of(db, query), "cublas cublasCgemm - 1 1 0 0 -\n"
						"cublas cublasSgemm_v2 2 x 3 x 4 1 4 1 40 48.0\n"
						"cudnn cudnnAdd - 1 4 2 40 -\n"
						"nccl ncclAllReduce 1024 bytes 1 4 0 0 -\n");
	run(db, sqlite3_mprintf(
			"DROP TABLE s; DELETE FROM library_key; INSERT INTO CUBLAS_EVENTS VALUES "
			"(500, 510, 29, 1677721700, 20, 12, 0, NULL); CREATE TEMP TABLE s AS "
			"SELECT * FROM "
			"sl_stats_rows(sl_library_calls(0))"));
	assert_string_equal(rows_of(db, query), "cublas cublasCgemm - 1 1 0 0 -\n"
						"cublas cublasSgemm_v2 - 2 14 1 40 48.0\n"
						"cudnn cudnnAdd - 1 4 2 40 -\n"
						"nccl ncclAllReduce - 1 4 0 0 -\n");
	/* what no whole number holds */
	run(db, sqlite3_mprintf(
			"DROP TABLE s; DELETE FROM library_key; UPDATE SL_GPU_ARGUMENTS SET "
			"value = 1 << 40 WHERE callId = 7 AND position < 2; CREATE TEMP TABLE s "
			"AS SELECT * FROM sl_stats_rows(sl_library_calls(0))"));
	assert_string_equal(rows_of(db, "SELECT work FROM temp.library_key WHERE work IS NOT NULL"),
			    "9.67140655691703e+24\n");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- random: against each range with each call, and in little memory ---- */

/* A range holds its thread's calls from the first that begins in it to the last that ends in it, in order of their starts. */
static const char slow_work[] =
	"WITH op AS (SELECT globalPid >> 24 AS pid, correlationId, count(*) AS n, min(start) AS "
	"first, max(end) AS last FROM"
	" (SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL"
	" SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL"
	" SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET UNION ALL"
	" SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE) GROUP "
	"BY 1, 2), "
	"call AS MATERIALIZED (SELECT row_number() OVER (ORDER BY globalTid, c.start, c.end) AS "
	"at, globalTid AS tid, c.start,"
	" c.end, n, first, last FROM (SELECT *, row_number() OVER (PARTITION BY globalTid >> 24, "
	"correlationId ORDER BY start, rowid) AS nr FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "
	"correlationId <> 0) AS c JOIN op ON op.correlationId = c.correlationId AND pid = "
	"globalTid >> 24 AND nr = 1), "
	"range AS MATERIALIZED (SELECT rowid AS id, *, (SELECT max(at) FROM call WHERE tid = "
	"r.globalTid AND end <= r.end) AS upto"
	" FROM NVTX_EVENTS AS r WHERE eventType IN (59, 60) AND end IS NOT NULL"
	" AND (eventType = 59 OR endGlobalTid IS NULL OR endGlobalTid = globalTid)) "
	"SELECT r.globalTid, r.start, r.end, r.eventType, sum(n), min(first), max(last) "
	"FROM range AS r JOIN call AS c ON tid = r.globalTid AND c.start >= r.start AND at <= upto "
	"AND EXISTS (SELECT 1 FROM call WHERE tid = r.globalTid AND start <= r.end AND end <= "
	"r.end) "
	"GROUP BY r.id ORDER BY 1, 2, 3, 4, 5, 6, 7";

static const char *const queries[] = {
	"SELECT tid, start, end, style, n, first, last FROM sl_projection ORDER BY 1, 2, 3, 4, 5, "
	"6, 7",
	"SELECT id, parent, lvl, children, text, textId, domain, number, above, path FROM "
	"sl_projection ORDER BY number",
	"SELECT id, parent, lvl, children, text, textId, tid, start, end, n, above, path FROM "
	"sl_range_stacks ORDER BY number",
	"SELECT * FROM sl_stats_rows(sl_range_kernels('demangledName')) ORDER BY key",
	"SELECT * FROM sl_stats_rows(sl_library_calls(1)) ORDER BY key",
};
#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static const char *rows_anew(const char *query)
{
	sqlite3 *db = opened();
	const char *text;

	run(db, sqlite3_mprintf("%s", key_tables));
	text = rows_of(db, query);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return text;
}

static size_t compare(size_t query)
{
	const char *want = rows_anew(queries[query]), *got;

	sorter_bytes_max = 500;
	texts_bytes_max = 100;
	got = rows_anew(queries[query]);
	sorter_bytes_max = 1 << 20;
	texts_bytes_max = 4 << 20;
	assert_string_equal(got, want);
	return strlen(want);
}

static void random_reports_are_as_slow_sql_has_them(void **unused)
{
	size_t bytes[QUERIES] = {0};

	(void)unused;
	for (int round = 0; round < 12; round++) {
		/* What ends before it begins is in no stack. */
		make(round, round % 2);
		assert_string_equal(rows_anew(queries[0]), rows_anew(slow_work));
		for (size_t i = 0; i < QUERIES; i++)
			bytes[i] += compare(i);
	}
	for (size_t i = 0; i < QUERIES; i++)
		assert_true(bytes[i] > 5000);
}

/* Thousands of calls in a range, ranges that begin while many others are open. */
static void many_open_ranges_are_projected(void **unused)
{
	const int64_t tid = 100LL << 24 | 100;
	sqlite3 *db;

	(void)unused;
	make(3, false);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db,
	    sqlite3_mprintf(
		    "BEGIN;"
		    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < "
		    "5000) "
		    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10 * i, 10 * i + 5 + i %% 7 * "
		    "9, %lld, i FROM c;"
		    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, correlationId, globalPid) "
		    "SELECT start + 900 - start * 7 %% 500, "
		    "start + 1000 + start * 3 %% 700, correlationId, %lld FROM "
		    "CUPTI_ACTIVITY_KIND_RUNTIME;"
		    "INSERT INTO NVTX_EVENTS SELECT start + 1 - i, start + 7919 * start %% 49999, "
		    "60, 'a' || i, %lld, "
		    "NULL, NULL, 0 FROM (SELECT start, correlationId %% 3 AS i FROM "
		    "CUPTI_ACTIVITY_KIND_RUNTIME);"
		    "COMMIT",
		    tid, tid & ~0xFFFFFFLL, tid));
	sqlite3_close(db);
	assert_string_equal(rows_anew(queries[0]), rows_anew(slow_work));
	for (size_t i = 0; i < 2; i++)
		assert_true(compare(i) > 100);
}

/* Errors are returned. */
static void errors_of_projections_are_returned(void **unused)
{
	static const struct {
		const char *sql, *table;
		bool texts; /* of ranges */
	} failing[] = {
		{"SELECT count(*), sum(n) FROM sl_projection", "NVTX_EVENTS", true},
		{"SELECT count(*), sum(n), max(path) FROM sl_range_stacks", "NVTX_EVENTS", true},
		{"SELECT count(*) FROM sl_stats_rows(sl_range_kernels('demangledName'))",
		 "NVTX_EVENTS", true},
		{"SELECT count(*) FROM sl_stats_rows(sl_library_calls(1))", "SL_GPU_ARGUMENTS",
		 false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
		const char *sql = failing[i].sql;
		sqlite3 *db;

		make(0, true);
		db = opened();
		run(db, sqlite3_mprintf("%s", key_tables));
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		setenv("SQLITE_TMPDIR", "/nonexistent", 1);
		sorter_bytes_max = 500;
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_FULL);
		sorter_bytes_max = 1 << 20;
		texts_bytes_max = 0;
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL),
				 failing[i].texts ? SQLITE_FULL : SQLITE_OK);
		texts_bytes_max = 4 << 20;
		unsetenv("SQLITE_TMPDIR");
		run(db, sqlite3_mprintf("DROP TABLE %s", failing[i].table));
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_ERROR);
		assert_int_equal(sqlite3_close(db), SQLITE_OK);
	}
}

static int setup(void **unused)
{
	(void)unused;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/r.sqlite", dir);
	return 0;
}
static int teardown(void **unused)
{
	(void)unused;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_in_the_ranges_that_started_it),
		cmocka_unit_test(ranges_have_the_ranges_around_them),
		cmocka_unit_test(kernels_are_counted_by_range),
		cmocka_unit_test(calls_of_libraries_have_their_gpu_work),
		cmocka_unit_test(random_reports_are_as_slow_sql_has_them),
		cmocka_unit_test(many_open_ranges_are_projected),
		cmocka_unit_test(errors_of_projections_are_returned),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
