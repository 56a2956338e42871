/* scope.c - a refusal to trace names the rule and the remedy, by stand-ins for the file of Yama. */
#include "collector/inject/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What is answered where the file has @text; NULL: there is none. */
static const char *answer(const char *text)
{
	static char why[512];
	char path[] = "/tmp/scope.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	if (text)
		assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	else
		unlink(path);
	close(fd);
	memset(why, 0, sizeof(why));
	scope_explain(path, 4711, why, sizeof(why));
	unlink(path);
	assert_null(strchr(why, '\n'));
	assert_int_equal(strncmp(why, "not permitted: ", 15), 0);
	return why;
}

static void another_users_process_needs_root(void **state)
{
	static const char *const texts[] = {NULL, "0\n", "", "x"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_non_null(strstr(answer(texts[i]), "process 4711 is another user's"));
		assert_non_null(strstr(answer(texts[i]), "use sudo"));
	}
}

static void a_restricted_scope_can_be_lifted(void **state)
{
	(void)state;
	assert_non_null(strstr(answer("1\n"), "ptrace_scope is 1"));
	assert_non_null(strstr(answer("1\n"), "sudo sysctl kernel.yama.ptrace_scope=0"));
}

static void scope_of_the_administrator_needs_root(void **state)
{
	(void)state;
	assert_non_null(strstr(answer("2\n"), "ptrace_scope is 2: use sudo"));
	assert_null(strstr(answer("2\n"), "sysctl"));
}

static void a_scope_without_tracing_has_no_remedy_but_profile(void **state)
{
	(void)state;
	assert_non_null(strstr(answer("3\n"), "ptrace_scope is 3"));
	assert_non_null(strstr(answer("3\n"), "start process 4711 under 'sightline profile'"));
	assert_null(strstr(answer("3\n"), "sudo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_users_process_needs_root),
		cmocka_unit_test(a_restricted_scope_can_be_lifted),
		cmocka_unit_test(scope_of_the_administrator_needs_root),
		cmocka_unit_test(a_scope_without_tracing_has_no_remedy_but_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
