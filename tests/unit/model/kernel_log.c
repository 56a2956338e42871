/* kernel_log.c - lines of the kernel's log that name a process, and those that only look like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "collector/model/kernel_log.h"

static void lines_that_name_a_process(void **state)
{
	(void)state;
	assert_true(kernel_log_names("a.out[4711]: segfault at 0 ip 0000560a", 4711));
	assert_true(kernel_log_names("traps: a.out[4711] trap divide error ip:55", 4711));
	assert_true(kernel_log_names("Out of memory: Killed process 4711 (python3) total-vm:1kB",
				     4711));
	assert_true(kernel_log_names("oom-kill:constraint=CONSTRAINT_MEMCG,task=a,pid=4711,uid=0",
				     4711));
	assert_true(kernel_log_names("x 4711 y process 4711 z", 4711));
}

static void lines_that_have_the_number_otherwise(void **state)
{
	(void)state;
	assert_false(kernel_log_names("a.out[47110]: segfault", 4711));
	assert_false(kernel_log_names("a.out[14711]: segfault", 4711));
	assert_false(kernel_log_names("a.out[4711,55bbfb365000+1000]", 4711));
	assert_false(kernel_log_names("error 4711", 4711));
	assert_false(kernel_log_names("EXT4-fs: 4711 blocks", 4711));
	assert_false(kernel_log_names("", 4711));
}

static void records(void **state)
{
	char good[] = "6,339,5140900,-;a.out[17]: segfault\x1b[2J at 0\n SUBSYSTEM=x\n",
	     old[] = "6,339,5140900,-;a.out[17]: x\n", bad[] = "nothing",
	     odd[] = "6,x,y,-;a.out[17]\n", large[] = "6,1,99999999999999999999,-;x\n";

	(void)state;
	assert_string_equal(kernel_log_text(good, 5140900000), "a.out[17]: segfault?[2J at 0");
	assert_null(kernel_log_text(old, 5140900001));
	assert_null(kernel_log_text(bad, 0));
	assert_null(kernel_log_text(odd, 0));
	assert_null(kernel_log_text(large, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_name_a_process),
		cmocka_unit_test(lines_that_have_the_number_otherwise),
		cmocka_unit_test(records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
