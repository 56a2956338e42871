/* plain_file.c - of what a traced program names plain files are opened, and nothing else, not even for a moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/plain_file.h"
#include "collector/report/plain_sqlite.h"
#include "collector/symbols/symbols_internal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sightline-test.XXXXXX", file[64], to_file[64], pipe_name[64];

static int setup(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(to_file, sizeof(to_file), "%s/link", dir);
	snprintf(pipe_name, sizeof(pipe_name), "%s/pipe", dir);
	f = fopen(file, "we");
	return !f || fputs("text", f) < 0 || fclose(f) || symlink("file", to_file) ||
	       mkfifo(pipe_name, 0600);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file) || unlink(to_file) || unlink(pipe_name) || rmdir(dir);
}

static bool opens(const char *path, bool follow)
{
	struct stat st;
	int fd = plain_file_open(path, follow, &st);
	char text[8];

	if (fd < 0)
		return false;
	assert_int_equal(read(fd, text, sizeof(text)), st.st_size);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	return true;
}

static void plain_files_open(void **state)
{
	(void)state;
	assert_true(opens(file, true));
	assert_true(opens(file, false));
	assert_true(opens(to_file, true));
	assert_false(opens(to_file, false));
	assert_false(opens("/dev/null", true));
	assert_false(opens(pipe_name, true));
	assert_false(opens(dir, true));
	assert_false(opens("/none", true));
}

static int rows(const char *path, int flags)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, flags, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return rc;
}

/* A file in a folder that is open already: a link is none, even where links may be followed. */
static void no_link_leads_out_of_a_folder_that_is_open(void **state)
{
	char path[80], link[80], database[80], to_database[80], other[100];
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sqlite3 *db;

	(void)state;
	plain_files_for_sqlite();
	snprintf(path, sizeof(path), "/proc/self/fd/%d/file", folder);
	snprintf(link, sizeof(link), "/proc/self/fd/%d/link", folder);
	assert_true(opens(path, true));
	assert_false(opens(link, true));
	assert_true(plain_file_is_in_folder("/proc/self/fd/3/a"));
	assert_false(plain_file_is_in_folder("/proc/self/fd/3"));
	assert_false(plain_file_is_in_folder("/proc/self/fd/3/"));
	assert_false(plain_file_is_in_folder("/proc/self/fd/3/a/b"));
	assert_false(plain_file_is_in_folder("/proc/self/fd//a"));
	assert_false(plain_file_is_in_folder("/proc/self/fd/x/a"));

	snprintf(other, sizeof(other), "%s/db", dir);
	snprintf(database, sizeof(database), "/proc/self/fd/%d/db", folder);
	snprintf(to_database, sizeof(to_database), "/proc/self/fd/%d/to", folder);
	assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(a)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(symlinkat("db", folder, "to"), 0);
	assert_int_equal(rows(database, SQLITE_OPEN_READONLY), SQLITE_ROW);
	assert_int_not_equal(rows(to_database, SQLITE_OPEN_READONLY), SQLITE_ROW);
	assert_int_equal(unlink(other) | unlinkat(folder, "to", 0), 0);
	close(folder);
}

static void names_of_the_same_plain_file_are_known(void **state)
{
	char hard[80], copy[80];

	(void)state;
	snprintf(hard, sizeof(hard), "%s.hard", file);
	snprintf(copy, sizeof(copy), "%s.copy", file);
	assert_int_equal(link(file, hard), 0);
	close(open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_true(plain_file_is_same(file, file));
	assert_true(plain_file_is_same(to_file, file));
	assert_true(plain_file_is_same(file, hard));
	assert_false(plain_file_is_same(file, copy));
	assert_false(plain_file_is_same(file, "/none"));
	assert_false(plain_file_is_same("/none", file));
	assert_false(plain_file_is_same("/none", "/none"));
	assert_false(plain_file_is_same(pipe_name, pipe_name));
	assert_false(plain_file_is_same(dir, dir));
	assert_int_equal(unlink(hard) | unlink(copy), 0);
}

/* The kernel reports each opening of the pipe, as of a device. */
static void pipes_and_devices_are_not_opened(void **state)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	struct inotify_event event;
	struct elf_image e;

	(void)state;
	if (watch < 0)
		skip();
	assert_true(inotify_add_watch(watch, pipe_name, IN_OPEN) >= 0);
	assert_false(elf_image_open(&e, pipe_name));
	assert_int_equal(symbols_at(s, symbols_module(s, pipe_name, NULL, 0), 0x1000, &frame, 1),
			 0);
	symbols_close(s);
	assert_true(read(watch, &event, sizeof(event)) < 0);
	close(watch);
}

/* A pipe would be waited for, were it opened. */
static void sqlite_opens_plain_files_alone(void **state)
{
	char path[80], beside[96], to_path[96];
	sqlite3 *db;

	(void)state;
	plain_files_for_sqlite();
	snprintf(path, sizeof(path), "%s.sqlite", file);
	snprintf(beside, sizeof(beside), "%s-journal", path);
	snprintf(to_path, sizeof(to_path), "%s.to", path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(a); INSERT INTO t VALUES(random())", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(symlink(path, to_path), 0);
	assert_int_equal(rows(path, SQLITE_OPEN_READONLY), SQLITE_ROW);
	assert_int_equal(rows(path, SQLITE_OPEN_READWRITE), SQLITE_ROW);
	assert_int_equal(rows(to_path, SQLITE_OPEN_READONLY), SQLITE_ROW);
	assert_int_equal(rows(to_path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW),
			 SQLITE_CANTOPEN);
	assert_int_equal(rows(pipe_name, SQLITE_OPEN_READONLY), SQLITE_CANTOPEN);
	assert_int_equal(rows("/dev/zero", SQLITE_OPEN_READONLY), SQLITE_CANTOPEN);
	assert_int_equal(mkfifo(beside, 0600), 0);
	assert_int_not_equal(rows(path, SQLITE_OPEN_READONLY), SQLITE_ROW);
	assert_int_not_equal(rows(path, SQLITE_OPEN_READWRITE), SQLITE_ROW);
	assert_int_equal(unlink(beside) | unlink(path) | unlink(to_path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_files_open),
		cmocka_unit_test(no_link_leads_out_of_a_folder_that_is_open),
		cmocka_unit_test(names_of_the_same_plain_file_are_known),
		cmocka_unit_test(sqlite_opens_plain_files_alone),
		cmocka_unit_test(pipes_and_devices_are_not_opened),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
