/* cupti_lies - records of versions of CUPTI with bugs, as the stand-in has them: what arrives is right, or left out. */
#include "tests/unit/cupti/cupti_host.h"

static void at_version(const char *version)
{
	setenv("STANDIN_CUPTI_VERSION", version, 1);
	CHECK_EQUAL(start("so.13", 0), 0);
}

/* ---- threads of overhead records ---- */

static void load_module(void)
{
	struct standin_activity a = {
		.kind = STANDIN_MODULE, .start = host_now() - 2000, .end = host_now() - 1000};

	observer->activity(&a);
	cuda.flush(true);
}

static void overhead_has_no_thread_in_a_process(void)
{
	at_version("21");
	load_module();
	CHECK_EQUAL(only(SL_GPU_REC_OVERHEAD)->overhead.thread, 0);
	CHECK(status_has(SL_GPU_STATUS_AVOIDED, "overhead"));
}
APART(overhead_has_no_thread)

static void overhead_has_its_thread_in_a_process(void)
{
	at_version("22");
	load_module();
	CHECK_EQUAL(only(SL_GPU_REC_OVERHEAD)->overhead.thread, this_thread());
}
APART(overhead_has_its_thread)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overhead_has_no_thread),
		cmocka_unit_test(overhead_has_its_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
