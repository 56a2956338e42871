/* fmt_perfetto_sched.c - context switches as ftrace has them: both threads of a switch, missing rows, wake-ups, batches. */
#include "proto_reader.h"

extern const struct exporter exporter_perfetto;

#define SWITCH(start, cpu, in, thread, block)                                                 \
	"INSERT INTO SCHED_EVENTS VALUES (" #start ", " #cpu ", " #in ", " thread ", " #block \
	", NULL);"
#define DETAIL(start, thread, preempted, wakeup, waker, priority)                              \
	"INSERT INTO SL_SCHED_DETAIL VALUES (" #start ", " thread ", " #preempted ", " #wakeup \
	", " waker ", " #priority ");"

/* The bundles of ftrace events, a line each: CPU, events, switches (5 names, 1 times, 2 states, 3 next, 4 priorities, 6 name of each). */
static const char *bundles(const char *sql, struct export_options opt)
{
	static char kept[65536];
	const char *lines;
	size_t at = 0;

	fmt_report(sql);
	fmt_export(&exporter_perfetto, &opt);
	lines = pb_lines(fmt_text, fmt_len, "1{1{2{20{}} 4{1# 2# 3# 4# 6#}} 2- 6- 10- 60-}");
	*kept = '\0';
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		if (strncmp(lines, "1{1{", 4) == 0)
			at += (size_t)snprintf(kept + at, sizeof(kept) - at, "%s%.*s",
					       at ? "\n" : "", (int)n - 6, lines + 4);
		lines += n + (lines[n] == '\n');
	}
	assert_true(at < sizeof(kept));
	return kept;
}

static const struct export_options only = {.activities = TL_ACT_SCHED};

static void no_switches_give_no_bundle(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED, only), "");
	fmt_same(bundles(NAMED SWITCH(5, 0, 0, T1, 2), only),
		 ""); /* when the thread came is not known */
}

/* A thread comes and goes: before and after it the CPU is idle. Times are the differences. */
static void one_thread_on_one_cpu(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED SWITCH(10, 2, 1, T1, NULL) SWITCH(30, 2, 0, T1, 3), only),
		 "1:2 4{5:\"swapper\" 5:\"main thread\" 1[10,0,20] 2[0,0,2] 3[0,100,0] "
		 "4[120,120,120] "
		 "6[0,1,0]}");
}

/* State of the thread that leaves: 1 runnable, 3 waits for I/O, 4 stopped, 5 dead, others wait. */
static void states_of_threads_that_leave(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED SWITCH(0, 0, 1, T1, NULL) SWITCH(1, 0, 0, T1, 1)
				 SWITCH(1, 0, 1, T1B, NULL) SWITCH(2, 0, 0, T1B, 4)
					 SWITCH(2, 0, 1, T1, NULL) SWITCH(3, 0, 0, T1, 2) SWITCH(
						 3, 0, 1, T1B, NULL) SWITCH(4, 0, 0, T1B, NULL)
						 SWITCH(4, 0, 1, T1, NULL) SWITCH(5, 0, 0, T1, 5)
							 SWITCH(9, 0, 1, T1B, NULL)
								 SWITCH(12, 0, 0, T1B, 77),
			 only),
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 5:\"worker\" 1[0,0,1,1,1,1,1,4,3] "
		 "2[0,0,0,4,1,1,16,0,1] 3[0,100,101,100,101,100,0,101,0] "
		 "4[120,120,120,120,120,120,120,120,120] 6[0,1,2,1,2,1,0,2,0]}");
}

/* Rows of one moment come in any order. */
static void the_switch_in_may_stand_first(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED SWITCH(0, 0, 1, T1, NULL) SWITCH(5, 0, 1, T1B, NULL)
				 SWITCH(5, 0, 0, T1, 3) SWITCH(8, 0, 0, T1B, 2),
			 only),
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 5:\"worker\" 1[0,0,5,3] 2[0,0,2,1] "
		 "3[0,100,101,0] "
		 "4[120,120,120,120] 6[0,1,2,0]}");
}

/* The row out is missing: the thread waits for something, as most do. */
static void a_switch_out_is_missing(void **state)
{
	(void)state;
	fmt_same(
		bundles(NAMED SWITCH(0, 0, 1, T1, NULL) SWITCH(5, 0, 1, T1B, NULL)
				SWITCH(9, 0, 0, T1, 4),
			only),
		"1:0 4{5:\"swapper\" 5:\"main thread\" 5:\"worker\" 1[0,0,5] 2[0,0,1] 3[0,100,101] "
		"4[120,120,120] 6[0,1,2]}");
}

static void cpus_have_bundles_of_their_own(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED SWITCH(0, 1023, 1, T1, NULL) SWITCH(1, 0, 1, T1B, NULL)
				 SWITCH(2, 1024, 1, T2, NULL) SWITCH(3, -1, 1, T2, NULL),
			 only),
		 "1:0 4{5:\"swapper\" 5:\"worker\" 1[1,0] 2[0,0] 3[0,101] 4[120,120] 6[0,1]}\n"
		 "1:1023 4{5:\"swapper\" 5:\"main thread\" 1[0,0] 2[0,0] 3[0,100] 4[120,120] "
		 "6[0,1]}");
}

/* A thread without a name has that of its process; the kernel's names are of 15 bytes. */
static void names_of_threads(void **state)
{
	(void)state;
	fmt_same(bundles("INSERT INTO PROCESSES VALUES (" P1
			 ", 100, 'a process of a long name'), (" P2
			 ", 200, NULL); INSERT INTO StringIds VALUES (1, CAST(x'74FF' AS TEXT));"
			 "INSERT INTO ThreadNames VALUES (1, 20, " T1B
			 ");" SWITCH(1, 0, 1, T1, NULL) SWITCH(2, 0, 1, T1B, NULL)
				 SWITCH(3, 0, 1, T2, NULL),
			 only),
		 "1:0 4{5:\"swapper\" 5:\"a process of a \" 5:\"t\\xFF\" 5:\"\" 1[1,0,1,1] "
		 "2[0,0,1,1] "
		 "3[0,100,101,200] 4[120,120,120,120] 6[0,1,2,3]}");
}

/* ---- details ---- */

static void wakeups_stand_alone(void **state)
{
	(void)state;
	/* time, waker, (name, thread, priority, success, CPU); an unknown waker is the idle task */
	fmt_same(bundles(NAMED SWITCH(10, 1, 1, T1, NULL) SWITCH(20, 1, 0, T1, 2)
				 SWITCH(30, 0, 1, T1, NULL) SWITCH(40, 0, 0, T1, 2) SWITCH(
					 50, 0, 1, T1, NULL) DETAIL(10, T1, NULL, 4, T1B, 100)
					 DETAIL(30, T1, NULL, 30, "NULL", NULL)
						 DETAIL(50, T1, NULL, 51, T1B, 99),
			 only),
		 "1:1 2{1:4 2:101 20{1:\"main thread\" 2:100 3:100 4:1 5:1}}\n"
		 "1:0 2{1:30 2:0 20{1:\"main thread\" 2:100 3:120 4:1 5:0}}\n"
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 1[30,0,10,10] 2[0,0,1,0] 3[0,100,0,100] "
		 "4[120,120,120,99] 6[0,1,0,1]}\n"
		 "1:1 4{5:\"swapper\" 5:\"main thread\" 1[10,0,10] 2[0,0,1] 3[0,100,0] "
		 "4[120,100,120] 6[0,1,0]}");
}

/* The detail's "preempted" goes before the state; of several rows of one moment the thread's own counts. */
static void details_of_the_same_moment(void **state)
{
	(void)state;
	fmt_same(bundles(NAMED SWITCH(0, 0, 1, T1, NULL) SWITCH(5, 0, 0, T1, 3)
				 SWITCH(5, 0, 1, T1B, NULL) SWITCH(9, 0, 0, T1B, 3)
			 /* not in the order of time */
			 DETAIL(9, T1B, 0, NULL, "NULL", NULL) DETAIL(5, T2, 0, NULL, "NULL", 1)
				 DETAIL(5, T1B, NULL, NULL, "NULL", 90)
					 DETAIL(5, T1, 1, NULL, "NULL", NULL)
						 DETAIL(3, T1, 1, NULL, "NULL", 5),
			 only),
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 5:\"worker\" 1[0,0,5,4] 2[0,0,2048,2] "
		 "3[0,100,101,0] "
		 "4[120,120,90,120] 6[0,1,2,0]}");
}

/* Details are at the report's times, whatever is added to them; a wake-up before time 0 is left out. */
static void shifted_times(void **state)
{
	static const char sql[] = NAMED SWITCH(10, 0, 1, T1, NULL) SWITCH(20, 0, 0, T1, 2)
		DETAIL(10, T1, NULL, 4, T1B, 100) DETAIL(20, T1, 1, NULL, "NULL", NULL);

	(void)state;
	fmt_same(bundles(sql, (struct export_options){.activities = TL_ACT_SCHED, .shift = 1000}),
		 "1:0 2{1:1004 2:101 20{1:\"main thread\" 2:100 3:100 4:1 5:0}}\n"
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 1[1010,0,10] 2[0,0,2048] 3[0,100,0] "
		 "4[120,100,120] "
		 "6[0,1,0]}");
	fmt_begins(bundles(sql, (struct export_options){.activities = TL_ACT_SCHED, .shift = -4}),
		   "1:0 2{1:0 2:101 20{");
	fmt_same(bundles(sql, (struct export_options){.activities = TL_ACT_SCHED, .shift = -5}),
		 "1:0 4{5:\"swapper\" 5:\"main thread\" 1[5,0,10] 2[0,0,2048] 3[0,100,0] "
		 "4[120,100,120] "
		 "6[0,1,0]}");
}

static void details_that_cannot_be_read(void **state)
{
	sqlite3 *db;

	(void)state;
	fmt_report(SWITCH(1000, 0, 1, T1, NULL) DETAIL(1000, T1, NULL, 900, "NULL", 120));
	db = fmt_open();
	fmt_sql(db, "CREATE TEMP VIEW SL_SCHED_DETAIL AS SELECT start, globalTid, preempted, "
		    "json('[') AS wakeupTime, wakerTid, priority FROM main.SL_SCHED_DETAIL");
	assert_int_equal(fmt_run_on(db, &exporter_perfetto, &only), -1);
	assert_string_equal(fmt_why, "SL_SCHED_DETAIL cannot be read");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- batches ---- */

/* A bundle holds 128 switches: of 130 the last two and the idle time begin another, whose times count from 0 again. */
static void more_switches_than_a_bundle_holds(void **state)
{
	const char *p, *second;

	(void)state;
	p = bundles(NAMED
		    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 129) "
		    "INSERT INTO SCHED_EVENTS SELECT 1000 + i * 10, 0, 1, " T1
		    " + i % 2, NULL, NULL FROM n;" SWITCH(2300, 0, 0, T1B, 2),
		    only);
	assert_int_equal(fmt_count(p, "1:0 4{"), 2);
	assert_memory_equal(p, "1:0 4{5:\"swapper\" 5:\"main thread\" 5:\"worker\" 1[1000,0,10,10,",
			    60);
	second = strchr(p, '\n') + 1;
	fmt_same(second,
		 "1:0 4{5:\"worker\" 5:\"main thread\" 5:\"swapper\" 1[2270,10,10,10] 2[1,1,1,1] "
		 "3[101,100,101,0] 4[120,120,120,120] 6[0,1,0,2]}");
}

/* It holds 64 names. */
static void more_threads_than_a_bundle_names(void **state)
{
	const char *p;

	(void)state;
	p = bundles("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 69) "
		    "INSERT INTO SCHED_EVENTS SELECT 1000 + i, 0, 1, " T1 " + i, NULL, NULL FROM n",
		    only);
	assert_int_equal(fmt_count(p, "1:0 4{"), 2);
	assert_int_equal(fmt_count(p, " 5:\"") + fmt_count(p, "{5:\""), 71);
	assert_non_null(strstr(
		p,
		"\n1:0 4{5:\"\" 5:\"\" 5:\"\" 5:\"\" 5:\"\" 5:\"\" 5:\"\" 1[1063,1,1,1,1,1,1] "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_switches_give_no_bundle),
		cmocka_unit_test(one_thread_on_one_cpu),
		cmocka_unit_test(states_of_threads_that_leave),
		cmocka_unit_test(the_switch_in_may_stand_first),
		cmocka_unit_test(a_switch_out_is_missing),
		cmocka_unit_test(cpus_have_bundles_of_their_own),
		cmocka_unit_test(names_of_threads),
		cmocka_unit_test(wakeups_stand_alone),
		cmocka_unit_test(details_of_the_same_moment),
		cmocka_unit_test(details_that_cannot_be_read),
		cmocka_unit_test(shifted_times),
		cmocka_unit_test(more_switches_than_a_bundle_holds),
		cmocka_unit_test(more_threads_than_a_bundle_names),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
