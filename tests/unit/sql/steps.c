/* steps.c - sl_steps() finds the steps that plain SQL finds, of random ranges; in little memory, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/steps_internal.h"

/* clang-format off */
static const char plain[] =
	"DROP TABLE IF EXISTS temp.named; "
	"DROP TABLE IF EXISTS temp.often; "
	"DROP TABLE IF EXISTS temp.outermost; "
	"DROP TABLE IF EXISTS temp.optimizer; "
	"DROP TABLE IF EXISTS temp.choice; "
	"DROP TABLE IF EXISTS temp.step; "
	"CREATE TEMP TABLE named AS "
	"WITH "
	"domain AS MATERIALIZED ( "
	"SELECT globalTid >> 24 AS process, domainId AS domain, min(coalesce(text, value)) AS name "
	"FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId "
	"WHERE eventType = 75 "
	"GROUP BY 1, 2 "
	") "
	", main AS MATERIALIZED ( "
	"SELECT max(globalTid & 0xFFFFFF = globalTid >> 24 & 0xFFFFFF) AS there FROM NVTX_EVENTS WHERE eventType = 59 "
	"), range AS ( "
	"SELECT eventType, globalTid AS tid, coalesce(domainId, 0) AS domain, start, end, coalesce(d.name, '') AS domainName, "
	"coalesce(text, value, '') AS name "
	"FROM NVTX_EVENTS "
	"LEFT JOIN domain AS d ON d.process = globalTid >> 24 AND d.domain = domainId "
	"LEFT JOIN StringIds ON StringIds.id = textId "
	"WHERE eventType IN (59, 60) AND end IS NOT NULL "
	"), chosen AS ( "
	"SELECT tid, domain, start, end, domainName || ':' || name AS name "
	"FROM range CROSS JOIN main "
	"WHERE CASE WHEN :range IS NOT NULL THEN name LIKE :range OR domainName || ':' || name LIKE :range "
	"ELSE eventType = 59 AND (tid & 0xFFFFFF = tid >> 24 & 0xFFFFFF) = there "
	"AND domainName NOT IN ('GIL Trace', 'NCCL', 'MPI', 'UCX', 'CCCL', 'cuBLAS', 'cuDNN') "
	"AND name NOT LIKE 'aten::%' AND name NOT LIKE '%, op_id = %' "
	"AND (domainName <> 'pytorch' OR name LIKE 'Optimizer.step#%') "
	"AND (domainName = 'python-step' OR NOT EXISTS (SELECT 1 FROM domain AS d WHERE d.name = 'python-step')) END "
	") "
	"SELECT tid, domain, start, end, name, CASE "
	"WHEN name LIKE '%optimizer%' THEN 0 "
	"WHEN name LIKE '%step%' OR name LIKE '%iter%' OR name LIKE '%batch%' THEN 2 "
	"WHEN name LIKE '%epoch%' THEN 1 ELSE 0 END AS likely, "
	"CASE WHEN name NOT GLOB '*[0-9]*' THEN name ELSE "
	"replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace( "
	"name, '0', '#'), '1', '#'), '2', '#'), '3', '#'), '4', '#'), '5', '#'), '6', '#'), '7', '#'), '8', '#'), '9', '#'), "
	"'##', '#'), '##', '#'), '##', '#'), '##', '#') END AS stem "
	"FROM chosen "
	"ORDER BY tid, domain, start, end DESC; "
	"CREATE TEMP TABLE often AS "
	"SELECT tid, stem, max(likely) AS likely FROM named GROUP BY 1, 2 HAVING count(*) > 1 OR :range IS NOT NULL; "
	"CREATE TEMP TABLE outermost AS "
	"SELECT tid, start, end, name, stem, likely "
	"FROM ( "
	"SELECT n.tid, start, end, name, n.stem, n.likely, max(end) OVER (PARTITION BY n.tid, domain ORDER BY start, end DESC "
	"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached "
	"FROM named AS n "
	"JOIN often AS o ON o.tid = n.tid AND o.stem = n.stem "
	"WHERE :range IS NOT NULL OR n.likely <> 1 OR NOT EXISTS (SELECT 1 FROM often WHERE likely = 2) "
	") "
	"WHERE coalesce(reached < end, 1); "
	"CREATE TEMP TABLE optimizer AS "
	"SELECT tid, lag(end) OVER (PARTITION BY tid, stem ORDER BY end) AS start, end, name, stem "
	"FROM ( "
	"SELECT tid, start, end, name, stem, max(end) OVER (PARTITION BY tid ORDER BY start, end DESC "
	"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached "
	"FROM named "
	"WHERE stem LIKE '%optimizer%step%' "
	") "
	"WHERE coalesce(reached < end, 1); "
	"CREATE TEMP TABLE choice AS "
	"SELECT kind, stem "
	"FROM ( "
	"SELECT 'named' AS kind, NULL AS stem, 5 AS likely, 0 AS time WHERE :range IS NOT NULL "
	"UNION ALL "
	"SELECT 'outermost', stem, CASE WHEN likely > 0 THEN 4 ELSE 2 END, sum(end - start) "
	"FROM outermost "
	"GROUP BY stem "
	"HAVING likely > 0 OR 10 * sum(end - start) >= (SELECT max(end) - min(start) FROM named) "
	"UNION ALL "
	"SELECT 'optimizer', stem, 3, sum(end - start) FROM optimizer GROUP BY stem HAVING count(start) > 1 "
	"UNION ALL "
	"SELECT 'profiler', NULL, 1, 0 "
	") "
	"ORDER BY likely DESC, time DESC, stem "
	"LIMIT 1; "
	"CREATE TEMP TABLE step AS "
	"SELECT row_number() OVER (PARTITION BY tid, stem ORDER BY start, end) AS no, tid, start, end, name, stem "
	"FROM ( "
	"SELECT tid, start, end, name, o.stem FROM outermost AS o CROSS JOIN choice AS c "
	"WHERE kind = 'named' OR kind = 'outermost' AND c.stem = o.stem "
	"UNION ALL "
	"SELECT tid, start, end, 'until ' || name, 'until ' || o.stem FROM optimizer AS o CROSS JOIN choice AS c "
	"WHERE kind = 'optimizer' AND c.stem = o.stem AND start IS NOT NULL "
	"UNION ALL "
	"SELECT globalTid, end, ( "
	"SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS b "
	"WHERE b.nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStop%') "
	"AND b.globalTid >> 24 = a.globalTid >> 24 AND b.start >= a.end "
	") AS stop, 'cudaProfilerStart', 'cudaProfilerStart' "
	"FROM CUPTI_ACTIVITY_KIND_RUNTIME AS a "
	"WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStart%') "
	"AND stop IS NOT NULL AND (SELECT kind FROM choice) = 'profiler' "
	"); ";
/* clang-format on */

static sqlite3 *db;

static unsigned below(unsigned n)
{
	static unsigned long long seed = 1;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static int run(const char *sql, const char *range)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *sql) {
		sqlite3_stmt *q = NULL;

		rc = sqlite3_prepare_v2(db, sql, -1, &q, &sql);
		if (q && range && sqlite3_bind_parameter_count(q))
			sqlite3_bind_text(q, 1, range, -1, SQLITE_STATIC);
		while (q && (rc = sqlite3_step(q)) == SQLITE_ROW)
			;
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		sqlite3_finalize(q);
	}
	return rc;
}

static void must(const char *sql, const char *range)
{
	if (run(sql, range) != SQLITE_OK)
		fail_msg("%.60s: %s", sql, sqlite3_errmsg(db));
}

static const char *ours(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "sql/lib/step_ranges.sql") == 0)
			return e->text;
	return "";
}

/* ---- reports ---- */

/* Some names of each kind; which kinds there are differs from report to report. */
static const char *const kinds[][4] = {
	{"step 1", "step 22", "substep 3", "Batch 7 of 9"},
	{"epoch 1", "epoch 2", "Epoch 12345678901234567890", "epoch"},
	{"Optimizer.step#SGD.step", "optimizer 1 step", "Optimizer.step#Adam 2",
	 "my optimizer step"},
	{"aten::add", "aten::mul, seq = 3", "add, op_id = 12", "x, op_id = 1, step"},
	{"load", "forward 1", "forward 2", "load#3"},
	{"", "a##1", "a#", "once"},
};
static const char *const domains[] = {"",          "app",    "NCCL", "pytorch",
				      "GIL Trace", "app 12", "nccl", "python-step"};

static void make(unsigned round)
{
	unsigned with = round % 5 ? 1 + below(63) : 4 | (below(8) << 3), main_of = below(4),
		 cnt_domains = 1 + below(round % 3 ? 7 : 8);
	unsigned cnt = 5 + below(120), id = 100;
	char sql[256];

	must("DELETE FROM NVTX_EVENTS; DELETE FROM StringIds; DELETE FROM "
	     "CUPTI_ACTIVITY_KIND_RUNTIME;"
	     "INSERT INTO StringIds VALUES (1, 'cudaProfilerStart_v4000'), (2, 'cuProfilerStop')",
	     NULL);
	for (unsigned k = 0; k < 6; k++)
		for (unsigned i = 0; i < 4; i++) {
			snprintf(sql, sizeof(sql), "INSERT INTO StringIds VALUES (%u, '%s')",
				 100 + 4 * k + i, kinds[k][i]);
			must(sql, NULL);
		}
	for (unsigned p = 1; p < 3; p++)
		for (unsigned d = 1; d < cnt_domains; d++) {
			snprintf(sql, sizeof(sql),
				 "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, '%s', %u, NULL, %u)",
				 domains[d], p << 24 | p, d);
			must(below(4) ? sql : "SELECT 1", NULL);
		}
	for (unsigned i = 0; i < cnt; i++) {
		unsigned kind = below(6), process = 1 + below(2), start = below(400);
		unsigned thread = main_of ? process + below(2) : 9;
		char end[16], text[32], text_id[16], domain[16];

		if (!(with >> kind & 1))
			continue;
		id = 100 + 4 * kind + below(4);
		/* no two end at the same time */
		snprintf(end, sizeof(end), "%u", 128 * (start + below(below(3) ? 20 : 300)) + i);
		snprintf(text, sizeof(text), "'%s'", kinds[kind][id % 4]);
		snprintf(text_id, sizeof(text_id), "%u", below(20) ? id : 999);
		snprintf(domain, sizeof(domain), "%u", below(cnt_domains));
		snprintf(sql, sizeof(sql),
			 "INSERT INTO NVTX_EVENTS VALUES (%u, %s, %u, %s, %u, %s, %s)", 128 * start,
			 below(30) ? end : "NULL", 59 + (round % 7 == 3 || !below(9)),
			 i % 3 ? text : "NULL", process << 24 | thread, i % 3 ? "NULL" : text_id,
			 below(3) ? domain : "NULL");
		must(sql, NULL);
	}
	for (unsigned i = 0; i < 6; i++) {
		snprintf(sql, sizeof(sql),
			 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%u, %u, %u, %u)", 100 * i,
			 100 * i + 7, (1 + below(2)) << 24 | 3, 1 + below(2));
		must(sql, NULL);
	}
}

/* Whether plain SQL found none but the times between cudaProfilerStart and Stop, if any. */
static bool plain_has_none(void)
{
	sqlite3_stmt *q = NULL;
	bool none;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM choice WHERE kind = 'profiler'", -1,
					    &q, NULL),
			 SQLITE_OK);
	none = sqlite3_step(q) == SQLITE_ROW;
	sqlite3_finalize(q);
	return none;
}

/* The same of start/end ranges. */
static const char *plain_of_start_end(void)
{
	static char text[sizeof(plain)];

	memcpy(text, plain, sizeof(plain));
	for (char *at = text; (at = strstr(at, "eventType = 59")); at++)
		memcpy(at, "eventType = 60", 14);
	return text;
}

/* The steps as a text, which the caller frees. */
static char *steps(const char *sql, const char *range)
{
	char *text = NULL;
	sqlite3_stmt *q = NULL;

	must(sql, range);
	assert_int_equal(
		sqlite3_prepare_v2(
			db,
			"SELECT coalesce(group_concat(no || ' ' || tid || ' ' || start || ' ' || "
			"end || ' ' || "
			"name || '|' || stem, char(10)), '') FROM (SELECT * FROM step ORDER BY "
			"tid, stem, no, start, end)",
			-1, &q, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	text = strdup((const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return text;
}

static void open_db(void)
{
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sql_functions(db, NULL), SQLITE_OK);
	must("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	     "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
	     "globalTid INTEGER, textId INTEGER, "
	     "domainId INTEGER);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid "
	     "INTEGER, nameId INTEGER)",
	     NULL);
}

static void steps_are_as_plain_sql_has_them(void **unused)
{
	static const char *const ranges[] = {NULL, NULL, "%", "step%", "app%:%", "nothing"};
	unsigned named = 0, until = 0, other = 0, profiler = 0, none = 0, start_end = 0;

	(void)unused;
	open_db();
	for (unsigned round = 0; round < 600; round++) {
		const char *range = ranges[round % 6];
		char *want, *got;

		make(round);
		want = steps(plain, range);
		if (plain_has_none()) {
			free(want);
			want = steps(plain_of_start_end(), range);
			start_end += !plain_has_none();
		}
		sorter_bytes_max = round % 4 ? 1 << 20 : 500;
		texts_bytes_max = round % 5 ? 4 << 20 : 100;
		got = steps(ours(), range);
		if (strcmp(got, want) != 0)
			fail_msg("round %u: plain SQL has\n%s\nand sl_steps() has\n%s", round, want,
				 got);
		named += range && *got;
		none += !*got;
		until += !range && strstr(got, "|until ");
		profiler += !range && strstr(got, "|cudaProfilerStart");
		other += !range && (strstr(got, "|:forward") || strstr(got, "|:load"));
		free(want);
		free(got);
	}
	assert_true(named > 50 && until > 5 && other > 10 && profiler > 5 && none > 20 &&
		    start_end > 20);
	sorter_bytes_max = 1 << 20;
	texts_bytes_max = 4 << 20;
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void errors_of_steps_are_returned(void **unused)
{
	(void)unused;
	open_db();
	make(0);
	setenv("SQLITE_TMPDIR", "/nonexistent", 1);
	texts_bytes_max = 0;
	assert_int_equal(run("SELECT count(*) FROM sl_steps('%')", NULL), SQLITE_FULL);
	texts_bytes_max = 4 << 20;
	sorter_bytes_max = 100;
	assert_int_equal(run("SELECT count(*) FROM sl_steps('%')", NULL), SQLITE_FULL);
	sorter_bytes_max = 1 << 20;
	unsetenv("SQLITE_TMPDIR");
	must("SELECT count(*) FROM sl_steps", NULL);
	must("DROP TABLE NVTX_EVENTS", NULL);
	assert_int_equal(run("SELECT count(*) FROM sl_steps(NULL)", NULL), SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), "NVTX_EVENTS"));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_as_plain_sql_has_them),
		cmocka_unit_test(errors_of_steps_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
