/* top_totals.c - sums of a finished report, of hand-made rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/db_read.h"
#include "exporters/top/top.h"

#define MAIN   ((INT64_C(1) << 48) + (100 << 24) + 100)
#define HELPER ((INT64_C(1) << 48) + (100 << 24) + 101)

static sqlite3 *db;

static void run(const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

static int make(void **state)
{
	(void)state;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return -1;
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, "schema.sql") == 0)
			run(sl_embedded[i].text);
	run("INSERT INTO ANALYSIS_DETAILS VALUES (0, 1000, 0, 1000)");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

static void row(int64_t tid, int time, int is_in)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT INTO SCHED_EVENTS VALUES (%d, 0, %d, %lld, 2, NULL)",
		 time, is_in, (long long)tid);
	run(sql);
}

/* On a CPU, off it, switches of the thread. */
static void check(const struct top *t, int64_t tid, int64_t on, int64_t off, int64_t switches)
{
	for (size_t i = 0; i < t->set[TOP_THREAD].cnt; i++) {
		const struct top_item *item = &t->set[TOP_THREAD].item[i];

		if (item->id != tid)
			continue;
		assert_int_equal(item->now[THREAD_CPU], on);
		assert_int_equal(item->now[THREAD_OFF], off);
		assert_int_equal(item->now[THREAD_SWITCHES], switches);
		return;
	}
	fail_msg("thread %lld is missing", (long long)tid);
}

static void read_totals(struct top *t)
{
	char why[200];

	top_init(t, "x.sqlite");
	if (top_read_totals(t, db, why, sizeof(why)) < 0)
		fail_msg("%s", why);
}

static void threads_have_their_time_on_and_off_a_cpu(void **state)
{
	struct top t;

	(void)state;
	row(MAIN, 100, 1);
	row(MAIN, 300, 0);
	row(MAIN, 450, 1);
	row(HELPER, 200, 1);
	row(HELPER, 250, 0);
	row(0x65, 100, 1); /* of no process */
	/* before its first switch a thread is not off the CPU */
	run("INSERT INTO SL_SCHED_DETAIL VALUES (100, (1 << 48) + (100 << 24) + 100, NULL, 40, "
	    "NULL, "
	    "120), (450, (1 << 48) + (100 << 24) + 100, NULL, 400, NULL, 120)");
	read_totals(&t);
	assert_int_equal(t.set[TOP_THREAD].cnt, 2);
	check(&t, MAIN, 200 + 550, 150, 3);
	check(&t, HELPER, 50, 0, 2);
	top_free(&t);
}

static void a_missing_switch_takes_no_time_from_others(void **state)
{
	struct top t;

	(void)state;
	/* it ran when the recording began; then a switch off the CPU is missing, then one onto it */
	row(MAIN, 500, 0);
	row(MAIN, 600, 1);
	row(MAIN, 700, 1);
	row(MAIN, 720, 0);
	row(MAIN, 800, 0);
	read_totals(&t);
	check(&t, MAIN, 20, 100, 5);
	top_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_have_their_time_on_and_off_a_cpu, make,
						drop),
		cmocka_unit_test_setup_teardown(a_missing_switch_takes_no_time_from_others, make,
						drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
