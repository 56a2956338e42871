/* db_open.c - which files the report's writer takes, replaces and refuses. */
#include "tests/unit/report/db_test.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "collector/base/report_watch.h"

/* Opens and expects a refusal whose reason holds @want. */
static void refused(const char *path, bool overwrite, bool resume, const char *want)
{
	struct db_open how = {.path = path, .overwrite = overwrite, .resume = resume};
	char why[256] = "";
	struct db *db = db_open(&how, why, sizeof(why));

	if (db)
		fail_msg("%s was opened", path);
	if (!strstr(why, want) || strncmp(why, path, strlen(path)) != 0 || strchr(why, '\n'))
		fail_msg("'%s' does not say '%s'", why, want);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void what_is_there_is_not_lost(void **state)
{
	struct db_open how = {.path = test_path, .overwrite = true, .is_next = true};
	char path[160], why[256], content[16] = "";
	struct db *db;
	FILE *f;

	(void)state;
	write_text(test_path, "precious");
	refused(test_path, false, false, "exists already");
	f = fopen(test_path, "r");
	assert_non_null(f);
	assert_non_null(fgets(content, sizeof(content), f));
	fclose(f);
	assert_string_equal(content, "precious");
	snprintf(path, sizeof(path), "%s-wal",
		 test_path); /* left over: must not be taken for ours */
	write_text(path, "junk");
	/* Made since this process began: a rank beside it has the same name. */
	refused(test_path, true, false, "is of another run that began with this one");
	db = db_open(&how, why, sizeof(why));
	assert_non_null(db);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	refused(test_dir, true, false, "is a directory");
	snprintf(path, sizeof(path), "%s/none/x.sqlite", test_dir);
	refused(path, false, false, "No such file");
	snprintf(path, sizeof(path), "%s/x.sqlite", test_path);
	refused(path, false, false, "Not a directory");
	snprintf(path, sizeof(path), "%s/link", test_dir);
	assert_int_equal(symlink("nowhere", path), 0);
	refused(path, true, false, "is no regular file");
	snprintf(path, sizeof(path), "%s/fifo", test_dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(path, true, false, "is no regular file");
	refused(path, false, false, "exists already");
	refused("/proc/x.sqlite", false, false, "/proc/x.sqlite: ");
}

static void only_unfinished_reports_are_resumed(void **state)
{
	char path[160];

	(void)state;
	refused(test_path, false, true, "No such file");
	write_text(test_path, "this is no database, though it is long enough to look at: "
			      "................................................................");
	refused(test_path, false, true, "no SQLite database");
	assert_int_equal(unlink(test_path), 0);
	assert_string_equal(ask_file(test_dir, "SELECT 1"), "error: unable to open database file");
	refused(test_dir, false, true, "no regular file");
	assert_int_equal(db_finish(test_open(false), 0), 0);
	refused(test_path, false, true, "complete already");
	snprintf(path, sizeof(path), "%s/foreign.sqlite", test_dir);
	write_text(path, "");
	assert_string_equal(ask_file(path, "CREATE TABLE t(a)"), "(none)");
	refused(path, false, true, "not written by Sightline");
	assert_string_equal(
		ask("UPDATE META_DATA_EXPORT SET value = '0' WHERE name = 'SL_COMPLETE'"),
		"(none)");
	assert_string_equal(ask("UPDATE META_DATA_EXPORT SET value = '0.0' WHERE name = "
				"'EXPORT_PRODUCT_VERSION'"),
			    "(none)");
	refused(test_path, false, true, "another version");
}

static void odd_names_are_names(void **state)
{
	struct db_open how = {.path = "file:odd?mode=memory"};
	char why[256], *cwd = getcwd(NULL, 0);
	struct db *db;

	(void)state;
	assert_int_equal(chdir(test_dir), 0);
	db = db_open(&how, why, sizeof(why));
	assert_non_null(db);
	assert_int_equal(db_finish(db, 0), 0);
	assert_int_equal(access("file:odd?mode=memory", R_OK), 0);
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
}

static void reports_in_forbidden_places_are_refused(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(test_dir, 0755), 0);
	pid = fork();
	if (!pid) { /* another user, for root is forbidden nothing */
		struct db_open how = {.path = test_path};
		char why[256] = "";

		if (setgid(65534) || setuid(65534) || db_open(&how, why, sizeof(why)))
			_exit(1);
		_exit(strstr(why, "Permission denied") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (mount("tmpfs", test_dir, "tmpfs", MS_RDONLY, NULL))
		skip();
	refused(test_path, true, false, "Read-only file system");
	test_unmount();
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* A report whose collector was killed has a log, which its user left behind. */
static void a_log_of_another_report_is_not_taken(void **state)
{
	struct db *old = test_open(false), *db;

	(void)state;
	assert_int_equal(db_meta_capture(old, "whose", "theirs"), 0);
	assert_int_equal(db_commit(old, 0), 0);
	assert_int_equal(unlink(test_path), 0);
	db = test_open(false);
	assert_int_equal(db_finish(db, 0), 0);
	db_abandon(old);
	assert_string_equal(ask("SELECT value FROM META_DATA_CAPTURE WHERE name = 'whose'"),
			    "(none)");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

/* A reader's lock, and that of a process that follows the report, which outlives other descriptors of the file. */
static void a_process_that_reads_is_seen(void **state)
{
	struct db *db = test_open(false);
	struct flock l = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = REPORT_WATCH_AT, .l_len = 1};
	int go[2], done[2], fd;
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(db_commit(db, 0), 0);
	assert_false(db_is_read(db));
	assert_int_equal(pipe(go) | pipe(done), 0);
	pid = fork();
	if (!pid) {
		fd = open(test_path, O_RDONLY);
		c = fcntl(fd, F_OFD_SETLK, &l) == 0 && close(open(test_path, O_RDONLY)) == 0 ? 'y'
											     : 'n';
		_exit(write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1);
	}
	assert_int_equal(read(done[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	assert_true(db_is_read(db));
	assert_int_equal(write(go[1], "e", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(db_is_read(db));
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
	assert_int_equal(db_finish(db, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_there_is_not_lost),
		T(only_unfinished_reports_are_resumed),
		T(odd_names_are_names),
		T(reports_in_forbidden_places_are_refused),
		T(a_log_of_another_report_is_not_taken),
		T(a_process_that_reads_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
