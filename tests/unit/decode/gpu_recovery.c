/*
 * gpu_recovery.c - the collector is killed between a call into a GPU library and the record of its work: the next one has
 * each of them once, and counts what was not kept.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"

/*
 * The collector is killed while calls and kernels wait, some of a commit written and some not; the next one has each of
 * them once. @moment: 0 before the positions are noted, 1 before the commit, 2 after it.
 */
static void die_and_recover(int moment)
{
	struct gpu_fixture f;

	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint32_t i = 1; i <= 300; i++) {
		uint64_t at = i * 100000;

		API(&f.r, f.program, cudaLaunchKernel, at, at + 4000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1,
		    i, 0);
		gpu_api(&f.r, f.cupti, at + 200, at + 3800, i, NAME_LAUNCH, false);
		gpu_kernel(&f.r, f.cupti, at + 5000, at + 6000, i, NAME_KERNEL);
		if (i == 100) {
			gpu_flushed(&f.r, f.cupti,
				    at + 5000 + 270000000); /* kernels 1..70 or so, too */
			gpu_tick(&f);
		}
		if (i == 200)
			gpu_tick(&f);
	}
	side_drain(&f.s);
	gpu_settle(&f.s.arenas, f.a, false);
	if (moment >= 1)
		assert_int_equal(positions_save(&f.s.arenas), 0);
	if (moment >= 2)
		assert_int_equal(db_commit(f.s.db, 2), 0); /* and not positions_release() */
	side_die(&f.s);
	side_open(&f.s, true);
	f.a = side_attach(&f.s, &f.r, true);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT start) || ' ' || "
				"count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME"),
			    "300 300 300");
	assert_string_equal(joined(), "300/300");
	assert_string_equal(ask("SELECT count(*) FROM SL_GPU_ARGUMENTS WHERE position = 7 AND "
				"callId = value"),
			    "300");
	assert_string_equal(
		ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = "
		    "shortName WHERE value = 'axpy'"),
		"300");
	gpu_settle(&f.s.arenas, f.a, true);
	gpu_release(&f.s.arenas, f.a);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT (SELECT count(*) FROM SL_STATE WHERE key GLOB 'gpu.1*') + "
				"(SELECT count(*) FROM SL_PENDING_GPU)"),
			    "0");
	gpu_end(&f);
}

static void killed_before_the_positions(void **state)
{
	(void)state;
	die_and_recover(0);
}

static void killed_before_the_commit(void **state)
{
	(void)state;
	die_and_recover(1);
}

static void killed_after_the_commit(void **state)
{
	(void)state;
	die_and_recover(2);
}

/* As if the collector had been killed, and another one had gone on. */
static void recover(struct gpu_fixture *f)
{
	side_die(&f->s);
	side_open(&f->s, true);
	f->s.arenas.gpu.flush_ns = 100 * FAR_NS;
	f->a = side_attach(&f->s, &f->r, true);
}

/* A call has its row when the collector is killed; what CUPTI reports of it afterwards still finds the row. */
static void killed_between_a_call_and_its_work(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	API(&f.r, f.program, cudaLaunchKernel, 20000, 24000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 20200, 23800, 21, NAME_LAUNCH, false);
	gpu_flushed(&f.r, f.cupti, 30000);
	gpu_tick(&f);
	assert_string_equal(calls(),
			    "cudaLaunchKernel_v7000 10-14 0 0, cudaLaunchKernel_v7000 20-24 0 0");
	recover(&f);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_tick(&f);
	recover(&f); /* what was restored is kept, too */
	gpu_api(&f.r, f.cupti, 20900, 23100, 22, NAME_CU_LAUNCH, true);
	gpu_kernel(&f.r, f.cupti, 25000, 26000, 22, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(calls(),
			    "cudaLaunchKernel_v7000 10-14 0 0, cudaLaunchKernel_v7000 20-24 0 0");
	assert_string_equal(joined(), "2/2");
	gpu_end(&f);
}

/* CUPTI was given up before it reported calls: a late record makes no second row, in whichever collector. */
static void killed_before_cupti_reported(void **state)
{
	enum {
		CALLS = 3000
	};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint64_t i = 1; i <= CALLS; i++)
		API(&f.r, f.program, cudaMalloc, i * 10000, i * 10000 + 4000, 0, 0, i, 4096);
	f.s.arenas.gpu.flush_ns = FAR_NS;
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "3000");
	for (uint32_t i = 1; i <= CALLS; i++) {
		gpu_api(&f.r, f.cupti, i * 10000ull + 200, i * 10000ull + 3800, i, NAME_MALLOC,
			false);
		if (i % (CALLS / 4) == 0)
			gpu_tick(&f);
		if (i == CALLS / 2)
			recover(&f);
	}
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "3000");
	assert_string_equal(ask("SELECT count(*) > 1 FROM SL_PENDING_GPU"), "1");
	gpu_settle(&f.s.arenas, f.a, true);
	gpu_release(&f.s.arenas, f.a);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT count(*) FROM SL_PENDING_GPU"), "0");
	gpu_end(&f);
}

/* A kernel whose name is unknown outlasts many chunks of the log, which is kept short all the same. */
static void killed_while_a_record_outlasts_its_chunk(void **state)
{
	enum {
		CALLS = 3000,
		ROUNDS = 8
	};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 1, 77);
	for (uint32_t round = 0, i = 1; round < ROUNDS; round++) {
		for (; i <= (round + 1) * CALLS; i++) {
			uint64_t at = i * 10000ull;

			API(&f.r, f.program, cudaLaunchKernel, at, at + 4000, 0, 0, 0xf, 4, 2, 1,
			    128, 1, 1, 0, 0);
			gpu_api(&f.r, f.cupti, at + 200, at + 3800, i, NAME_LAUNCH, false);
		}
		gpu_tick(&f);
		gpu_flushed(&f.r, f.cupti, i * 10000ull);
		gpu_tick(&f);
	}
	assert_string_equal(
		ask("SELECT min(length(blob)) < 1000 AND max(length(blob)) > 500000 AND "
		    "sum(length(blob)) < 6000000 FROM SL_PENDING_GPU"),
		"1");
	recover(&f);
	gpu_tick(&f);
	recover(&f);
	gpu_string(&f.r, f.cupti, 77, kernel_symbol);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "24000");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* Records beyond what is kept are counted as lost. */
static void what_was_not_kept_is_counted(void **state)
{
	enum {
		CALLS = 60000
	};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint32_t i = 0; i < CALLS; i++)
		API(&f.r, f.program, cudaLaunchKernel, i * 10000, i * 10000 + 4000, 0, 0, 0xf, 4, 2,
		    1, 128, 1, 1, i, 0);
	gpu_tick(&f);
	side_die(&f.s);
	side_open(&f.s, true);
	f.a = side_attach(&f.s, &f.r, true);
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(
		ask("SELECT (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME) + (SELECT count "
		    "FROM SL_LOST_EVENTS WHERE what LIKE 'GPU records: waited%')"),
		"60000");
	assert_string_equal(ask("SELECT count(*) > 20000 FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "1");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(killed_before_the_positions),  TEST(killed_before_the_commit),
		TEST(killed_after_the_commit),      TEST(killed_between_a_call_and_its_work),
		TEST(killed_before_cupti_reported), TEST(killed_while_a_record_outlasts_its_chunk),
		TEST(what_was_not_kept_is_counted),
	};

	return cmocka_run_group_tests_name("gpu_recovery", tests, NULL, NULL);
}
