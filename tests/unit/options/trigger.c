/* trigger.c - the syntax of --trigger, the messages on what is wrong, and when a trigger fires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/base/message.h"
#include "collector/options/trigger.h"
#include "preload/wire/session.h"

static struct triggers ts;

/* What the attempt writes to stderr. */
static const char *said(const char *text, int *rc)
{
	static char line[1024];
	int both[2], old = dup(2);
	ssize_t n;

	assert_int_equal(pipe(both), 0);
	dup2(both[1], 2);
	*rc = triggers_read(&ts, text, "profile");
	fflush(stderr);
	dup2(old, 2);
	close(old);
	close(both[1]);
	n = read(both[0], line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = 0;
	close(both[0]);
	return line;
}

static void each_kind_is_understood(void **state)
{
	(void)state;
	assert_int_equal(
		triggers_read(&ts,
			      "nvtx:train step > 1.5x median, nvtx:a@b@dom>200ms,"
			      "osrt:fsync > 100 ms,osrt:pthread_*>2s,cuda:cudaMalloc >10ms,"
			      "gpu-idle > 50%,gpu-idle>12.5% over 5s,exit != 0,exit",
			      "profile"),
		-SL_EXIT_USAGE); /* "100 ms" */
	assert_int_equal(triggers_read(&ts,
				       "nvtx:train step > 1.5x median, nvtx:a@b@dom>200ms,"
				       "osrt:fsync > 100ms,osrt:pthread_*>2s,cuda:cudaMalloc >10ms,"
				       "gpu-idle > 50%,gpu-idle>12.5% over 5s,exit != 0,exit,"
				       "nvtx:x\\,y>z@* > 80us",
				       "profile"),
			 0);
	assert_int_equal(ts.cnt, 10);
	assert_string_equal(ts.at[0].name, "train step");
	assert_string_equal(ts.at[0].domain, "");
	assert_true(ts.at[0].medians > 1.49 && ts.at[0].medians < 1.51);
	assert_string_equal(ts.at[1].name, "a@b");
	assert_string_equal(ts.at[1].domain, "dom");
	assert_int_equal(ts.at[1].limit_ns, 200000000);
	assert_int_equal(ts.at[2].kind, TRIGGER_OSRT);
	assert_int_equal(ts.at[2].limit_ns, 100000000);
	assert_int_equal(ts.at[3].limit_ns, 2000000000);
	assert_int_equal(ts.at[4].kind, TRIGGER_CUDA);
	assert_int_equal(ts.at[5].over_ns, 1000000000);
	assert_true(ts.at[6].idle > 0.124 && ts.at[6].idle < 0.126);
	assert_int_equal(ts.at[6].over_ns, 5000000000);
	assert_int_equal(ts.at[7].kind, TRIGGER_EXIT_BAD);
	assert_int_equal(ts.at[8].kind, TRIGGER_EXIT);
	assert_string_equal(ts.at[9].name, "x,y>z");
	assert_string_equal(ts.at[9].domain, "*");
	assert_int_equal(ts.at[9].limit_ns, 80000);
	assert_string_equal(ts.at[9].text, "nvtx:x,y>z@* > 80us");
}

static void late_ranks_are_of_steps_or_of_a_range(void **state)
{
	(void)state;
	assert_int_equal(triggers_read(&ts,
				       "rank-late > 1.5x median, rank-late:forward@model>20ms,"
				       "rank-late:a*>2x median",
				       "profile"),
			 0);
	assert_int_equal(ts.at[0].kind, TRIGGER_RANK_LATE);
	assert_string_equal(ts.at[0].name, "step");
	assert_string_equal(ts.at[0].domain, "*");
	assert_true(ts.at[0].medians > 1.49 && ts.at[0].medians < 1.51);
	assert_string_equal(ts.at[1].name, "forward");
	assert_string_equal(ts.at[1].domain, "model");
	assert_int_equal(ts.at[1].limit_ns, 20000000);
	assert_string_equal(ts.at[2].name, "a*");
	assert_string_equal(ts.at[2].domain, "");
	/* Noise is none of a median. */
	assert_int_equal(ts.at[0].late.floor_ns, TRIGGER_LATE_NS);
	assert_int_equal(ts.at[0].late.steps, TRIGGER_LATE_STEPS);
	assert_int_equal(ts.at[1].late.floor_ns, 0);
	assert_int_equal(ts.at[1].late.steps, 1);
	assert_int_equal(triggers_check(&ts, SL_TRACE_NVTX, 1000, "profile"), -SL_EXIT_USAGE);
	assert_int_equal(triggers_read(&ts, "rank-late", "profile"), -SL_EXIT_USAGE);
	assert_int_equal(triggers_read(&ts, "rank-late > 0.5x median", "profile"), -SL_EXIT_USAGE);
}

static void late_ranks_are_late_for_steps_in_a_row(void **state)
{
	static const struct {
		const char *text;
		double medians;
		int64_t limit_ns, floor_ns;
		uint32_t steps;
	} cases[] = {
		{"rank-late > 20% for 5 steps", 1.2, 0, TRIGGER_LATE_NS, 5},
		{"rank-late>150% and 3ms", 2.5, 0, 3000000, TRIGGER_LATE_STEPS},
		{"rank-late:a@b > 2x median and 5ms for 1 step", 2, 0, 5000000, 1},
		{"rank-late > 80us for 1000 steps", 0, 80000, 0, 1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct trigger *t = &ts.at[0];

		assert_int_equal(triggers_read(&ts, cases[i].text, "profile"), 0);
		assert_int_equal(t->kind, TRIGGER_RANK_LATE);
		assert_true(t->medians > cases[i].medians - 1e-6 &&
			    t->medians < cases[i].medians + 1e-6);
		assert_int_equal(t->limit_ns, cases[i].limit_ns);
		assert_int_equal(t->late.floor_ns, cases[i].floor_ns);
		assert_int_equal(t->late.steps, cases[i].steps);
	}
}

/* What --python-step marks has the name of its function. */
static void steps_are_added_unless_a_range_is_named(void **state)
{
	(void)state;
	assert_int_equal(triggers_read(&ts, "exit", "profile"), 0);
	triggers_add_steps(&ts);
	assert_int_equal(ts.cnt, 3);
	assert_string_equal(ts.at[1].name, "step");
	assert_string_equal(ts.at[1].domain, "*");
	assert_string_equal(ts.at[2].name, "*");
	assert_string_equal(ts.at[2].domain, "python-step");
	assert_true(ts.at[1].late.is_added && ts.at[2].late.is_added);
	assert_int_equal(triggers_read(&ts, "rank-late > 20%", "profile"), 0);
	triggers_add_steps(&ts);
	assert_int_equal(ts.cnt, 2);
	assert_false(ts.at[0].late.is_added);
	assert_string_equal(ts.at[1].domain, "python-step");
	assert_int_equal(triggers_read(&ts, "rank-late:a > 20%", "profile"), 0);
	triggers_add_steps(&ts);
	assert_int_equal(ts.cnt, 1);
	ts.cnt = TRIGGER_MAX;
	triggers_add_steps(&ts);
	assert_int_equal(ts.cnt, TRIGGER_MAX);
}

static void hangs_and_ends_of_processes_are_understood(void **state)
{
	(void)state;
	assert_int_equal(triggers_read(&ts, "hang > 30s, hang>2m,signal, oom", "profile"), 0);
	assert_int_equal(ts.cnt, 4);
	assert_int_equal(ts.at[0].kind, TRIGGER_HANG);
	assert_int_equal(ts.at[0].limit_ns, 30000000000);
	assert_int_equal(ts.at[1].limit_ns, 120000000000);
	assert_int_equal(ts.at[2].kind, TRIGGER_SIGNAL);
	assert_int_equal(ts.at[3].kind, TRIGGER_OOM);
	assert_int_equal(triggers_check(&ts, 0, 1000, "profile"), 0);
}

static void errors_name_the_column(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "column 1: a trigger is expected"},
		{"disk:sda > 5ms",
		 "column 1: nvtx:, osrt:, cuda:, gpu-idle, rank-late, hang, signal, oom or exit is "
		 "expected"},
		{"hang", "column 5: '> TIME' is expected"},
		{"hang > 1s", "column 8: a time such as 30s is expected, from 2s on"},
		{"hang > 2x median", "column 8: a time such as 30s"},
		{"hang > 30s now", "column 12: nothing is expected here"},
		{"signal 9", "column 8: nothing is expected here"},
		{"oom > 3", "column 5: nothing is expected here"},
		{"rank-late > 20% for", "column 20: a number of steps in a row is expected"},
		{"rank-late > 20% for 0 steps", "column 21: a number of steps in a row"},
		{"rank-late > 20% for 1001 steps", "column 21: a number of steps in a row"},
		{"rank-late > 20% for 5", "column 22: 'steps' is expected"},
		{"rank-late > 20% and", "column 20: a time such as 5ms is expected"},
		{"rank-late > 5ms and 1ms", "column 17: nothing is expected here"},
		{"rank-late > 0%", "column 13: a time such as"},
		{"nvtx:a > 20%", "column 12: nothing is expected here"},
		{"exit,", "'', column 1: a trigger is expected"},
		{"nvtx:step", "column 10: '> LIMIT' is expected"},
		{"nvtx: > 5ms", "column 7: the name of a range is expected"},
		{"nvtx:step@ > 5ms", "column 11: the name of a domain"},
		{"nvtx:step > fast", "column 13: a time such as 100ms"},
		{"nvtx:step > 5 ms", "column 15: nothing is expected here"},
		{"nvtx:step > 5msec", "column 13: a time such as"},
		{"nvtx:step > -5ms", "column 13: a time such as"},
		{"nvtx:step > 0ms", "column 13: a time such as"},
		{"nvtx:step > 1.5x mean", "column 18: 'median' is expected"},
		{"nvtx:step > 0.5x median", "column 13: a number of medians from 1 on"},
		{"nvtx:step > 1.5x median today", "column 25: nothing is expected here"},
		{"osrt:fsnyc > 5ms",
		 "column 6: no such function is recorded; did you mean 'fsync'?"},
		{"exit,cuda:cudaFoo > 5ms", "'cuda:cudaFoo > 5ms', column 6: no such function"},
		{"gpu-idle 50%", "column 10: '>' is expected"},
		{"gpu-idle > 50", "column 12: a share such as 50% is expected"},
		{"gpu-idle > 100%", "column 12: a share"},
		{"gpu-idle > 5% over lunch", "column 20: a time such as 5s"},
		{"gpu-idle > 5% over 1ms", "column 20: a time such as 5s"},
		{"gpu-idle > 5% under 1s", "column 15: nothing is expected here"},
		{"exit == 0", "column 6: '!= 0' is expected"},
		{"exit != 1", "column 9: 0 is expected"},
		{"exit != 0x", "column 9: 0 is expected"},
	};
	int rc;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *line = said(cases[i].text, &rc);

		if (rc != -SL_EXIT_USAGE || !strstr(line, cases[i].says) ||
		    strchr(line, '\n') != line + strlen(line) - 1)
			fail_msg("'%s': %d, %s", cases[i].text, rc, line);
	}
}

static bool takes(struct trigger *t, int64_t ns)
{
	char why[256];

	return trigger_duration(t, "step", ns, why, sizeof(why));
}

static void a_limit_is_a_limit(void **state)
{
	char why[256];

	(void)state;
	assert_int_equal(triggers_read(&ts, "nvtx:step > 200ms", "profile"), 0);
	assert_false(takes(&ts.at[0], 200000000));
	assert_true(trigger_duration(&ts.at[0], "step", 200000001, why, sizeof(why)));
	assert_string_equal(why, "trigger 'nvtx:step > 200ms': step took 200.0 ms");
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Against sorting everything each time. */
static void the_median_is_that_of_the_last(void **state)
{
	int64_t all[2000], sorted[TRIGGER_MEDIAN];
	int fired = 0;

	(void)state;
	srand(1);
	assert_int_equal(triggers_read(&ts, "nvtx:step > 1.5x median", "profile"), 0);
	for (int i = 0; i < 2000; i++) {
		int n = i < (int)TRIGGER_MEDIAN ? i : (int)TRIGGER_MEDIAN;
		bool want = false;

		/* Slower over time, many alike, now and then a slow one. */
		all[i] = 1000000 + i * 1000 + rand() % 5 * 100000 + (rand() % 20 ? 0 : 2000000);
		memcpy(sorted, all + i - n, (size_t)n * sizeof(*sorted));
		qsort(sorted, (size_t)n, sizeof(*sorted), compare);
		if (n >= (int)TRIGGER_MEDIAN_MIN) {
			int64_t m = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;

			want = (double)all[i] > 1.5 * (double)m;
		}
		assert_int_equal(takes(&ts.at[0], all[i]), want);
		fired += want;
	}
	assert_true(fired > 20 && fired < 500);
}

static void names_may_end_in_a_star(void **state)
{
	(void)state;
	assert_true(trigger_matches("step", "step"));
	assert_false(trigger_matches("step", "step 1"));
	assert_true(trigger_matches("step*", "step 1"));
	assert_true(trigger_matches("*", ""));
	assert_false(trigger_matches("a*b", "a1b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_understood),
		cmocka_unit_test(late_ranks_are_of_steps_or_of_a_range),
		cmocka_unit_test(late_ranks_are_late_for_steps_in_a_row),
		cmocka_unit_test(steps_are_added_unless_a_range_is_named),
		cmocka_unit_test(hangs_and_ends_of_processes_are_understood),
		cmocka_unit_test(errors_name_the_column),
		cmocka_unit_test(a_limit_is_a_limit),
		cmocka_unit_test(the_median_is_that_of_the_last),
		cmocka_unit_test(names_may_end_in_a_star),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
