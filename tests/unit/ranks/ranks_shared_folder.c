/* ranks_shared_folder.c - folders of a dataset by descriptors: made where that is wanted, nothing above them, no link. */
#include "ranks_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "exporters/ranks/store/shared_folder.h"

static int top;

static int setup(void **state)
{
	int rc = test_setup(state);

	top = shared_folder_top(test_dir, false);
	return rc ? rc : top < 0;
}

static int teardown(void **state)
{
	close(top);
	return test_teardown(state);
}

/* The folder's number as that of the path; -errno: it cannot be opened. */
static int64_t open_at(const char *below, bool make)
{
	int fd = shared_folder_at(top, below, make);
	struct stat st;

	if (fd < 0)
		return -errno;
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (int64_t)st.st_ino;
}

static int64_t number_of(const char *below)
{
	struct stat st;

	assert_int_equal(stat(in_dir(below), &st), 0);
	return (int64_t)st.st_ino;
}

static void assert_opens(const char *below, bool make, const char *want)
{
	int64_t got = open_at(below, make);

	assert_int_equal(got, number_of(want));
}

static void folders_are_made_where_that_is_wanted(void **state)
{
	(void)state;
	assert_int_equal(open_at("a", false), -ENOENT);
	assert_int_equal(open_at("a/b/c", false), -ENOENT);
	assert_int_not_equal(access(in_dir("a"), F_OK), 0);
	assert_opens("a/b/c", true, "a/b/c");
	assert_opens("a/b/c", true, "a/b/c");
	assert_opens("a/b", false, "a/b");
	assert_opens("a", false, "a");
	assert_opens("d", true, "d");
	assert_int_equal(open_at("a/b/d", false), -ENOENT);
}

/* Two slashes are one; a path of many parts is none that a dataset has, and works. */
static void unusual_paths_lead_to_the_same_folders(void **state)
{
	char deep[64] = "a";

	(void)state;
	assert_true(open_at("a/b", true) > 0);
	assert_opens("a//b", false, "a/b");
	assert_opens("a/b/", false, "a/b");
	for (size_t i = 0; i < 20; i++)
		strcat(deep, "/b");
	assert_opens(deep, true, deep);
}

static void nothing_above_the_dataset_is_opened(void **state)
{
	(void)state;
	assert_true(open_at("a/b", true) > 0);
	assert_int_equal(open_at("..", false), -EPERM);
	assert_int_equal(open_at("a/..", false), -EPERM);
	assert_int_equal(open_at("a/../..", true), -EPERM);
	assert_int_equal(open_at("a/../c/d", true), -EPERM);
	assert_int_not_equal(access(in_dir("c"), F_OK), 0);
}

static void links_and_files_are_no_folders(void **state)
{
	(void)state;
	assert_true(open_at("a/b", true) > 0);
	assert_int_equal(symlink("a", in_dir("link")), 0);
	assert_int_equal(symlink("b", in_dir("a/link")), 0);
	put_file(in_dir("a/file"), "");
	assert_true(open_at("link", false) < 0);
	assert_true(open_at("link/b", false) < 0);
	assert_true(open_at("link/c", true) < 0);
	assert_true(open_at("a/link", false) < 0);
	assert_true(open_at("a/link/c", true) < 0);
	assert_true(open_at("a/file", true) < 0);
	assert_int_not_equal(access(in_dir("a/c"), F_OK), 0);
	assert_int_not_equal(access(in_dir("a/b/c"), F_OK), 0);
}

/* Write permission to a folder is that to exchange what is in it, but where it is sticky. */
static void folder_that_all_may_change_is_refused(void **state)
{
	static const char *const parts[] = {"a", "a/b", "a/b/c"};

	(void)state;
	assert_true(open_at("a/b/c", true) > 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(chmod(in_dir(parts[i]), 0777), 0);
		assert_int_equal(open_at("a/b/c", false), -EPERM);
		assert_int_equal(open_at("a/b/c", true), -EPERM);
		assert_int_equal(open_at("a", false) < 0, i == 0);
		assert_int_equal(chmod(in_dir(parts[i]), 01777), 0);
		assert_true(open_at("a/b/c", true) > 0);
	}
}

static void dataset_is_made_with_the_folders_above(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(shared_folder_top(in_dir("x/y"), false), -1);
	assert_int_equal(errno, ENOENT);
	fd = shared_folder_top(in_dir("x/y/z"), true);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access(in_dir("x/y/z"), F_OK), 0);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(folders_are_made_where_that_is_wanted),
		FOLDER_TEST(unusual_paths_lead_to_the_same_folders),
		FOLDER_TEST(nothing_above_the_dataset_is_opened),
		FOLDER_TEST(links_and_files_are_no_folders),
		FOLDER_TEST(folder_that_all_may_change_is_refused),
		FOLDER_TEST(dataset_is_made_with_the_folders_above),
	};

	return cmocka_run_group_tests_name("ranks_shared_folder", tests, NULL, NULL);
}
