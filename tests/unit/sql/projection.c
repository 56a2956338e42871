/* projection.c - what stands in for lines of nvtx_* reports has the rows that these lines give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/embed.h"
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

/* What the last statement gives, as one text; @arg is set to 1. */
static char *rows_of(const char *sql, const char *arg)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	sqlite3 *db = opened();

	while (*sql) {
		sqlite3_stmt *q = NULL;
		int rc;

		if (sqlite3_prepare_v2(db, sql, -1, &q, &sql) != SQLITE_OK)
			fail_msg("%s", sqlite3_errmsg(db));
		if (q && arg)
			sqlite3_bind_int(q, sqlite3_bind_parameter_index(q, arg), 1);
		while (q && (rc = sqlite3_step(q)) == SQLITE_ROW) {
			for (int i = 0; i < sqlite3_column_count(q); i++)
				fprintf(out, "%s|", (const char *)sqlite3_column_text(q, i));
			fputc('\n', out);
		}
		if (q && rc != SQLITE_DONE)
			fail_msg("%s", sqlite3_errmsg(db));
		sqlite3_finalize(q);
	}
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	fclose(out);
	return text;
}

static const char *report(const char *name)
{
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, name) == 0)
			return sl_embedded[i].text;
	fail_msg("no %s", name);
	return NULL;
}

static const struct {
	const char *report, *arg;
	bool stacks;
} reports[] = {
	{"stats/reports/nvtx_gpu_proj_sum.sql", NULL, false},
	{"stats/reports/nvtx_gpu_proj_trace.sql", NULL, false},
	{"stats/reports/nvtx_pushpop_trace.sql", NULL, true},
	{"stats/reports/nvtx_kern_sum.sql", NULL, false},
	{"stats/reports/nvtx_kern_sum.sql", ":base", false},
	{"stats/reports/nvtx_kern_sum.sql", ":mangled", false},
	{"stats/reports/gpu_library_sum.sql", NULL, false},
	{"stats/reports/gpu_library_sum.sql", ":sizes", false},
};
#define REPORTS (sizeof(reports) / sizeof(reports[0]))

static size_t compare(const char *sql, const char *arg)
{
	char *native = projection_rewrite(sql), *want = rows_of(sql, arg), *got;
	size_t len = strlen(want);

	assert_non_null(native);
	got = rows_of(native, arg);
	assert_string_equal(got, want);
	free(got);
	/* the same in little memory */
	sorter_bytes_max = 500;
	texts_bytes_max = 100;
	got = rows_of(native, arg);
	sorter_bytes_max = 1 << 20;
	texts_bytes_max = 4 << 20;
	assert_string_equal(got, want);
	free(got);
	free(want);
	free(native);
	return len;
}

static void same_rows(void **unused)
{
	size_t bytes[REPORTS] = {0};

	(void)unused;
	for (int round = 0; round < 12; round++) {
		/* What ends before it begins is in no stack. */
		bool backwards = round % 2;

		make(round, backwards);
		for (size_t i = 0; i < REPORTS; i++)
			if (!reports[i].stacks || !backwards)
				bytes[i] += compare(report(reports[i].report), reports[i].arg);
	}
	for (size_t i = 0; i < REPORTS; i++)
		assert_true(bytes[i] > 8000);
}

/* Thousands of calls in a range, ranges that begin while many others are open. */
static void many_open(void **unused)
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
	for (size_t i = 0; i < 2; i++)
		assert_true(compare(report(reports[i].report), NULL) > 100);
}

/* Lines that were edited run as they stand. */
static void only_ours(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < REPORTS; i++) {
		const char *sql = report(reports[i].report);
		char *changed = strdup(sql),
		     *at = strstr(strstr(changed, "[end]") - 900, "ORDER BY"), *text;

		text = projection_rewrite(sql);
		assert_non_null(strstr(text, "FROM sl_"));
		assert_null(strstr(text, "row_number()"));
		free(text);
		at[strlen("ORDER")] = '\n';
		text = projection_rewrite(changed);
		assert_string_equal(text, changed);
		free(text);
		free(changed);
	}
	for (size_t i = 0; sl_embedded[i].name; i++) {
		char *text = projection_rewrite(sl_embedded[i].text);
		bool ours = false;

		for (size_t k = 0; k < REPORTS; k++)
			ours |= strcmp(sl_embedded[i].name, reports[k].report) == 0;
		assert_true(ours == (strcmp(text, sl_embedded[i].text) != 0));
		free(text);
	}
}

/* Errors on the way are returned, not left out. */
static void errors(void **unused)
{
	static const struct {
		const char *sql, *table;
		bool texts; /* of ranges */
	} queries[] = {
		{"SELECT count(*), sum(n) FROM sl_projection", "NVTX_EVENTS", true},
		{"SELECT count(*), sum(n), max(path) FROM sl_range_stacks", "NVTX_EVENTS", true},
		{"SELECT count(*) FROM sl_figures_rows(sl_range_kernels('demangledName'))",
		 "NVTX_EVENTS", true},
		{"SELECT count(*) FROM sl_figures_rows(sl_library_calls(1))", "SL_GPU_ARGUMENTS",
		 false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		const char *sql = queries[i].sql;
		sqlite3 *db;

		make(0, true);
		db = opened();
		run(db,
		    sqlite3_mprintf("CREATE TEMP TABLE domain(process, domain, name);"
				    "CREATE TEMP TABLE title(id INTEGER PRIMARY KEY, tid, style, "
				    "name, UNIQUE (name, style, tid));"
				    "CREATE TEMP TABLE library_key(id, kernels, gpu, work, "
				    "library, name, size)"));
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		setenv("SQLITE_TMPDIR", "/nonexistent", 1);
		sorter_bytes_max = 500;
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_FULL);
		sorter_bytes_max = 1 << 20;
		texts_bytes_max = 0;
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL),
				 queries[i].texts ? SQLITE_FULL : SQLITE_OK);
		texts_bytes_max = 4 << 20;
		unsetenv("SQLITE_TMPDIR");
		run(db, sqlite3_mprintf("DROP TABLE %s", queries[i].table));
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
		cmocka_unit_test(same_rows),
		cmocka_unit_test(many_open),
		cmocka_unit_test(only_ours),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
