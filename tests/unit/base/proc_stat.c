/* proc_stat.c - lines as the kernel writes them, with names that look like their ends. */
#include "collector/base/proc_stat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Fields 4 to 52 behind the state. */
#define REST                                                                                 \
	" 41 42 43 34816 45 4194304 47 48 49 50 61 62 63 64 20 0 1 0 777 71 72 73 74 75 76 " \
	"77 78 79 80 81 82 83 84 85 17 87 88 89 90 91 92 93 94 95 96 97 98 99 9"

static void fields_are_those_of_the_manual(void **state)
{
	struct proc_stat s;

	(void)state;
	assert_true(proc_stat_parse("4711 (prog) S" REST "\n", &s));
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.parent, 41);
	assert_int_equal(s.terminal, 34816);
	assert_int_equal(s.flags, 4194304);
	assert_int_equal(s.user, 61);
	assert_int_equal(s.system, 62);
	assert_int_equal(s.start, 777);
	assert_int_equal(s.exit_code, 9);
}

static void names_hold_anything(void **state)
{
	static const char *const names[] = {"",   " ",     "a b",        ") Z 1 2",
					    "((", "))) (", "a) R 5 6 7)"};
	char line[512];
	struct proc_stat s;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(line, sizeof(line), "1 (%s) T" REST, names[i]);
		assert_true(proc_stat_parse(line, &s));
		assert_int_equal(s.state, 'T');
		assert_int_equal(s.parent, 41);
		assert_int_equal(s.exit_code, 9);
	}
}

static void negative_numbers_keep_their_sign(void **state)
{
	struct proc_stat s;

	(void)state;
	assert_true(proc_stat_parse("1 (a) R 0 -1 -1 -1 -1 0 1 1 1 1 5 6 0 0 -2 0 1 0 9", &s));
	assert_int_equal(s.terminal, -1);
	assert_int_equal(s.user, 5);
	assert_int_equal(s.start, 9);
	assert_int_equal(s.exit_code, -1);
}

static void lines_that_are_cut_are_refused(void **state)
{
	static const char *const lines[] = {"",
					    "1 (a",
					    "1 (a)",
					    "1 (a) ",
					    "1 (a) R",
					    "1 (a) R ",
					    "1 (a) R 1 2 3",
					    "1 (a) R 0 -1 -1 -1 -1 0 1 1 1 1 5 6 0 0 -2 0 1 0",
					    "1 (a)R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"};
	struct proc_stat s;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(proc_stat_parse(lines[i], &s));
}

static void processes_and_threads_are_read(void **state)
{
	struct proc_stat s;

	(void)state;
	prctl(PR_SET_NAME, ") Z 1 (");
	assert_true(proc_stat_read((uint32_t)getpid(), 0, &s));
	assert_int_equal(s.state, 'R');
	assert_int_equal(s.parent, getppid());
	assert_true(proc_stat_read((uint32_t)getpid(), (uint32_t)gettid(), &s));
	assert_int_equal(s.state, 'R');
	errno = 0;
	assert_false(proc_stat_read(4194304, 0, &s));
	assert_int_equal(errno, ENOENT);
}

static void zombies_have_their_status(void **state)
{
	siginfo_t info;
	struct proc_stat s;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(3);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_stat_read((uint32_t)pid, 0, &s));
	assert_int_equal(s.state, 'Z');
	assert_int_equal(s.exit_code, 3 << 8);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_those_of_the_manual),
		cmocka_unit_test(names_hold_anything),
		cmocka_unit_test(negative_numbers_keep_their_sign),
		cmocka_unit_test(lines_that_are_cut_are_refused),
		cmocka_unit_test(processes_and_threads_are_read),
		cmocka_unit_test(zombies_have_their_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
