/* db_rotate.c - one report after another: what comes along, what does not, and that numbers go on. */
#include "tests/unit/report/db_test.h"

#include "collector/report/db_nvtx.h"

#define GPID(pid) (INT64_C(1) << 48 | (int64_t)(pid) << 24)

static char next_path[112];

static struct db *next_of(struct db *old, unsigned also)
{
	struct db_open how = {
		.path = next_path, .utc_epoch_ns = 1700000000123456789, .system_clock_ns = 5000};
	char why[256] = "";
	struct db *db;

	snprintf(next_path, sizeof(next_path), "%s/next.sqlite", test_dir);
	db = db_next(old, &how, also, why, sizeof(why));
	if (!db)
		fail_msg("%s", why);
	db_abandon(old);
	return db;
}

static void image(struct db *db, int pid, int parent, int64_t start)
{
	struct db_image i = {.global_pid = GPID(pid),
			     .parent_global_pid = parent ? GPID(parent) : 0,
			     .start_ns = start,
			     .kind = parent ? 1 : 0,
			     .traced = 1,
			     .exe = "/bin/x",
			     .command_line = "x"};

	db_image(db, &i);
	db_process(db, GPID(pid), pid, "x");
	db_thread_name(db, GPID(pid) | pid, "thread", 20);
}

/* Everything that a session knows of itself, and some events. */
static struct db *full(void)
{
	struct db *db = test_open(false);
	int64_t text = db_string(db, "a text", 6), *row;
	struct db_nvtx_event domain = {.start = 70,
				       .end = DB_NULL,
				       .type = 75,
				       .range_id = DB_NULL,
				       .category = DB_NULL,
				       .color = DB_NULL,
				       .global_tid = GPID(1) | 1,
				       .end_global_tid = DB_NULL,
				       .text_id = DB_NULL,
				       .domain = 1,
				       .text.text = "a domain",
				       .text.text_len = 8};
	struct db_nvtx_event range = domain;

	image(db, 1, 0, 10);
	image(db, 2, 1, 20); /* ends, its child lives */
	image(db, 3, 2, 30);
	image(db, 4, 1, 40); /* ends */
	db_process_ended(db, GPID(2), 50, 0);
	db_process_ended(db, GPID(4), 60, 0);
	domain.id = db_nvtx_id(db);
	db_nvtx_event(db, &domain);
	range.type = 59;
	range.end = 90;
	range.id = db_nvtx_id(db);
	db_nvtx_event(db, &range);
	row = db_row(db, DB_OSRT_API);
	for (int i = 0; i < OSRT_COL_CNT; i++)
		row[i] = i == OSRT_NAME_ID ? text : i;
	db_file_opened(db, 1, 1, 45, "/open", 5);
	db_file_opened(db, 2, 1, 46, "/closed", 7);
	db_file_closed(db, 2, 47);
	db_diagnostic(db, 80, 2, 1, "said", GPID(1));
	db_state_set(db, "mine", "abc", 3);
	db_meta_capture(db, "START_TRIGGER", "IMMEDIATE");
	db_meta_capture(db, "PROCESS_0:PID", "1");
	assert_int_equal(db_commit(db, 100), 0);
	return db;
}

static const char *next_ask(const char *sql)
{
	return ask_file(next_path, sql);
}

static void processes_and_threads_are_kept_events_are_not(void **state)
{
	struct db *db = next_of(full(), 0);

	(void)state;
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(next_ask("SELECT count(*) FROM sqlite_schema WHERE name = 'OSRT_API'"),
			    "0");
	assert_string_equal(next_ask("SELECT group_concat(text) FROM NVTX_EVENTS"), "a domain");
	assert_string_equal(next_ask("SELECT count(*) FROM sqlite_schema WHERE name IN"
				     " ('DIAGNOSTIC_EVENT', 'OSRT_FILE_ACCESS_DESCRIPTORS')"),
			    "0");
	assert_string_equal(
		next_ask("SELECT group_concat(name || '=' || value) FROM META_DATA_CAPTURE"),
		"PROCESS_0:PID=1");
	assert_string_equal(
		next_ask("SELECT group_concat((globalPid >> 24) & 0xffffff) FROM SL_PROCESS_TREE"),
		"1,2,3,4");
	assert_string_equal(next_ask("PRAGMA integrity_check"), "ok");
}

static void diagnostics_and_open_files_are_kept_where_asked(void **state)
{
	struct db *db = next_of(full(), DB_NEXT_SAID | DB_NEXT_FILES);

	(void)state;
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(next_ask("SELECT group_concat(text) FROM DIAGNOSTIC_EVENT"), "said");
	assert_string_equal(
		next_ask("SELECT group_concat(filePath) FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
		"/open");
}

static void numbers_go_on_in_the_next_report(void **state)
{
	struct db *db = next_of(full(), 0);
	int64_t before = db_string(db, "a text", 6), after = db_string(db, "new", 3);
	void *blob;
	size_t len;

	(void)state;
	assert_int_equal(db_nvtx_id(db), 3);
	assert_true(after > before);
	assert_int_equal(db_state_get(db, "mine", &blob, &len), 0);
	assert_int_equal(len, 3);
	free(blob);
	/* The image that was there is ended, not a new one made. */
	db_process_ended(db, GPID(3), 500, 7);
	db_thread_name(db, GPID(3) | 3, "renamed", 20);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(
		next_ask("SELECT value FROM StringIds WHERE id = (SELECT id FROM StringIds"
			 " WHERE value = 'a text')"),
		"a text");
	assert_string_equal(next_ask("SELECT end || ' ' || exitStatus FROM SL_PROCESS_TREE"
				     " WHERE globalPid & 0xffffff000000 = 3 << 24"),
			    "500 7");
	assert_string_equal(
		next_ask("SELECT count(*) || ' ' || count(DISTINCT globalTid) FROM ThreadNames"),
		"4 4");
	assert_string_equal(next_ask("SELECT value FROM StringIds JOIN ThreadNames ON nameId = id"
				     " WHERE globalTid & 0xffffff = 3"),
			    "renamed");
}

static void time_zero_moves_and_the_dead_go(void **state)
{
	struct db *db = next_of(full(), DB_NEXT_SAID);

	(void)state;
	assert_int_equal(db_retime(db, 1000, 1700000000123457789, 6000), 0);
	/* Images are known by their start, which has moved, too: this is no new one. */
	image(db, 3, 2, 30 - 1000);
	assert_int_equal(db_finish(db, 5), 0);
	assert_string_equal(
		next_ask("SELECT group_concat(((globalPid >> 24) & 0xffffff) || ':' || start)"
			 " FROM SL_PROCESS_TREE"),
		"1:-990,2:-980,3:-970");
	assert_string_equal(next_ask("SELECT group_concat(pid) FROM PROCESSES"), "1,2,3");
	assert_string_equal(next_ask("SELECT count(*) FROM ThreadNames"), "3");
	assert_string_equal(next_ask("SELECT start FROM NVTX_EVENTS"), "-930");
	assert_string_equal(next_ask("SELECT timestamp FROM DIAGNOSTIC_EVENT"), "-920");
	assert_string_equal(next_ask("SELECT utcEpochNs || ' ' || systemClockNs FROM"
				     " TARGET_INFO_SESSION_START_TIME"),
			    "1700000000123457789 6000");
	assert_string_equal(next_ask("SELECT duration || ' ' || startTime FROM ANALYSIS_DETAILS"),
			    "5 6000");
}

static void what_cannot_be_made_leaves_the_old_one_as_it_is(void **state)
{
	struct db *db = full();
	struct db_open how = {.path = test_path};
	char why[256] = "";

	(void)state;
	assert_null(db_next(db, &how, 0, why, sizeof(why)));
	assert_non_null(strstr(why, "exists already"));
	assert_int_equal(db_finish(db, 100), 0);
	assert_string_equal(ask_file(test_path, "SELECT count(*) FROM OSRT_API"), "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
		TEST(processes_and_threads_are_kept_events_are_not),
		TEST(diagnostics_and_open_files_are_kept_where_asked),
		TEST(numbers_go_on_in_the_next_report),
		TEST(time_zero_moves_and_the_dead_go),
		TEST(what_cannot_be_made_leaves_the_old_one_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
