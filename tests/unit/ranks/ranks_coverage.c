/* ranks_coverage.c - how much of a run there is, by manifests made by hand, and the lines about it. */
#include "ranks_test.h"

#include "exporters/ranks/coverage.h"
#include "exporters/ranks/manifests.h"

static void assert_text(const char *sql, const char *want)
{
	sqlite3 *db = manifests_read(test_dir, NULL, why, sizeof(why));
	struct coverage c;
	char *text;

	assert_non_null(db);
	assert_int_equal(coverage_find(db, "one", &c), SQLITE_OK);
	text = coverage_text(&c, sql);
	assert_string_equal(text, want);
	free(text);
	sqlite3_close(db);
}

#define RANK(no, world, complete, steps, collectives)                             \
	"{\"rank\": " #no ", \"worldSize\": " #world ", \"complete\": " #complete \
	", \"steps\": " #steps ", \"collectives\": " #collectives "}"

static void run_that_is_whole_has_one_line(void **state)
{
	(void)state;
	put_manifest(
		"one", "a",
		"{\"unnamed\": 0, \"ranks\": [" RANK(0, 2, 1, 5, 7) "," RANK(1, 2, 1, 5, 7) "]}");
	put_manifest("two", "a", "{\"ranks\": [" RANK(0, 9, 1, 1, 1) "]}");
	assert_text("SL_STEPS SL_COLLECTIVES", "2 of 2 ranks, 10 steps, 14 collectives");
}

/* A rank in the reports of two nodes is one. */
static void first_missing_rank_is_named(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(0, 5, 1, 1, 1) "," RANK(1, 5, 0, 1, 1) "]}");
	put_manifest("one", "b", "{\"ranks\": [" RANK(1, 5, 1, 1, 1) "," RANK(4, 5, 1, 1, 1) "]}");
	assert_text("SL_STEPS", "3 of 5 ranks (rank 2 is missing, and others), 1 of reports that "
				"were cut off, 3 steps, 4 collectives");
	assert_text("SL_COLLECTIVES",
		    "3 of 5 ranks (rank 2 is missing, and others), 1 of reports that were cut off, "
		    "3 steps, 4 collectives; waits are at least so long");
}

static void rank_0_may_be_the_missing_one(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(1, 2, 1, 1, 1) "]}");
	assert_text("", "1 of 2 ranks (rank 0 is missing), 1 steps, 1 collectives");
}

static void last_rank_may_be_the_missing_one(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(0, 2, 1, 1, 1) "]}");
	assert_text("", "1 of 2 ranks (rank 1 is missing), 1 steps, 1 collectives");
}

static void run_of_unknown_size_lacks_no_rank(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(3, null, 1, 1, 1) "]}");
	assert_text("SL_COLLECTIVES", "1 ranks, 1 steps, 1 collectives");
}

static void empty_answers_have_a_reason_and_a_remedy(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(0, 1, 1, 0, 0) "]}");
	assert_text("SL_STEPS",
		    "1 of 1 ranks, 0 steps, 0 collectives\nno step was recorded, and the question "
		    "is about steps: 'profile --python-step' marks "
		    "those of a Python program, 'ranks add --step=RANGE' takes other NVTX ranges");
	assert_text("SL_COLLECTIVES", "1 of 1 ranks, 0 steps, 0 collectives\nno collective was "
				      "recorded, and the question is about them: '-t nccl,mpi' "
				      "records those of NCCL and MPI; gloo's are inside of PyTorch "
				      "and cannot be seen");
	assert_text("SL_FILES", "1 of 1 ranks, 0 steps, 0 collectives");
}

static void ranks_without_steps_are_counted(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [" RANK(0, 2, 1, 4, 0) "," RANK(1, 2, 1, 0, 0) "]}");
	assert_text("SL_STEPS", "2 of 2 ranks, 4 steps, 0 collectives\n1 ranks have no steps");
}

static void collectives_without_a_communicator_are_counted(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"unnamed\": 3, \"ranks\": [" RANK(0, 2, 1, 1, 5) "]}");
	put_manifest("one", "b", "{\"unnamed\": 4, \"ranks\": [" RANK(1, 2, 1, 1, 5) "]}");
	assert_text("SL_COLLECTIVES",
		    "2 of 2 ranks, 2 steps, 10 collectives\n7 of 10 collectives do not count: "
		    "their communicators were made before the recording "
		    "began, and no other rank knows them by a name");
}

#define COVERAGE_TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		COVERAGE_TEST(run_that_is_whole_has_one_line),
		COVERAGE_TEST(first_missing_rank_is_named),
		COVERAGE_TEST(rank_0_may_be_the_missing_one),
		COVERAGE_TEST(last_rank_may_be_the_missing_one),
		COVERAGE_TEST(run_of_unknown_size_lacks_no_rank),
		COVERAGE_TEST(empty_answers_have_a_reason_and_a_remedy),
		COVERAGE_TEST(ranks_without_steps_are_counted),
		COVERAGE_TEST(collectives_without_a_communicator_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
