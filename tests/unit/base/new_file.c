/* new_file.c - files written aside: whole under their name, or not there; over another one, or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/new_file.XXXXXX";

static int in_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_all(void **state)
{
	DIR *d = opendir(folder);

	(void)state;
	for (struct dirent *e; (e = readdir(d));)
		unlink(e->d_name);
	closedir(d);
	return rmdir(folder);
}

static int files(void)
{
	DIR *d = opendir(folder);
	int cnt = 0;

	for (struct dirent *e; (e = readdir(d));)
		cnt += e->d_name[0] != '.';
	closedir(d);
	return cnt;
}

static void assert_holds(const char *name, const char *text)
{
	char got[64] = "";
	int fd = open(name, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, text);
}

static char *write_aside(const char *name, const char *text)
{
	char *temp;
	int fd = new_file_open(name, &temp);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return temp;
}

static void a_file_has_its_name_when_it_is_placed(void **state)
{
	struct stat st;
	mode_t mask = umask(027);
	char *temp = write_aside("a", "one");

	(void)state;
	umask(mask);
	assert_int_equal(access("a", F_OK), -1);
	assert_int_equal(new_file_place(temp, "a", false), 0);
	assert_holds("a", "one");
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(files(), 1);
	free(temp);
}

static void another_file_is_replaced_only_where_that_is_asked_for(void **state)
{
	char *temp = write_aside("a", "two");

	(void)state;
	assert_int_equal(new_file_place(temp, "a", false), -EEXIST);
	assert_holds("a", "one");
	assert_int_equal(new_file_place(temp, "a", true), 0);
	assert_holds("a", "two");
	assert_int_equal(files(), 1);
	free(temp);
}

static void a_folder_that_is_not_there_is_an_error_without_a_name(void **state)
{
	char *temp;

	(void)state;
	assert_int_equal(new_file_open("none/a", &temp), -ENOENT);
	assert_null(temp);
}

static void a_text_replaces_the_remains_of_an_earlier_try(void **state)
{
	int fd = open(folder, O_DIRECTORY | O_PATH);

	(void)state;
	free(write_aside("b", "left"));
	assert_int_equal(symlink("a", ".b"), 0);
	assert_int_equal(new_file_text(fd, "b", ".b", "three", 0644), 0);
	assert_holds("b", "three");
	assert_holds("a", "two"); /* where the link led to */
	assert_int_equal(access(".b", F_OK), -1);
	assert_int_equal(new_file_text(fd, "none/b", ".b", "four", 0644), -ENOENT);
	assert_int_equal(access(".b", F_OK), -1);
	close(fd);
}

/* Nor is a link to it; a link to a file is. */
static void only_a_plain_file_is_replaced(void **state)
{
	char *temp = write_aside("plain", "text");
	struct stat st;
	char *none;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600) | symlink("pipe", "to_pipe") | mkdir("sub", 0700), 0);
	assert_int_equal(symlink("a", "to_a"), 0);
	assert_int_equal(new_file_open("pipe", &none), -ENOTSUP);
	assert_null(none);
	assert_int_equal(new_file_open("to_pipe", &none), -ENOTSUP);
	assert_int_equal(new_file_open("sub", &none), -EISDIR);
	assert_int_equal(new_file_place(temp, "pipe", true), -ENOTSUP);
	assert_int_equal(new_file_place(temp, "to_pipe", true), -ENOTSUP);
	assert_int_equal(new_file_place(temp, "sub", true), -EISDIR);
	assert_int_equal(lstat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(lstat("to_pipe", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_string_equal(new_file_error(-ENOTSUP), "it is no plain file");
	assert_string_equal(new_file_error(-ENOENT), strerror(ENOENT));
	assert_int_equal(new_file_place(temp, "to_a", true), 0);
	assert_holds("to_a", "text");
	assert_int_equal(lstat("to_a", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(rmdir("sub"), 0);
	free(temp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_its_name_when_it_is_placed),
		cmocka_unit_test(another_file_is_replaced_only_where_that_is_asked_for),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error_without_a_name),
		cmocka_unit_test(only_a_plain_file_is_replaced),
		cmocka_unit_test(a_text_replaces_the_remains_of_an_earlier_try),
	};

	return cmocka_run_group_tests(tests, in_folder, remove_all);
}
