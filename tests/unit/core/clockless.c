/* clockless.c - the clock of a thread: stopped, restarted, and kept by what fails and by a child that shares memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "preload/core/clockless.c" /* NOLINT(bugprone-suspicious-include) */

#include <cmocka.h>

/* ---- in place of the rest of the tracer ---- */

struct sl_global sl_global;
struct sl_proc sl_proc;
__thread struct sl_tls sl_tls;

uint64_t sl_slow_ticks(void)
{
	return 7;
}

bool sl_seccomp_kills_getpid(void)
{
	return false;
}

static void a_clock_stops_and_runs_again(void **state)
{
	(void)state;
	assert_int_equal(sl_clock_change(SYS_prctl, PR_SET_NAME, 1), SL_CLOCK_KEPT);
	assert_int_equal(sl_clock_change(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0), SL_CLOCK_KEPT);
	assert_int_equal(sl_clock_change(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER),
			 SL_CLOCK_KEPT);
	assert_int_equal(sl_clock_change(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV), SL_CLOCK_STOPPED);
	assert_int_equal(sl_clock_change(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE), SL_CLOCK_RESTARTED);
	sl_proc.clock_mode = SL_CLOCK_MONO;
	assert_int_equal(sl_clock_change(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0),
			 SL_CLOCK_STOPPED);
	assert_int_equal(sl_clock_change(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT),
			 SL_CLOCK_STOPPED);

	for (uint32_t mode = SL_CLOCK_MONO; mode <= SL_CLOCK_TSC; mode++) {
		uint32_t depth = mode == SL_CLOCK_MONO ? SL_DEPTH_MONO : 0;

		sl_proc.clock_mode = mode;
		sl_tls.depth = depth;
		assert_true(sl_clock_before(SL_CLOCK_STOPPED));
		sl_clock_after(SL_CLOCK_STOPPED, true, true);
		assert_false(sl_tls.clockless_since || sl_tls.busy || sl_tls.depth != depth);

		assert_true(sl_clock_before(SL_CLOCK_STOPPED));
		sl_clock_after(SL_CLOCK_STOPPED, true, false);
		assert_true(sl_tls.clockless_since && sl_tls.busy && sl_tls.depth & SL_DEPTH_MONO);
		assert_false(sl_clock_before(SL_CLOCK_STOPPED));
		sl_clock_after(SL_CLOCK_STOPPED, false, true);
		sl_clock_after(SL_CLOCK_RESTARTED, false, true);
		assert_true(sl_tls.clockless_since);
		sl_tls.cookie = SL_COOKIE_VFORK;
		sl_tls.vfork_pid = (uint32_t)getpid() + 1;
		sl_clock_after(SL_CLOCK_RESTARTED, false, false);
		assert_true(sl_tls.clockless_since);
		sl_tls.cookie = 0;
		sl_clock_after(SL_CLOCK_RESTARTED, false, false);
		assert_false(sl_tls.clockless_since || sl_tls.busy || sl_tls.depth != depth);

		sl_tls.cookie = SL_COOKIE_VFORK;
		assert_false(sl_clock_before(SL_CLOCK_STOPPED));
		sl_tls.cookie = 0;
		assert_false(sl_tls.clockless_since);
	}
	/* In a new thread, of which the kernel knows better. */
	assert_false(sl_inherits_clockless());
	sl_global.seccomp = SL_SECCOMP_FILTER;
	assert_true(sl_inherits_clockless());
	sl_global.seccomp = SL_SECCOMP_NONE;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_stops_and_runs_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
