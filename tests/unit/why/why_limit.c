/* why_limit.c - what findings may claim at most: by the gains of the report, and how severe they may be. */
#include "tests/unit/why/why_test.h"
#include "exporters/analyze/limit.h"

/* 20 calls of 4 ms each in 100 ms, with nothing else to do. */
static struct gain_limit limit_of_calls(const char *name, int calls)
{
	report(100);
	for (int i = 0; i < 20; i++) {
		runs(MAIN, 5 * i, 5 * i + 1, .ready = 5 * i);
		if (i < calls)
			call(MAIN, name, 5 * i + 1, 5 * i + 5, L(1), .path = "/data/x");
	}
	ask();
	return findings_limit_of(&test.y);
}

/* Less than half as many syncs: 45 % of the 80 ms stay, 44 ms are sure. */
static void many_syncs_are_sure_to_be_won(void **state)
{
	struct gain_limit l = limit_of_calls("fsync", 20);

	(void)state;
	assert_true(l.is_known);
	assert_int_equal(l.lower, 44 * MS);
	assert_int_equal(l.upper, 80 * MS);
}

/* Nine may all be needed. */
static void few_syncs_are_not(void **state)
{
	struct gain_limit l = limit_of_calls("fsync", 9);

	(void)state;
	assert_int_equal(l.lower, 0);
	assert_int_equal(l.upper, 36 * MS);
}

/* Reads and sleeps may be removed, but no record shows that they can. */
static void reads_are_not(void **state)
{
	struct gain_limit l = limit_of_calls("read", 20);

	(void)state;
	assert_int_equal(l.lower, 0);
	assert_int_equal(l.upper, 80 * MS);
}

/* Computing without a line has no gain of its own, and limits no finding about it. */
static void time_without_a_line_may_all_be_won(void **state)
{
	(void)state;
	report(100);
	call(MAIN, "read", 0, 4, L(1), .path = "/data/x");
	runs(MAIN, 0, 100);
	ask();
	assert_int_equal(findings_limit_of(&test.y).upper, 96 * MS);
}

static void unrecorded_time_makes_nothing_sure(void **state)
{
	struct gain_limit l;

	(void)state;
	limit_of_calls("fsync", 20);
	test.y.of_reason[WHY_UNKNOWN] = 20 * MS + 1;
	l = findings_limit_of(&test.y);
	assert_int_equal(l.lower, 0);
}

static void without_a_replay_nothing_is_limited(void **state)
{
	(void)state;
	limit_of_calls("fsync", 20);
	test.y.has_replay = false;
	assert_false(findings_limit_of(&test.y).is_known);
}

/* What is left where nothing can be won: all but the GPU's work. */
static void report_without_gains_limits_to_the_hosts_time(void **state)
{
	struct gain_limit l;

	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	ask();
	test.y.of_reason[WHY_GPU] = 30 * MS;
	l = findings_limit_of(&test.y);
	assert_int_equal(test.y.gains_cnt, 0);
	assert_int_equal(l.upper, 70 * MS);
}

/* Of 100 ms, 30 can be won at most, and 5 are sure. */
static struct finding limited(struct finding f)
{
	struct findings fs = {.list = &f, .cnt = 1};
	const struct gain_limit l = {.is_known = true, .upper = 30 * MS, .lower = 5 * MS};

	f.share = (double)f.cost_ns / (100.0 * MS);
	findings_limit(&fs, 0, &l, 100 * MS);
	return f;
}

static void finding_costs_no_more_than_the_largest_gain(void **state)
{
	struct finding f = limited(
		(struct finding){.severity = SEVERITY_SEVERE, .cost_ns = 80 * (long long)MS});

	(void)state;
	assert_int_equal(f.cost_ns, 30 * MS);
	assert_near(f.share, 0.3);
	assert_int_equal(f.severity, SEVERITY_BAD);
}

static void finding_that_no_action_concerns_keeps_its_own_cost(void **state)
{
	struct finding f = limited((struct finding){
		.severity = SEVERITY_SEVERE, .cost_ns = 80 * (long long)MS, .is_own = true});

	(void)state;
	assert_int_equal(f.cost_ns, 80 * MS);
	assert_int_equal(f.severity, SEVERITY_SEVERE);
}

static void filters_of_processes_have_no_limit(void **state)
{
	struct db_filter f = {.pid_cnt = 1};

	(void)state;
	assert_false(findings_have_limit(&f));
	f = (struct db_filter){.nvtx_cnt = 1};
	assert_false(findings_have_limit(&f));
	f = (struct db_filter){.time_cnt = 1};
	assert_true(findings_have_limit(&f));
	assert_true(findings_have_limit(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_syncs_are_sure_to_be_won),
		TEST(few_syncs_are_not),
		TEST(reads_are_not),
		TEST(time_without_a_line_may_all_be_won),
		TEST(unrecorded_time_makes_nothing_sure),
		TEST(without_a_replay_nothing_is_limited),
		TEST(report_without_gains_limits_to_the_hosts_time),
		TEST(finding_costs_no_more_than_the_largest_gain),
		TEST(finding_that_no_action_concerns_keeps_its_own_cost),
		TEST(filters_of_processes_have_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
