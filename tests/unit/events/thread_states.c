/* thread_states.c - the states of threads between hand-made switches, as rows in C and as the table sl_thread_states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/events/sorter.h"
#include "exporters/events/thread_states.h"
#include "exporters/sql/functions.h"

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
	if (sqlite3_open(":memory:", &db) != SQLITE_OK || sql_functions(db, NULL) != SQLITE_OK)
		return -1;
	run("CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState);"
	    "CREATE TABLE SL_SCHED_DETAIL(start, globalTid, preempted, wakeupTime, wakerTid, "
	    "priority);"
	    "CREATE TABLE SL_PROCESS_TREE(globalPid, traced, kind);"
	    "CREATE TABLE ANALYSIS_DETAILS(duration)");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

#define T1 "0x1000001"
#define T2 "0x2000001"

/* Switches of a thread at @time: it gets a CPU; it leaves that CPU with a label of ENUM_SAMPLING_THREAD_STATE. */
static void in(const char *tid, int time, int cpu)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT INTO SCHED_EVENTS VALUES (%d, %d, 1, %s, NULL)", time,
		 cpu, tid);
	run(sql);
}

static void out(const char *tid, int time, int cpu, const char *label)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT INTO SCHED_EVENTS VALUES (%d, %d, 0, %s, %s)", time, cpu,
		 tid, label);
	run(sql);
}

/* Details: it was woken; it was preempted, or not. */
static void woken(const char *tid, int time, int wakeup, const char *waker)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT INTO SL_SCHED_DETAIL VALUES (%d, %s, NULL, %d, %s, 120)",
		 time, tid, wakeup, waker);
	run(sql);
}

static void left(const char *tid, int time, int preempted)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO SL_SCHED_DETAIL VALUES (%d, %s, %d, NULL, NULL, 120)", time, tid,
		 preempted);
	run(sql);
}

static void print_number(FILE *f, const char *before, int64_t n)
{
	if (n == THREAD_NONE)
		fprintf(f, "%s-", before);
	else
		fprintf(f, "%s%lld", before, (long long)n);
}

/* A line for each state: thread, start..end, state, CPU<last CPU, waker; until the next call. */
static const char *states_of(const struct thread_states_options *opt)
{
	static const char *const names[] = {"running", "runnable", "sleeping", "blocked",
					    "stopped", "ended",    "off"};
	static char *text;
	size_t size;
	struct thread_states *s;
	struct thread_state t;
	int rc;
	FILE *f;

	free(text);
	f = open_memstream(&text, &size);
	rc = thread_states_open(db, opt, &s);
	while (rc == SQLITE_OK && (rc = thread_states_next(s, &t)) == SQLITE_ROW) {
		fprintf(f, "%lld %lld", (long long)t.tid >> 24, (long long)t.start);
		print_number(f, "..", t.end);
		fprintf(f, " %s%s%s", names[t.state], t.is_preempted ? " preempted" : "",
			t.is_open ? " open" : "");
		print_number(f, " ", t.cpu);
		print_number(f, "<", t.last_cpu);
		if (t.wakeup != THREAD_NONE)
			fprintf(f, " woken %lld", (long long)t.wakeup);
		if (t.waker != THREAD_NONE)
			fprintf(f, " by %lld", (long long)t.waker >> 24);
		fputc('\n', f);
		rc = SQLITE_OK;
	}
	assert_int_equal(rc, SQLITE_DONE);
	assert_int_equal(thread_states_next(s, &t), SQLITE_DONE);
	thread_states_free(s);
	fclose(f);
	return text;
}

static const char *states(void)
{
	return states_of(&(struct thread_states_options){.until = THREAD_NONE});
}

static void a_switch_begins_a_state_until_the_next(void **state)
{
	(void)state;
	in(T1, 10, 0);
	out(T1, 20, 0, "1");
	in(T1, 25, 1);
	out(T1, 40, 1, "2");
	in(T1, 60, 1);
	woken(T1, 60, 55, T2);
	out(T1, 70, 1, "3");
	in(T1, 80, 2);
	out(T1, 90, 2, "4");
	in(T1, 95, 2);
	out(T1, 99, 2, "5");
	assert_string_equal(states(), "1 10..20 running 0<-\n"
				      "1 20..25 runnable preempted 1<0\n"
				      "1 25..40 running 1<0\n"
				      "1 40..55 sleeping 1<1 woken 55 by 2\n"
				      "1 55..60 runnable 1<1 woken 55 by 2\n"
				      "1 60..70 running 1<1\n"
				      "1 70..80 blocked 2<1\n"
				      "1 80..90 running 2<1\n"
				      "1 90..95 stopped 2<2\n"
				      "1 95..99 running 2<2\n"
				      "1 99..- ended -<2\n");
}

static void rows_out_of_order_give_the_same_states(void **state)
{
	char want[1024];

	(void)state;
	in(T2, 5, 1);
	out(T2, 30, 1, "2");
	in(T1, 10, 0);
	out(T1, 20, 0, "2");
	woken(T1, 40, 33, "NULL");
	in(T1, 40, 1);
	out(T1, 50, 1, "1");
	snprintf(want, sizeof(want), "%s", states());
	assert_string_equal(want, "1 10..20 running 0<-\n"
				  "1 20..33 sleeping 1<0 woken 33\n"
				  "1 33..40 runnable 1<0 woken 33\n"
				  "1 40..50 running 1<0\n"
				  "1 50..50 runnable preempted open -<1\n"
				  "2 5..30 running 1<-\n"
				  "2 30..50 sleeping open -<1\n");
	run("CREATE TABLE other AS SELECT * FROM SCHED_EVENTS ORDER BY start * 7 % 11; "
	    "DELETE FROM SCHED_EVENTS; INSERT INTO SCHED_EVENTS SELECT * FROM other");
	assert_string_equal(states(), want);
	run("UPDATE SCHED_EVENTS SET rowid = -rowid");
	assert_string_equal(states(), want);
}

/* A state whose label this program does not know, or that the database has no column for, has no reason. */
static void labels_without_a_meaning_are_off_the_cpu(void **state)
{
	static const char *const labels[] = {"NULL", "0", "6", "8", "11", "-1", "99999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		run("DELETE FROM SCHED_EVENTS");
		out(T1, 10, 0, labels[i]);
		in(T1, 15, 0);
		out(T1, 20, 0, "7");
		assert_string_equal(states(), "1 10..15 off 0<0\n1 15..20 running 0<0\n"
					      "1 20..20 sleeping open -<0\n");
	}
}

static void labels_have_texts_of_their_own(void **state)
{
	(void)state;
	assert_string_equal(thread_label_text(0), "unknown");
	assert_string_equal(thread_label_text(10), "transition");
	assert_null(thread_label_text(11));
	assert_null(thread_label_text(-1));
}

static void a_detail_counts_more_than_the_label(void **state)
{
	(void)state;
	in(T1, 0, 0);
	out(T1, 10, 0, "1");
	left(T1, 10, 0);
	in(T1, 30, 0);
	out(T1, 40, 0, "2");
	left(T1, 40, 1);
	/* a detail of the other direction, of another time, of another thread */
	left(T1, 30, 1);
	woken(T1, 40, 35, T2);
	woken(T1, 59, 45, T2);
	woken(T2, 60, 45, T2);
	in(T1, 60, 0);
	assert_string_equal(states(), "1 0..10 running 0<-\n"
				      "1 10..30 off 0<0\n"
				      "1 30..40 running 0<0\n"
				      "1 40..60 runnable preempted 0<0\n"
				      "1 60..60 running open 0<0\n");
}

/* The waker may be faster than the switch off the CPU; a wake-up after the run begins is none. */
static void wakeups_outside_of_the_wait(void **state)
{
	(void)state;
	in(T1, 0, 0);
	out(T1, 10, 0, "2");
	in(T1, 20, 0);
	woken(T1, 20, 9, "NULL");
	out(T1, 30, 0, "2");
	in(T1, 40, 0);
	woken(T1, 40, 41, "NULL");
	out(T1, 50, 0, "2");
	in(T1, 60, 0);
	woken(T1, 60, 60, "NULL");
	assert_string_equal(states(), "1 0..10 running 0<-\n"
				      "1 10..10 sleeping 0<0 woken 9\n"
				      "1 10..20 runnable 0<0 woken 9\n"
				      "1 20..30 running 0<0\n"
				      "1 30..40 sleeping 0<0\n"
				      "1 40..50 running 0<0\n"
				      "1 50..60 sleeping 0<0 woken 60\n"
				      "1 60..60 runnable 0<0 woken 60\n"
				      "1 60..60 running open 0<0\n");
}

/* The run that begins at the time of a switch off the CPU comes first. */
static void two_switches_at_one_time(void **state)
{
	(void)state;
	out(T1, 10, 3, "2");
	in(T1, 10, 3);
	woken(T1, 10, 8, "NULL");
	left(T1, 10, 1);
	in(T1, 15, 2);
	assert_string_equal(states(), "1 8..10 runnable 3<- woken 8\n"
				      "1 10..10 running 3<-\n"
				      "1 10..15 runnable preempted 2<3\n"
				      "1 15..15 running open 2<3\n");
}

static void a_missing_switch_leaves_an_end_unknown(void **state)
{
	(void)state;
	in(T1, 10, 0);
	in(T1, 20, 1);
	woken(T1, 20, 15, "NULL");
	out(T1, 30, 1, "2");
	out(T1, 40, 2, "1");
	assert_string_equal(states(), "1 10..- running 0<-\n"
				      "1 20..30 running 1<0\n"
				      "1 30..- sleeping -<1\n"
				      "1 40..40 runnable preempted open -<2\n");
}

static void a_thread_id_is_used_again(void **state)
{
	(void)state;
	in(T1, 10, 0);
	out(T1, 20, 0, "5");
	in(T1, 90, 1);
	woken(T1, 90, 80, T2);
	out(T1, 95, 1, "5");
	in(T1, 99, 1);
	woken(T1, 99, 94, T2);
	assert_string_equal(states(), "1 10..20 running 0<-\n"
				      "1 20..- ended -<0\n"
				      "1 80..90 runnable 1<0 woken 80 by 2\n"
				      "1 90..95 running 1<0\n"
				      "1 95..- ended -<1\n"
				      "1 95..99 runnable 1<1 woken 94 by 2\n"
				      "1 99..99 running open 1<1\n");
}

static void open_states_last_until_the_end(void **state)
{
	struct thread_states_options opt = {.until = 30};

	(void)state;
	in(T1, 10, 0);
	out(T2, 50, 0, "2");
	assert_string_equal(states(), "1 10..50 running open 0<-\n2 50..50 sleeping open -<0\n");
	run("INSERT INTO ANALYSIS_DETAILS VALUES (70)");
	assert_string_equal(states(), "1 10..70 running open 0<-\n2 50..70 sleeping open -<0\n");
	/* no state ends before it begins */
	assert_string_equal(states_of(&opt),
			    "1 10..30 running open 0<-\n2 50..50 sleeping open -<0\n");
}

static void rows_without_a_thread_a_time_or_a_direction_are_none(void **state)
{
	(void)state;
	assert_string_equal(states(), "");
	in("NULL", 10, 0);
	run("INSERT INTO SCHED_EVENTS VALUES (NULL, 0, 1, " T1 ", NULL), (5, 0, NULL, " T1
	    ", NULL), (7, NULL, 1, " T1 ", NULL)");
	woken("NULL", 7, 6, "NULL");
	woken(T2, 7, 6, "NULL");
	assert_string_equal(states(), "1 7..7 running open -<-\n");
}

static void options_choose_threads_and_details(void **state)
{
	struct thread_states_options opt = {.until = THREAD_NONE, .traced_only = true};

	(void)state;
	in(T1, 10, 0);
	out(T1, 20, 0, "2");
	in(T2, 10, 1);
	out(T2, 20, 1, "2");
	in(T2, 30, 1);
	woken(T2, 30, 25, "NULL");
	/* a report without a process tree: all threads */
	assert_non_null(strstr(states_of(&opt), "1 10..20"));
	run("INSERT INTO SL_PROCESS_TREE VALUES (0x1000000, 0, 0), (0x2000000, 0, 1), (NULL, 1, "
	    "1)");
	assert_string_equal(states_of(&opt), "2 10..20 running 1<-\n"
					     "2 20..25 sleeping 1<1 woken 25\n"
					     "2 25..30 runnable 1<1 woken 25\n"
					     "2 30..30 running open 1<1\n");
}

/* ---- random: against window functions, in much and in little memory ---- */

static char *text_of(const char *sql)
{
	sqlite3_stmt *q = NULL;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(q) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const char *value = (const char *)sqlite3_column_text(q, i);

			fprintf(f, "%s%s", value ? value : "-",
				i + 1 < sqlite3_column_count(q) ? " " : "\n");
		}
	assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
	fclose(f);
	return text;
}

static const char by_windows[] =
	"WITH event AS ("
	"SELECT e.*, coalesce(d.preempted, e.threadState = 1) AS lost, d.wakeupTime "
	"FROM SCHED_EVENTS AS e LEFT JOIN SL_SCHED_DETAIL AS d "
	"ON d.start = e.start AND d.globalTid = e.globalTid AND (isSchedIn = 1) = (d.preempted IS "
	"NULL)"
	"), pair AS ("
	"SELECT *, lead(start) OVER w AS next, lead(isSchedIn) OVER w AS nextIn, "
	"lead(wakeupTime) OVER w AS wakeup, lag(start) OVER w AS last "
	"FROM event WINDOW w AS (PARTITION BY globalTid ORDER BY start, isSchedIn DESC)"
	") SELECT globalTid, start, next AS end, 'running' AS state FROM pair "
	"WHERE isSchedIn AND nextIn = 0 "
	"UNION ALL SELECT globalTid, start, next, 'runnable' FROM pair "
	"WHERE NOT isSchedIn AND nextIn = 1 AND lost "
	"UNION ALL SELECT globalTid, max(wakeup, start), next, 'runnable' FROM pair "
	"WHERE NOT isSchedIn AND nextIn = 1 AND NOT lost AND wakeup <= next "
	"UNION ALL SELECT globalTid, wakeupTime, start, 'runnable' FROM pair "
	"WHERE isSchedIn AND last IS NULL AND wakeupTime <= start "
	"UNION ALL SELECT globalTid, start, "
	"iif(wakeup <= next, max(wakeup, start), next), 'waiting' FROM pair "
	"WHERE NOT isSchedIn AND nextIn = 1 AND NOT lost ORDER BY 1, 2, 3, 4";
static const char by_table[] =
	"SELECT globalTid, start, end, "
	"iif(state IN ('running', 'runnable'), state, 'waiting') AS s FROM sl_thread_states "
	"WHERE end IS NOT NULL AND NOT open ORDER BY 1, 2, 3, s";

static unsigned rnd(unsigned below)
{
	static unsigned long long seed;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void random_switches(void)
{
	bool runs[40] = {false};

	run("BEGIN");
	for (int i = 0; i < 3000; i++) {
		unsigned of = rnd(40), time = (unsigned)i * 5 + rnd(40) / 8;
		char tid[24];

		snprintf(tid, sizeof(tid), "%u", (of + 1) << 24 | of);
		if (rnd(20) > 0)
			runs[of] = !runs[of];
		if (runs[of])
			in(tid, (int)time, (int)rnd(4));
		else
			out(tid, (int)time, (int)rnd(4), rnd(3) ? "2" : rnd(2) ? "1" : "NULL");
		if (runs[of] && rnd(3))
			woken(tid, (int)time, (int)time - (int)rnd(900) + 20, "NULL");
		else if (!runs[of] && rnd(3))
			left(tid, (int)time, (int)rnd(2));
	}
	/* of two switches at one time, none or both have a detail: which of them gets it is not defined */
	run("DELETE FROM SCHED_EVENTS WHERE rowid NOT IN (SELECT min(rowid) FROM SCHED_EVENTS "
	    "GROUP BY "
	    "globalTid, start);"
	    "UPDATE SCHED_EVENTS SET threadState = 0 WHERE threadState IS NULL; COMMIT");
}

static void random_switches_give_the_states_of_window_functions(void **state)
{
	size_t usual = sorter_bytes_max;

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		char *want, *got;

		run("DELETE FROM SCHED_EVENTS; DELETE FROM SL_SCHED_DETAIL");
		random_switches();
		want = text_of(by_windows);
		sorter_bytes_max = round % 2 ? 400 : usual;
		got = text_of(by_table);
		sorter_bytes_max = usual;
		assert_true(strlen(want) > 10000);
		assert_string_equal(got, want);
		free(want);
		free(got);
	}
}

/* ---- as a table ---- */

static void the_table_has_the_same_states(void **state)
{
	char *got;

	(void)state;
	in(T2, 5, 1);
	out(T1, 10, 2, "2");
	in(T1, 30, 3);
	woken(T1, 30, 25, T2);
	got = text_of(
		"SELECT globalTid >> 24, start, end, state, cpu, lastCpu, wakeupTime, wakerTid >> "
		"24, preempted, open FROM sl_thread_states(0, 90)");
	assert_string_equal(got, "1 10 25 sleeping 3 2 25 2 0 0\n"
				 "1 25 30 runnable 3 2 25 2 0 0\n"
				 "1 30 90 running 3 2 - - 0 1\n"
				 "2 5 90 running 1 - - - 0 1\n");
	free(got);
	run("INSERT INTO SL_PROCESS_TREE VALUES (0x2000000, 1, 0)");
	got = text_of("SELECT globalTid >> 24, end FROM sl_thread_states(1)");
	assert_string_equal(got, "2 30\n");
	free(got);
	got = text_of("SELECT globalTid >> 24, sum(end - start), max(rowid) FROM sl_thread_states "
		      "GROUP BY "
		      "globalTid");
	assert_string_equal(got, "1 20 3\n2 25 4\n");
	free(got);
	got = text_of("SELECT start FROM sl_thread_states ORDER BY globalTid DESC, start DESC");
	assert_string_equal(got, "5\n30\n25\n10\n");
	free(got);
}

static void errors_of_the_table_are_returned(void **state)
{
	(void)state;
	in(T1, 5, 1);
	setenv("SQLITE_TMPDIR", "/nonexistent", 1);
	sorter_bytes_max = 50;
	run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT "
	    "INTO "
	    "SCHED_EVENTS SELECT i, 0, i % 2, " T1 ", 2 FROM n");
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM sl_thread_states", NULL, NULL, NULL),
			 SQLITE_FULL);
	sorter_bytes_max = 1 << 20;
	unsetenv("SQLITE_TMPDIR");
	run("DROP TABLE SL_SCHED_DETAIL");
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM sl_thread_states", NULL, NULL, NULL),
			 SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), "no such table: SL_SCHED_DETAIL"));
}

/* ---- details beside switches ---- */

static void details_are_found_in_the_order_of_time(void **state)
{
	struct thread_details *d;
	const struct thread_detail *at;

	(void)state;
	woken(T2, 20, 15, T1);
	woken(T1, 10, 5, "NULL");
	left(T1, 20, 1);
	woken(T1, 20, 18, T2);
	left(T1, 30, 0);
	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			run("CREATE TABLE other AS SELECT * FROM SL_SCHED_DETAIL ORDER BY start; "
			    "DELETE "
			    "FROM SL_SCHED_DETAIL; INSERT INTO SL_SCHED_DETAIL SELECT * FROM "
			    "other");
		d = thread_details_open(db, INT64_MIN, pass);
		assert_null(thread_details_at(d, 9, 0x1000001, true));
		at = thread_details_at(d, 10, 0x1000001, true);
		assert_int_equal(at->wakeup, 5);
		assert_true(at->waker == THREAD_NONE);
		assert_int_equal(at->priority, 120);
		assert_null(thread_details_at(d, 10, 0x1000001, false));
		assert_null(thread_details_at(d, 10, 0x2000001, true));
		assert_true(thread_details_at(d, 20, 0x1000001, false)->is_preempted);
		assert_int_equal(thread_details_at(d, 20, 0x1000001, true)->waker, 0x2000001);
		assert_int_equal(thread_details_at(d, 20, 0x2000001, true)->wakeup, 15);
		assert_false(thread_details_at(d, 30, 0x1000001, false)->is_preempted);
		assert_null(thread_details_at(d, 40, 0x1000001, false));
		thread_details_free(d);
	}
	d = thread_details_open(db, 4, true);
	assert_null(thread_details_at(d, 20, 0x1000001, true));
	assert_non_null(thread_details_at(d, 30, 0x1000001, false));
	thread_details_free(d);
	thread_details_free(NULL);
	assert_null(thread_details_at(NULL, 20, 0x1000001, true));
	/* a filter is a view, which has no rowids */
	run("CREATE TEMP VIEW SL_SCHED_DETAIL AS SELECT * FROM main.SL_SCHED_DETAIL WHERE start > "
	    "10");
	d = thread_details_open(db, INT64_MIN, false);
	assert_null(thread_details_at(d, 10, 0x1000001, true));
	assert_non_null(thread_details_at(d, 20, 0x1000001, true));
	assert_false(thread_details_failed(d));
	thread_details_free(d);
	run("DROP VIEW SL_SCHED_DETAIL; CREATE TEMP VIEW SL_SCHED_DETAIL AS SELECT abs(start - 30 "
	    "+ "
	    "-9223372036854775808) AS start, globalTid, preempted, wakeupTime, wakerTid, priority "
	    "FROM main.SL_SCHED_DETAIL WHERE start >= 30");
	d = thread_details_open(db, INT64_MIN, true);
	assert_null(thread_details_at(d, 10, 0x1000001, true));
	assert_true(thread_details_failed(d));
	thread_details_free(d);
	run("DROP VIEW SL_SCHED_DETAIL; DROP TABLE SL_SCHED_DETAIL");
	assert_null(thread_details_open(db, 4, true));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		TEST(a_switch_begins_a_state_until_the_next),
		TEST(rows_out_of_order_give_the_same_states),
		TEST(labels_without_a_meaning_are_off_the_cpu),
		TEST(labels_have_texts_of_their_own),
		TEST(a_detail_counts_more_than_the_label),
		TEST(wakeups_outside_of_the_wait),
		TEST(two_switches_at_one_time),
		TEST(a_missing_switch_leaves_an_end_unknown),
		TEST(a_thread_id_is_used_again),
		TEST(open_states_last_until_the_end),
		TEST(rows_without_a_thread_a_time_or_a_direction_are_none),
		TEST(options_choose_threads_and_details),
		TEST(random_switches_give_the_states_of_window_functions),
		TEST(the_table_has_the_same_states),
		TEST(errors_of_the_table_are_returned),
		TEST(details_are_found_in_the_order_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
