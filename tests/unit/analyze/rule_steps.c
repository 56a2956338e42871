/* rule_steps.c - shared steps that functions make hold the same rows as their SQL gives; and rows are put in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/analyze/findings.h"
#include "exporters/analyze/order.h"

static char path[] = "/tmp/sightline-steps-XXXXXX";
static char why[1024];
static unsigned long long seed;

static unsigned rnd(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void exec(sqlite3 *db, const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

static const char tables[] =
	"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	"INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclAllReduce'), (3, 'relu'),"
	" (4, 'cudaLaunchKernel_v7000'), (5, 'cudaMalloc');"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, deviceId, contextId, "
	"streamId,"
	" correlationId, shortName);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, deviceId, contextId, "
	"streamId,"
	" correlationId, bytes, copyKind);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, globalPid, deviceId, contextId, "
	"streamId,"
	" correlationId, bytes);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, globalPid, deviceId, contextId,"
	" streamId, correlationId);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, correlationId);"
	"CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState);"
	"CREATE TABLE SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime);"
	"CREATE TABLE SL_PROCESS_TREE(globalPid, traced, kind);";

/* Numbers close together, so that ends meet starts, and now and then none. */
static const char *maybe(char *buf, unsigned below, unsigned base)
{
	if (rnd(40) == 0)
		return "NULL";
	sprintf(buf, "%u", base + rnd(below));
	return buf;
}

static void make_op(sqlite3 *db, unsigned long time)
{
	static const char *const kinds[] = {"KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"};
	unsigned kind = rnd(4), process = rnd(3);
	unsigned long start = time + rnd(20);
	char sql[512], more[64], b[4][16];

	snprintf(more, sizeof(more), ", %s", maybe(b[0], 3, 1));
	if (kind == 1)
		snprintf(more, sizeof(more), ", %s, %s", maybe(b[0], 1000, 0), maybe(b[1], 9, 1));
	snprintf(sql, sizeof(sql),
		 "INSERT INTO CUPTI_ACTIVITY_KIND_%s VALUES(%lu, %ld, %s, %u, %s, %s, 1%s)",
		 kinds[kind], start, (long)start + (long)rnd(12) - 1,
		 process == 2 ? "NULL"
		 : process    ? "0x2000000"
			      : "0x1000000",
		 rnd(2), maybe(b[2], 2, 0), maybe(b[3], 3, 7), kind == 3 ? "" : more);
	exec(db, sql);
	if (kind == 0 && process == 0) {
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(%lu, %lu, 0x1000001, 4, 1)",
			start, start + rnd(12));
		exec(db, sql);
	}
}

/* Mostly in turn: now and then a switch is missing, or what is known of it. */
static void make_switch(sqlite3 *db, unsigned long time)
{
	static bool in[6];
	unsigned thread = rnd(6);
	long tid = 0x1000001 + (long)(thread / 3) * 0x1000000 + thread;
	char sql[512], state[16];

	if (rnd(10) > 0)
		in[thread] = !in[thread];
	snprintf(sql, sizeof(sql), "INSERT INTO SCHED_EVENTS VALUES(%lu, 0, %d, %ld, %s)", time,
		 in[thread], tid, in[thread] ? "NULL" : maybe(state, 4, 0));
	exec(db, sql);
	if (rnd(3) == 0)
		return;
	if (in[thread])
		snprintf(sql, sizeof(sql),
			 "INSERT INTO SL_SCHED_DETAIL VALUES(%lu, %ld, NULL, %ld)", time, tid,
			 (long)time - (long)rnd(30));
	else
		snprintf(sql, sizeof(sql), "INSERT INTO SL_SCHED_DETAIL VALUES(%lu, %ld, %u, NULL)",
			 time, tid, rnd(2));
	exec(db, sql);
}

static void make_report(unsigned rows)
{
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	exec(db, "PRAGMA synchronous=OFF; BEGIN");
	exec(db, tables);
	for (unsigned i = 0; i < rows; i++) {
		/* not all in the order of time */
		make_op(db, 1000 + 5 * i - rnd(20));
		make_switch(db, 1000 + 3 * i);
	}
	if (rnd(2))
		exec(db, "INSERT INTO SL_PROCESS_TREE VALUES (0x1000000, 1, 0)");
	exec(db, "COMMIT");
	sqlite3_close(db);
}

/* All rows of a table, in an order of their own, as one text. */
static char *dump(const struct analysis *a, const char *table)
{
	char sql[256], *text = NULL;
	sqlite3_stmt *stmt;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	snprintf(sql, sizeof(sql), "SELECT * FROM temp.%s", table);
	if (sqlite3_prepare_v2(a->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", table, sqlite3_errmsg(a->db));
	snprintf(sql, sizeof(sql), "SELECT * FROM temp.%s ORDER BY 1", table);
	for (int i = 1; i < sqlite3_column_count(stmt); i++)
		sprintf(sql + strlen(sql), ", %d", i + 1);
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_prepare_v2(a->db, sql, -1, &stmt, NULL), SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *value = (const char *)sqlite3_column_text(stmt, i);

			fprintf(out, "%s%s", value ? value : "NULL",
				i + 1 < sqlite3_column_count(stmt) ? " " : "\n");
		}
	sqlite3_finalize(stmt);
	fclose(out);
	return text;
}

static void compare_steps(void)
{
	static const char *const made[] = {"cuda_launch",   "gpu_busy",    "gpu_cover",
					   "gpu_sums",      "gpu_load",    "gpu_span",
					   "sched_threads", "sched_level", "sched_disk"};
	static const char steps[] = "gpu_load, gpu_span, gpu_busy, gpu_sums, sched_threads";
	struct analysis fast, plain;

	if (analysis_open(&fast, path, NULL, why, sizeof(why)) < 0 ||
	    analysis_open(&plain, path, NULL, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	plain.plain = true;
	if (analysis_use(&fast, steps, why, sizeof(why)) < 0 ||
	    analysis_use(&plain, steps, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		char *x = dump(&fast, made[i]), *y = dump(&plain, made[i]);

		if (strcmp(x, y) != 0)
			fail_msg("%s by functions:\n%s\nby SQL:\n%s", made[i], x, y);
		free(x);
		free(y);
	}
	analysis_close(&fast);
	analysis_close(&plain);
}

static void same_rows(void **state)
{
	size_t usual = order_run_rows;

	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		seed = round;
		make_report(round == 0 ? 0 : 1 + rnd(300));
		compare_steps();
		order_run_rows = 1 + rnd(100);
		compare_steps();
		order_run_rows = usual;
	}
}

/* Every row once, in order, however long the runs are. */
static void in_order(void **state)
{
	static const size_t runs[] = {1, 2, 7, 1000, 1 << 18};
	size_t usual = order_run_rows;

	(void)state;
	for (size_t i = 0; i < 5 * 4; i++) {
		static const unsigned counts[] = {0, 1, 999, 3000};
		unsigned n = counts[i % 4], seen = 0;
		struct order_row row, last = {0};
		long long sum = 0;
		struct order *o;

		order_run_rows = runs[i / 4];
		o = order_new();
		assert_non_null(o);
		for (unsigned k = 0; k < n; k++) {
			row = (struct order_row){.key = {(int64_t)rnd(5) - 2, rnd(100)},
						 .value = {k, 0},
						 .minor = rnd(3)};
			assert_int_equal(order_add(o, &row), SQLITE_OK);
		}
		assert_int_equal(order_sort(o), SQLITE_OK);
		while (order_next(o, &row) == SQLITE_ROW) {
			if (seen++ > 0)
				assert_true(
					last.key[0] < row.key[0] ||
					(last.key[0] == row.key[0] &&
					 (last.key[1] < row.key[1] ||
					  (last.key[1] == row.key[1] && last.minor <= row.minor))));
			last = row;
			sum += row.value[0];
		}
		assert_int_equal(seen, n);
		assert_int_equal(sum, (long long)n * ((long long)n - 1) / 2);
		order_free(o);
	}
	order_run_rows = usual;
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_rows),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
