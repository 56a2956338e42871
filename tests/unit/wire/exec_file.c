/* exec_file.c - which programs are dynamic loaders, and their arguments up to those of another program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "preload/wire/exec_file.h"

static void loaders_are_known_by_their_names(void **state)
{
	(void)state;
	assert_true(sl_exec_is_loader("/lib64/ld-linux-x86-64.so.2"));
	assert_true(sl_exec_is_loader("/lib/ld-2.31.so"));
	assert_true(sl_exec_is_loader("ld.so"));
	assert_true(sl_exec_is_loader("/lib/ld-musl-x86_64.so.1"));
	assert_false(sl_exec_is_loader("/usr/bin/ld"));
	assert_false(sl_exec_is_loader("/opt/ld-tools/run"));
	assert_false(sl_exec_is_loader(""));
}

static void arguments_of_a_loader_end_with_the_program(void **state)
{
	(void)state;
	assert_int_equal(sl_exec_loader_word("--list"), SL_LOADER_LISTS);
	assert_int_equal(sl_exec_loader_word("--list-tunables"), SL_LOADER_OPTION);
	assert_int_equal(sl_exec_loader_word("--inhibit-cache"), SL_LOADER_OPTION);
	assert_int_equal(sl_exec_loader_word("--library-path=/lib"), SL_LOADER_OPTION);
	assert_int_equal(sl_exec_loader_word("--library-path"), SL_LOADER_VALUE);
	assert_int_equal(sl_exec_loader_word("--glibc-hwcaps-prepend"), SL_LOADER_VALUE);
	assert_int_equal(sl_exec_loader_word("/bin/ls"), SL_LOADER_END);
	assert_int_equal(sl_exec_loader_word("-l"), SL_LOADER_END);
	assert_int_equal(sl_exec_loader_word(""), SL_LOADER_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaders_are_known_by_their_names),
		cmocka_unit_test(arguments_of_a_loader_end_with_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
