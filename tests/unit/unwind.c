/*
 * unwind.c - native stacks against what is known of them: functions that note where they return to (stack_cases.c), and
 * glibc's own backtrace().
 */
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/lib/stack_cases.h"

static uint64_t frames[SL_FRAME_MAX + 1];
static unsigned frame_cnt, depth_asked = SL_FRAME_MAX;
static void *theirs[SL_FRAME_MAX];
static int their_cnt;

static void probe(void)
{
	unsigned fresh = 0;

	NOTE();
	frame_cnt = shim_unwind(frames, SL_FRAME_MAX + 1, depth_asked, &fresh);
	__asm__ volatile("" ::: "memory");
	their_cnt = backtrace(theirs, SL_FRAME_MAX);
}

__attribute__((noinline)) static void run(void (*function)(int), int arg)
{
	truth.cnt = 0;
	truth.probe = probe;
	function(arg);
	__asm__ volatile("" ::: "memory");
}

/* The innermost frame is the return address in probe(); what was noted follows. */
static void assert_noted(void)
{
	for (unsigned i = 0; i < truth.cnt; i++)
		assert_int_equal(frames[i + 1], truth.address[truth.cnt - 1 - i]);
}

/* backtrace() has the function itself in front, at another place; all else is the same. */
static void assert_like_glibc(void)
{
	assert_int_equal(frame_cnt, their_cnt);
	for (int i = 1; i < their_cnt; i++)
		assert_int_equal(frames[i], (uint64_t)theirs[i]);
}

static void check(void (*function)(int), int arg)
{
	for (int i = 0; i < 2; i++) { /* the second time with rows that are kept */
		run(function, arg);
		assert_noted();
		assert_like_glibc();
	}
}

static void c_functions(void **state)
{
	(void)state;
	check(case_plain, 0);
	check(case_recursion, 1);
	check(case_recursion, 300);
	check(case_alloca, 1000);
	check(case_vla, 100);
	check(case_many_registers, 20);
	check(case_aligned, 1);
	check(case_aligned, 5);
	check(case_noreturn, 0);
}

static void cxx_functions(void **state)
{
	(void)state;
	check(case_virtual, 10);
	check(case_inlined, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(c_functions),
					   cmocka_unit_test(cxx_functions)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
