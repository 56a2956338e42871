/* output_name.c - where the report goes: patterns, numbers, and refusals before anything has run. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/options/output_name.h"

static char folder[] = "/tmp/sightline-name.XXXXXX";
static char why[512], said[512], got[PATH_MAX];

/* The name for @pattern, "" when refused; @why holds the reason; stderr is kept, too. */
static const char *name(const char *pattern, bool overwrite)
{
	struct output_ask ask = {.pattern = pattern, .overwrite = overwrite, .pid = 4711};
	int saved = dup(2), fd = memfd_create("said", 0);
	ssize_t len;
	char *path;

	why[0] = '\0';
	dup2(fd, 2);
	path = output_name(&ask, why, sizeof(why));
	dup2(saved, 2);
	len = pread(fd, said, sizeof(said) - 1, 0);
	said[len > 0 ? len : 0] = '\0';
	close(saved);
	close(fd);
	snprintf(got, sizeof(got), "%s", path ? path : "");
	assert_true((path != NULL) == (why[0] == '\0'));
	free(path);
	return got;
}

static void touch(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY, 0644));
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int tidy(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

static void without_a_name_reports_are_numbered(void **state)
{
	(void)state;
	assert_string_equal(name(NULL, false), "report1.sqlite");
	touch("report1.sqlite");
	touch("report3.sqlite");
	assert_string_equal(name("", false), "report2.sqlite");
	assert_string_equal(name(NULL, true),
			    "report2.sqlite"); /* overwriting is for names that were given */
	touch("report2.sqlite");
	assert_string_equal(name(NULL, false), "report4.sqlite");
}

static void patterns_are_expanded(void **state)
{
	char host[HOST_NAME_MAX + 1] = "", want[300];

	(void)state;
	gethostname(host, sizeof(host) - 1);
	snprintf(want, sizeof(want), "a-%s.4711.sqlite", host);
	assert_string_equal(name("a-%h.%p", false), want);
	setenv("RANK", "7", 1);
	assert_string_equal(name("rank%q{RANK}", false), "rank7.sqlite");
	assert_string_equal(name("100%%", false), "100%.sqlite");
	assert_string_equal(name("n%n-%n", false), "n1-1.sqlite");
	touch("n1-1.sqlite");
	assert_string_equal(name("n%n-%n", false), "n2-2.sqlite");
	assert_string_equal(name("./", false), "./report4.sqlite");
	assert_string_equal(name(".", false), "./report4.sqlite");
	unsetenv("RANK");
}

static void wrong_patterns_are_refused(void **state)
{
	static const char *const wrong[] = {"a%x",  "a%",    "a%q",
					    "a%q{", "a%q{}", "a%q{SIGHTLINE_NOT_SET}"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_string_equal(name(wrong[i], false), "");
	assert_non_null(strstr(why, "SIGHTLINE_NOT_SET, which is not set"));
}

static void the_extension_is_ours(void **state)
{
	(void)state;
	assert_string_equal(name("x", false), "x.sqlite");
	assert_string_equal(said, "");
	assert_string_equal(name("x.sqlite", false), "x.sqlite");
	assert_string_equal(name("x.db", false), "x.db");
	assert_string_equal(name("host.v1", false), "host.v1.sqlite");
	assert_string_equal(name(".sqlite", false), ".sqlite.sqlite");
	assert_string_equal(name("x.nsys-rep", false), "x.sqlite");
	assert_string_equal(said, "sightline: the report is SQLite: it will be 'x.sqlite'\n");
}

static void an_existing_file_is_not_touched_without_force(void **state)
{
	(void)state;
	touch("old.sqlite");
	assert_string_equal(name("old", false), "");
	assert_string_equal(
		why,
		"the report 'old.sqlite' exists (replace it with --force-overwrite=true, or choose "
		"another name with -o)");
	assert_string_equal(name("old", true), "old.sqlite");
	mkdir("dir.sqlite", 0755);
	assert_string_equal(name("dir", true), "");
	assert_non_null(strstr(why, "no regular file"));
	assert_int_equal(symlink("nowhere", "link.sqlite"), 0);
	assert_string_equal(name("link", false),
			    ""); /* a dangling link would be followed by open() */
}

static void a_folder_that_cannot_be_written_is_found_now(void **state)
{
	(void)state;
	assert_string_equal(name("no/such/x", false), "");
	assert_string_equal(
		why, "the folder 'no/such' for the report does not exist (mkdir -p 'no/such')");
	touch("file");
	assert_string_equal(name("file/x", false), "");
	assert_string_equal(name("/proc/x", false), "");
	mkdir("closed", 0555);
	if (geteuid() != 0) {
		assert_string_equal(name("closed/x", false), "");
		assert_non_null(strstr(why, "Permission denied"));
	}
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	static char longer[PATH_MAX + 100];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	assert_string_equal(name(longer, false), "");
	longer[PATH_MAX - 12] = '\0';
	assert_string_equal(name(longer, false), "");
	memset(longer, 'y', 300);
	longer[300] = '\0';
	assert_string_equal(name(longer, false), ""); /* one part beyond what a file system takes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_name_reports_are_numbered),
		cmocka_unit_test(patterns_are_expanded),
		cmocka_unit_test(wrong_patterns_are_refused),
		cmocka_unit_test(the_extension_is_ours),
		cmocka_unit_test(an_existing_file_is_not_touched_without_force),
		cmocka_unit_test(a_folder_that_cannot_be_written_is_found_now),
		cmocka_unit_test(a_name_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tidy);
}
