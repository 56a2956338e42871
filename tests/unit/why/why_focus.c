/* why_focus.c - whose time is explained, and which: threads, ranges, steps; what slow steps do more; the walk as a track. */
#include "tests/unit/why/why_test.h"

#include "exporters/why/answer/tracks.h"

/* The main thread computes at line 1 until 100; thread 101 at line 2. */
static void two_threads(void)
{
	report(100);
	runs(MAIN, 0, 100);
	runs(OTHER, 0, 100);
	computes(MAIN, 0, 100, L(1));
	computes(OTHER, 0, 100, L(2));
}

/* The spans that are explained, in ms. */
static const char *spans(void)
{
	static char text[1024];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < test.y.time.spans_cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%g-%g ",
					(double)test.y.time.spans[i].start / MS,
					(double)test.y.time.spans[i].end / MS);
	return text;
}

static const struct why_ask of_part = {.nvtx = "part"};

/* ---- threads ---- */

static void thread_by_its_number(void **state)
{
	(void)state;
	two_threads();
	ask_how(&(struct why_ask){.tid = OTHER});
	assert_string_equal(parts(), "COMPUTE at a.py:2 in f2 100\n");
	ask_how(&(struct why_ask){.tid = tid_of(OTHER)});
	assert_string_equal(parts(), "COMPUTE at a.py:2 in f2 100\n");
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f1 100\n");
	assert_string_equal(spans(), "0-100 ");
}

static void thread_that_is_not_there(void **state)
{
	(void)state;
	two_threads();
	assert_string_equal(refusal(&(struct why_ask){.tid = 105}),
			    "thread 105 is not in the report; the nearest is 101");
	assert_string_equal(refusal(&(struct why_ask){.tid = 1}),
			    "thread 1 is not in the report; the nearest is 100");
}

static void thread_of_nothing(void **state)
{
	(void)state;
	assert_string_equal(refusal(&(struct why_ask){.tid = 105}),
			    "thread 105 is not in the report");
}

/* ---- ranges ---- */

/* Ranges in one another count once; what is outside of the life of the process is cut; an empty one is none. */
static void ranges_in_one_another(void **state)
{
	(void)state;
	two_threads();
	range(MAIN, 10, 30, "part");
	range(MAIN, 15, 20, "part");
	range(MAIN, 25, 40, "part");
	range(MAIN, 50, 50, "part");
	range(MAIN, -5, 2, "part");
	range(MAIN, 90, 120, "part");
	ask_how(&of_part);
	assert_string_equal(spans(), "0-2 10-30 30-40 90-100 ");
	assert_int_equal(test.y.ns, 42 * MS);
	assert_int_equal(test.y.time.cnt, 6);
	assert_string_equal(test.y.time.name, "part");
}

/* The thread with most time in them: 101 has 30 in one, the main thread 20 in two. One that is asked for has its own. */
static void ranges_of_the_thread_with_most_time(void **state)
{
	(void)state;
	two_threads();
	range(MAIN, 10, 20, "part");
	range(MAIN, 30, 40, "part");
	range(OTHER, 50, 80, "part");
	ask_how(&of_part);
	assert_string_equal(parts(), "COMPUTE at a.py:2 in f2 30\n");
	ask_how(&(struct why_ask){.nvtx = "part", .tid = MAIN});
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f1 20\n");
	ask_how(&(struct why_ask){.nvtx = "PA%"});
	assert_string_equal(spans(), "50-80 ");
}

/* A range without an end goes on to the end of the time. */
static void range_without_an_end(void **state)
{
	(void)state;
	two_threads();
	sql("INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES "
	    "(%lld, NULL, "
	    "59, 'part', %lld, 0)",
	    ns_of(70), tid_of(MAIN));
	ask_how(&of_part);
	assert_string_equal(spans(), "70-100 ");
}

static void ranges_that_are_not_there(void **state)
{
	(void)state;
	two_threads();
	range(MAIN, 10, 20, "forward");
	range(MAIN, 30, 40, "forward");
	range(MAIN, 50, 60, "backward");
	range(MAIN, 200, 210, "late");
	assert_string_equal(refusal(&(struct why_ask){.nvtx = "forwart"}),
			    "range 'forwart' is not in the report; the nearest is 'forward'");
	assert_string_equal(
		refusal(&(struct why_ask){.nvtx = "zzzzzzzzzzzz"}),
		"range 'zzzzzzzzzzzz' is not in the report; the most frequent is 'forward'");
	assert_string_equal(refusal(&(struct why_ask){.nvtx = "late"}),
			    "range 'late' is on another thread, or outside of the time");
	assert_string_equal(refusal(&(struct why_ask){.nvtx = "forward", .tid = OTHER}),
			    "range 'forward' is on another thread, or outside of the time");
}

static void report_without_ranges(void **state)
{
	(void)state;
	two_threads();
	assert_string_equal(refusal(&of_part), "the report has no NVTX ranges");
	assert_string_equal(refusal(&(struct why_ask){.step = ""}),
			    "the report has no steps: no NVTX range repeats 5 times");
}

/* ---- steps ---- */

/* So many steps of 10 ms, of which the second one takes 20: line 3 asleep for the 10 more. */
static void steps(int cnt)
{
	double at = 0;

	report(10 * cnt + 10);
	runs(MAIN, 0, 20);
	runs(MAIN, 30, 10 * cnt + 10);
	for (int i = 0; i < cnt; i++) {
		char name[32];

		snprintf(name, sizeof(name), "step %d", i + 1);
		computes(MAIN, at, at + 10, L(1));
		range(MAIN, at, at + (i == 1 ? 20 : 10), name);
		at += 10;
		if (i != 1)
			continue;
		call(MAIN, "usleep", at, at + 10, L(3));
		at += 10;
	}
}

/* Nine steps of 10 and one of 20: the slowest tenth is one step; it is 10 more than the median, all asleep. */
static void slow_step(void **state)
{
	const struct why_steps *s = &test.y.steps;

	(void)state;
	steps(10);
	ask_how(&(struct why_ask){.step = ""});
	assert_string_equal(test.y.time.name, "step #");
	assert_int_equal(s->cnt, 10);
	assert_int_equal(s->median, 10 * MS);
	assert_int_equal(s->min, 10 * MS);
	assert_int_equal(s->max, 20 * MS);
	assert_int_equal(s->slow_cnt, 1);
	assert_int_equal(s->slow[0].no, 2);
	assert_int_equal(s->slow_ns, 20 * MS);
	assert_int_equal(s->parts_cnt, 2);
	assert_int_equal(test.y.parts[s->parts[0].part].cause.reason, WHY_SLEEP);
	assert_int_equal(s->parts[0].slow, 10 * MS);
	assert_int_equal(s->parts[0].median, 0);
	assert_int_equal(s->parts[1].slow, 10 * MS);
	assert_int_equal(s->parts[1].median, 10 * MS);
}

/* Eleven steps: the slowest tenth are two, the second of which is the first of 10 ms: 15 in the mean, 5 of them asleep. */
static void slow_steps_are_a_tenth_rounded_up(void **state)
{
	const struct why_steps *s = &test.y.steps;

	(void)state;
	steps(11);
	ask_how(&(struct why_ask){.step = ""});
	assert_int_equal(s->slow_cnt, 2);
	assert_int_equal(s->slow[0].no, 1);
	assert_int_equal(s->slow[1].no, 2);
	assert_int_equal(s->slow_ns, 15 * MS);
	assert_int_equal(s->parts[0].slow, 5 * MS);
}

static void one_step_by_its_number(void **state)
{
	(void)state;
	steps(6);
	ask_how(&(struct why_ask){.step = "2"});
	assert_string_equal(spans(), "10-30 ");
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f1 10\nSLEEP at a.py:3 in f3 10\n");
	assert_int_equal(test.y.time.cnt, 6);
	assert_int_equal(test.y.time.median, 10 * MS);
	assert_int_equal(test.y.steps.cnt, 0);
	assert_string_equal(refusal(&(struct why_ask){.step = "7"}),
			    "step 7 is not in the report; the nearest of 6 is 6");
	assert_string_equal(refusal(&(struct why_ask){.step = "0"}),
			    "step 0 is not in the report; the nearest of 6 is 1");
	/* A number of 30 digits is the largest there is. */
	assert_string_equal(refusal(&(struct why_ask){.step = "111111111111111111111111111111"}),
			    "step 9223372036854775807 is not in the report; the nearest of 6 is 6");
}

/* Five make steps, four do not. Steps that were not asked for are noticed, by the same number. */
static void five_steps_are_steps(void **state)
{
	(void)state;
	steps(5);
	ask();
	assert_int_equal(test.y.noticed.cnt, 5);
	assert_int_equal(test.y.noticed.median, 10 * MS);
	assert_int_equal(test.y.noticed.max, 20 * MS);
	assert_string_equal(test.y.noticed.name, "step #");
	assert_string_equal(spans(), "0-60 ");
}

static void four_steps_are_none(void **state)
{
	(void)state;
	steps(4);
	ask();
	assert_int_equal(test.y.noticed.cnt, 0);
	assert_string_equal(refusal(&(struct why_ask){.step = ""}),
			    "no NVTX range repeats 5 times; 'step #' does 4 times");
	/* Named, they are looked at all the same. */
	assert_null(refusal(&(struct why_ask){.step = "step 2"}));
	assert_string_equal(spans(), "10-30 ");
}

/* ---- many leaves ---- */

/* 2,000 waits for as many files: the table of leaves grows, and a second walk over them finds each again. */
static void two_thousand_causes(void **state)
{
	(void)state;
	report(4000);
	for (int i = 0; i < 2000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/data/%d", i);
		runs(MAIN, 2 * i, 2 * i + 1);
		call(MAIN, "read", 2 * i + 1, 2 * i + 2, NULL, .path = path);
	}
	ask();
	assert_int_equal(test.y.walk.leaves_cnt, 2001);
	walk_cover(&test.y.walk, test.y.focus, 0, 4000 * (int64_t)MS);
	assert_int_equal(test.y.walk.leaves_cnt, 2001);
	for (size_t i = 0; i < 2001; i++) {
		const struct why_leaf *l = &test.y.walk.leaves[i];

		assert_int_equal(l->ns, (l->cause.reason == WHY_COMPUTE ? 4000 : 2) * (int64_t)MS);
		assert_int_equal(l->cnt, l->cause.reason == WHY_COMPUTE ? 4000 : 2);
	}
}

/* As many waits as hops can be numbered, and more, each for another file and by a waker: beyond, the way is cut, not the time. */
static void ways_beyond_the_table_are_cut(void **state)
{
	struct at at = {.sure = 1};
	struct why_cause cause = {WHY_LOCK, PLACE_NONE, WHY_NONE, 0};

	(void)state;
	two_threads();
	ask();
	for (cause.object = 0; cause.object < WALK_HOPS - 1; cause.object++)
		assert_int_equal(walk_hop(&test.y.walk, &at, &cause), cause.object + 1);
	assert_int_equal(test.y.walk.hops_cnt, WALK_HOPS);
	at.hop = 7;
	assert_int_equal(walk_hop(&test.y.walk, &at, &cause), 7);
	/* Those that are there are found. */
	at.hop = 0;
	cause.object = 1000;
	assert_int_equal(walk_hop(&test.y.walk, &at, &cause), 1001);
	at.thread = 1;
	assert_int_equal(walk_hop(&test.y.walk, &at, &cause), 0);
}

/* ---- tracks ---- */

/* 0-10 line 1, 10-30 asleep, 30-40 line 1 again, and GPU 0 from 12 to 20: equal leaves that follow each other are one slice. */
static void walk_as_tracks(void **state)
{
	char text[256] = "";
	struct why_tracks t;
	const struct tl_made_track *track;

	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "usleep", 10, 30, L(2));
	runs(MAIN, 30, 40);
	computes(MAIN, 30, 40, L(1));
	cuda(MAIN, "cudaLaunchKernel", 8, 9, L(3), 1);
	kernel(12, 20, 1);
	open_report();
	assert_int_equal(why_tracks_make(&t, test.db, NULL, text, sizeof(text)), 0);
	assert_int_equal(t.made.tracks_cnt, 2);
	track = &t.made.tracks[0];
	/* Line 1, the launch, line 1, asleep, line 1, the end. */
	assert_int_equal(track->slices_cnt, 6);
	assert_int_equal(track->slices[0].start, 0);
	assert_int_equal(track->slices[1].start, 8 * MS);
	assert_int_equal(track->slices[3].start, 10 * MS);
	assert_int_equal(track->slices[0].kind, track->slices[4].kind);
	assert_int_equal(track->slices[5].start, 40 * MS);
	assert_int_equal(track->slices[5].kind, TL_MADE_GAP);
	assert_string_equal(t.made.kinds[track->slices[3].kind].name.text, "sleeping");
	track = &t.made.tracks[1];
	/* Being launched, not yet begun, the kernel, the end. */
	assert_int_equal(track->slices_cnt, 4);
	assert_int_equal(track->slices[2].start, 12 * MS);
	assert_string_equal(t.made.kinds[track->slices[0].kind].name.text, "idle: being launched");
	assert_string_equal(t.made.kinds[track->slices[2].kind].name.text, "kernels");
	why_tracks_free(&t);
}

static void nothing_as_tracks(void **state)
{
	char text[256] = "";
	struct why_tracks t;

	(void)state;
	open_report();
	assert_int_equal(why_tracks_make(&t, test.db, NULL, text, sizeof(text)), 0);
	assert_int_equal(t.made.tracks_cnt, 0);
	why_tracks_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(thread_by_its_number),
		TEST(thread_that_is_not_there),
		TEST(thread_of_nothing),
		TEST(ranges_in_one_another),
		TEST(ranges_of_the_thread_with_most_time),
		TEST(range_without_an_end),
		TEST(ranges_that_are_not_there),
		TEST(report_without_ranges),
		TEST(slow_step),
		TEST(slow_steps_are_a_tenth_rounded_up),
		TEST(one_step_by_its_number),
		TEST(five_steps_are_steps),
		TEST(four_steps_are_none),
		TEST(two_thousand_causes),
		TEST(ways_beyond_the_table_are_cut),
		TEST(walk_as_tracks),
		TEST(nothing_as_tracks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
