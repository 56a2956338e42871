/* fmt_fold.c - a timeline as stacks: what opens and closes on each track, samples, states of threads, names of frames. */
#include "fmt_test.h"

#include "exporters/formats/fold.h"

static char seen[16384];
static size_t seen_len;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	seen_len += (size_t)vsnprintf(seen + seen_len, sizeof(seen) - seen_len, format, list);
	va_end(list);
	assert_true(seen_len < sizeof(seen));
}

static void on_open(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	assert_ptr_equal(&t->open[t->open_cnt - 1], o);
	note("+%s %lld;", f->frame[o->frame], (long long)o->start);
}

static void on_close(struct fold *f, struct fold_track *t, struct fold_open *o)
{
	assert_ptr_equal(&t->open[t->open_cnt - 1], o);
	note("-%s %lld (%lld);", f->frame[o->frame], (long long)o->end,
	     (long long)(o->end - o->start - o->inner));
}

static void on_sample(struct fold *f, struct fold_track *t, const uint32_t *frames, unsigned cnt,
		      int64_t ts)
{
	note("%s@%lld", t->name, (long long)ts);
	for (unsigned i = 0; i < cnt; i++)
		note("%s%s", i ? " > " : " ", f->frame[frames[i]]);
	note(";");
}

/* The callbacks of a fold of the report in their order, then the names of its tracks. */
static const char *folded(const char *sql, uint32_t activities)
{
	static const struct exporter none = {.name = "fold"};
	struct fold f = {.on_open = on_open, .on_close = on_close, .on_sample = on_sample};
	struct export_job job;
	sqlite3 *db;

	fmt_report(sql);
	db = fmt_open();
	job = fmt_job(&none, db, &(struct export_options){.activities = activities});
	seen_len = 0;
	*seen = '\0';
	assert_int_equal(fold_run(&f, &job, fmt_why, sizeof(fmt_why)), 0);
	for (struct fold_track *t = f.tracks; t; t = t->next)
		note("[%s]", t->name);
	fmt_events = job.events;
	fold_free(&f);
	sqlite3_close(db);
	return seen;
}

#define NESTED FOLD_ACTIVITIES

static void an_empty_report_has_no_frames(void **state)
{
	(void)state;
	fmt_same(folded("", NESTED), "");
	assert_int_equal(fmt_events, 0);
}

static void inner_time_is_not_that_of_the_outer(void **state)
{
	(void)state;
	/* outer has 100 - 30 - 20; a, which ends with b's start, 30 - 10 */
	fmt_same(folded(NAMED RANGE(0, 100, "'outer'", T1) RANGE(10, 40, "'a'", T1)
				RANGE(15, 25, "'deep'", T1) RANGE(40, 60, "'b'", T1),
			NESTED),
		 "+outer 0;+a 10;+deep 15;-deep 25 (10);-a 40 (20);+b 40;-b 60 (20);"
		 "-outer 100 (50);[app 100, main thread 100]");
}

static void equal_times_nest_by_the_order_of_tables(void **state)
{
	(void)state;
	fmt_same(folded("INSERT INTO StringIds VALUES (7, 'read');" CALL(5, 9, 7, T1)
				RANGE(5, 9, "'step'", T1) RANGE(9, 9, "'none'", T1),
			NESTED),
		 "+step 5;+read 5;-read 9 (4);-step 9 (0);+none 9;-none 9 (0);"
		 "[process 100, thread 100]");
}

/* What overlaps in part lies on a track of its own. */
static void overlapping_ranges(void **state)
{
	(void)state;
	fmt_same(folded(NAMED RANGE(0, 10, "'x'", T1) RANGE(5, 15, "'y'", T1), NESTED),
		 "+x 0;+y 5;-x 10 (10);-y 15 (10);"
		 "[app 100, main thread 100][app 100, main thread 100, overlapping]");
}

/* An open range ends with the latest time of any track, also where that is an end. */
static void open_ranges_end_with_the_last_event(void **state)
{
	(void)state;
	fmt_same(folded(NAMED RANGE(10, NULL, "'open'", T1) RANGE(20, 70, "'other'", T1B)
				RANGE(30, NULL, "'inner'", T1),
			NESTED),
		 "+open 10;+other 20;+inner 30;-inner 70 (40);-open 70 (20);-other 70 (50);"
		 "[app 100, main thread 100][app 100, worker 101]");
	fmt_same(folded(NAMED RANGE(10, NULL, "'only'", T1), NESTED),
		 "+only 10;-only 10 (0);[app 100, main thread 100]");
}

static void times_before_the_session(void **state)
{
	(void)state;
	fmt_same(folded(RANGE(-50, -20, "'early'", T1) RANGE(-30, -25, "'in'", T1), NESTED),
		 "+early -50;+in -30;-in -25 (5);-early -20 (25);[process 100, thread 100]");
}

/* What lies beyond half of 2^63 is cut to it: sums do not wrap around. */
static void times_at_the_edge_of_64_bits(void **state)
{
	(void)state;
	fmt_same(folded(RANGE(0, 9223372036854775807, "'long'", T1), NESTED),
		 "+long 0;-long 4611686018427387903 (4611686018427387903);[process 100, thread "
		 "100]");
}

/* ---- names ---- */

static void names_of_frames(void **state)
{
	(void)state;
	/* Line ends and tabs are blanks; other bytes stay for the writer of the format. */
	fmt_same(folded(RANGE(0, 1, "'a' || char(10) || 'b' || char(9) || 'c'", T1)
				RANGE(2, 3, "CAST(x'FFC3A9' AS TEXT)", T1) RANGE(4, 5, "''", T1)
					RANGE(6, 7, "NULL", T1),
			NESTED),
		 "+a b c 0;-a b c 1 (1);+\xFF\xC3\xA9 2;-\xFF\xC3\xA9 3 (1);"
		 "+(no name) 4;-(no name) 5 (1);+(no name) 6;-(no name) 7 (1);"
		 "[process 100, thread 100]");
}

/* PyTorch's numbers are '#': ranges that differ in them alone sum up. */
static void numbers_behind_an_equals_sign(void **state)
{
	static const struct {
		const char *name, *frame;
	} names[] = {
		{"aten::item, op_id = 17", "aten::item, op_id = #"},
		{"op_id = 17, seq = 4, x", "op_id = #, seq = #, x"},
		{"layer 3", "layer 3"},
		{"a=1", "a=1"},
		{"x = y", "x = y"},
		{"x = 12ab3", "x = #ab3"},
		{" = 5", " = #"},
		{"x = ", "x = "},
		{"x =  5", "x =  5"},
		{"v = 1.5", "v = #.5"},
	};
	char sql[1024], want[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(sql, sizeof(sql),
			 "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES "
			 "(0, 1, 59, '%s', " T1 ")",
			 names[i].name);
		snprintf(want, sizeof(want), "+%s 0;-%s 1 (1);[process 100, thread 100]",
			 names[i].frame, names[i].frame);
		fmt_same(folded(sql, NESTED), want);
	}
}

/* 511 bytes are looked at, 512 are not. */
static void long_names_keep_their_numbers(void **state)
{
	(void)state;
	folded(RANGE(0, 1, "printf('%0507d', 0) || ' = 7'", T1), NESTED);
	assert_int_equal(fmt_count(seen, "0 = #"), 2);
	folded(RANGE(0, 1, "printf('%0508d', 0) || ' = 7'", T1), NESTED);
	assert_int_equal(fmt_count(seen, "0 = 7"), 2);
	folded(RANGE(0, 1, "printf('%2000s', 'end')", T1), NESTED);
	assert_int_equal(strcspn(seen, "e"), 1998);
}

static void the_name_of_a_string_is_read_once(void **state)
{
	(void)state;
	fmt_same(folded("INSERT INTO StringIds VALUES (7, 'n = 1'), (8, 'n = 2'), (9, '');" CALL(
				0, 1, 7, T1) CALL(2, 3, 8, T1) CALL(4, 5, 7, T1) CALL(6, 7, 9, T1)
				CALL(8, 9, 77, T1),
			NESTED),
		 "+n = # 0;-n = # 1 (1);+n = # 2;-n = # 3 (1);+n = # 4;-n = # 5 (1);"
		 "+(no name) 6;-(no name) 7 (1);+string 77 8;-string 77 9 (1);"
		 "[process 100, thread 100]");
}

/* ---- tracks that are no threads ---- */

#define KERNEL(start, end, stream)                                                               \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "    \
	"globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, " \
	"blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, "        \
	"localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES (" #start ", " #end        \
	", 0, 1, " #stream ", " P1 ", 5, 5, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '');"

static void streams_stand_below_their_gpu(void **state)
{
	(void)state;
	fmt_same(folded(NAMED "INSERT INTO StringIds VALUES (5, 'gemm');" KERNEL(0, 10, 7)
				KERNEL(5, 8, 7) KERNEL(6, 9, 13),
			TL_ACT_KERNEL),
		 "+gemm 0;+gemm 5;+gemm 6;-gemm 10 (10);-gemm 8 (3);-gemm 9 (3);"
		 "[app 100, GPU 0, stream 7][app 100, GPU 0, stream 7, overlapping]"
		 "[app 100, GPU 0, stream 13]");
}

static void ranges_of_start_and_end(void **state)
{
	(void)state;
	fmt_same(folded(NAMED "INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, text, "
			      "globalTid, endGlobalTid) VALUES (1, 5, 60, 1, 'r', " T1 ", " T1B ")",
			NESTED),
		 "+r 1;-r 5 (4);[app 100, NVTX start/end]");
}

/* ---- context switches ---- */

#define SWITCH(start, in, thread, block) \
	"INSERT INTO SCHED_EVENTS VALUES (" #start ", 0, " #in ", " thread ", " #block ", NULL);"

static void states_between_switches(void **state)
{
	(void)state;
	/* The state before the first switch is not known, that after the last has no end. */
	fmt_same(folded(NAMED SWITCH(10, 0, T1, 1) SWITCH(20, 1, T1, NULL) SWITCH(50, 0, T1, 2)
				SWITCH(90, 1, T1, NULL) SWITCH(100, 0, T1, 3)
					SWITCH(101, 1, T1, NULL) SWITCH(102, 0, T1, 4) SWITCH(
						103, 1, T1, NULL) SWITCH(104, 0, T1, 0)
						SWITCH(105, 1, T1, NULL) SWITCH(106, 0, T1, 6)
							SWITCH(107, 1, T1, NULL),
			TL_ACT_SCHED),
		 "+off CPU: runnable 10;-off CPU: runnable 20 (10);+on CPU 20;-on CPU 50 (30);"
		 "+off CPU: waiting 50;-off CPU: waiting 90 (40);+on CPU 90;-on CPU 100 (10);"
		 "+off CPU: waiting for I/O 100;-off CPU: waiting for I/O 101 (1);"
		 "+on CPU 101;-on CPU 102 (1);+off CPU: stopped 102;-off CPU: stopped 103 (1);"
		 "+on CPU 103;-on CPU 104 (1);+off CPU 104;-off CPU 105 (1);+on CPU 105;-on CPU "
		 "106 (1);"
		 "+off CPU 106;-off CPU 107 (1);[app 100, main thread 100]");
}

static void a_thread_that_ended_has_no_state(void **state)
{
	(void)state;
	fmt_same(folded(NAMED SWITCH(0, 1, T1, NULL) SWITCH(5, 0, T1, 5) SWITCH(80, 1, T1, NULL)
				SWITCH(90, 0, T1, 2) SWITCH(95, 0, T1, 3),
			TL_ACT_SCHED),
		 "+on CPU 0;-on CPU 5 (5);+on CPU 80;-on CPU 90 (10);"
		 "+off CPU: waiting 90;-off CPU: waiting 95 (5);[app 100, main thread 100]");
}

/* A row is missing: when the thread left in between is not known, so that time is no one's. */
static void two_switches_in_lack_the_one_out(void **state)
{
	(void)state;
	fmt_same(folded(NAMED SWITCH(0, 1, T1, NULL) SWITCH(40, 1, T1, NULL) SWITCH(50, 0, T1, 2),
			TL_ACT_SCHED),
		 "+on CPU 40;-on CPU 50 (10);[app 100, main thread 100]");
}

/* Switches do not nest with calls: with others they are left out. */
static void switches_come_alone(void **state)
{
	(void)state;
	fmt_same(folded(NAMED SWITCH(0, 1, T1, NULL) SWITCH(40, 0, T1, 2) RANGE(5, 6, "'r'", T1),
			NESTED | TL_ACT_SCHED),
		 "+r 5;-r 6 (1);[app 100, main thread 100]");
}

/* ---- samples ---- */

#define STACKS                                                                                 \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, 'libx.so'), (14, '');"  \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) VALUES (1, 0, 11, 13, 0), " \
	"(2, 0, 12, 13, 0), (3, 0, 14, 13, 0);"                                                \
	"INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1), (2, 0, 3), (2, 1, 1);"             \
	"INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) VALUES " \
	"(1, 10, 0, " T1 ", 1, 1), (2, 20, 0, " T1 ", 1, 2), (3, 30, 0, " T1 ", 1, NULL);"

static void samples_go_before_time(void **state)
{
	(void)state;
	/* A frame without a symbol has its file's name; a sample without a stack is left out. */
	fmt_same(folded(NAMED STACKS RANGE(0, 100, "'step'", T1), NESTED),
		 "app 100, main thread 100@10 main > leaf;"
		 "app 100, main thread 100@20 main > libx.so;[app 100, main thread 100]");
	assert_int_equal(fmt_events, 3);
	/* Where samples are not asked for, ranges are taken. */
	fmt_same(
		folded(NAMED STACKS RANGE(0, 100, "'step'", T1), NESTED & ~(uint32_t)TL_ACT_SAMPLE),
		"+step 0;-step 100 (100);[app 100, main thread 100]");
	/* Stacks of threads without a CPU are no samples. */
	fmt_same(folded(NAMED STACKS
			"UPDATE COMPOSITE_EVENTS SET cpuCycles = 0, end = start + 1;" RANGE(
				0, 100, "'step'", T1),
			NESTED),
		 "+step 0;-step 100 (100);[app 100, main thread 100]");
}

/* 1,100 frames: the outermost are left out. */
static void a_stack_deeper_than_the_limit(void **state)
{
	(void)state;
	folded("INSERT INTO StringIds WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM "
	       "n "
	       "WHERE i < 1099) SELECT 1000 + i, 'f' || i FROM n;"
	       "INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) SELECT id, 0, id, 0, 0 "
	       "FROM "
	       "StringIds WHERE id >= 1000;"
	       "INSERT INTO SL_STACKS SELECT 1, id - 1000, id FROM StringIds WHERE id >= 1000;"
	       "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) "
	       "VALUES "
	       "(1, 10, 0, " T1 ", 1, 1)",
	       NESTED);
	assert_int_equal(fmt_count(seen, " > "), FOLD_DEPTH_MAX - 1);
	assert_non_null(strstr(seen, "@10 f1023 > f1022 > "));
	assert_non_null(strstr(seen, " > f1 > f0;"));
}

/* ---- what --flame warns of ---- */

/* The lines on stderr while stacks are weighed, without the path of the report. */
static const char *warnings(const char *sql, struct export_options opt)
{
	static const struct exporter none = {.name = "fold"};
	struct stack_costs w = {.frames = FRAMES_BY_FUNCTION, .python_only = opt.python_only};
	int fd = memfd_create("stderr", 0), before = dup(STDERR_FILENO);
	struct export_job job;
	sqlite3 *db;

	fmt_report(sql);
	db = fmt_open();
	job = fmt_job(&none, db, &opt);
	job.opt.quiet = opt.quiet;
	job.input = "R";
	dup2(fd, STDERR_FILENO);
	assert_int_equal(fold_weigh(&w, &job, fmt_why, sizeof(fmt_why)), 0);
	dup2(before, STDERR_FILENO);
	fmt_events = job.events;
	stack_costs_free(&w);
	sqlite3_close(db);
	fmt_read_fd(fd);
	close(fd);
	close(before);
	return fmt_text;
}

#define LACKS_STACKS                                                        \
	"sightline: export: R: no stacks were recorded; sightline profile " \
	"--sample=process-tree does, or --trace=cuda --cudabacktrace=all\n"

static void a_report_without_stacks_gives_a_warning(void **state)
{
	static const char calls[] = "INSERT INTO StringIds VALUES (7, 'read');" CALL(0, 1, 7, T1);

	(void)state;
	fmt_same(warnings("", (struct export_options){0}), LACKS_STACKS);
	fmt_same(warnings(calls, (struct export_options){0}), LACKS_STACKS);
	assert_int_equal(fmt_events, 1);
	fmt_same(warnings(NAMED STACKS, (struct export_options){0}), "");
	fmt_same(warnings("", (struct export_options){.quiet = true}), "");
}

/* Of each thing that was asked for: there is none of it, or none of its stacks. */
static void each_thing_asked_for_and_missing_gives_a_warning(void **state)
{
	static const char calls[] = "INSERT INTO StringIds VALUES (7, 'read');" CALL(0, 1, 7, T1);
	const unsigned flame = COST_BIT(COST_CPU) | COST_BIT(COST_CALLS);

	(void)state;
	fmt_same(warnings(calls, (struct export_options){.flame = flame}),
		 "sightline: export: R: cpu: there is nothing of it; sightline profile "
		 "--sample=process-tree records it\n"
		 "sightline: export: R: calls: no stacks were recorded; sightline profile "
		 "--trace=osrt,cuda --cudabacktrace=all does\n");
	fmt_same(warnings(NAMED STACKS, (struct export_options){.flame = COST_BIT(COST_CPU)}), "");
	fmt_same(warnings(calls, (struct export_options){.flame = flame, .quiet = true}), "");
}

static void stacks_without_python_give_a_warning(void **state)
{
	(void)state;
	fmt_same(warnings(NAMED STACKS, (struct export_options){.python_only = true}),
		 "sightline: export: R: no stack has frames of Python; sightline profile "
		 "--python-sampling=true and --python-backtrace record them\n");
	fmt_same(warnings(NAMED STACKS "UPDATE SL_FRAMES SET kind = 1",
			  (struct export_options){.python_only = true}),
		 "");
	fmt_same(warnings("", (struct export_options){.python_only = true}), LACKS_STACKS);
	fmt_same(
		warnings(NAMED STACKS, (struct export_options){.python_only = true, .quiet = true}),
		"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_has_no_frames),
		cmocka_unit_test(inner_time_is_not_that_of_the_outer),
		cmocka_unit_test(equal_times_nest_by_the_order_of_tables),
		cmocka_unit_test(overlapping_ranges),
		cmocka_unit_test(open_ranges_end_with_the_last_event),
		cmocka_unit_test(times_before_the_session),
		cmocka_unit_test(times_at_the_edge_of_64_bits),
		cmocka_unit_test(names_of_frames),
		cmocka_unit_test(numbers_behind_an_equals_sign),
		cmocka_unit_test(long_names_keep_their_numbers),
		cmocka_unit_test(the_name_of_a_string_is_read_once),
		cmocka_unit_test(streams_stand_below_their_gpu),
		cmocka_unit_test(ranges_of_start_and_end),
		cmocka_unit_test(states_between_switches),
		cmocka_unit_test(a_thread_that_ended_has_no_state),
		cmocka_unit_test(two_switches_in_lack_the_one_out),
		cmocka_unit_test(switches_come_alone),
		cmocka_unit_test(samples_go_before_time),
		cmocka_unit_test(a_stack_deeper_than_the_limit),
		cmocka_unit_test(a_report_without_stacks_gives_a_warning),
		cmocka_unit_test(each_thing_asked_for_and_missing_gives_a_warning),
		cmocka_unit_test(stacks_without_python_give_a_warning),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
