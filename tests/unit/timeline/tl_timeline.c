/* tl_timeline.c - all tables side by side: their order where times are equal, options of a run, how a run ends. */
#include "tl_test.h"

static void activities_are_a_list_of_words(void **state)
{
	char why[200] = "";

	(void)state;
	assert_int_equal(tl_activities_parse("kernel", why, sizeof(why)), TL_ACT_KERNEL);
	assert_int_equal(tl_activities_parse("gpu,NVTX", why, sizeof(why)),
			 TL_ACT_KERNEL | TL_ACT_GPU_MEM | TL_ACT_NVTX);
	assert_int_equal(tl_activities_parse(",,io,", why, sizeof(why)), TL_ACT_IO);
	assert_int_equal(tl_activities_parse("memset,memcpy", why, sizeof(why)), TL_ACT_GPU_MEM);
	assert_int_equal(tl_activities_parse("default", why, sizeof(why)), TL_ACT_DEFAULT);
	assert_int_equal(tl_activities_parse("all", why, sizeof(why)), TL_ACT_ALL);
	assert_string_equal(why, "");
	assert_int_equal(tl_activities_parse("io,kernels,nvtx", why, sizeof(why)), 0);
	assert_string_equal(why, "no activity is called 'kernels'; did you mean 'kernel'?");
	assert_int_equal(tl_activities_parse("ker", why, sizeof(why)), 0);
	assert_int_equal(tl_activities_parse("", why, sizeof(why)), 0);
	assert_string_equal(why, "no activity is named");
	assert_int_equal(tl_activities_parse(",", why, sizeof(why)), 0);
}

static void of_equal_times_what_is_outside_comes_first(void **state)
{
	(void)state;
	/* NVTX, a library, CUDA, libc, a system call: also where their tables come in another order, and longer ones before. */
	check("strings: (1, 'a');"
	      "SYSCALL(start, end, globalTid, nameId): (10, 20, 1, 1), (10, 30, 1, 1);"
	      "libc: (10, 20, 1, 1);"
	      "cuda: (10, 20, 1, 1, 1);"
	      "CUBLAS_EVENTS(start, end, globalTid, nameId): (10, 20, 1, 1);"
	      "MPI_OTHER_EVENTS(start, end, globalTid, textId): (10, 20, 1, 1);"
	      "ranges: (10, 20, 59, 1, NULL, 'r', NULL, NULL), "
	      "(10, NULL, 34, 1, NULL, 'm', NULL, NULL);",
	      /* A mark has no end in its row, as something that has not ended. */
	      "thread 0.1: 10 'm'\n"
	      "thread 0.1: 10 +20 'a'\n"
	      "thread 0.1: 10 +10 'r'\n"
	      "thread 0.1: 10 +10 'a'\n"
	      "thread 0.1: 10 +10 'a'\n"
	      "thread 0.1: 10 +10 'a'\n"
	      "thread 0.1: 10 +10 'a'\n"
	      "thread 0.1: 10 +10 'a'\n");
	check_with(&(struct tl_options){.activities = TL_ACT_ALL, .no_args = true}, SHOW_ROWS,
		   "strings: (1, 'a');"
		   "SYSCALL(start, end, globalTid, nameId): (10, 20, 1, 1);"
		   "libc: (10, 20, 1, 1);"
		   "cuda: (10, 20, 1, 1, 1);",
		   "thread 0.1: 10 +10 'a' (CUPTI_ACTIVITY_KIND_RUNTIME 1, cuda_runtime)\n"
		   "thread 0.1: 10 +10 'a' (OSRT_API 1, osrt)\n"
		   "thread 0.1: 10 +10 'a' (SYSCALL 1, syscall)\n");
}

static void sources_take_turns_by_time(void **state)
{
	(void)state;
	/* One has run out early, another begins late; an instant comes after a slice that begins with it. */
	check("strings: (1, 'a'), (2, 'b'), (3, 'c');"
	      "libc: (10, 11, 1, 1), (30, 31, 1, 1), (50, 51, 1, 1);"
	      "cuda: (20, 21, 1, 2, 1);"
	      "SYSCALL(start, end, globalTid, nameId): (40, 41, 2, 3), (60, 61, 2, 3);"
	      "SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState): (40, 0, 1, 2, "
	      "NULL);",
	      "thread 0.1: 10 +1 'a'\n"
	      "thread 0.1: 20 +1 'b'\n"
	      "thread 0.1: 30 +1 'a'\n"
	      "thread 0.2: 40 +1 'c'\n"
	      "thread 0.2: 40 on cpu 0\n"
	      "thread 0.1: 50 +1 'a'\n"
	      "thread 0.2: 60 +1 'c'\n");
}

/* ---- how a run ends ---- */

struct counts {
	int64_t events, ends, stop_at;
	uint64_t done[4], total, calls, progress_max;
};

static int take_track(void *self, struct tl_track *t)
{
	(void)self;
	(void)t;
	return 0;
}

static int take_event(void *self, const struct tl_event *e)
{
	struct counts *c = self;

	(void)e;
	return ++c->events == c->stop_at ? -1 : 0;
}

static int take_end(void *self)
{
	struct counts *c = self;

	return ++c->ends == 2 ? -1 : 0;
}

static int on_progress(void *self, uint64_t done, uint64_t total)
{
	struct counts *c = self;

	c->done[c->calls++] = done;
	c->total = total;
	return c->calls == c->progress_max ? -1 : 0;
}

static const struct tl_sink counting = {take_track, take_event, take_end};

static sqlite3 *many_calls(void)
{
	return report_of("strings: (1, 'a');"
			 "CREATE TABLE OSRT_API(start, end, globalTid, nameId);"
			 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
			 "40000)INSERT INTO OSRT_API SELECT i, i, 1, 1 FROM n;"
			 "SYSCALL(start, end, globalTid, nameId): (1, 2, 1, 1), (1, 2, 1, 1);");
}

static void progress_is_made_every_16384_events(void **state)
{
	struct counts c = {0};
	struct tl_options opt = {.activities = TL_ACT_OSRT | TL_ACT_SYSCALL,
				 .progress = on_progress,
				 .of_progress = &c};
	sqlite3 *db = many_calls();
	char why[100] = "x";

	(void)state;
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), 40002);
	assert_string_equal(why, "");
	assert_int_equal(c.events, 40002);
	assert_int_equal(c.ends, 1);
	assert_int_equal(c.calls, 2);
	assert_int_equal(c.done[0], 16384);
	assert_int_equal(c.done[1], 32768);
	assert_int_equal(c.total, 40002);
	/* And may be stopped there, which is no failure to be explained. */
	c = (struct counts){.progress_max = 1};
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), -1);
	assert_string_equal(why, "");
	assert_int_equal(c.events, 16383);
	assert_int_equal(c.ends, 1);
	sqlite3_close(db);
}

static void a_sink_may_stop_a_run_at_any_event(void **state)
{
	struct counts c = {.stop_at = 3};
	struct tl_options opt = {.activities = TL_ACT_OSRT};
	sqlite3 *db = many_calls();
	char why[100] = "x";

	(void)state;
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), -1);
	assert_string_equal(why, "");
	assert_int_equal(c.events, 3);
	assert_int_equal(c.ends, 1);
	/* Or when all is over. */
	c.stop_at = 0;
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), -1);
	assert_int_equal(c.events, 40003);
	sqlite3_close(db);
}

static void a_run_that_fails_has_a_reason(void **state)
{
	struct counts c = {0};
	struct tl_options opt = {.activities = TL_ACT_ALL};
	char why[100] = "";
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), -1);
	assert_string_equal(why, "no such table: StringIds");
	sqlite3_close(db);
	/* A table without row numbers has none by which rows could be found. */
	db = report_of("strings: (1, 'a');"
		       "CREATE TABLE SYSCALL(start PRIMARY KEY, end, globalTid, nameId) WITHOUT "
		       "ROWID;");
	assert_int_equal(timeline_run(db, &opt, &counting, &c, why, sizeof(why)), -1);
	assert_string_equal(why, "no such column: rowid");
	sqlite3_close(db);
}

static void runs_of_one_database_may_follow_and_contain_each_other(void **state)
{
	sqlite3 *db = report_of("strings: (1, 'a');"
				"libc: (10, 20, 1, 1);"
				"ranges: (10, 20, 59, 1, NULL, 'r', NULL, NULL);");
	struct tl_options opt = {.activities = TL_ACT_ALL, .no_args = true};
	char *first = timeline_of(db, &opt, 0), *second = timeline_of(db, &opt, 0);

	(void)state;
	assert_string_equal(first, second);
	assert_string_equal(first, "thread 0.1: 10 +10 'r'\nthread 0.1: 10 +10 'a'\n");
	free(first);
	free(second);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(activities_are_a_list_of_words),
		cmocka_unit_test(of_equal_times_what_is_outside_comes_first),
		cmocka_unit_test(sources_take_turns_by_time),
		cmocka_unit_test(progress_is_made_every_16384_events),
		cmocka_unit_test(a_sink_may_stop_a_run_at_any_event),
		cmocka_unit_test(a_run_that_fails_has_a_reason),
		cmocka_unit_test(runs_of_one_database_may_follow_and_contain_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
