/* db_crash.c - the report while others read it, after a crash, and on a full disk. */
#include "tests/unit/report/db_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * A reader without busy timeout, as the sqlite3 shell: every query must succeed, see whole commits
 * only (1,000 rows each), and at any moment as many as ANALYSIS_DETAILS has.
 */
static int read_until_closed(int stop_fd)
{
	char buf;
	long good = 0, last = 0;

	while (read(stop_fd, &buf, 1) < 0) {
		sqlite3 *sql;
		sqlite3_stmt *stmt;

		if (sqlite3_open_v2(test_path, &sql, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
		    sqlite3_prepare_v2(
			    sql,
			    "SELECT (SELECT count(*) FROM OSRT_API), duration, (SELECT count(*) "
			    "FROM OSRT_API LEFT JOIN StringIds ON id = nameId WHERE id IS NULL) "
			    "FROM ANALYSIS_DETAILS",
			    -1, &stmt, NULL) != SQLITE_OK ||
		    sqlite3_step(stmt) != SQLITE_ROW) {
			fprintf(stderr, "reader: %s\n", sqlite3_errmsg(sql));
			return 1;
		}
		if (sqlite3_column_int(stmt, 0) % 1000 || sqlite3_column_int64(stmt, 0) < last ||
		    sqlite3_column_int64(stmt, 0) != sqlite3_column_int64(stmt, 1) ||
		    sqlite3_column_int(stmt, 2)) {
			fprintf(stderr, "reader: %d rows, duration %d, %d dangling\n",
				sqlite3_column_int(stmt, 0), sqlite3_column_int(stmt, 1),
				sqlite3_column_int(stmt, 2));
			return 2;
		}
		last = sqlite3_column_int64(stmt, 0);
		sqlite3_finalize(stmt);
		sqlite3_close(sql);
		good++;
	}
	return good > 3 ? 0 : 3;
}

static void add_calls(struct db *db, int64_t *n, int cnt)
{
	char text[32];

	for (int i = 0; i < cnt; i++, ++*n) {
		int len = snprintf(text, sizeof(text), "f%lld", (long long)*n / 10);
		int64_t id = db_string(db, text, (size_t)len), *r = db_row(db, DB_OSRT_API);

		for (int c = 0; c < OSRT_COL_CNT; c++)
			r[c] = 0;
		r[OSRT_START] = *n;
		r[OSRT_NAME_ID] = id;
	}
}

static void readers_and_writer_do_not_disturb_each_other(void **state)
{
	struct db *db = test_open(false);
	int stop[2], status;
	int64_t n = 0;
	double end;
	pid_t pid;

	(void)state;
	add_calls(db, &n, 1000);
	assert_int_equal(db_commit(db, n), 0);
	assert_int_equal(pipe2(stop, O_NONBLOCK), 0);
	pid = fork();
	if (!pid) {
		close(stop[1]);
		_exit(read_until_closed(stop[0]));
	}
	for (end = seconds() + 0.5; seconds() < end;) {
		add_calls(db, &n, 1000);
		assert_int_equal(db_commit(db, n), 0);
	}
	close(stop[0]);
	close(stop[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(db_finish(db, n), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

/* A child that opens a transaction on the report and keeps it until it is killed. */
static pid_t hold_snapshot(void)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		sqlite3 *sql;

		if (sqlite3_open(test_path, &sql) == SQLITE_OK &&
		    sqlite3_exec(sql, "BEGIN; SELECT * FROM ANALYSIS_DETAILS", NULL, NULL, NULL) ==
			    SQLITE_OK &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static off_t size_of(const char *suffix)
{
	char path[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", test_path, suffix);
	return stat(path, &st) ? -1 : st.st_size;
}

static void a_stuck_reader_stalls_no_writer(void **state)
{
	struct db *db = test_open(false);
	int64_t n = 0;
	double worst = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(db_commit(db, 0), 0);
	pid = hold_snapshot();
	for (int i = 0; i < 60; i++) {
		double t = seconds();

		add_calls(db, &n, 50000);
		assert_int_equal(db_commit(db, n), 0);
		if (seconds() - t > worst)
			worst = seconds() - t;
	}
	assert_true(worst < 5); /* much more than a commit, much less than the busy timeout */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	add_calls(db, &n, 1000);
	assert_int_equal(db_commit(db, n), 0); /* now the log is copied ... */
	add_calls(db, &n, 1000);
	assert_int_equal(db_commit(db, n), 0); /* ... and begun anew */
	assert_true(size_of("-wal") <= 16 << 20);
	pid = hold_snapshot();
	assert_int_equal(db_finish(db, n),
			 0); /* with the reader there the log stays: right all the same */
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API"), "3002000");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "1");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

static void the_log_is_bounded(void **state)
{
	struct db *db = test_open(false);
	off_t largest = 0;
	int64_t n = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		add_calls(db, &n, 20000);
		assert_int_equal(db_commit(db, n), 0);
		if (size_of("-wal") > largest)
			largest = size_of("-wal");
	}
	assert_true(size_of("") > 30 << 20);
	assert_in_range(largest, 1, 16 << 20);
	assert_int_equal(db_finish(db, n), 0);
	assert_int_equal(size_of("-wal"), -1);
	assert_int_equal(size_of("-shm"), -1);
}

/* A writer that dies in the middle: what it had committed is there, what it had not is not. */
static void a_killed_writer_can_be_resumed(void **state)
{
	struct db *db;
	int64_t n, id;
	void *blob;
	size_t len;
	int status;
	pid_t pid = fork();
	struct db_image image = {.global_pid = 3, .start_ns = 4};

	(void)state;
	if (!pid) {
		db = test_open(false);
		n = 0;
		for (int i = 0; i < 40; i++) {
			add_calls(db, &n, 5000);
			db_state_set(db, "n", &n, sizeof(n));
			if (db_commit(db, n))
				_exit(1);
		}
		db_process(db, 1, 1, "one");
		db_thread_name(db, 2, "two", 20);
		db_image(db, &image);
		db_file_opened(db, 9, 1, 1, "/f", 2);
		if (db_commit(db, n))
			_exit(1);
		add_calls(db, &n, 300);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_string_equal(ask("SELECT count(*) || ' ' || max(start) FROM OSRT_API"),
			    "200000 199999");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "0");

	db = test_open(true);
	assert_int_equal(db_state_get(db, "n", &blob, &len), 0);
	assert_int_equal(len, sizeof(n));
	memcpy(&n, blob, sizeof(n));
	free(blob);
	assert_int_equal(n, 200000);
	id = db_string(db, "f19999", 6);
	assert_int_equal(id, 20000); /* known: the last one that was committed */
	assert_int_equal(db_string(db, "new", 3), 20002); /* "two" is 20001 */
	add_calls(db, &n, 1000);
	assert_int_equal(db_process(db, 1, 1, "eins"), 0);
	assert_int_equal(db_thread_name(db, 2, "zwei", 20), 0);
	assert_int_equal(db_process_ended(db, 3, 50, 0), 0);
	assert_int_equal(db_file_closed(db, 9, 60), 0);
	assert_int_equal(db_finish(db, n), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT start) FROM OSRT_API"),
			    "201000 201000");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE "
				"value = 'f' || (start / 10)"),
			    "201000");
	assert_string_equal(ask("SELECT group_concat(name) FROM PROCESSES"), "eins");
	assert_string_equal(
		ask("SELECT group_concat(value) FROM ThreadNames JOIN StringIds ON id = nameId"),
		"zwei");
	assert_string_equal(ask("SELECT group_concat(end) FROM SL_PROCESS_TREE"), "50");
	assert_string_equal(ask("SELECT group_concat(closedAt) FROM OSRT_FILE_ACCESS_DESCRIPTORS"),
			    "60");
	assert_string_equal(ask("SELECT duration || ' ' || startTime FROM ANALYSIS_DETAILS"),
			    "201000 5000");
}

/* Killed at any moment, many times over. */
static void killed_at_any_moment(void **state)
{
	(void)state;
	for (int i = 0; i < 15; i++) {
		int begun[2];
		long rows, states;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(begun), 0);
		pid = fork();
		if (!pid) {
			struct db *db = test_open(false);
			int64_t n = 0;

			for (;;) {
				add_calls(db, &n, 777);
				db_state_set(db, "n", &n, sizeof(n));
				db_state_set(db, "text", "", (size_t)0);
				db_process(db, n, n, "p");
				if (db_commit(db, n) || (n == 777 && write(begun[1], "", 1) != 1))
					_exit(1);
			}
		}
		/* From the first commit on: what there is before is no report yet. */
		close(begun[1]);
		assert_int_equal(read(begun[0], &byte, 1), 1);
		close(begun[0]);
		usleep((useconds_t)i * 3517);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_string_equal(ask("PRAGMA integrity_check"), "ok");
		rows = atol(ask("SELECT count(*) FROM OSRT_API"));
		states = atol(ask("SELECT duration FROM ANALYSIS_DETAILS"));
		assert_int_equal(rows, states);
		assert_int_equal(rows % 777, 0);
		assert_int_equal(db_finish(test_open(true), states), 0);
		assert_int_equal(unlink(test_path), 0);
	}
}

/* ---- full disk ---- */

static bool small_disk(const char *options)
{
	return !mount("tmpfs", test_dir, "tmpfs", 0, options);
}

static void fill_disk(const char *name)
{
	char path[160], block[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

static void a_full_disk_costs_rows_only(void **state)
{
	struct db *db;
	char sql[200], path[160];
	int64_t n = 0, lost = 0, early, late;
	int failures = 0;

	(void)state;
	if (!small_disk("size=16m"))
		skip();
	db = test_open(false);
	early = db_string(db, "early", 5);
	while (!failures) {
		int64_t before = n;
		int err;

		add_calls(db, &n, 20000);
		err = db_commit(db, n);
		if (err) {
			assert_int_equal(err, -ENOSPC);
			assert_int_equal(db_pending(db), 0);
			lost += n - before;
			failures++;
		}
		assert_true(n < 10000000);
	}
	/* Readable at once, and consistent. */
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	snprintf(sql, sizeof(sql), "SELECT count(*) = %lld FROM OSRT_API", (long long)(n - lost));
	assert_string_equal(ask(sql), "1");
	fill_disk("other-data");
	late = db_string(db, "late", 4);
	assert_int_equal(db_process(db, 1, 1, "kept"), 0);
	add_calls(db, &n, 20000);
	assert_int_equal(db_commit(db, n), -ENOSPC);
	lost += 20000;
	/* Room again: goes on, and nothing but those rows is missing. */
	snprintf(path, sizeof(path), "%s/other-data", test_dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mount(NULL, test_dir, NULL, MS_REMOUNT, "size=64m"), 0);
	add_calls(db, &n, 20000);
	assert_int_equal(db_commit(db, n), 0);
	assert_int_equal(db_string(db, "early", 5), early);
	assert_int_equal(db_string(db, "late", 4), late);
	assert_int_equal(db_finish(db, n), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) = %lld FROM OSRT_API JOIN StringIds ON id = nameId WHERE "
		 "value = 'f' || (start / 10)",
		 (long long)(n - lost));
	assert_string_equal(ask(sql), "1");
	snprintf(sql, sizeof(sql), "SELECT value FROM StringIds WHERE id = %lld", (long long)late);
	assert_string_equal(ask(sql), "late");
	assert_string_equal(ask("SELECT name FROM PROCESSES"), "kept");
	test_unmount();
}

/* The disk fills up and stays full: names and totals still get in, the report ends as one file. */
static void a_report_ends_well_on_a_full_disk(void **state)
{
	struct db *db;
	int64_t n = 0, lost = 0;
	char sql[128];
	int err = 0;

	(void)state;
	if (!small_disk("size=24m"))
		skip();
	db = test_open(false);
	for (int i = 0; i < 5; i++) {
		add_calls(db, &n, 2000);
		assert_int_equal(db_commit(db, n), 0);
	}
	fill_disk("other-data");
	while (!err) {
		int64_t before = n;

		add_calls(db, &n, 50000);
		err = db_commit(db, n);
		lost += err ? n - before : 0;
	}
	assert_int_equal(err, -ENOSPC);
	fill_disk("other-data"); /* nothing the report gave back is left for it */
	assert_int_equal(db_process(db, 1, 1, "kept"), 0);
	assert_int_equal(db_lost(db, 1, 2, DB_NULL, "disk full", lost), 0);
	assert_int_equal(db_finish(db, n), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	snprintf(sql, sizeof(sql), "SELECT count(*) = %lld FROM OSRT_API", (long long)(n - lost));
	assert_string_equal(ask(sql), "1");
	assert_string_equal(ask("SELECT name FROM PROCESSES"), "kept");
	snprintf(sql, sizeof(sql), "SELECT count = %lld FROM SL_LOST_EVENTS", (long long)lost);
	assert_string_equal(ask(sql), "1");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "1");
	test_unmount();
}

static void the_end_fits_into_the_ballast(void **state)
{
	struct db *db;
	int64_t n = 0;

	(void)state;
	if (!small_disk("size=24m"))
		skip();
	db = test_open(false);
	add_calls(db, &n, 2000);
	assert_int_equal(db_commit(db, n), 0);
	fill_disk("other-data");
	assert_int_equal(db_process(db, 1, 1, "kept"), 0);
	add_calls(db, &n, 400000);
	assert_int_equal(db_finish(db, n), -ENOSPC);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_API"), "2000");
	assert_string_equal(ask("SELECT name FROM PROCESSES"), "kept");
	assert_string_equal(ask("SELECT count FROM SL_LOST_EVENTS"), "400000");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "1");
	assert_int_equal(size_of("-wal"), -1);
	test_unmount();
}

static void no_room_for_a_report_at_all(void **state)
{
	struct db_open how = {.path = test_path};
	char why[256] = "";

	(void)state;
	if (!small_disk("size=64k"))
		skip();
	assert_null(db_open(&how, why, sizeof(why)));
	if (!strstr(why, "no room on the disk"))
		fail_msg("%s", why);
	assert_int_equal(access(test_path, F_OK), -1); /* nothing half-made is left */
	test_unmount();
}

static int unmount_and_clean(void **state)
{
	umount2(test_dir, MNT_DETACH); /* still mounted when a test failed */
	return test_teardown(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, unmount_and_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(readers_and_writer_do_not_disturb_each_other),
		T(a_stuck_reader_stalls_no_writer),
		T(the_log_is_bounded),
		T(a_killed_writer_can_be_resumed),
		T(killed_at_any_moment),
		T(a_full_disk_costs_rows_only),
		T(a_report_ends_well_on_a_full_disk),
		T(the_end_fits_into_the_ballast),
		T(no_room_for_a_report_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
