/* ranks_report_place.c - paths of reports that a dataset names: which of them are opened. */
#include "ranks_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/ranks/manifests.h"
#include "exporters/ranks/spans/report_place.h"

static char path[4200];

/* "" where it may be opened, else the reason. */
static const char *reason(const char *name, int64_t bytes)
{
	char *opened;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	opened = report_place_check(test_dir, *name == '/' || !*name ? name : path, "g077", bytes,
				    why, sizeof(why));
	if (opened)
		assert_string_equal(opened, path);
	free(opened);
	return opened ? "" : why;
}

static void make(const char *name)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("12345", f);
	fclose(f);
}

static void a_plain_file_of_the_size_is_opened(void **state)
{
	(void)state;
	make("r.sqlite");
	assert_string_equal(reason("r.sqlite", 5), "");
	assert_string_equal(reason("r.sqlite", 0), "");
	assert_non_null(strstr(reason("r.sqlite", 6), "another file than the one that was added"));
}

static void what_is_no_plain_file_is_not_here(void **state)
{
	char to[4200];

	(void)state;
	make("r.sqlite");
	snprintf(to, sizeof(to), "%s/link.sqlite", test_dir);
	assert_int_equal(symlink(path, to), 0);
	assert_non_null(strstr(reason("link.sqlite", 5), "is not here: g077:/"));
	snprintf(to, sizeof(to), "%s/fifo", test_dir);
	assert_int_equal(mkfifo(to, 0600), 0);
	assert_non_null(strstr(reason("fifo", 5), "is not here"));
	assert_non_null(strstr(reason("none", 5), "is not here"));
	assert_non_null(strstr(reason("/", 5), "does not have the path"));
	assert_non_null(strstr(reason("", 5), "does not have the path"));
	unlink(to);
}

static void names_that_upset_a_terminal_are_none(void **state)
{
	(void)state;
	assert_null(report_place_check(test_dir, "/tmp/\x1b[2J", "h", 0, why, sizeof(why)));
	assert_null(strchr(why, '\x1b'));
	assert_null(report_place_check(test_dir, "relative", "h", 0, why, sizeof(why)));
	assert_null(report_place_check(test_dir, "/nowhere/x", "\x1b[2J", 0, why, sizeof(why)));
	assert_null(strchr(why, '\x1b'));
	assert_null(report_place_check(test_dir, NULL, NULL, 0, why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plain_file_of_the_size_is_opened),
		TEST(what_is_no_plain_file_is_not_here),
		TEST(names_that_upset_a_terminal_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
