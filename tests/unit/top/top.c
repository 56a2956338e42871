/*
 * top.c - what `top` makes of sums at two moments: rates, order, choice, lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/top/top.h"

static struct top_item *item(struct top *t, enum top_kind kind, int64_t id, const char *text)
{
	struct top_item *i = top_item(&t->set[kind], id);

	assert_non_null(i);
	if (!i->text && text)
		i->text = strdup(text);
	return i;
}

/* Between the two moments lie two seconds. */
static void two_moments(struct top *t)
{
	top_init(t, "x.sqlite");
	t->status = TOP_RECORDING;
	t->is_sampled = true;
	t->before = 1000000000;
	t->time = 3000000000;
}

static void call(struct top *t, int64_t id, int64_t pid, const char *name, int64_t before,
		 int64_t now, int64_t ns)
{
	struct top_item *i = item(t, TOP_CALL, id, name);

	i->pid = pid;
	i->before[CALL_CNT] = before;
	i->now[CALL_CNT] = now;
	i->now[CALL_NS] = ns;
}

/* The texts of the rows, in order. */
static const char *order(const struct top *t, const struct top_ask *ask)
{
	static char text[4096];
	struct top_rows rows = {0};

	text[0] = 0;
	assert_true(top_rows(t, ask, &rows));
	for (size_t i = 0; i < rows.cnt; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 rows.row[i].text ? rows.row[i].text : "-");
	top_rows_free(&rows);
	return text;
}

static void rates_are_of_the_time_between(void **state)
{
	struct top_ask ask = {.view = VIEW_FUNCTIONS};
	struct top_rows rows = {0};
	struct top t;

	(void)state;
	two_moments(&t);
	call(&t, 1, 10, "read", 100, 300, 400000);
	call(&t, 2, 11, "read", 0, 100, 200000);
	assert_true(top_rows(&t, &ask, &rows));
	assert_int_equal(rows.cnt, 1); /* of both processes */
	assert_true(fabs(rows.row[0].rate[0] - 150) < 1e-9);
	assert_true(fabs(rows.row[0].rate[1] - 0.3) < 1e-9); /* 0.6 ms in 2 s */
	assert_true(fabs(rows.row[0].rate[2] - 2) < 1e-9);   /* us */
	assert_true(fabs(rows.row[0].total[0] - 400) < 1e-9);
	assert_true(isnan(rows.row[0].rate[4]) || rows.row[0].rate[4] < 1e-9);
	ask.by_process = true;
	assert_true(top_rows(&t, &ask, &rows));
	assert_int_equal(rows.cnt, 2);
	assert_int_equal(rows.row[0].pid, 10);
	/* Before there are two moments, there are no rates. */
	t.is_sampled = false;
	assert_true(top_rows(&t, &ask, &rows));
	assert_true(isnan(rows.row[0].rate[0]) && isnan(rows.row[0].rate[2]));
	assert_false(isnan(rows.row[0].total[0]));
	top_rows_free(&rows);
	top_free(&t);
}

static void rows_are_sorted_and_chosen(void **state)
{
	struct top_ask ask = {.view = VIEW_FUNCTIONS};
	struct top t;

	(void)state;
	two_moments(&t);
	call(&t, 1, 10, "read", 0, 100, 5000);
	call(&t, 2, 10, "write", 0, 300, 9000);
	call(&t, 3, 10, "close", 0, 200, 60000);
	call(&t, 4, 10, "poll", 7, 7, 50); /* not called meanwhile */
	item(&t, TOP_CALL, 5, "cudaFree")->part = CALL_CUDA;
	t.set[TOP_CALL].item[4].now[CALL_CNT] = 9;
	assert_string_equal(order(&t, &ask), "write close read");
	ask.reverse = true;
	assert_string_equal(order(&t, &ask), "read close write");
	ask.reverse = false;
	ask.sort = 1;
	assert_string_equal(order(&t, &ask), "close write read");
	ask.sort = SORT_TEXT;
	assert_string_equal(order(&t, &ask), "close read write");
	ask.totals = true;
	assert_string_equal(order(&t, &ask), "close poll read write");
	ask.filter = "RE";
	assert_string_equal(order(&t, &ask), "read");
	ask.filter = "nothing";
	assert_string_equal(order(&t, &ask), "");
	ask.filter = NULL;
	ask.view = VIEW_CUDA;
	assert_string_equal(order(&t, &ask), "cudaFree");
	top_free(&t);
}

static struct top_item *thread(struct top *t, int64_t pid, int64_t tid)
{
	struct top_item *i = item(t, TOP_THREAD, tid, NULL);

	i->pid = pid;
	i->tid = tid;
	i->has_switches = true;
	return i;
}

static void processes_have_what_their_threads_and_files_have(void **state)
{
	struct top_ask ask = {.view = VIEW_PROCESSES};
	struct top_rows rows = {0};
	struct top_item *i;
	struct top t;

	(void)state;
	two_moments(&t);
	thread(&t, 10, 10)->now[THREAD_CPU] = 1000000000;
	i = thread(&t, 10, 12);
	i->now[THREAD_CPU] = 1500000000;
	i->before[THREAD_CPU] = 500000000;
	i->now[THREAD_OFF] = 1000000000;
	thread(&t, 20, 20)->is_over = true;
	i = item(&t, TOP_FILE, 30, "/x");
	i->pid = 10;
	i->now[FILE_READ] = 6000000;
	assert_true(top_rows(&t, &ask, &rows));
	assert_int_equal(rows.cnt, 1); /* a process that is over and did nothing is not shown */
	assert_true(fabs(rows.row[0].rate[0] - 100) < 1e-9);
	assert_true(fabs(rows.row[0].rate[1] - 50) < 1e-9);
	assert_true(fabs(rows.row[0].rate[5] - 3) < 1e-9);
	ask.view = VIEW_THREADS;
	assert_true(top_rows(&t, &ask, &rows));
	assert_int_equal(rows.cnt, 2);
	ask.filter = "12";
	assert_true(top_rows(&t, &ask, &rows));
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.row[0].tid, 12);
	top_rows_free(&rows);
	top_free(&t);
}

static void gpus_have_their_own_time(void **state)
{
	struct top_ask ask = {.view = VIEW_GPUS};
	struct top_rows rows = {0};
	struct top_item *i;
	struct top t;

	(void)state;
	two_moments(&t);
	i = item(&t, TOP_GPU, 1, "H");
	i->now[GPU_BUSY] = 500000000;
	i->until_before = 100;
	i->until = 1000000100; /* CUPTI has reported one second */
	assert_true(top_rows(&t, &ask, &rows));
	assert_true(fabs(rows.row[0].rate[0] - 50) < 1e-6);
	top_rows_free(&rows);
	top_free(&t);
}

static void lines_fit_the_screen(void **state)
{
	struct top_ask ask = {.view = VIEW_FILES};
	struct top_rows rows = {0};
	struct top_item *i;
	struct top t;

	(void)state;
	two_moments(&t);
	i = item(&t, TOP_FILE, 1, "/a/path/that is long\x1b[2J/and evil/\xff");
	i->now[FILE_CNT] = 3;
	assert_true(top_rows(&t, &ask, &rows));
	for (size_t width = 1; width < 200; width++) {
		for (int head = 0; head < 2; head++) {
			char *line = top_line(&ask, head ? NULL : &rows.row[0], width);
			size_t columns = 0;

			assert_non_null(line);
			for (const char *p = line; *p; p++) {
				columns += (*p & 0xc0) != 0x80;
				assert_true((unsigned char)*p >= 32);
			}
			/* The first column and its gap may be too much for a terminal that narrow. */
			assert_true(columns <= width || width < 14);
			free(line);
		}
	}
	top_rows_free(&rows);
	top_free(&t);
}

static const char *losses(int64_t lost, int64_t unreported)
{
	static char text[256];
	struct top t;
	bool warn;

	two_moments(&t);
	t.lost = lost;
	t.unreported = unreported;
	assert_true(top_head(&t, 2, text, sizeof(text), &warn));
	top_free(&t);
	return text;
}

static void switches_that_the_kernel_skipped_are_no_lost_events(void **state)
{
	(void)state;
	assert_string_equal(losses(0, 0), "");
	assert_string_equal(losses(1, 0), "1 event is lost");
	assert_string_equal(losses(5, 5), "5 context switches were lost by the kernel "
					  "(skipped, or its buffer was full)");
	assert_string_equal(losses(3, 1), "2 events are lost; 1 context switch was lost by the "
					  "kernel (skipped, or its buffer was full)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_of_the_time_between),
		cmocka_unit_test(rows_are_sorted_and_chosen),
		cmocka_unit_test(processes_have_what_their_threads_and_files_have),
		cmocka_unit_test(gpus_have_their_own_time),
		cmocka_unit_test(lines_fit_the_screen),
		cmocka_unit_test(switches_that_the_kernel_skipped_are_no_lost_events),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
