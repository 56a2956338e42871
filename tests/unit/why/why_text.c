/* why_text.c - the answer for people and for programs: every line, shares that round, names that are long or hostile. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_text_test.h"

static void put_all(FILE *out)
{
	why_put_text(out, &test.y, "r.sqlite", false);
}

static void put_brief(FILE *out)
{
	why_put_text(out, &test.y, "r.sqlite", true);
}

/* ---- times ---- */

static void times_have_two_or_three_digits(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} times[] = {
		{0, "0 us"},
		{499, "0 us"},
		{999999, "1000 us"},
		{1000000, "1.0 ms"},
		{9940000, "9.9 ms"},
		{9999999, "10.0 ms"},
		{10000000, "10 ms"},
		{999499999, "999 ms"},
		{999999999, "1000 ms"},
		{1000000000, "1.00 s"},
		{9999999999, "10.00 s"},
		{10000000000, "10.0 s"},
		{123456789012, "123.5 s"},
		{-5000, "-5 us"},
	};
	char buf[WHY_TIME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		assert_string_equal(why_time_text(times[i].ns, buf), times[i].text);
	/* The longest number fits. */
	assert_string_equal(why_time_text(INT64_MAX, buf), "9223372036.9 s");
	assert_string_equal(why_sure_text(0.9), "sure");
	assert_string_equal(why_sure_text(0.899), "likely");
	assert_string_equal(why_sure_text(0.6), "likely");
	assert_string_equal(why_sure_text(0.599), "unclear");
}

/* ---- all of it ---- */

/*
 * Without line 9 the lock is free at once: 38, and the wait for a CPU. Without line 1 the last 10 are won; or also the 60 before, if the
 * wait of 38 begins as much earlier.
 */
static void text_of_an_answer(void **state)
{
	(void)state;
	program();
	ask();
	assert_string_equal(
		text_of(put_all),
		"r.sqlite: 110 ms wall time, life of the root process (110 ms recorded); main "
		"thread "
		"of /bin/p100\n"
		"Where the time went\n"
		"      63.6 %     70 ms  computing\n"
		"                    70 ms  a.py:1 in f1\n"
		"      34.5 %     38 ms  sleeping\n"
		"                    38 ms  a.py:9 in f9, usleep  [thread 101]\n"
		"       1.8 %    2.0 ms  waiting for a CPU\n"
		"Causes, without waits for a CPU\n"
		"  1   63.6 %     70 ms  a.py:1 in f1: computing  sure\n"
		"                     at worst: sightline view r.sqlite --at 0.000s --row 100 "
		"--span 0.000s-0.090s\n"
		"  2   34.5 %     38 ms  a.py:9 in f9: sleeping, usleep  [thread 101]  sure\n"
		"                     <- main thread waiting for a lock, pthread_mutex_lock at "
		"a.py:2 in f2\n"
		"                     at worst: sightline view r.sqlite --at 0.060s --row 101 "
		"--span 0.041s-0.117s\n"
		"What to change\n"
		"  1  severe  Moving the sleep at a.py:9 in f9 out of the lock would save 40 ms of "
		"110 ms\n"
		"  2  bad     Removing the computation at a.py:1 in f1 would save up to 70 ms of "
		"110 ms: compute it once\n");
	/* In brief: one culprit, one gain. */
	assert_null(strstr(text_of(put_brief), "  2  "));
	assert_line(written, "  1   63.6 %     70 ms  a.py:1 in f1: computing  sure");
	assert_non_null(strstr(written, "  1  severe "));
}

static void json_of_an_answer(void **state)
{
	const char *json;

	(void)state;
	program();
	ask();
	json = text_of(put_json);
	assert_string_equal(value_of(json, "$.report"), "r \"x\".sqlite");
	assert_string_equal(value_of(json, "$.wall.ns"), "110000000");
	assert_string_equal(value_of(json, "$.wall.basis"), "life of the root process");
	assert_string_equal(value_of(json, "$.focus.thread"), "main thread");
	assert_string_equal(value_of(json, "$.focus.ns"), "110000000");
	assert_string_equal(value_of(json, "$.partition[0].reason"), "COMPUTE");
	assert_string_equal(value_of(json, "$.partition[0].call"), "null");
	assert_string_equal(value_of(json, "$.partition[0].line"), "1");
	assert_string_equal(value_of(json, "$.partition[1].ns"), "38000000");
	assert_string_equal(value_of(json, "$.partition[1].chain[0].reason"), "LOCK");
	assert_string_equal(value_of(json, "$.partition[1].chain[0].thread"), "main thread");
	assert_string_equal(value_of(json, "$.partition[1].device"), "null");
	assert_string_equal(value_of(json, "$.partition[1].confidence"), "1.0");
	assert_string_equal(value_of(json, "$.culprits[1].reasons.SLEEP"), "38000000");
	assert_string_equal(value_of(json, "$.culprits[1].most.pieces"), "1");
	assert_string_equal(value_of(json, "$.gains[0].action"), "unlock");
	assert_string_equal(value_of(json, "$.gains[0].lower_ns"), "40000000");
	assert_string_equal(value_of(json, "$.gains[0].conditions[0]"),
			    "not while the lock is held");
	assert_string_equal(value_of(json, "$.gains[0].up_to"), "0");
	assert_string_equal(value_of(json, "$.checks.sum_ns"), "110000000");
	assert_string_equal(value_of(json, "$.checks.switches"), "1");
	assert_string_equal(value_of(json, "$.steps"), "null");
	assert_string_equal(value_of(json, "$.gpu"), "null");
	assert_string_equal(value_of(json, "$.notes"), "[]");
}

/* A report of nothing, for people and for programs. */
static void answer_of_nothing(void **state)
{
	(void)state;
	ask();
	assert_string_equal(text_of(put_all), "r.sqlite: 0 us wall time, nothing recorded\n"
					      "Nothing was recorded of any thread in this time\n");
	text_of(put_json);
	assert_string_equal(value_of(written, "$.focus"), "{}");
	assert_string_equal(value_of(written, "$.partition"), "[]");
	assert_string_equal(value_of(written, "$.culprits"), "[]");
	assert_string_equal(value_of(written, "$.gains"), "[]");
	assert_string_equal(value_of(written, "$.checks.sum_ns"), "0");
	assert_string_equal(value_of(written, "$.checks.calls"), "0");
}

/* One row: a call of 5 ms, without switches and samples; from the first event to the last. */
static void answer_of_one_row(void **state)
{
	(void)state;
	call(MAIN, "usleep", 5, 10, NULL);
	ask();
	assert_line(text_of(put_all), "r.sqlite: 5.0 ms wall time, from the first to the last "
				      "event; main thread of its process");
	assert_line(written, "     100.0 %    5.0 ms  sleeping");
	assert_line(written, "                   5.0 ms  no stack, usleep");
	assert_line(written,
		    "  1  100.0 %    5.0 ms  main thread, no stack: sleeping, usleep  unclear");
	/* A gain of all of the time is none. */
	assert_null(strstr(written, "What to change"));
}

/* ---- names ---- */

/* 2,000 characters with a quote, a line feed, an escape, and what is no UTF-8: the JSON is whole, the text has no controls. */
static void long_and_hostile_names(void **state)
{
	char path[2001], frames[2100];

	(void)state;
	memset(path, 'x', 2000);
	memcpy(path, "/a\"\\\n\x1b[31m\x01\xff", 12);
	path[2000] = '\0';
	snprintf(frames, sizeof(frames), "%.1990s /me/a.py:3", path + 12);
	report(50);
	runs(MAIN, 0, 10);
	call(MAIN, "read", 10, 40, frames, .path = path);
	runs(MAIN, 40, 50);
	ask();
	text_of(put_json);
	assert_string_equal(value_of(written, "$.partition[0].call"), "read");
	assert_true(strlen(value_of(written, "$.partition[0].object")) >= 500);
	assert_string_equal(value_of(written, "$.checks.sum_ns"), "50000000");
	text_of(put_all);
	for (const char *at = written; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= ' ');
	assert_non_null(strstr(written, "a.py:3 in xxxx"));
}

/* "p100" is the focus's process; others are named by their executable. */
static void names_of_threads(void **state)
{
	char buf[96];

	(void)state;
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 50);
	runs(OTHER, 0, 50);
	runs(CHILD, 0, 50, .by = MAIN);
	runs(201, 0, 50, .by = CHILD);
	runs(301, 0, 50);
	ask();
	assert_string_equal(
		why_thread_text(&test.y, why_model_find(&test.y.model, tid_of(MAIN)), buf, 96),
		"main thread");
	assert_string_equal(
		why_thread_text(&test.y, why_model_find(&test.y.model, tid_of(OTHER)), buf, 96),
		"thread 101");
	assert_string_equal(
		why_thread_text(&test.y, why_model_find(&test.y.model, tid_of(CHILD)), buf, 96),
		"p200 200");
	assert_string_equal(
		why_thread_text(&test.y, why_model_find(&test.y.model, tid_of(201)), buf, 96),
		"p200 200 thread 201");
	assert_string_equal(
		why_thread_text(&test.y, why_model_find(&test.y.model, tid_of(301)), buf, 96),
		"process 300 thread 301");
}

/* ---- ways ---- */

/* Six threads that wait for each other: four hops are shown, and that there are more. */
static void long_ways_are_cut(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 1);
	call(MAIN, "pthread_join", 1, 40, L(1));
	runs(MAIN, 40, 50, .by = 101);
	for (int tid = 101; tid < 106; tid++) {
		runs(tid, 0, 1);
		call(tid, "pthread_cond_wait", 1, 40, L(2));
		runs(tid, 40, 41, .by = tid + 1);
	}
	runs(106, 0, 1);
	call(106, "usleep", 1, 40, L(9));
	runs(106, 40, 41);
	ask();
	assert_line(text_of(put_all), "                     <- thread 105 waiting to be signalled, "
				      "pthread_cond_wait at a.py:2 in f2");
	assert_line(
		written,
		"                     <- thread 102 waiting to be signalled, pthread_cond_wait at "
		"a.py:2 in f2");
	assert_line(written, "                     <- ...");
	assert_null(strstr(written, "<- thread 101"));
}

/* A wait for a file whose disk took 8 of 30. */
static void disks_have_their_share(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 10);
	call(MAIN, "read", 10, 40, L(1), .path = "/data");
	runs(MAIN, 40, 50);
	request(MAIN, 12, 20, "vda", "p100", 0);
	ask();
	assert_line(text_of(put_all),
		    "                    30 ms  a.py:1 in f1, read of /data; device vda: 8.0 ms of "
		    "it");
	text_of(put_json);
	assert_string_equal(value_of(written, "$.partition[0].device.name"), "vda");
	assert_string_equal(value_of(written, "$.partition[0].device.ns"), "8000000");
}

/* Waits for a CPU, 4 of 34, are no cause: lines are ranked by the time that they show. */
static void causes_leave_out_waits_for_a_cpu(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 10);
	call(MAIN, "usleep", 10, 44, L(1));
	runs(MAIN, 44, 50, .ready = 40);
	sample(MAIN, 49, "x /lib/libc.so.6");
	ask();
	assert_line(text_of(put_all),
		    "  1   60.0 %     30 ms  a.py:1 in f1: sleeping, usleep  sure");
}

/* ---- reasons that have a line ---- */

/* The first three reasons always; further ones with half a hundredth: 0.5 of 100 has one, 0.499 none. */
static void small_reasons_have_no_line(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	call(MAIN, "write", 0, 60, L(1));
	cuda(MAIN, "cudaMalloc", 60, 80, L(2), 1);
	call(MAIN, "dlopen", 80, 80.5, L(3));
	sample(MAIN, 90, L(4));
	ask();
	assert_line(text_of(put_all), "       0.5 %    500 us  importing, loading libraries");
	assert_true(why_shows_reason(&test.y, 3));
	assert_false(why_shows_reason(&test.y, 4));
	test.y.of_reason[WHY_IMPORT]--;
	assert_false(why_shows_reason(&test.y, 3));
	/* A part has a line with a twentieth: the call of 20 does, the import does not. */
	assert_non_null(why_shown_part(&test.y, WHY_GPU_CALL));
	assert_null(why_shown_part(&test.y, WHY_IMPORT));
	assert_null(why_shown_part(&test.y, WHY_LOCK));
}

/* ---- a GPU that is not there ---- */

static void gpus_that_are_not_there(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	kernel(10, 20, 0, .device = 2);
	kernel(10, 20, 0, .device = 7);
	assert_string_equal(refusal(&(struct why_ask){.of_gpu = true, .gpu = 6}),
			    "GPU 6 is not in the report; the nearest is 7");
	assert_string_equal(refusal(&(struct why_ask){.of_gpu = true, .gpu = -1}),
			    "GPU -1 is not in the report; the nearest is 2");
	assert_null(refusal(&(struct why_ask){.of_gpu = true, .gpu = 7}));
	assert_string_equal(refusal(&(struct why_ask){.tid = 170}),
			    "thread 170 is not in the report; the nearest is 100");
}

static void gpu_without_work(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	assert_string_equal(refusal(&(struct why_ask){.of_gpu = true}),
			    "no work of a GPU was recorded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEXT(times_have_two_or_three_digits),
		TEXT(text_of_an_answer),
		TEXT(json_of_an_answer),
		TEXT(answer_of_nothing),
		TEXT(answer_of_one_row),
		TEXT(long_and_hostile_names),
		TEXT(names_of_threads),
		TEXT(long_ways_are_cut),
		TEXT(disks_have_their_share),
		TEXT(causes_leave_out_waits_for_a_cpu),
		TEXT(small_reasons_have_no_line),
		TEXT(gpus_that_are_not_there),
		TEXT(gpu_without_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
