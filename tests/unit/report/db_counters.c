/* db_counters.c - tables of hardware metrics and counters: rows, real numbers among integers, numbers after rotate and resume. */
#include "tests/unit/report/db_test.h"

#include "collector/report/db_counters.h"

static void metrics_and_their_exact_values(void **state)
{
	struct db *db = test_open(false);
	int64_t type = db_metric_type(3, 0), a = db_metric_id(db), b = db_metric_id(db);

	(void)state;
	assert_int_equal(type, (1ll << 48) + (1ll << 32) + 3);
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(
		db_metric_name(db, type, "GPU Metrics [H100]", a, "SMs Active [Throughput %]"), 0);
	db_metric(db, 1700, 700, type, a, 41.5000001);
	db_metric(db, 1700, 700, type, b, 2505000000.0);
	db_metric(db, 1800, 800, type, a, -0.0);
	db_metric(db, 1800, 800, type, b, 1e300);
	assert_int_equal(db_metric_gap(db, type, 900, 1000, "overflow"), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("SELECT group_concat(rawTimestamp || ' ' || timestamp || ' ' || "
				"metricId || ' ' || value || ' ' || coalesce(exact, '-') || ' ' || "
				"typeof(exact), ', ') FROM GPU_METRICS"),
			    "1700 700 1 42 41.5000001 real, 1700 700 2 2505000000 - null, "
			    "1800 800 1 0 - null, 1800 800 2 9000000000000000000 1.0e+300 real");
	assert_string_equal(ask("SELECT sourceId || ' ' || typeName || ' ' || metricName FROM "
				"TARGET_INFO_GPU_METRICS WHERE typeId & 0xFF = 3"),
			    "281479271677952 GPU Metrics [H100] SMs Active [Throughput %]");
	assert_string_equal(ask("SELECT start || ' ' || end || ' ' || why FROM SL_GPU_METRIC_GAPS "
				"WHERE typeId & 0xFF = 3"),
			    "900 1000 overflow");
}

/* What SQLite makes of the same numbers is the witness. */
static void reals_read_as_they_were(void **state)
{
	static const double values[] = {
		0,     1,    -1,         0.5,      1e-300, 1.7976931348623157e308,
		255,   1e13, 99999e9,    100e12,   1e15,   -3,
		12e11, 0.1,  4294967296, 1e14 - 1, -1e14,  70368744177664.5};
	struct db *db = test_open(false);
	sqlite3 *other = NULL;
	sqlite3_stmt *stmt = NULL;
	char sql[128];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		db_counter_sample(db, 1, (int64_t)i, values[i]);
	db_counter_sample(db, 2, 0, NAN);
	db_counter_sample(db, 2, 1, INFINITY);
	db_counter_sample(db, 2, 2, -0.0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_int_equal(sqlite3_open(test_path, &other), SQLITE_OK);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT typeof(value), value = ?, value FROM SL_COUNTER_SAMPLES WHERE "
			 "counterId = 1 AND timestamp = %zu",
			 i);
		assert_int_equal(sqlite3_prepare_v2(other, sql, -1, &stmt, NULL), SQLITE_OK);
		sqlite3_bind_double(stmt, 1, values[i]);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "real");
		assert_int_equal(sqlite3_column_int(stmt, 1), 1);
		assert_true(sqlite3_column_double(stmt, 2) == values[i]);
		sqlite3_finalize(stmt);
	}
	sqlite3_close(other);
	assert_string_equal(ask("SELECT group_concat(coalesce(value, '-')) FROM SL_COUNTER_SAMPLES "
				"WHERE counterId = 2"),
			    "-,-,0.0");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

static void metric_sets_counters_and_events_are_rows(void **state)
{
	struct db *db = test_open(false);
	struct db_metric_set set = {.type_id = db_metric_type(1, 2),
				    .start = 10,
				    .uuid = "aa",
				    .source = "gpm",
				    .set = "gpm",
				    .asked_mhz = 10000,
				    .real_mhz = 9500,
				    .clocks_locked = DB_NULL};
	struct db_counter power = {"gpu", 0, NULL, 0, "Power", "W", false};
	struct db_counter sda = {"disk", DB_NULL, "sda", DB_NULL, "Read", "B", true};

	(void)state;
	set.id = db_metric_set(db, &set);
	assert_int_equal(set.id, 1);
	set.real_mhz = 4750;
	assert_int_equal(db_metric_set(db, &set), 1);
	set.id = 0;
	assert_int_equal(db_metric_set(db, &set), 2);
	assert_int_equal(db_counter(db, &power), 1);
	assert_int_equal(db_counter(db, &sda), 2);
	assert_int_equal(db_gpu_event(db, 77, 1, "xid", 79, DB_NULL, DB_NULL), 0);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(
		ask("SELECT group_concat(id || ' ' || source || ' ' || askedHz || ' ' || realHz || "
		    "' ' || coalesce(chip, '-') || (typeId >> 8 & 0xff), ', ') FROM "
		    "SL_GPU_METRIC_SETS"),
		"1 gpm 10.0 4.75 -2, 2 gpm 10.0 4.75 -2");
	assert_string_equal(
		ask("SELECT group_concat(id || scope || coalesce(scopeId, '-') || "
		    "coalesce(scopeName, '-') || coalesce(gpuId, '-') || name || unit || isSum) "
		    "FROM SL_COUNTERS"),
		"1gpu0-0PowerW0,2disk-sda-ReadB1");
	assert_string_equal(
		ask("SELECT timestamp || gpuId || kind || code || coalesce(gpuInstance, "
		    "'-') FROM SL_GPU_EVENTS"),
		"771xid79-");
}

/* A report without them has none of the tables; their numbers go on in the next report, and after resume. */
static void numbers_of_counters_go_on_in_the_next_report(void **state)
{
	struct db_counter power = {"gpu", 0, NULL, 0, "Power", "W", false};
	struct db_open how = {.system_clock_ns = 6000, .utc_epoch_ns = 1};
	struct db *db = test_open(false), *next;
	char why[256] = "", path[128];

	(void)state;
	assert_int_equal(db_commit(db, 0), 0);
	assert_string_equal(
		ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%METRIC%' OR name "
		    "LIKE 'SL_COUNTER%' OR name = 'SL_GPU_EVENTS'"),
		"0");
	assert_int_equal(db_counter(db, &power), 1);
	assert_int_equal(db_metric_name(db, 1, "t", db_metric_id(db), "m"), 0);
	db_counter_sample(db, 1, 5, 1.5);
	assert_int_equal(db_commit(db, 0), 0);
	db_abandon(db);
	db = test_open(true);
	assert_int_equal(db_counter(db, &power), 2);
	assert_int_equal(db_metric_id(db), 2);
	assert_int_equal(db_commit(db, 0), 0);
	snprintf(path, sizeof(path), "%s/next.sqlite", test_dir);
	how.path = path;
	next = db_next(db, &how, 0, why, sizeof(why));
	if (!next)
		fail_msg("%s", why);
	db_abandon(db);
	assert_int_equal(db_counter(next, &power), 3);
	assert_int_equal(db_metric_id(next), 3);
	assert_int_equal(db_finish(next, 0), 0);
	assert_string_equal(ask_file(path, "SELECT group_concat(id) FROM SL_COUNTERS"), "1,2,3");
	assert_string_equal(ask_file(path, "SELECT metricName FROM TARGET_INFO_GPU_METRICS"), "m");
	assert_string_equal(ask_file(path, "SELECT count(*) FROM SL_COUNTER_SAMPLES"),
			    "error: no such table: SL_COUNTER_SAMPLES");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(metrics_and_their_exact_values),
		T(reals_read_as_they_were),
		T(metric_sets_counters_and_events_are_rows),
		T(numbers_of_counters_go_on_in_the_next_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
