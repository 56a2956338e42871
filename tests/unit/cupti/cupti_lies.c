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

/* No time service sets it: a constant after CLOCK_MONOTONIC. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	bool is_wall = clock == CLOCK_REALTIME;
	int64_t ns;
	long rc = syscall(SYS_clock_gettime, is_wall ? CLOCK_MONOTONIC : clock, t);

	if (!is_wall)
		return (int)rc;
	ns = t->tv_sec * 1000000000 + t->tv_nsec + 1700000000000000000 + wall_step;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
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

/* ---- kinds that come unasked ---- */

static void record_event(void)
{
	struct standin_activity event = {
		.kind = STANDIN_EVENT, .start = host_now(), .end = host_now(), .event = 5};
	struct standin_activity wait = {
		.kind = STANDIN_SYNC, .start = host_now() - 1000, .end = host_now()};

	observer->activity(&event);
	observer->activity(&wait);
	cuda.flush(true);
}

static void events_come_unasked_in_a_process(void)
{
	at_version(version);
	record_event();
	CHECK_EQUAL(count(SL_GPU_REC_EVENT), 0);
	CHECK_EQUAL(count(SL_GPU_REC_SYNC), 1);
	CHECK(status_count("CUDA events") == (atoi(version) <= 26));
	CHECK_EQUAL(problems(), 0);
}

static void events_come_unasked(void **state)
{
	(void)state;
	version = "24";
	apart(events_come_unasked_in_a_process);
	version = "26";
	apart(events_come_unasked_in_a_process);
	version = "27";
	apart(events_come_unasked_in_a_process);
}

static void events_that_are_asked_for_in_a_process(void)
{
	setenv("STANDIN_CUPTI_VERSION", "24", 1);
	CHECK_EQUAL(start("so.13", SL_CUDA_EVENTS), 0);
	record_event();
	CHECK_EQUAL(only(SL_GPU_REC_EVENT)->event.timestamp, 0);
	CHECK_EQUAL(only(SL_GPU_REC_EVENT)->event.event, 5);
	CHECK_EQUAL(count(SL_GPU_REC_SYNC), 1);
}
APART(events_that_are_asked_for)

/* cudaEventQuery() in a loop: a record of the call each, but none of a synchronization. */
static void polls_are_no_synchronization_in_a_process(void)
{
	at_version("130001");
	for (uint32_t i = 1; i <= 10; i++) {
		observer->api(0, 1, "cuEventQuery", i, 0);
		observer->api(1, 1, "cuEventQuery", i, 600);
	}
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_SYNC), 0);
}
APART(polls_are_no_synchronization)

/* ---- records that are broken ---- */

static void an_incomplete_record_is_counted_in_a_process(void)
{
	setenv("STANDIN_CUPTI_LIES", "INCOMPLETE", 1);
	at_version("130001");
	launch_all();
	cuda.flush(true);
	CHECK(count(SL_GPU_REC_KERNEL) < KERNELS);
	CHECK_EQUAL(only(SL_GPU_REC_FLUSHED)->flushed.incomplete, 1);
	cuda.flush(true);
	CHECK_EQUAL(last(SL_GPU_REC_FLUSHED)->flushed.incomplete, 0);
}
APART(an_incomplete_record_is_counted)

static void no_record_is_incomplete_in_a_process(void)
{
	at_version("130001");
	launch_all();
	cuda.flush(true);
	CHECK_EQUAL(count(SL_GPU_REC_KERNEL), KERNELS);
	CHECK_EQUAL(only(SL_GPU_REC_FLUSHED)->flushed.incomplete, 0);
}
APART(no_record_is_incomplete)

/* A kernel that has begun and runs on, in the first records of a CUPTI that is newer than the compared headers. */
static void work_in_progress_of_a_newer_version_in_a_process(void)
{
	static const char name[] = "_Z6endlesv";
	struct timespec t;
	struct standin_value v[] = {
		{F_KERNEL_name, (uintptr_t)name}, {F_KERNEL_blockx, 1}, {F_KERNEL_start, 0}};

	at_version("140200");
	clock_gettime(CLOCK_REALTIME, &t);
	v[2].value = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	emit(&(struct standin_emit){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
				    .values = v,
				    .cnt = 3,
				    .end_field = F_KERNEL_end,
				    .end = UINT64_MAX});
	cuda.flush(true);
	CHECK_EQUAL(only(SL_GPU_REC_KERNEL)->kernel.end, 0);
	CHECK(is_near(only(SL_GPU_REC_KERNEL)->kernel.start, host_now(), 1000000000));
	CHECK_EQUAL(problems(), 0);
}
APART(work_in_progress_of_a_newer_version)

/* ---- graphs after the first capture ---- */

static void run_graph(void)
{
	struct standin_activity a = {.kind = STANDIN_GRAPH,
				     .start = host_now() - 2000,
				     .end = host_now() - 1000,
				     .graph = 3,
				     .correlation = 77};

	observer->activity(&a);
	cuda.flush(false);
}

static void a_second_capture_of_graphs_in_a_process(void)
{
	at_version(version);
	run_graph();
	CHECK_EQUAL(count(SL_GPU_REC_GRAPH), 1);
	CHECK_EQUAL(problems(), 0);
	cuda.record(false);
	cuda.rest();
	cuda.record(true);
	run_graph();
	run_graph();
	CHECK_EQUAL(problems(), atoi(version) <= 130100);
	CHECK(status_count("lead to no call") == (atoi(version) <= 130100));
}

static void a_second_capture_of_graphs(void **state)
{
	(void)state;
	version = "130001";
	apart(a_second_capture_of_graphs_in_a_process);
	version = "130101";
	apart(a_second_capture_of_graphs_in_a_process);
}

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
		cmocka_unit_test(events_come_unasked),
		cmocka_unit_test(events_that_are_asked_for),
		cmocka_unit_test(polls_are_no_synchronization),
		cmocka_unit_test(an_incomplete_record_is_counted),
		cmocka_unit_test(no_record_is_incomplete),
		cmocka_unit_test(work_in_progress_of_a_newer_version),
		cmocka_unit_test(a_second_capture_of_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
