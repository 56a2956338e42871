/* gpu_match.c - which hook record and which CUPTI record are one call: order, nesting, equal times, reports. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"

/* Rows of RUNTIME in the order of their start, times in us after t0: "name start-end class result,...". */
/* Many short calls in a row, and clocks that differ by more than the pause between them. */
static void calls_in_a_row_find_their_own(void **state)
{
	enum {
		CALLS = 2000,
		EVERY = 700,
		LASTS = 450,
		OFF = 300
	};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t at = 1000 + i * EVERY;

		API(&f.r, f.program, cudaLaunchKernel, at, at + LASTS, 0, 0, 0xf, 4, 2, 1, 128, 1,
		    1, i, 0);
		gpu_api(&f.r, f.cupti, at + 50 + OFF, at + LASTS - 50 + OFF, i + 1, NAME_LAUNCH,
			false);
		gpu_kernel(&f.r, f.cupti, at + 1000, at + 1200, i + 1, NAME_KERNEL);
	}
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2000");
	assert_string_equal(joined(), "2000/2000");
	/* Argument 7, the dynamic shared memory, numbers the calls. */
	assert_string_equal(ask("SELECT count(*) FROM SL_GPU_ARGUMENTS WHERE position = 7 AND "
				"callId = value + 1"),
			    "2000");
	gpu_end(&f);
}

/* CUPTI's word comes in pieces, the driver's part after the runtime's row has been written. */
static void inner_calls_may_be_reported_later(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_flushed(&f.r, f.cupti, 20000);
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-14 0 0");
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* Of the same level neither is in the other, though one takes no time at the other's end. */
static void calls_of_one_level_have_a_row_each(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaFree, 3000, 3000, 0, 0, 0x7000);
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaMalloc 1-3 0 0, cudaFree 3-3 0 0");
	gpu_end(&f);
}

/* By CUPTI's clock the runtime's call begins a little after the driver's call that it makes, by that of the hooks. */
static void a_call_that_seems_to_begin_before_its_caller_is_inside(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cuLaunchKernel, 9500, 12000, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	gpu_api(&f.r, f.cupti, 10000, 20000, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-20 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* A call inside another of its name and time: the outer one, of the lower level, has the row. */
static void of_two_at_the_same_time_the_outer_one_is_written(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cuLaunchKernel, 1000, 3000, 1, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	API(&f.r, f.program, cudaLaunchKernel, 1000, 3000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaLaunchKernel 1-3 0 0");
	gpu_end(&f);
}

/* Two short calls of one name, each within the clocks' difference of both: one report each, none twice. */
static void a_hook_belongs_to_one_report(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 10900, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	API(&f.r, f.program, cudaLaunchKernel, 11000, 11900, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 1, 0);
	gpu_api(&f.r, f.cupti, 10300, 10700, 21, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 10750, 11600, 22, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 15100, 21, NAME_KERNEL);
	gpu_kernel(&f.r, f.cupti, 16000, 16100, 22, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2");
	assert_string_equal(joined(), "2/2");
	assert_string_equal(
		ask("SELECT group_concat(correlationId || '=' || value, ' ') FROM (SELECT * FROM "
		    "CUPTI_ACTIVITY_KIND_RUNTIME JOIN SL_GPU_ARGUMENTS ON callId = correlationId "
		    "WHERE position = 7 ORDER BY start)"),
		ask("SELECT group_concat(correlationId || '=' || (n - 1), ' ') FROM (SELECT *, "
		    "row_number() OVER (ORDER BY start) n FROM CUPTI_ACTIVITY_KIND_RUNTIME)"));
	gpu_end(&f);
}

/* How many rows of calls there are; the table is made with the first one. */
static const char *row_cnt(void)
{
	const char *cnt = ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME");

	return strncmp(cnt, "error", 5) == 0 ? "0" : cnt;
}

/* CUPTI may report a call until it has reported all up to 2 us behind its end; then the hook alone is the row. */
static void calls_that_cupti_leaves_out_wait_for_it(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaMalloc, 10000, 14000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaFree, 20000, 21000, 0, 0, 0x7000);
	API(&f.r, f.program, cudaMalloc, 30000, 31000, 0, 0, 0x8000, 4096);
	gpu_tick(&f);
	assert_string_equal(row_cnt(), "0");
	gpu_flushed(&f.r, f.cupti, 14000 + 1999);
	gpu_tick(&f);
	assert_string_equal(row_cnt(), "0");
	gpu_flushed(&f.r, f.cupti, 14000 + 2000);
	gpu_tick(&f);
	assert_string_equal(row_cnt(), "1");
	gpu_tell(&f);
	assert_string_equal(calls(),
			    "cudaMalloc 10-14 0 0, cudaFree 20-21 0 0, cudaMalloc 30-31 0 0");
	gpu_end(&f);
}

/* Calls come as they return: the one inside waits for the one around it, and has no row then. */
static void library_call_waits_for_the_one_around_it(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cublasLtMatmul, 3000, 6000, 1, 0, 1, 2, 3, 4);
	gpu_tick(&f);
	/* A table is made with its first row. */
	assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name = 'CUBLAS_EVENTS'"),
			    "0");
	API(&f.r, f.program, cublasSgemm_v2, 2000, 7000, 0, 0, 1, 0, 1, 64, 32, 16);
	gpu_tick(&f);
	assert_string_equal(
		ask("SELECT group_concat(value) FROM CUBLAS_EVENTS JOIN StringIds ON id = "
		    "nameId"),
		"cublasSgemm_v2");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_in_a_row_find_their_own),
		TEST(inner_calls_may_be_reported_later),
		TEST(calls_of_one_level_have_a_row_each),
		TEST(a_call_that_seems_to_begin_before_its_caller_is_inside),
		TEST(of_two_at_the_same_time_the_outer_one_is_written),
		TEST(a_hook_belongs_to_one_report),
		TEST(calls_that_cupti_leaves_out_wait_for_it),
		TEST(library_call_waits_for_the_one_around_it),
	};

	return cmocka_run_group_tests_name("gpu_match", tests, NULL, NULL);
}
