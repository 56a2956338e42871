/* tl_flows.c - which calls started GPU work, by ids that are shared by processes, far apart, or nonsense. */
#include "tl_test.h"

#include "exporters/events/gpu_work.h"

static const struct tl_options calls_and_work = {
	.activities = TL_ACT_CUDA_API | TL_ACT_KERNEL | TL_ACT_GPU_MEM, .no_args = true};

static void an_arrow_leads_from_a_call_to_work_that_comes_after_it(void **state)
{
	(void)state;
	check_with(
		&calls_and_work, 0,
		"strings: (1, 'launch'), (2, 'add');"
		"cuda: (10, 12, $70.71, 1, 1), (20, 22, $70.71, 1, 2), "
		"(30, 32, $70.71, 1, 3), (40, 42, $70.71, 1, NULL);"
		"kernels: (11, 15, $70, 0, 1, 7, 1, 2), (25, 26, $70, 0, 1, 7, 3, 2), "
		"(35, 36, $70, 0, 1, 7, 3, 2), (45, 46, $70, 0, 1, 7, NULL, 2), "
		"(47, 48, $70, 0, 1, 7, 99, 2);",
		/* Call 2 started nothing; a piece of 3 begins before the call; 99 has no call. */
		"thread 70.71: 10 +2 'launch' out 1\n"
		"stream 7: 11 +4 'add' in 1\n"
		"thread 70.71: 20 +2 'launch'\n"
		"stream 7: 25 +1 'add'\n"
		"thread 70.71: 30 +2 'launch' out 3\n"
		"stream 7: 35 +1 'add' in 3\n"
		"thread 70.71: 40 +2 'launch'\n"
		"stream 7: 45 +1 'add'\n"
		"stream 7: 47 +1 'add'\n");
}

static void a_call_whose_work_is_left_out_has_no_arrow(void **state)
{
	struct tl_options opt = {.activities = TL_ACT_CUDA_API | TL_ACT_GPU_MEM, .no_args = true};
	const char *sql =
		"strings: (1, 'launch'), (2, 'add');"
		"cuda: (10, 12, $70.71, 1, 1), (20, 22, $70.71, 1, 2);"
		"kernels: (11, 15, $70, 0, 1, 7, 1, 2);"
		"CUPTI_ACTIVITY_KIND_MEMSET(start, end, globalPid, streamId, correlationId, "
		"memKind): (25, 26, $70, 7, 2, 2);";

	(void)state;
	check_with(&opt, 0, sql,
		   "thread 70.71: 10 +2 'launch'\n"
		   "thread 70.71: 20 +2 'launch' out 2\n"
		   "stream 7: 25 +1 'Memset (Device)' in 2\n");
	/* And work without calls has none either. */
	opt.activities = TL_ACT_KERNEL | TL_ACT_GPU_MEM;
	check_with(&opt, 0, sql,
		   "stream 7: 11 +4 'add'\n"
		   "stream 7: 25 +1 'Memset (Device)'\n");
}

static void an_id_of_two_processes_is_two_arrows(void **state)
{
	(void)state;
	/*
	 * 80 is the second process that has work, and shares id 1 with the first: its ids get 2 above their 32 bits,
	 * 2 * 2^32 + 1 = 8589934593. Process 90 shares 2 with 80 alone, whose ids are others now.
	 */
	check_with(&calls_and_work, 0,
		   "strings: (1, 'launch'), (2, 'add');"
		   "cuda: (10, 12, $70.71, 1, 1), (11, 12, $80.81, 1, 1), "
		   "(13, 14, $80.81, 1, 2), (14, 15, $90.91, 1, 2);"
		   "kernels: (20, 21, $70, 0, 1, 7, 1, 2), (30, 31, $80, 0, 1, 8, 1, 2), "
		   "(40, 41, $80, 0, 1, 8, 2, 2), (50, 51, $90, 0, 1, 9, 2, 2);",
		   "thread 70.71: 10 +2 'launch' out 1\n"
		   "thread 80.81: 11 +1 'launch' out 8589934593\n"
		   "thread 80.81: 13 +1 'launch' out 8589934594\n"
		   "thread 90.91: 14 +1 'launch' out 2\n"
		   "stream 7: 20 +1 'add' in 1\n"
		   "stream 8: 30 +1 'add' in 8589934593\n"
		   "stream 8: 40 +1 'add' in 8589934594\n"
		   "stream 9: 50 +1 'add' in 2\n");
}

static void ids_with_a_number_of_the_process_stay_as_they_are(void **state)
{
	(void)state;
	/* 3 * 2^32 + 5 = 12884901893 and 4 * 2^32 + 5 = 17179869189: of one process, but different ones to CUPTI. */
	check_with(&calls_and_work, 0,
		   "strings: (1, 'launch'), (2, 'add');"
		   "cuda: (10, 12, $70.71, 1, 12884901893), (13, 14, $70.71, 1, 17179869189);"
		   "kernels: (20, 21, $70, 0, 1, 7, 17179869189, 2), "
		   "(30, 31, $70, 0, 1, 7, 12884901893, 2), (40, 41, $70, 0, 1, 7, 5, 2);",
		   "thread 70.71: 10 +2 'launch' out 12884901893\n"
		   "thread 70.71: 13 +1 'launch' out 17179869189\n"
		   "stream 7: 20 +1 'add' in 17179869189\n"
		   "stream 7: 30 +1 'add' in 12884901893\n"
		   "stream 7: 40 +1 'add'\n");
}

/* ---- ids alone ---- */

struct flows {
	struct tl_run run;
	struct tl_options opt;
	struct tl_flows *f;
};

/* Of the work in @rows: globalPid, correlationId. */
static struct tl_flows *flows_of(struct flows *s, const char *rows)
{
	char *sql = sqlite3_mprintf(
		"%s CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(globalPid, correlationId, "
		"start, end);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE SELECT v.*, 1, 2 FROM (VALUES "
		"%s) AS v",
		"strings: (1, 'x');", rows);

	*s = (struct flows){.opt = calls_and_work};
	s->run.opt = &s->opt;
	s->run.db = report_of(sql);
	sqlite3_free(sql);
	assert_int_equal(tl_each_begin(s->run.db), 0);
	s->f = s->run.flows = tl_flows_new(&s->run);
	assert_non_null(s->f);
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++)
		if (tl_flows_want(s->f, d)) {
			assert_string_equal(d->table, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
			assert_int_equal(tl_flows_read(s->f, &s->run, d), 0);
			assert_false(tl_flows_want(s->f, d));
		}
	assert_int_equal(tl_flows_settle(s->f), 0);
	return s->f;
}

static void free_flows(struct flows *s)
{
	tl_flows_free(s->f);
	assert_int_equal(sqlite3_close(s->run.db), SQLITE_OK);
}

static void ids_that_no_arrow_can_have_are_left_out(void **state)
{
	/* Below 2^53 as a whole: 21 bits above the 32. 2^21 * 2^32 = 2^53 = 9007199254740992 is one too many. */
	static const int64_t bad[] = {
		0, -1, INT64_MIN, INT64_MAX, 9007199254740993, INT64_C(0x1000000) << 32 | 1};
	struct flows s;
	struct tl_flows *f = flows_of(
		&s, "($70, 0), ($70, -1), ($70, 9223372036854775807), ($70, 9007199254740993), "
		    "($70, 72057594037927937), ($70, 9007199254740991), ($70, NULL)");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tl_flow_out(f, GLOBAL(70, 0), bad[i]), 0);
		assert_int_equal(tl_flow_in(f, GLOBAL(70, 0), bad[i]), 0);
	}
	assert_int_equal(tl_flow_out(f, GLOBAL(70, 0), 9007199254740991), 9007199254740991);
	free_flows(&s);
}

static void work_of_a_call_is_counted(void **state)
{
	struct flows s;
	struct tl_flows *f = flows_of(
		&s, "($70, 4), ($70, 5), ($70, 5), ($70, 6), ($70, 6), ($70, 6), ($80, 6), "
		    "($80, 6)");
	uint64_t other;

	(void)state;
	assert_int_equal(tl_flow_count(f, tl_flow_out(f, GLOBAL(70, 1), 4)), 1);
	assert_int_equal(tl_flow_count(f, tl_flow_out(f, GLOBAL(70, 2), 5)), 2);
	assert_int_equal(tl_flow_count(f, tl_flow_out(f, GLOBAL(70, 3), 6)), 3);
	other = tl_flow_out(f, GLOBAL(80, 1), 6);
	/* The second process, with 2 above. */
	assert_int_equal(other, (UINT64_C(2) << 32) + 6);
	assert_int_equal(tl_flow_count(f, other), 2);
	assert_int_equal(tl_flow_count(f, 77), 1);
	free_flows(&s);
}

static void only_a_call_that_came_by_is_the_begin_of_an_arrow(void **state)
{
	struct flows s;
	struct tl_flows *f = flows_of(&s, "($70, 4), (NULL, 8)");

	(void)state;
	assert_int_equal(tl_flow_in(f, GLOBAL(70, 0), 4), 0);
	assert_int_equal(tl_flow_out(f, GLOBAL(80, 0), 4), 0);
	assert_int_equal(tl_flow_out(f, GLOBAL(70, 5), 4), 4);
	assert_int_equal(tl_flow_in(f, GLOBAL(70, 9), 4), 4);
	assert_int_equal(tl_flow_in(f, GLOBAL(70, 9), 5), 0);
	/* No call of CUDA names the process of work that has none: it is 0, of all that have none. */
	assert_int_equal(tl_flows_process(f), 0);
	assert_int_equal(tl_flow_out(f, TL_NONE, 8), 8);
	assert_int_equal(tl_flow_in(f, 0, 8), 8);
	free_flows(&s);
}

static void ids_are_found_however_far_they_lie_apart(void **state)
{
	/*
	 * A page has 2^15 ids, and pages 64 apart, 2^21 ids, take turns in one place, as do processes 64 apart. Ids that
	 * lie alike in two such pages are there in one of them alone. Id 2 of process 134 is process 70's, too: it gets
	 * the process's number, 2.
	 */
	static const int64_t ids[] = {1, 2, 63, 64, 32767, 32768, 2097160, 4194325, 4294967295};
	static const int64_t none[] = {3,       8,       21,      65,      32769,
				       2097153, 2097173, 4194305, 4194312, 1 << 30};
	struct flows s;
	struct tl_flows *f = flows_of(
		&s, "($70, 1), ($70, 2), ($70, 63), ($70, 64), ($70, 32767), ($70, 32768), "
		    "($70, 2097160), ($70, 4194325), ($70, 4294967295), ($134, 2), ($134, 3)");

	(void)state;
	assert_int_equal(tl_flow_out(f, GLOBAL(134, 0), 3), (INT64_C(2) << 32) + 3);
	/* Of several calls with an id the first that comes by is the one. */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
			assert_int_equal(tl_flow_out(f, GLOBAL(70, 0), ids[i]),
					 round == 0 ? ids[i] : 0);
			assert_int_equal(tl_flow_in(f, GLOBAL(70, 0), ids[i]), ids[i]);
			assert_int_equal(tl_flow_in(f, GLOBAL(134, 0), 3), (INT64_C(2) << 32) + 3);
			assert_int_equal(tl_flow_out(f, GLOBAL(134, 0), 1), 0);
		}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(tl_flow_out(f, GLOBAL(70, 0), none[i]), 0);
		assert_int_equal(tl_flow_in(f, GLOBAL(70, 0), none[i]), 0);
	}
	free_flows(&s);
}

static void a_bounded_run_over_work_without_a_process_finds_it(void **state)
{
	struct tl_options opt = calls_and_work;

	(void)state;
	opt.part = 0.5;
	/* Half of two rows each: work 1, call 1. */
	check_with(&opt, 0,
		   "strings: (1, 'launch'), (2, 'add');"
		   "cuda: (10, 12, $70.71, 1, 1), (13, 14, $70.71, 1, 2);"
		   "CUPTI_ACTIVITY_KIND_KERNEL(start, end, streamId, correlationId, shortName): "
		   "(20, 21, 7, 1, 2), (30, 31, 7, 2, 2);",
		   "thread 70.71: 10 +2 'launch' out 1\n"
		   "stream 7: 20 +1 'add' in 1\n");
}

static void work_of_a_filtered_report_is_what_the_filter_leaves(void **state)
{
	struct tl_options opt = calls_and_work;
	sqlite3 *db =
		report_of("strings: (1, 'launch'), (2, 'add');"
			  "cuda: (10, 12, $70.71, 1, 1), (13, 14, $70.71, 1, 2);"
			  "kernels: (20, 21, $70, 0, 1, 7, 1, 2), (30, 31, $70, 0, 1, 7, 2, 2);");
	char *text;

	(void)state;
	opt.filtered = true;
	assert_int_equal(db_read_narrow(db, "CUPTI_ACTIVITY_KIND_KERNEL", NULL, "start < 25"),
			 SQLITE_OK);
	text = timeline_of(db, &opt, 0);
	assert_string_equal(text, "thread 70.71: 10 +2 'launch' out 1\n"
				  "thread 70.71: 13 +1 'launch'\n"
				  "stream 7: 20 +1 'add' in 1\n");
	free(text);
	sqlite3_close(db);
}

/* timeline.def has a line for each table of GPU work, and no other table has work of calls. */
static void tables_that_arrows_lead_to_are_those_of_gpu_work(void **state)
{
	unsigned cnt = 0;

	(void)state;
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		unsigned kind = 0;

		if (d->correlation[0] != '<')
			continue;
		while (kind < GPU_WORK_KINDS && strcmp(gpu_work_tables[kind].name, d->table) != 0)
			kind++;
		assert_true(kind < GPU_WORK_KINDS);
		cnt++;
	}
	assert_int_equal(cnt, GPU_WORK_KINDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_that_arrows_lead_to_are_those_of_gpu_work),
		cmocka_unit_test(an_arrow_leads_from_a_call_to_work_that_comes_after_it),
		cmocka_unit_test(a_call_whose_work_is_left_out_has_no_arrow),
		cmocka_unit_test(an_id_of_two_processes_is_two_arrows),
		cmocka_unit_test(ids_with_a_number_of_the_process_stay_as_they_are),
		cmocka_unit_test(ids_that_no_arrow_can_have_are_left_out),
		cmocka_unit_test(work_of_a_call_is_counted),
		cmocka_unit_test(only_a_call_that_came_by_is_the_begin_of_an_arrow),
		cmocka_unit_test(ids_are_found_however_far_they_lie_apart),
		cmocka_unit_test(a_bounded_run_over_work_without_a_process_finds_it),
		cmocka_unit_test(work_of_a_filtered_report_is_what_the_filter_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
