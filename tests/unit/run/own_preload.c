/* own_preload.c - the values of LD_PRELOAD that the command leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/run/own_preload.h"

static void a_list_without_libraries_is_not_left(void **state)
{
	(void)state;
	assert_false(own_preload_is_foreign(NULL));
	assert_false(own_preload_is_foreign(""));
	assert_false(own_preload_is_foreign(": :"));
}

static void foreign_libraries_are_left(void **state)
{
	(void)state;
	assert_true(own_preload_is_foreign("libsocket_wrapper.so"));
	assert_true(own_preload_is_foreign(" /usr/lib/libefence.so:/usr/lib/libeatmydata.so"));
}

static void the_command_can_be_traced(void **state)
{
	(void)state;
	assert_false(own_preload_is_foreign("/opt/lib/libtrace.so"));
	assert_false(own_preload_is_foreign("libother.so:/opt/lib/libtrace.so"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_without_libraries_is_not_left),
		cmocka_unit_test(foreign_libraries_are_left),
		cmocka_unit_test(the_command_can_be_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
