/* job_late.c - which rank is late: histories of ranks made by hand, as files of sessions show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/job/job_late.h"

#define MS    INT64_C(1000000)
#define S     INT64_C(1000000000)
#define RANKS 8

static const struct job_limit by_median = {
	.medians = 1.5, .floor_ns = MS, .steps = 1, .calm_ns = 30 * S};
static const struct job_limit by_time = {.ns = 60 * MS, .steps = 1, .calm_ns = 30 * S};
static const struct job_limit in_a_row = {
	.medians = 1.2, .floor_ns = MS, .steps = 5, .calm_ns = 30 * S};

static struct job_session ranks[RANKS];
static struct job_late *l;
static struct job_event event;
static int64_t now;
static bool is_held;

static int set_up(void **state)
{
	(void)state;
	memset(ranks, 0, sizeof(ranks));
	for (unsigned i = 0; i < RANKS; i++)
		snprintf(ranks[i].host, sizeof(ranks[i].host), "n%u", i / 2);
	now = 100 * S;
	is_held = false;
	event = (struct job_event){.why = ""};
	l = job_late_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	job_late_free(l);
	return 0;
}

static void step(unsigned rank, uint32_t number, int64_t own)
{
	char name[32];

	snprintf(name, sizeof(name), "rank %u", rank);
	job_step_add(&ranks[rank], name, number, own);
}

/* Ranks from @first on, @cnt of them, make the steps @from to @to, 100 ms each. */
static void make(unsigned first, unsigned cnt, uint32_t from, uint32_t to)
{
	for (unsigned i = first; i < first + cnt; i++)
		for (uint32_t n = from; n <= to; n++)
			step(i, n, 100 * MS);
}

/* A look at the files of the first @cnt sessions, after a second. */
static bool look(unsigned cnt, const struct job_limit *limit)
{
	now += S;
	for (unsigned i = 0; i < cnt; i++) {
		char name[32];

		snprintf(name, sizeof(name), "n%u-%u-00ff", i / 2, i);
		job_late_take(l, name, &ranks[i], now);
	}
	return job_late_find(l, limit, now, is_held, &event);
}

/* Looks until ranks that have joined count. */
static bool looks(unsigned cnt, const struct job_limit *limit)
{
	bool found = false;

	for (unsigned i = 0; i < 4; i++)
		found |= look(cnt, limit);
	return found;
}

static void a_late_rank_is_found_once(void **state)
{
	(void)state;
	make(0, 4, 1, 16);
	for (unsigned i = 0; i < 4; i++)
		step(i, 17, i == 2 ? 170 * MS : (100 + (int64_t)i) * MS);
	assert_true(looks(4, &by_median));
	assert_string_equal(event.why,
			    "rank 2 on n1 took 170.0 ms by itself in step 17, the median of 4 "
			    "ranks is 101.0 ms");
	assert_false(looks(4, &by_median));
}

static void a_limit_of_medians_is_one_above_the_median(void **state)
{
	(void)state;
	make(0, 4, 1, 20);
	step(3, 21, 150 * MS);
	make(0, 3, 21, 21);
	assert_false(looks(4, &by_median));
	step(3, 22, 151 * MS);
	make(0, 3, 22, 22);
	assert_true(look(4, &by_median));
}

static void a_limit_of_time_is_above_the_median(void **state)
{
	(void)state;
	make(0, 4, 1, 20);
	step(1, 21, 160 * MS);
	make(2, 2, 21, 21);
	make(0, 1, 21, 21);
	assert_false(looks(4, &by_time));
	step(1, 22, 161 * MS);
	make(2, 2, 22, 22);
	make(0, 1, 22, 22);
	assert_true(look(4, &by_time));
}

static void one_of_two_can_be_late(void **state)
{
	(void)state;
	step(0, 2, 100 * MS);
	step(1, 2, 200 * MS);
	assert_true(looks(2, &by_median));
	assert_int_equal(strncmp(event.why, "rank 1 ", 7), 0);
}

/* Steps of 1 ms differ by half a median on any machine. */
static void less_than_the_floor_is_not_late(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 30; n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, i == 3 ? 2 * MS : MS);
	assert_false(looks(4, &by_median));
	for (uint32_t n = 30; n < 40; n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, i == 3 ? 2 * MS + 1 : MS);
	assert_true(look(4, &by_median));
}

static void steps_in_a_row_are_of_one_rank(void **state)
{
	(void)state;
	/* Each in turn, and four in a row. */
	for (uint32_t n = 1; n <= 100; n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, n % 4 == i || (i == 1 && n % 8 < 4) ? 200 * MS : 100 * MS);
	assert_false(looks(4, &in_a_row));
	for (uint32_t n = 101; n <= 105; n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, i == 3 ? 121 * MS : 100 * MS);
	assert_true(look(4, &in_a_row));
	assert_string_equal(
		event.why,
		"rank 3 on n1 took 121.0 ms by itself in step 105 (5 in a row), the median "
		"of 4 ranks is 100.0 ms");
}

static void an_event_is_found_once_while_it_lasts(void **state)
{
	unsigned found = 0;
	uint32_t n = 1;

	(void)state;
	for (unsigned seconds = 0; seconds < 120; seconds++) {
		for (unsigned k = 0; k < 50; k++, n++)
			for (unsigned i = 0; i < 4; i++)
				step(i, n, i == 2 && n % 8 ? 40 * MS : 20 * MS);
		found += look(4, &in_a_row);
	}
	assert_int_equal(found, 1);
	/* It is over after 30 s, and the next one is another. */
	for (unsigned seconds = 0; seconds < 40; seconds++) {
		for (unsigned k = 0; k < 50; k++, n++)
			for (unsigned i = 0; i < 4; i++)
				step(i, n, i == 2 && seconds > 34 ? 40 * MS : 20 * MS);
		found += look(4, &in_a_row);
	}
	assert_int_equal(found, 2);
	for (unsigned k = 0; k < 10; k++, n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, i == 0 || i == 2 ? 40 * MS : 20 * MS);
	assert_true(look(4, &in_a_row)); /* another rank's is one of its own */
	assert_int_equal(strncmp(event.why, "rank 0 ", 7), 0);
}

/* Files of steps of 20 ms, written and read at moments seconds apart: each step is compared over all ranks. */
static void short_steps_are_compared_over_all_ranks(void **state)
{
	uint32_t n[4] = {1, 1, 1, 1};
	unsigned found = 0;

	(void)state;
	for (unsigned seconds = 0; seconds < 60; seconds++) {
		for (unsigned i = 0; i < 4; i++) {
			/* Rank i's file comes every (i + 1) seconds. */
			if (seconds % (i + 1))
				continue;
			for (; n[i] <= 50 * (seconds + 1); n[i]++)
				step(i, n[i], i == 2 ? 40 * MS : 20 * MS + n[i] % 5 * MS);
		}
		if (look(4, &in_a_row)) {
			found++;
			assert_non_null(strstr(event.why, "rank 2 "));
			assert_non_null(strstr(event.why, "of 4 ranks"));
		}
	}
	assert_int_equal(found, 1);
}

/* While reports are written, their ranks may be late for that. */
static void a_rank_that_is_late_in_held_steps_is_found_if_it_stays_late(void **state)
{
	(void)state;
	make(0, 4, 1, 9);
	assert_false(looks(4, &in_a_row));
	is_held = true;
	for (uint32_t n = 10; n < 30; n++)
		for (unsigned i = 0; i < 4; i++)
			step(i, n, i == 3 || (i == 0 && n < 20) ? 200 * MS : 100 * MS);
	assert_false(look(4, &in_a_row));
	is_held = false;
	assert_false(look(4, &in_a_row));
	for (unsigned i = 0; i < 4; i++)
		step(i, 30, i == 3 ? 200 * MS : 100 * MS);
	assert_true(look(4, &in_a_row));
	assert_non_null(
		strstr(event.why, "rank 3 on n1 took 200.0 ms by itself in step 30 (21 in a row)"));
}

static void a_healthy_job_is_silent(void **state)
{
	uint64_t random = 88172645463325252u;
	uint32_t n = 1;

	(void)state;
	for (unsigned seconds = 0; seconds < 600; seconds++) {
		for (unsigned k = 0; k < 50; k++, n++)
			for (unsigned i = 0; i < RANKS; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				/* One step in 50 is longer by half and more, on each rank. */
				step(i, n,
				     20 * MS + (random % 50 == 0 ? 10 + (int64_t)(random >> 8) % 30
								 : 0) *
						       MS);
			}
		assert_false(look(RANKS, &in_a_row));
	}
}

static void a_step_waits_for_all_ranks(void **state)
{
	(void)state;
	make(0, 3, 1, 9);
	assert_false(looks(3, &by_median));
	step(0, 10, 900 * MS);
	step(1, 10, 100 * MS);
	assert_false(look(3, &by_median));
	step(2, 10, 100 * MS);
	assert_true(look(3, &by_median));
	assert_non_null(strstr(event.why, "of 3 ranks"));
}

static void a_rank_that_has_ended_is_not_waited_for(void **state)
{
	(void)state;
	make(0, 3, 1, 9);
	assert_false(looks(3, &by_median));
	/* A second's look each; rank 2's file stays as it is. */
	for (uint32_t n = 10; n < 15; n++) {
		make(1, 1, n, n);
		step(0, n, n == 10 ? 900 * MS : 100 * MS);
		assert_false(look(3, &by_median));
	}
	for (uint32_t n = 15; n < 25 && !event.why[0]; n++) {
		make(0, 2, n, n);
		look(3, &by_median);
	}
	assert_non_null(
		strstr(event.why,
		       "rank 0 on n0 took 900.0 ms by itself in step 10, the median of 2 ranks"));
}

/* Two of four have the step, and are no median of the job, until the others have been away for a minute. */
static void steps_of_few_ranks_are_not_compared(void **state)
{
	uint32_t n = 10;

	(void)state;
	make(0, 4, 1, 9);
	assert_false(looks(4, &by_median));
	for (unsigned seconds = 0; seconds < 50; seconds++, n++) {
		step(0, n, 900 * MS);
		step(1, n, 100 * MS);
		assert_false(look(4, &by_median));
	}
	for (unsigned seconds = 0; seconds < 20 && !event.why[0]; seconds++, n++) {
		step(0, n, 900 * MS);
		step(1, n, 100 * MS);
		look(4, &by_median);
	}
	assert_non_null(strstr(event.why, "of 2 ranks"));
}

static void ranks_that_come_are_waited_for(void **state)
{
	(void)state;
	step(0, 2, 900 * MS);
	step(1, 2, 100 * MS);
	assert_false(look(2, &by_median));
	assert_false(look(2, &by_median));
	step(2, 2, 880 * MS);
	assert_false(look(3, &by_median));
	step(3, 2, 890 * MS);
	assert_false(looks(4, &by_median));
}

static void ranks_begin_anew(void **state)
{
	(void)state;
	make(0, 3, 1, 200);
	assert_false(looks(3, &by_median));
	for (unsigned i = 0; i < 3; i++)
		step(i, 2, i == 1 ? 900 * MS : 100 * MS);
	assert_true(looks(3, &by_median));
	assert_non_null(strstr(event.why, "in step 2,"));
}

/* A step that did not come is compared over the others, and none takes its place. */
static void a_missing_step_is_no_other(void **state)
{
	(void)state;
	make(0, 4, 1, 9);
	assert_false(looks(4, &by_median));
	make(0, 3, 10, 12);
	step(3, 12, 900 * MS);
	assert_true(look(4, &by_median));
	assert_non_null(strstr(event.why, "in step 12,"));
}

static void reports_are_of_the_ranks_that_matter(void **state)
{
	(void)state;
	make(0, RANKS, 1, 9);
	for (unsigned i = 0; i < RANKS; i++)
		step(i, 10, i == 5 ? 900 * MS : (100 + (int64_t)i) * MS);
	assert_true(looks(RANKS, &by_median));
	/* Its own, those beside it, that of the median on another host. */
	assert_string_equal(event.to, "rank_5/n2-5-00ff/n2-4-00ff/n3-6-00ff/n1-3-00ff");
}

static void the_report_to_compare_with_is_of_another_host(void **state)
{
	/* Rank 7 is the median, and on the late one's host; rank 1 is next to it. */
	static const int64_t own[RANKS] = {100, 105, 101, 102, 108, 900, 109, 104};

	(void)state;
	snprintf(ranks[7].host, sizeof(ranks[7].host), "n2");
	make(0, RANKS, 1, 9);
	for (unsigned i = 0; i < RANKS; i++)
		step(i, 10, own[i] * MS);
	assert_true(looks(RANKS, &by_median));
	assert_string_equal(event.to, "rank_5/n2-5-00ff/n2-4-00ff/n3-6-00ff/n1-3-00ff");
}

static void names_are_words_of_a_request(void **state)
{
	(void)state;
	for (uint32_t n = 2; n < 4; n++) {
		job_step_add(&ranks[0], "a b/c", n, 900 * MS);
		job_step_add(&ranks[0], "other", n, 100 * MS);
	}
	assert_true(looks(1, &by_median));
	assert_string_equal(event.to, "a_b_c/n0-0-00ff");
	job_late_free(l);
	l = job_late_new();
	look(1, &by_median);
	job_late_known(l, event.to, now);
	assert_false(looks(1, &by_median));
}

/* Rank 3 is 512 steps ahead: of the step that others make it knows nothing any more. */
static void a_step_that_was_forgotten_is_not_compared(void **state)
{
	(void)state;
	make(0, 4, 1, 1);
	assert_false(looks(4, &by_median));
	make(3, 1, 2, 250);
	assert_false(look(4, &by_median));
	make(3, 1, 251, 500);
	assert_false(look(4, &by_median));
	make(3, 1, 501, 519);
	step(3, 520, 900 * MS);
	make(0, 3, 2, 8);
	assert_false(look(4, &by_median));
}

static void ranks_of_one_session_are_one_report(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (uint32_t n = 1; n < 9; n++) {
			char name[32];

			snprintf(name, sizeof(name), "rank %u", i);
			job_step_add(&ranks[i / 2 * 2], name, n, i == 2 ? 900 * MS : 100 * MS);
		}
	assert_true(looks(4, &by_median));
	assert_string_equal(event.to, "rank_2/n1-2-00ff/n0-0-00ff");
}

/* The session that compares has ended, and the next one sees its request. */
static void an_event_that_was_requested_is_known(void **state)
{
	struct job_event first;

	(void)state;
	make(0, 4, 1, 9);
	for (uint32_t n = 10; n < 60; n++) {
		step(2, n, 900 * MS);
		make(3, 1, n, n);
		make(0, 2, n, n);
	}
	assert_true(looks(4, &by_median));
	first = event;
	job_late_free(l);
	l = job_late_new();
	look(4, &by_median);
	job_late_known(l, first.to, now);
	job_late_known(l, "rank_2", now);
	job_late_known(l, "", now);
	assert_false(looks(4, &by_median));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_late_rank_is_found_once),
		TEST(a_limit_of_medians_is_one_above_the_median),
		TEST(a_limit_of_time_is_above_the_median),
		TEST(one_of_two_can_be_late),
		TEST(less_than_the_floor_is_not_late),
		TEST(steps_in_a_row_are_of_one_rank),
		TEST(an_event_is_found_once_while_it_lasts),
		TEST(short_steps_are_compared_over_all_ranks),
		TEST(a_rank_that_is_late_in_held_steps_is_found_if_it_stays_late),
		TEST(a_healthy_job_is_silent),
		TEST(a_step_waits_for_all_ranks),
		TEST(a_rank_that_has_ended_is_not_waited_for),
		TEST(steps_of_few_ranks_are_not_compared),
		TEST(ranks_that_come_are_waited_for),
		TEST(ranks_begin_anew),
		TEST(a_missing_step_is_no_other),
		TEST(reports_are_of_the_ranks_that_matter),
		TEST(the_report_to_compare_with_is_of_another_host),
		TEST(names_are_words_of_a_request),
		TEST(a_step_that_was_forgotten_is_not_compared),
		TEST(ranks_of_one_session_are_one_report),
		TEST(an_event_that_was_requested_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
