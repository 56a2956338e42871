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
	CHECK(has_avoided("overhead"));
}
APART(overhead_has_no_thread)

static void overhead_has_its_thread_in_a_process(void)
{
	at_version("22");
	load_module();
	CHECK_EQUAL(only(SL_GPU_REC_OVERHEAD)->overhead.thread, this_thread());
}
APART(overhead_has_its_thread)

/* ---- clocks ---- */

static int64_t
	wall_step; /* ns by which the wall clock was set, as all libraries of the test see it */

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	long rc = syscall(SYS_clock_gettime, clock, t);
	int64_t ns = t->tv_nsec + wall_step % 1000000000;

	if (clock != CLOCK_REALTIME || !wall_step)
		return (int)rc;
	t->tv_sec += wall_step / 1000000000 + (ns < 0 ? -1 : ns >= 1000000000);
	t->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
	return (int)rc;
}

/* Kernels of 2 ms that ended a moment ago, and when they began. */
#define KERNELS 200
static uint64_t began[KERNELS];

static void launch_all(void)
{
	for (int i = 0; i < KERNELS; i++) {
		began[i] = host_now() - 3000000;
		launch_at("_Z1kv", began[i], began[i] + 2000000);
	}
}

/* Measured, not exact. */
static bool is_near(uint64_t a, uint64_t b, uint64_t by)
{
	return a < b + by && b < a + by;
}

static size_t timed_right(uint64_t by)
{
	uint32_t first_id = driver_calls - KERNELS + 1;
	size_t right = 0;

	for (size_t i = 0; i < told_cnt; i++) {
		const struct sl_gpu_kernel *k = &told[i].kernel;

		if (told[i].kind != SL_GPU_REC_KERNEL || k->correlation < first_id)
			continue;
		right += is_near(k->start, began[k->correlation - first_id], by) &&
			 k->end - k->start == 2000000;
	}
	return right;
}

static const char *version;

static void every_kernel_has_its_times_in_a_process(void)
{
	at_version(version);
	launch_all();
	cuda.flush(true);
	CHECK_EQUAL(timed_right(10000), KERNELS);
	CHECK_EQUAL(problems(), 0);
}

/* Versions that lose times where a clock is registered, and some before and after those. */
static void every_kernel_has_its_times(void **state)
{
	const char *const versions[] = {"15", "22", "24", "26", "28", "130001", "130100"};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		version = versions[i];
		apart(every_kernel_has_its_times_in_a_process);
	}
}

static void records_on_another_clock_in_a_process(void)
{
	setenv("STANDIN_CUPTI_LIES", "OTHER_CLOCK", 1);
	at_version("130001");
	launch_all();
	cuda.flush(true);
	CHECK_EQUAL(timed_right(10000), KERNELS);
	CHECK_EQUAL(problems(), 0);
}
APART(records_on_another_clock)

/* They arrive without times, which the collector counts, with one sentence. */
static void records_on_no_known_clock_in_a_process(void)
{
	size_t untimed = 0;

	setenv("STANDIN_CUPTI_LIES", "TICKS", 1);
	at_version("130001");
	launch_all();
	cuda.flush(true);
	for (size_t i = 0; i < told_cnt; i++)
		untimed += told[i].kind == SL_GPU_REC_KERNEL && !told[i].kernel.start &&
			   !told[i].kernel.end;
	CHECK_EQUAL(untimed, KERNELS / 25);
	CHECK_EQUAL(timed_right(10000), KERNELS - KERNELS / 25);
	CHECK(status_has(SL_GPU_STATUS_LIMITED, "not its own"));
	CHECK_EQUAL(problems(), 1);
}
APART(records_on_no_known_clock)

static void a_clock_as_on_wsl_in_a_process(void)
{
	setenv("STANDIN_CUPTI_RAW_CLOCK", "1", 1);
	at_version("130001");
	launch_all();
	cuda.flush(true);
	CHECK_EQUAL(timed_right(1000000), KERNELS);
	CHECK_EQUAL(problems(), 0);
}
APART(a_clock_as_on_wsl)

static int64_t step;

/* Work from before the clock is set lies in a buffer with work from after it. */
static void the_wall_clock_is_set_in_a_process(void)
{
	at_version("26");
	launch_all();
	wall_step = step;
	launch_all();
	cuda.flush(false);
	CHECK_EQUAL(timed_right(10000), KERNELS);
	CHECK(status_has(SL_GPU_STATUS_LIMITED, step < 0 ? "set by -3600" : "set by +3600"));
	launch_all();
	wall_step = 0;
	cuda.flush(true);
	CHECK_EQUAL(problems(), 2);
}

static void the_wall_clock_is_set(void **state)
{
	(void)state;
	step = 3600000000000;
	apart(the_wall_clock_is_set_in_a_process);
	step = -step;
	apart(the_wall_clock_is_set_in_a_process);
}

/* API records keep the clock of their time, also where the clock is set before they are handed over. */
static void calls_before_the_clock_is_set_in_a_process(void)
{
	uint64_t now = host_now();

	at_version("26");
	launch("_Z1kv");
	wall_step = -7200000000000;
	cuda.flush(false);
	CHECK_EQUAL(count(SL_GPU_REC_API), 2);
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_API)
			CHECK(told[i].api.start >= now - 10000 &&
			      told[i].api.end <= host_now() + 10000);
}
APART(calls_before_the_clock_is_set)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overhead_has_no_thread),
		cmocka_unit_test(overhead_has_its_thread),
		cmocka_unit_test(every_kernel_has_its_times),
		cmocka_unit_test(records_on_another_clock),
		cmocka_unit_test(records_on_no_known_clock),
		cmocka_unit_test(a_clock_as_on_wsl),
		cmocka_unit_test(the_wall_clock_is_set),
		cmocka_unit_test(calls_before_the_clock_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
