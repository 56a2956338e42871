/* db.c - the report's writer: every table and function, what is stored and what is refused. */
#include "tests/unit/report/db_test.h"
#include "collector/report/db_counters.h"
#include "collector/report/db_internal.h"

static void new_report_has_fixed_tables_only(void **state)
{
	struct db *db = test_open(false);

	(void)state;
	assert_int_equal(db_commit(db, 0), 0);
	assert_string_equal(
		ask("SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema "
		    "WHERE type = 'table' AND name NOT LIKE 'ENUM_%' ORDER BY name)"),
		"ANALYSIS_DETAILS META_DATA_CAPTURE META_DATA_EXPORT SL_STATE StringIds "
		"TARGET_INFO_SESSION_START_TIME");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ENUM_%'"),
			    "34");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "0");
	assert_int_equal(db_finish(db, 1234), 0);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'SL_STATE'"), "0");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "1");
	assert_string_equal(
		ask("SELECT group_concat(name || '=' || value) FROM META_DATA_EXPORT WHERE "
		    "name LIKE 'EXPORT_PRODUCT%' OR name LIKE 'EXPORT_SCHEMA%'"),
		"EXPORT_PRODUCT_NAME=Sightline,EXPORT_PRODUCT_VERSION=" SL_VERSION
		",EXPORT_SCHEMA_VERSION=3.28.1,EXPORT_SCHEMA_VERSION_MAJOR=3,"
		"EXPORT_SCHEMA_VERSION_MINOR=28,EXPORT_SCHEMA_VERSION_MICRO=1");
	assert_string_equal(
		ask("SELECT duration || ' ' || startTime || ' ' || stopTime || ' ' || globalVid "
		    "FROM ANALYSIS_DETAILS"),
		"1234 5000 6234 281474976710656");
	assert_string_equal(ask("SELECT utcEpochNs || ' ' || utcTime || ' ' || systemClockNs "
				"FROM TARGET_INFO_SESSION_START_TIME"),
			    "1700000000123456789 2023-11-14T22:13:20 5000");
	assert_string_equal(ask("PRAGMA journal_mode"), "delete");
	assert_string_equal(ask("PRAGMA user_version"), "0");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_int_equal(access(test_path, F_OK), 0);
}

/* A row of each table that takes batches. */
static void fill_rows(struct db *db, int64_t first)
{
	static const int cols[DB_TABLE_CNT] = {
		[DB_OSRT_API] = OSRT_COL_CNT,
		[DB_OSRT_FILE_ACCESS_EVENTS] = FACC_COL_CNT,
		[DB_SCHED_EVENTS] = SCHED_COL_CNT,
		[DB_SL_SCHED_DETAIL] = SCHD_COL_CNT,
		[DB_SYSCALL] = CALL_COL_CNT,
		[DB_COMPOSITE_EVENTS] = SAMPLE_COL_CNT,
		[DB_SL_PAGE_FAULTS] = FAULT_COL_CNT,
		[DB_SL_DEATHS] = DEATH_COL_CNT,
		[DB_SL_BLOCK_IO] = BLOCK_COL_CNT,
		[DB_PMU_EVENTS] = PMU_COL_CNT,
		[DB_PMU_EVENT_COUNTERS] = PMUC_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_RUNTIME] = RT_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_KERNEL] = KRN_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_MEMCPY] = CPY_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_MEMSET] = SET_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = SYNC_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_CUDA_EVENT] = EVT_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = GRT_COL_CNT,
		[DB_CUDA_GRAPH_NODE_EVENTS] = GRN_COL_CNT,
		[DB_CUDA_GRAPH_EVENTS] = GRE_COL_CNT,
		[DB_CUPTI_ACTIVITY_KIND_OVERHEAD] = OVH_COL_CNT,
		[DB_CUDA_GPU_MEMORY_POOL_EVENTS] = POOL_COL_CNT,
		[DB_CUDA_UM_CPU_PAGE_FAULT_EVENTS] = UMC_COL_CNT,
		[DB_CUDA_UM_GPU_PAGE_FAULT_EVENTS] = UMG_COL_CNT,
		[DB_CUDNN_EVENTS] = DNN_COL_CNT,
		[DB_CUBLAS_EVENTS] = BLAS_COL_CNT,
		[DB_SL_LIBRARY_API] = LIB_COL_CNT,
		[DB_SL_GPU_ARGUMENTS] = ARG_COL_CNT,
		[DB_GPU_METRICS] = METRIC_COL_CNT,
		[DB_SL_COUNTER_SAMPLES] = COUNTER_COL_CNT,
		[DB_SL_STACKS] = STACKS_COL_CNT,
		[DB_SL_FRAMES] = FRAME_COL_CNT,
		[DB_OSRT_CALLCHAINS] = CHAIN_COL_CNT,
		[DB_CUDA_CALLCHAINS] = CHAIN_COL_CNT,
		[DB_SYSCALL_CALLCHAINS] = CHAIN_COL_CNT,
	};

	for (int t = 0; t < DB_TABLE_CNT; t++) {
		int64_t *r = db_row(db, (enum db_table)t);

		for (int i = 0; i < cols[t]; i++)
			r[i] = first + i;
	}
}

/* And one of each made row by row. */
static void fill_everything(struct db *db)
{
	struct db_image image = {.global_pid = 1, .kind = 1};
	struct db_row_SL_OSRT_TOTALS total = {.globalTid = 1,
					      .instance = 2,
					      .nameId = 3,
					      .count = 4,
					      .totalNs = 5,
					      .minNs = 6,
					      .maxNs = 7,
					      .bytes = 8,
					      .errorCount = 9,
					      .lostCount = 10,
					      .lostTotalNs = 11};
	fill_rows(db, 100);
	assert_int_equal(db_process(db, 1, 1, "p"), 0);
	assert_int_equal(db_thread_name(db, 1, "t", 20), 0);
	assert_int_equal(db_diagnostic(db, -5, 2, 3, "text", DB_NULL), 0);
	assert_int_equal(db_overhead(db, 1, 2, 3, "waiting"), 0);
	assert_int_equal(db_meta_capture(db, "name", NULL), 0);
	assert_int_equal(db_system_env(db, "CpuCores", 1, "2"), 0);
	assert_int_equal(db_file_opened(db, 0, 7, 8, "/etc/passwd", 11), 0);
	assert_int_equal(db_image(db, &image), 0);
	assert_int_equal(db_put_SL_OSRT_TOTALS(db, &total), 0);
	assert_int_equal(db_lost(db, 1, 2, DB_NULL, "ring full", 3), 0);
	assert_int_equal(db_put_SL_CLOCK_SNAPSHOTS(
				 db, &(struct db_row_SL_CLOCK_SNAPSHOTS){1, 2, 3, 4, 1, 5, 6}),
			 0);
}

/* Columns as the documented schema 3.28.1 has them: name:notnull, all INTEGER unless marked "t". */
static const char *const documented[][2] = {
	{"StringIds", "id:1 value:1t"},
	{"ThreadNames", "nameId:1 priority:0 globalTid:0"},
	{"PROCESSES", "globalPid:0 pid:0 name:0t"},
	{"OSRT_API",
	 "start:1 end:1 eventClass:1 globalTid:0 nameId:1 returnValue:1 nestingLevel:0 "
	 "callchainId:1 argumentsId:1 fd:0 fileAccessId:0 pathId:0 bytesAsked:0 bytesDone:0 "
	 "fileOffset:0 errnum:0"},
	{"OSRT_FILE_ACCESS_EVENTS", "fileAccessId:1 threadId:1 startedAt:1 endedAt:1 eventType:1 "
				    "apiCallId:1 bytesProcessed:1 context:1t"},
	{"OSRT_FILE_ACCESS_DESCRIPTORS",
	 "fileAccessId:1 processId:1 openedAt:1 closedAt:1 filePath:1t"},
	{"SCHED_EVENTS", "start:1 cpu:1 isSchedIn:1 globalTid:0 threadState:0 threadBlock:0"},
	{"PROFILER_OVERHEAD", "start:1 end:1 globalTid:0 nameId:1 overheadType:1"},
	{"DIAGNOSTIC_EVENT", "timestamp:1 timestampType:1 source:1 severity:1 text:1t globalPid:0"},
	{"META_DATA_CAPTURE", "name:1t value:0t"},
	{"META_DATA_EXPORT", "name:1t value:0t"},
	{"ANALYSIS_DETAILS", "globalVid:1 duration:1 startTime:1 stopTime:1"},
	{"TARGET_INFO_SESSION_START_TIME", "utcEpochNs:0 utcTime:0t localTime:0t systemClockNs:0 "
					   "sessionStartCntVctNs:0"},
	{"TARGET_INFO_SYSTEM_ENV", "globalVid:0 devStateName:1t name:1t nameEnum:1 value:1t"},
	{"ENUM_NSYS_EVENT_CLASS", "id:1 name:0t label:0t"},
	{"ENUM_OSRT_FILE_ACCESS_EVENT_TYPE", "id:1 name:0t label:0t"},
};

static void columns_are_the_documented_ones(void **state)
{
	struct db *db = test_open(false);
	char sql[512];

	(void)state;
	fill_everything(db);
	assert_int_equal(db_finish(db, 0), 0);
	for (size_t i = 0; i < sizeof(documented) / sizeof(*documented); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT group_concat(name || ':' || \"notnull\" || CASE type WHEN 'TEXT' "
			 "THEN 't' "
			 "WHEN 'INTEGER' THEN '' ELSE '?' END, ' ') FROM pragma_table_info('%s')",
			 documented[i][0]);
		assert_string_equal(ask(sql), documented[i][1]);
	}
	assert_string_equal(
		ask("SELECT group_concat(name) FROM sqlite_schema WHERE sql NOT LIKE '%--%'"),
		"NULL"); /* every table explains itself */
	assert_string_equal(
		ask("SELECT count(*) FROM sqlite_schema WHERE type IN ('index', 'view', "
		    "'trigger') AND name NOT LIKE 'sqlite_%'"),
		"0");
	assert_string_equal(
		ask("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'SL_%'"),
		"14");
}

static void enumerations_have_their_rows(void **state)
{
	struct db *db = test_open(false);

	(void)state;
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT name FROM ENUM_NSYS_EVENT_CLASS WHERE id = 27"),
			    "TRACE_PROCESS_EVENT_OS_RUNTIME");
	assert_string_equal(
		ask("SELECT group_concat(id || name) FROM ENUM_OSRT_FILE_ACCESS_EVENT_TYPE"),
		"1Open,2Close,3Read,4Write,6Metadata");
	assert_string_equal(
		ask("SELECT group_concat(id || name) FROM ENUM_SAMPLING_THREAD_STATE WHERE id < 6"),
		"0Unknown,1Running,2Interruptible,3Uninterruptible,4Stopped,5Terminated");
	assert_string_equal(
		ask("SELECT group_concat(id || name) FROM ENUM_DIAGNOSTIC_SEVERITY_LEVEL"),
		"0UnknownLevel,1Info,2Warning,3Error,4Verbose");
}

static void rows_come_back_as_given(void **state)
{
	static const int64_t values[] = {0,
					 1,
					 2,
					 -1,
					 127,
					 128,
					 -128,
					 -129,
					 32767,
					 32768,
					 -32769,
					 8388607,
					 8388608,
					 -8388609,
					 INT32_MAX,
					 INT64_C(1) << 31,
					 INT32_MIN,
					 -(INT64_C(1) << 31) - 1,
					 (INT64_C(1) << 47) - 1,
					 INT64_C(1) << 47,
					 -(INT64_C(1) << 47) - 1,
					 INT64_MAX,
					 INT64_MIN + 1,
					 DB_NULL};
	enum {
		N = sizeof(values) / sizeof(*values)
	};
	struct db *db = test_open(false);
	sqlite3_stmt *stmt;
	sqlite3 *sql;

	(void)state;
	for (int i = 0; i < N * OSRT_COL_CNT; i++) { /* every value in every column */
		int64_t *r = db_row(db, DB_OSRT_API);

		for (int c = 0; c < OSRT_COL_CNT; c++)
			r[c] = values[(i + c) % N];
	}
	assert_int_equal(db_pending(db), N * OSRT_COL_CNT);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_int_equal(sqlite3_open(test_path, &sql), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(sql, "SELECT * FROM OSRT_API ORDER BY rowid", -1, &stmt, NULL),
		SQLITE_OK);
	for (int i = 0; i < N * OSRT_COL_CNT; i++) {
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		for (int c = 0; c < OSRT_COL_CNT; c++) {
			int64_t v = values[(i + c) % N];
			bool not_null = c < 9 && c != OSRT_GLOBAL_TID && c != OSRT_NESTING_LEVEL;

			if (v == DB_NULL && !not_null) {
				assert_int_equal(sqlite3_column_type(stmt, c), SQLITE_NULL);
				continue;
			}
			assert_int_equal(sqlite3_column_type(stmt, c), SQLITE_INTEGER);
			assert_true(sqlite3_column_int64(stmt, c) == (v == DB_NULL ? 0 : v));
		}
	}
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
}

/* Batches of all sizes around the limits of leaves; interleaved tables; several commits. */
static void batches_of_many_sizes(void **state)
{
	static const int sizes[] = {1, 2, 767, 1536, 1537, 0, 5000, 40000, 3};
	struct db *db = test_open(false);
	int64_t total = 0;
	char sql[300], want[64];

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		for (int i = 0; i < sizes[s]; i++, total++) {
			int64_t *f = db_row(db, DB_OSRT_FILE_ACCESS_EVENTS), *o;

			for (int c = 0; c < FACC_COL_CNT; c++)
				f[c] = total * 7 + c;
			o = db_row(db, DB_OSRT_API);
			for (int c = 0; c < OSRT_COL_CNT; c++)
				o[c] = total * 1000003 + c;
		}
		assert_int_equal(db_pending(db), sizes[s] * 2);
		assert_int_equal(db_commit(db, total), 0);
		assert_int_equal(db_pending(db), 0);
	}
	assert_int_equal(db_finish(db, total), 0);
	snprintf(want, sizeof(want), "%lld", (long long)total);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM OSRT_API WHERE start = (rowid - 1) * 1000003 AND "
		 "errnum = start + 15 AND fd = start + 9");
	assert_string_equal(ask(sql), want);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM OSRT_FILE_ACCESS_EVENTS WHERE fileAccessId = "
		 "(rowid - 1) * 7 AND bytesProcessed = fileAccessId + 6 AND context = '' "
		 "AND typeof(context) = 'text'");
	assert_string_equal(ask(sql), want);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

/*
 * Rows must go the fast way: cells copied whole, a handful of steps of SQLite's machine for each;
 * decoding columns takes a step per column and more.
 */
static void rows_are_copied_as_cells(void **state)
{
	enum {
		ROWS = 10000
	};
	struct db *db = test_open(false);

	(void)state;
	for (int i = 0; i < ROWS; i++)
		fill_rows(db, i);
	assert_int_equal(db_commit(db, 0), 0);
	for (int t = 0; t < DB_TABLE_CNT; t++) {
		int steps =
			sqlite3_stmt_status(db->batch.table[t].stmt, SQLITE_STMTSTATUS_VM_STEP, 0);

		bool has_key = t == DB_COMPOSITE_EVENTS || t == DB_SL_STACKS || t == DB_SL_FRAMES;

		assert_in_range(steps, ROWS, (has_key ? 50 : 5) * ROWS);
	}
	assert_int_equal(db_finish(db, 0), 0);
}

static void many_rows_commit_by_themselves(void **state)
{
	enum {
		ROWS = 3000000
	};
	struct db *db = test_open(false);

	(void)state;
	for (int i = 0; i < ROWS; i++)
		add_call(db, INT64_C(1) << 50 | i);
	assert_true(db_pending(db) < ROWS);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT count(DISTINCT start) FROM OSRT_API"), "3000000");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

static void strings_are_interned(void **state)
{
	struct db *db = test_open(false);
	int64_t a = db_string(db, "open", 4), b = db_string(db, "opening", 4);
	char text[32], sql[128];

	(void)state;
	assert_int_equal(a, b);
	assert_int_equal(db_string(db, "", 0), 0);
	assert_int_not_equal(db_string(db, "opening", 7), a);
	for (int i = 0; i < 5000; i++) { /* the table grows under way */
		int64_t id = db_string(db, text,
				       (size_t)snprintf(text, sizeof(text), "/tmp/file-%d", i));

		if (i == 2500)
			assert_int_equal(db_commit(db, 0), 0);
		assert_int_equal(db_string(db, text, strlen(text)), id);
		assert_true(id > 0);
	}
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT value) || ' ' || max(id) "
				"FROM StringIds"),
			    "5003 5003 5002");
	snprintf(sql, sizeof(sql), "SELECT value FROM StringIds WHERE id = %lld", (long long)a);
	assert_string_equal(ask(sql), "open");
}

static void check_text(struct db *db, const char *raw, size_t len, const char *want)
{
	char sql[128];
	int64_t id = db_string(db, raw, len);

	assert_int_equal(db_commit(db, 0), 0);
	snprintf(sql, sizeof(sql), "SELECT value FROM StringIds WHERE id = %lld", (long long)id);
	assert_string_equal(ask(sql), want);
}

static void texts_that_are_no_utf8_are_escaped(void **state)
{
	struct db *db = test_open(false);

	(void)state;
	check_text(db,
		   "a\xff"
		   "b",
		   3, "a\\xffb");
	check_text(db, "nul\0x", 5, "nul\\x00x");
	check_text(db, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		   "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	check_text(db, "cut \xe2\x82", 6, "cut \\xe2\\x82");
	check_text(db, "\xc0\xaf", 2, "\\xc0\\xaf");                   /* overlong */
	check_text(db, "\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* surrogate */
	check_text(db, "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	check_text(db, "\xe0\x80\xaf\xf0\x80\x80\xaf", 7, "\\xe0\\x80\\xaf\\xf0\\x80\\x80\\xaf");
	assert_int_equal(db_process(db, 1, 1, "p\x80"), 0);
	assert_int_equal(db_file_opened(db, 5, 1, 1, "/x\0\xfe", 4), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT name FROM PROCESSES"), "p\\x80");
	assert_string_equal(ask("SELECT filePath FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
			    "/x\\x00\\xfe");
}

static void names_are_replaced_not_added(void **state)
{
	struct db *db = test_open(false);
	char name[16];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i <= 300; i++) {
			snprintf(name, sizeof(name), "p%d.%d", i, round);
			assert_int_equal(db_process(db, (int64_t)i << 24, i, name), 0);
			assert_int_equal(db_thread_name(db, (int64_t)i << 24 | i, name, 20 + round),
					 0);
		}
		if (round)
			assert_int_equal(db_commit(db, 0), 0);
	}
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT globalPid) || ' ' || "
				"min(name) FROM PROCESSES"),
			    "300 300 p1.2");
	assert_string_equal(ask("SELECT count(*) || ' ' || sum(priority) FROM ThreadNames"),
			    "300 6600");
	assert_string_equal(ask("SELECT value FROM ThreadNames JOIN StringIds ON id = nameId WHERE "
				"globalTid = (7 << 24 | 7)"),
			    "p7.2");
}

static void totals_and_files_are_replaced_by_later_ones(void **state)
{
	struct db *db = test_open(false);
	struct db_row_SL_OSRT_TOTALS total = {
		.globalTid = 9, .instance = 1, .nameId = 2, .count = 3};

	(void)state;
	fill_everything(db);
	assert_int_equal(db_put_SL_OSRT_TOTALS(db, &total), 0);
	assert_int_equal(db_commit(db, 0), 0);
	total.count = 30;
	assert_int_equal(db_put_SL_OSRT_TOTALS(db, &total), 0);
	total.instance = 2;
	assert_int_equal(db_put_SL_OSRT_TOTALS(db, &total), 0);
	assert_int_equal(db_file_opened(db, 77, 1, 100, "/a", 2), 0);
	assert_int_equal(db_file_closed(db, 77, 200), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT group_concat(globalTid || '.' || instance || '=' || count) "
				"FROM SL_OSRT_TOTALS"),
			    "1.2=4,9.1=30,9.2=30");
	assert_string_equal(ask("SELECT nameId || ' ' || totalNs || ' ' || minNs || ' ' || maxNs "
				"|| ' ' || bytes || ' ' "
				"|| errorCount || ' ' || lostCount || ' ' || lostTotalNs FROM "
				"SL_OSRT_TOTALS WHERE "
				"globalTid = 1"),
			    "3 5 6 7 8 9 10 11");
	assert_string_equal(ask("SELECT group_concat(fileAccessId || ' ' || processId || ' ' || "
				"openedAt || ' ' || "
				"closedAt || ' ' || filePath) FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
			    "0 7 8 0 /etc/passwd,77 1 100 200 /a");
	assert_string_equal(ask("SELECT timestamp || ' ' || timestampType || ' ' || source || ' ' "
				"|| severity || ' ' || "
				"text || ' ' || (globalPid IS NULL) FROM DIAGNOSTIC_EVENT"),
			    "-5 1 2 3 text 1");
	assert_string_equal(ask("SELECT start || ' ' || end || ' ' || (globalTid IS NULL) || ' ' "
				"|| what || ' ' || count "
				"FROM SL_LOST_EVENTS"),
			    "1 2 1 ring full 3");
	assert_string_equal(
		ask("SELECT ticks || ' ' || monotonic || ' ' || realtime || ' ' || boottime "
		    "|| ' ' || isSynchronized || ' ' || errorNs || ' ' || maxErrorNs "
		    "FROM SL_CLOCK_SNAPSHOTS"),
		"1 2 3 4 1 5 6");
	assert_string_equal(ask("SELECT start || ' ' || end || ' ' || globalTid || ' ' || value "
				"FROM PROFILER_OVERHEAD "
				"JOIN StringIds ON id = nameId"),
			    "1 2 3 waiting");
	assert_string_equal(ask("SELECT name || (value IS NULL) FROM META_DATA_CAPTURE"), "name1");
	assert_string_equal(
		ask("SELECT globalVid || ' ' || name || ' ' || nameEnum || ' ' || value "
		    "FROM TARGET_INFO_SYSTEM_ENV"),
		"281474976710656 CpuCores 1 2");
}

static void a_row_that_cannot_be_stored_is_counted(void **state)
{
	struct db *db = test_open(false);

	(void)state;
	assert_int_equal(db_diagnostic(db, 1, 1, 1, NULL, DB_NULL), 0); /* text is NOT NULL */
	assert_int_equal(db_process(db, 1, 1, "p"), 0);
	assert_int_equal(db_commit(db, 0), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT count(*) FROM PROCESSES"), "1");
	assert_string_equal(ask("SELECT text FROM DIAGNOSTIC_EVENT"),
			    "1 rows on processes, files or totals could not be stored.");
}

static void an_image_is_one_row_until_its_end(void **state)
{
	struct db *db = test_open(false);
	struct db_image image = {
		.global_pid = 10, .parent_global_pid = 5, .start_ns = 100, .kind = 1};

	(void)state;
	assert_int_equal(db_process_ended(db, 10, 1, 0), -ENOENT);
	assert_int_equal(db_image(db, &image), 0);
	image.traced = 1; /* the same image, better known */
	image.exe = "/bin/sh";
	image.command_line = "sh -c x";
	assert_int_equal(db_image(db, &image), 0);
	assert_int_equal(db_commit(db, 0), 0);
	image.start_ns = 150;
	image.kind = 2;
	image.exe = NULL;
	assert_int_equal(db_image(db, &image), 0);
	assert_int_equal(db_process_ended(db, 10, 300, 256), 0);
	image = (struct db_image){.global_pid = 11, .start_ns = 7};
	assert_int_equal(db_image(db, &image), 0);
	assert_int_equal(db_process_ended(db, 11, 8, -1), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT group_concat(globalPid || ' ' || ifnull(parentGlobalPid, "
				"'-') || ' ' || start || ' ' || end "
				"|| ' ' || kind || ' ' || traced || ' ' || ifnull(exe, '-') || ' ' "
				"|| ifnull(commandLine, '-') "
				"|| ' ' || ifnull(exitStatus, '-'), '; ') FROM SL_PROCESS_TREE"),
			    "10 5 100 150 1 1 /bin/sh sh -c x -; 10 5 150 300 2 1 - sh -c x 256; "
			    "11 - 7 8 0 0 - - -");
}

static void images_out_of_order_and_without_end_are_counted(void **state)
{
	struct db *db = test_open(false);
	struct db_tree_faults f;

	(void)state;
	assert_int_equal(db_tree_faults(db, &f), 0);
	assert_int_equal(f.backward + f.endless, 0);
	for (int i = 0; i < 6; i++) {
		struct db_image image = {.global_pid = i, .start_ns = 100};

		assert_int_equal(db_image(db, &image), 0);
		if (i < 4)
			assert_int_equal(db_process_ended(db, i, i < 3 ? 99 : 100, 0), 0);
	}
	assert_int_equal(db_commit(db, 0), 0);
	assert_int_equal(db_tree_faults(db, &f), 0);
	assert_int_equal(f.backward, 3);
	assert_int_equal(f.endless, 2);
	assert_int_equal(db_finish(db, 0), 0);
}

static void notes_can_be_read_back(void **state)
{
	struct db *db = test_open(false);
	void *blob;
	size_t len;

	(void)state;
	assert_int_equal(db_state_get(db, "k", &blob, &len), -ENOENT);
	assert_int_equal(db_state_set(db, "k", "one\0two", 7), 0);
	assert_int_equal(db_state_set(db, "empty", NULL, 0), 0);
	assert_int_equal(db_state_get(db, "k", &blob, &len), 0);
	assert_int_equal(len, 7);
	assert_memory_equal(blob, "one\0two", 7);
	free(blob);
	assert_int_equal(db_state_get(db, "empty", &blob, &len), 0);
	assert_int_equal(len, 0);
	free(blob);
	assert_int_equal(db_state_set(db, "k", "3", 1), 0);
	assert_int_equal(db_commit(db, 0), 0);
	assert_string_equal(ask("SELECT group_concat(key || '=' || value) FROM SL_STATE"),
			    "empty=,k=3");
	db_abandon(db);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(new_report_has_fixed_tables_only),
		T(columns_are_the_documented_ones),
		T(enumerations_have_their_rows),
		T(rows_come_back_as_given),
		T(batches_of_many_sizes),
		T(rows_are_copied_as_cells),
		T(many_rows_commit_by_themselves),
		T(strings_are_interned),
		T(texts_that_are_no_utf8_are_escaped),
		T(names_are_replaced_not_added),
		T(totals_and_files_are_replaced_by_later_ones),
		T(a_row_that_cannot_be_stored_is_counted),
		T(an_image_is_one_row_until_its_end),
		T(images_out_of_order_and_without_end_are_counted),
		T(notes_can_be_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
