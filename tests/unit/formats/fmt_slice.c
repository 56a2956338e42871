/* fmt_slice.c - a report as a report: what a cut keeps of names, processes and stacks, shifted times, repairs. */
#include "fmt_test.h"

#include "exporters/formats/slice.h"
#include "exporters/read/db_filter.h"

extern const struct exporter exporter_sqlite;

/* Copies the report, cut by a time ("1s/5s"), ranges or processes where they are given. */
static int copy(const char *time, const char *pid, struct export_options opt)
{
	struct db_filter filter = {0};
	sqlite3 *db = db_read_open_damaged(fmt_report_path, fmt_why, sizeof(fmt_why));
	int rc;

	assert_non_null(db);
	unlink(fmt_out_path);
	if (time)
		assert_int_equal(db_filter_time(&filter, time, fmt_why, sizeof(fmt_why)), 0);
	if (pid)
		assert_int_equal(db_filter_pid(&filter, pid, fmt_why, sizeof(fmt_why)), 0);
	if (time || pid)
		assert_int_equal(db_filter_apply(db, &filter, fmt_why, sizeof(fmt_why)), 0);
	opt.time = time;
	opt.pid = pid;
	rc = fmt_run_on(db, &exporter_sqlite, &opt);
	sqlite3_close(db);
	db_filter_free(&filter);
	return rc;
}

static void copied(const char *time, const char *pid, struct export_options opt)
{
	if (copy(time, pid, opt) != 0)
		fail_msg("%s", fmt_why);
}

static const struct export_options lazy = {.lazy = true};

#define HAS(sql, want) fmt_same(fmt_rows_of(fmt_out_path, sql), want)
#define TABLES                                                                              \
	"SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE type = " \
	"'table' AND name NOT LIKE 'ENUM%' AND name NOT LIKE 'sqlite%' ORDER BY name)"

static void a_report_without_rows(void **state)
{
	(void)state;
	fmt_report("");
	copied(NULL, NULL, lazy);
	HAS(TABLES, "META_DATA_CAPTURE META_DATA_EXPORT StringIds");
	HAS("SELECT count(*) FROM StringIds", "0");
	HAS("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COPY_OF'", "report.sqlite");
	HAS("SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'SL_COPY_BY' AND value GLOB "
	    "'sightline "
	    "[0-9]*'",
	    "1");
	HAS("PRAGMA integrity_check", "ok");
	HAS("SELECT count(*) > 10 FROM ENUM_SAMPLING_THREAD_STATE", "1");
}

static void values_of_every_type_are_copied(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE U (a, b); INSERT INTO U VALUES (9223372036854775807, "
			"-9223372036854775807 - 1), (NULL, 0.1), ('', x''), (x'00ff', "
			"printf('%2000s', 'n')), (CAST(x'FF01' AS TEXT), 1e999)");
	copied(NULL, NULL, lazy);
	HAS("SELECT quote(a), CASE WHEN length(b) > 100 THEN length(b) ELSE quote(b) END FROM U "
	    "LIMIT 4",
	    "9223372036854775807|-9223372036854775808\nNULL|0.1\n''|X''\nX'00FF'|2000");
	HAS("SELECT typeof(a), hex(a), b > 1e308 FROM U LIMIT 1 OFFSET 4", "text|FF01|1");
	assert_int_equal(fmt_events, 5);
}

/* Rowids below 1, and tables without any. */
static void rows_of_every_number_are_copied(void **state)
{
	(void)state;
	fmt_bare_report(
		"CREATE TABLE U (a); INSERT INTO U (rowid, a) VALUES (-7, 'x'), (0, 'y'), (5, "
		"'z'), (9223372036854775807, 'last'), (-9223372036854775807, 'first');"
		"CREATE TABLE W (k PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO W VALUES (2, 'b'), "
		"(1, 'a')");
	copied(NULL, NULL, lazy);
	HAS("SELECT a FROM U", "first\nx\ny\nz\nlast");
	HAS("SELECT * FROM W", "1|a\n2|b");
	HAS("SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'SL_COPY_LOST'", "0");
}

#define LIFE                                                                                       \
	NAMED "INSERT INTO StringIds VALUES (7, 'read'), (8, 'late'), (9, 'unused'), "             \
	      "(10, '/data/x'), (20, 'main'), (21, 'libx.so'), (22, 'other fn');" CALL(            \
		      1000000000, 1500000000, 7, T1)                                               \
		      CALL(5000000000, 6000000000, 8,                                              \
			   T1B) "UPDATE OSRT_API SET pathId = 10, callchainId = 1 WHERE nameId = " \
				"7;"                                                               \
				"UPDATE OSRT_API SET callchainId = 2 WHERE nameId = 8;"            \
				"INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) "       \
				"VALUES (1, 0, 20, 21, "                                           \
				"0), (2, 0, 22, 21, 0);"                                           \
				"INSERT INTO SL_STACKS VALUES (1, 0, 1), (2, 0, 2);"               \
				"INSERT INTO SL_PROCESS_TREE (globalPid, parentGlobalPid, start, " \
				"kind, traced) "                                                   \
				"VALUES (" P1                                                      \
				", 281474993487872, 0, 0, 1), (281474993487872, NULL, 0, 0, 0), "  \
				"(" P2 ", NULL, 0, 0, 1);"

/* The call of the first two seconds stays, with its names, its stack, its process, that one's threads and parent. */
static void a_cut_keeps_what_rows_refer_to(void **state)
{
	(void)state;
	fmt_report(LIFE);
	copied("0/2s", NULL, lazy);
	HAS("SELECT start, nameId FROM OSRT_API", "1000000000|7");
	HAS("SELECT id FROM StringIds ORDER BY id", "1\n2\n7\n10\n20\n21");
	HAS("SELECT id FROM SL_STACKS", "1");
	HAS("SELECT id FROM SL_FRAMES", "1");
	HAS("SELECT name FROM PROCESSES", "app");
	HAS("SELECT globalTid - " P1 " FROM ThreadNames", "100\n101");
	HAS("SELECT globalPid >> 24 & 0xFFFFFF FROM SL_PROCESS_TREE ORDER BY 1", "1\n100");
	HAS("SELECT name, value FROM META_DATA_EXPORT WHERE name = 'SL_COPY_TIME'",
	    "SL_COPY_TIME|0/2s");
}

static void a_cut_of_a_process(void **state)
{
	(void)state;
	fmt_report(LIFE CALL(1, 2, 9, T2));
	copied(NULL, "200", lazy);
	HAS("SELECT start FROM OSRT_API", "1");
	HAS("SELECT value FROM StringIds", "unused");
	HAS("SELECT name FROM PROCESSES", "other");
	HAS("SELECT count(*) FROM sqlite_master WHERE name IN ('SL_STACKS', 'SL_FRAMES')", "0");
	HAS("SELECT name, value FROM META_DATA_EXPORT WHERE name = 'SL_COPY_PID'",
	    "SL_COPY_PID|200");
	/* A cut in which nothing lies is a report still. */
	copied("100s/200s", NULL, lazy);
	HAS("SELECT count(*) FROM StringIds", "0");
	HAS("SELECT count(*) FROM sqlite_master WHERE name = 'OSRT_API'", "0");
}

/* 100 < 50 < 40 < 30, whose rows stand in an order in which each pass over them finds one more. */
static void all_ancestors_of_a_process_stay(void **state)
{
	(void)state;
	fmt_report(CALL(1, 2, 7, T1) CALL(
		1, 2, 7,
		T2) "INSERT INTO SL_PROCESS_TREE (globalPid, parentGlobalPid, start, kind, traced) "
		    "VALUES ((1 << 48) + (40 << 24), (1 << 48) + (30 << 24), 0, 0, 0), "
		    "((1 << 48) + (50 << 24), (1 << 48) + (40 << 24), 0, 0, 0), "
		    "(" P1
		    ", (1 << 48) + (50 << 24), 0, 0, 1), ((1 << 48) + (30 << 24), NULL, 0, 0, 0), "
		    "(" P2
		    ", (1 << 48) + (60 << 24), 0, 0, 1), ((1 << 48) + (60 << 24), NULL, 0, 0, 0)");
	copied(NULL, "100", lazy);
	HAS("SELECT globalPid >> 24 & 0xFFFFFF FROM SL_PROCESS_TREE ORDER BY 1", "30\n40\n50\n100");
}

/* Address spaces go with their processes, and modules with their address spaces. */
static void modules_of_other_processes_go(void **state)
{
	static const char sql[] = NAMED
		"INSERT INTO SL_SPACES VALUES (1, NULL, " P1 "), (2, NULL, " P2 ");"
		"INSERT INTO SL_MODULES VALUES (1, 16, 32, 0, 0, 1, NULL), (2, 48, 64, 0, 0, 2, "
		"NULL);";
	char all[2048];

	(void)state;
	snprintf(all, sizeof(all), "%s%s%s", sql, CALL(1, 2, 7, T1), CALL(1, 2, 7, T2));
	fmt_report(all);
	copied(NULL, "200", lazy);
	HAS("SELECT id FROM SL_SPACES", "2");
	HAS("SELECT start FROM SL_MODULES", "48");
	copied(NULL, NULL, lazy);
	HAS("SELECT start FROM SL_MODULES", "16\n48");
}

/* What the schema knows and the report lacks is made where empty tables are asked for. */
static void tables_of_the_schema_are_made(void **state)
{
	(void)state;
	fmt_bare_report("");
	copied(NULL, NULL,
	       (struct export_options){.lazy = false, .tables = "SL_SOCKETS,NVTX_EVENTS"});
	HAS(TABLES, "META_DATA_CAPTURE META_DATA_EXPORT NVTX_EVENTS SL_SOCKETS StringIds");
	copied(NULL, NULL, lazy);
	HAS(TABLES, "META_DATA_CAPTURE META_DATA_EXPORT StringIds");
	/* Tables of a report that is being written are none of a copy. */
	copied(NULL, NULL, (struct export_options){.lazy = false, .tables = "SL_STATE,SL_LIVE.*"});
	HAS(TABLES, "META_DATA_CAPTURE META_DATA_EXPORT StringIds");
}

/* Whole copies keep names that nothing refers to; --tables keeps those of the tables that stay. */
static void a_choice_of_tables(void **state)
{
	(void)state;
	fmt_report(LIFE);
	copied(NULL, NULL, lazy);
	HAS("SELECT count(*) FROM StringIds", "9");
	copied(NULL, NULL, (struct export_options){.lazy = true, .tables = "OSRT_API,ThreadNames"});
	HAS("SELECT id FROM StringIds ORDER BY id", "1\n2\n7\n8\n10");
	HAS("SELECT count(*) FROM OSRT_API", "2");
	HAS("SELECT count(*) FROM sqlite_master WHERE name = 'PROCESSES'", "0");
	HAS("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COPY_TABLES'",
	    "OSRT_API,ThreadNames");
	copied(NULL, NULL, (struct export_options){.lazy = false, .tables = "SL_SOCKETS"});
	HAS("SELECT count(*) FROM SL_SOCKETS", "0");
	HAS("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PARAM_LAZY'", "false");
	assert_int_equal(copy(NULL, NULL, (struct export_options){.tables = "("}), -1);
	assert_non_null(strstr(fmt_why, "is no regular expression"));
}

static void times_are_shifted(void **state)
{
	(void)state;
	fmt_report(CALL(5, 9, 7, T1) RANGE(
		3, NULL, "'r'",
		T1) "INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 100, 0, 50, 'f');"
		    "INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs) "
		    "VALUES (5000, 600);"
		    "INSERT INTO SL_MODULES VALUES (1, 70, 80, 0, 9, 7, NULL)");
	copied(NULL, NULL, (struct export_options){.lazy = true, .shift = 1000});
	HAS("SELECT start, end FROM OSRT_API", "1005|1009");
	HAS("SELECT start, end FROM NVTX_EVENTS", "1003|-");
	HAS("SELECT openedAt, closedAt FROM OSRT_FILE_ACCESS_DESCRIPTORS", "0|1050");
	HAS("SELECT utcEpochNs, systemClockNs FROM TARGET_INFO_SESSION_START_TIME", "4000|-400");
	HAS("SELECT start, end, since FROM SL_MODULES", "70|80|1009");
	HAS("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PARAM_TIME_SHIFT'", "1000");
}

static void an_anonymous_copy(void **state)
{
	(void)state;
	fmt_report(
		LIFE
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_USER', 'eva'), "
		"('EXPORT_TIME', '2024');"
		"INSERT INTO StringIds VALUES (30, 'eva''s range in /home/eva/x');"
		"INSERT INTO NVTX_EVENTS (start, eventType, textId, jsonText, binaryData, "
		"globalTid) VALUES (1, 34, 30, '{}', 'ff', " T1 ");"
		"UPDATE SL_PROCESS_TREE SET exe = '/home/eva/app', commandLine = 'app -p x' WHERE "
		"globalPid = " P1 ";"
		"CREATE TABLE ProcessStreams (text); INSERT INTO ProcessStreams VALUES ('out')");
	copied(NULL, NULL, (struct export_options){.lazy = true, .anonymize = true});
	HAS("SELECT value FROM StringIds WHERE id = 30", "user-1's range in /home/x1/x3");
	HAS("SELECT value FROM StringIds WHERE id = 10", "/data/x3");
	HAS("SELECT jsonText, binaryData FROM NVTX_EVENTS", "-|-");
	HAS("SELECT exe, commandLine FROM SL_PROCESS_TREE WHERE globalPid = " P1,
	    "/home/x1/x2|command-1");
	HAS("SELECT name, value FROM META_DATA_EXPORT WHERE name LIKE 'EXPORT\\_%' ESCAPE '\\' "
	    "ORDER BY "
	    "1",
	    "EXPORT_TIME|2024\nEXPORT_USER|removed-1");
	HAS("SELECT count(*) FROM sqlite_master WHERE name = 'ProcessStreams'", "0");
	HAS("SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'SL_COPY_OF'", "0");
	HAS("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COPY_ANONYMIZED'", "true");
	/* A name that nothing refers to could hold anything: it goes. A process without events, too. */
	HAS("SELECT count(*) FROM StringIds WHERE id = 9", "0");
	HAS("SELECT name FROM PROCESSES", "app");
	copied(NULL, NULL,
	       (struct export_options){.lazy = true, .anonymize = true, .include_json = true});
	HAS("SELECT jsonText, binaryData FROM NVTX_EVENTS", "{}|-");
}

static void indexes_and_views(void **state)
{
	(void)state;
	fmt_report(
		LIFE
		"CREATE INDEX mine ON OSRT_API(nameId); CREATE VIEW good AS SELECT start AS s FROM "
		"OSRT_API; CREATE VIEW bad AS SELECT x FROM nowhere");
	copied(NULL, NULL, lazy);
	HAS("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'OSRT_API' ORDER "
	    "BY name",
	    "SL_OSRT_API_fileAccessId\nSL_OSRT_API_globalTid_start\nSL_OSRT_API_start\nmine");
	HAS("SELECT name FROM sqlite_master WHERE type = 'view'", "good");
	HAS("SELECT s FROM good ORDER BY s", "1000000000\n5000000000");
	HAS("SELECT sql FROM sqlite_master WHERE name = 'SL_PROCESSES_globalPid'",
	    "CREATE INDEX \"SL_PROCESSES_globalPid\" ON \"PROCESSES\"(globalPid)");
}

/* The stacks of samples are a view in a report, a table in the copy. */
static void stacks_of_samples_are_a_table(void **state)
{
	(void)state;
	fmt_report(LIFE
		   "INSERT INTO COMPOSITE_EVENTS (id, start, cpuCycles, globalTid, stackId) VALUES "
		   "(4, 10, 1, " T1 ", 2), (5, 5000000000, 1, " T1 ", 1)");
	copied("0/2s", NULL, lazy);
	HAS("SELECT type FROM sqlite_master WHERE name = 'SAMPLING_CALLCHAINS'", "table");
	HAS("SELECT id, symbol, stackDepth FROM SAMPLING_CALLCHAINS", "4|22|0");
	HAS("SELECT id FROM SL_STACKS ORDER BY id", "1\n2");
}

/* ---- repairs ---- */

static void damage_is_stepped_over(void **state)
{
	char junk[4096];
	int fd;

	(void)state;
	/* Leaf pages of a table hold some hundred rows each: page 6 is one of them. */
	fmt_bare_report(
		"CREATE TABLE R (x TEXT); INSERT INTO R WITH RECURSIVE n(i) AS (SELECT 1 UNION "
		"ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT 'row ' || i FROM n;"
		"CREATE TABLE After (y); INSERT INTO After VALUES ('whole')");
	fd = open(fmt_report_path, O_RDWR);
	memset(junk, 0x55, sizeof(junk));
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 6 * 4096), sizeof(junk));
	close(fd);
	copied(NULL, NULL, lazy);
	HAS("SELECT count(*) BETWEEN 3000 AND 3999, count(DISTINCT x) = count(*), max(length(x)) "
	    "FROM R",
	    "1|1|8");
	HAS("SELECT x FROM R LIMIT 1", "row 1");
	HAS("SELECT x FROM R ORDER BY rowid DESC LIMIT 1", "row 4000");
	HAS("SELECT value = 'R: ' || (4000 - (SELECT count(*) FROM R)) || ' rows' FROM "
	    "META_DATA_EXPORT "
	    "WHERE name = 'SL_COPY_LOST'",
	    "1");
	HAS("SELECT y FROM After", "whole");
	HAS("PRAGMA integrity_check", "ok");
}

static void a_damaged_report_is_not_cut(void **state)
{
	char junk[4096];
	int fd;

	(void)state;
	fmt_bare_report(
		"CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId "
		"INTEGER); INSERT INTO OSRT_API WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 4000) SELECT i, i, 1, 1 FROM n");
	fd = open(fmt_report_path, O_RDWR);
	memset(junk, 0x55, sizeof(junk));
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 6 * 4096), sizeof(junk));
	close(fd);
	assert_int_equal(copy("0/2s", NULL, lazy), -1);
	assert_non_null(
		strstr(fmt_why, "(a damaged report: copy it whole first, which repairs it)"));
}

/* A table of 64 columns is one of a report, of 65 it is none. */
static void tables_that_no_report_has(void **state)
{
	char sql[2048], *p;

	(void)state;
	for (int cols = 64; cols <= 65; cols++) {
		p = sql + sprintf(sql, "CREATE TABLE Wide (c0");
		for (int i = 1; i < cols; i++)
			p += sprintf(p, ", c%d", i);
		sprintf(p, "); INSERT INTO Wide (c0, c%d) VALUES (1, 2)", cols - 1);
		fmt_bare_report(sql);
		assert_int_equal(copy(NULL, NULL, lazy), cols == 64 ? 0 : -1);
	}
	assert_non_null(strstr(fmt_why, "table Wide is not one of a report"));
	fmt_bare_report("CREATE TABLE T "
			"(\"c23456789012345678901234567890123456789012345678901234567890123\")");
	assert_int_equal(copy(NULL, NULL, lazy), 0);
	fmt_bare_report("CREATE TABLE T "
			"(\"c234567890123456789012345678901234567890123456789012345678901234\")");
	assert_int_equal(copy(NULL, NULL, lazy), -1);
}

struct asked {
	unsigned calls;
	uint64_t total;
};

static int stop(void *self, uint64_t done, uint64_t total)
{
	struct asked *a = self;

	(void)done;
	a->calls++;
	a->total = total;
	return -1;
}

static void progress_can_stop_it(void **state)
{
	struct export_options opt = lazy;
	struct asked asked = {0};
	struct export_job job;
	sqlite3 *db;

	(void)state;
	fmt_bare_report(
		"CREATE TABLE R (x); INSERT INTO R WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 8192) SELECT i FROM n");
	db = fmt_open();
	job = fmt_job(&exporter_sqlite, db, &opt);
	job.timeline.progress = stop;
	job.timeline.of_progress = &asked;
	unlink(fmt_out_path);
	assert_int_equal(exporter_sqlite.run(&job, fmt_why, sizeof(fmt_why)), -1);
	assert_true(asked.calls >= 1);
	assert_int_equal(asked.total, 8192);
	assert_int_equal(job.events, 8192);
	sqlite3_close(db);
}

/* ---- what columns are ---- */

static void roles_of_columns(void **state)
{
	static const char sql[] =
		"CREATE TABLE T (\n  -- colour, -> StringIds.id\n"
		"  mine INTEGER, -- -> StringIds.id\n  \"quoted\" INTEGER, -- StringIds\n"
		"  mines INTEGER, -- a number\n\tlast INTEGER -- StringIds\n)";
	static const struct {
		const char *table, *column;
		enum slice_role role;
	} list[] = {
		{"T", "mine", SLICE_STRING},
		{"T", "quoted", SLICE_STRING},
		{"T", "last", SLICE_STRING},
		{"T", "mines", SLICE_PLAIN},
		{"T", "min", SLICE_PLAIN},
		{"T", "colour", SLICE_PLAIN},
		{"T", "nameId", SLICE_STRING},
		{"T", "pathId", SLICE_PATH},
		{"T", "module", SLICE_STRING},
		{"SL_FRAMES", "module", SLICE_PATH},
		{"OSRT_CALLCHAINS", "file", SLICE_PATH},
		{"T", "file", SLICE_PLAIN},
		{"SL_MODULES", "path", SLICE_PATH},
		{"T", "path", SLICE_PLAIN},
		{"T", "stackId", SLICE_STACK},
		{"T", "counter_id", SLICE_COUNTED},
		{"T", "frameId", SLICE_FRAME},
		{"SL_SPACES", "id", SLICE_SPACE},
		{"T", "id", SLICE_PLAIN},
		{"T", "globalPid", SLICE_PROCESS},
		{"T", "wakerTid", SLICE_PROCESS},
		{"T", "endGlobalTid", SLICE_PROCESS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (slice_role_of(list[i].table, sql, list[i].column) != list[i].role)
			fail_msg("%s.%s", list[i].table, list[i].column);
	assert_true(slice_is_chains("CUDA_CALLCHAINS"));
	assert_true(slice_is_chains("SL_FRAMES"));
	assert_false(slice_is_chains("SL_STACKS"));
}

static void times_of_columns(void **state)
{
	(void)state;
	assert_int_equal(slice_time_of("T", "start"), 1);
	assert_int_equal(slice_time_of("T", "wakeupTime"), 1);
	assert_int_equal(slice_time_of("T", "starts"), 0);
	assert_int_equal(slice_time_of("T", "openedAt"), 2);
	assert_int_equal(slice_time_of("T", "timestamp"), 1);
	assert_int_equal(slice_time_of("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "timestamp"), 2);
	assert_int_equal(slice_time_of("SL_MODULES", "start"), 0);
	assert_int_equal(slice_time_of("SL_MODULES", "since"), 1);
	assert_int_equal(slice_time_of("T", "since"), 0);
	assert_int_equal(slice_time_of("ENUM_X", "start"), 0);
	assert_int_equal(slice_time_of("ANALYSIS_DETAILS", "start"), 0);
	assert_int_equal(slice_time_of("SL_CLOCK_SNAPSHOTS", "timestamp"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_without_rows),
		cmocka_unit_test(values_of_every_type_are_copied),
		cmocka_unit_test(rows_of_every_number_are_copied),
		cmocka_unit_test(a_cut_keeps_what_rows_refer_to),
		cmocka_unit_test(a_cut_of_a_process),
		cmocka_unit_test(all_ancestors_of_a_process_stay),
		cmocka_unit_test(modules_of_other_processes_go),
		cmocka_unit_test(tables_of_the_schema_are_made),
		cmocka_unit_test(a_choice_of_tables),
		cmocka_unit_test(times_are_shifted),
		cmocka_unit_test(an_anonymous_copy),
		cmocka_unit_test(indexes_and_views),
		cmocka_unit_test(stacks_of_samples_are_a_table),
		cmocka_unit_test(damage_is_stepped_over),
		cmocka_unit_test(a_damaged_report_is_not_cut),
		cmocka_unit_test(tables_that_no_report_has),
		cmocka_unit_test(progress_can_stop_it),
		cmocka_unit_test(roles_of_columns),
		cmocka_unit_test(times_of_columns),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
