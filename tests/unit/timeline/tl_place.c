/* tl_place.c - the track of a row by its keys, also by keys that are NULL, not known, or of no process. */
#include "tl_test.h"

static void null_keys_are_thread_0_device_0_and_no_cpu(void **state)
{
	(void)state;
	check("strings: (1, 'read'), (2, 'add');"
	      "libc: (10, 20, NULL, 1);"
	      "kernels: (30, 40, NULL, NULL, NULL, NULL, NULL, 2);"
	      "SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState): (50, NULL, "
	      "NULL, $70.71, 1);"
	      "ranges: (60, 70, 59, NULL, NULL, 'range', NULL, NULL);",
	      "thread 0.0: 10 +10 'read'\n"
	      "stream 0: 30 +10 'add'\n"
	      "thread 70.71: 50 off cpu -1, state 1\n"
	      "thread 0.0: 60 +10 'range'\n");
}

static void work_without_a_process_is_of_the_process_with_the_first_call(void **state)
{
	(void)state;
	check_with(
		&(struct tl_options){.activities = TL_ACT_ALL, .no_args = true}, SHOW_TRACKS,
		"strings: (1, 'launch'), (2, 'add');"
		"cuda: (5, 6, NULL, 1, 8), (10, 20, $70.71, 1, 9);"
		"kernels: (30, 40, NULL, 1, 2, 3, 9, 2);",
		/* The device is a process above all pids, 1 << 24; streams are sorted by twice their number. */
		"1: process 0 '' in 0, pid 0 tid 0 sort 0\n"
		"2: thread 0.0 '' in 1, pid 0 tid 0 sort 0\n"
		"thread 0.0: 5 +1 'launch'\n"
		"3: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		"4: thread 70.71 '' in 3, pid 70 tid 71 sort 71\n"
		"thread 70.71: 10 +10 'launch' out 9\n"
		"5: gpu 1 of 70 'GPU 1' in 3, pid 16777216 tid 0 sort 1\n"
		"6: stream 3 'stream 3' in 5, pid 16777216 tid 3 sort 6\n"
		"stream 3: 30 +10 'add' in 9\n");
}

static void only_numbers_of_stacks_above_0_and_not_absurd_count(void **state)
{
	(void)state;
	/* The largest is 2^60 - 1: four times as much, and 1, still are 63 bits. */
	check("strings: (1, 'read');"
	      "OSRT_API(start, end, globalTid, nameId, callchainId): (10, 11, $70.71, 1, "
	      "1), (20, 21, $70.71, 1, 0), (30, 31, $70.71, 1, -5), "
	      "(40, 41, $70.71, 1, 1152921504606846975), "
	      "(50, 51, $70.71, 1, 1152921504606846976), (60, 61, $70.71, 1, NULL);",
	      "thread 70.71: 10 +1 'read'\n"
	      "thread 70.71: 20 +1 'read'\n"
	      "thread 70.71: 30 +1 'read'\n"
	      "thread 70.71: 40 +1 'read'\n"
	      "thread 70.71: 50 +1 'read'\n"
	      "thread 70.71: 60 +1 'read'\n");
	check_with(&(struct tl_options){.activities = TL_ACT_OSRT}, 0,
		   "strings: (1, 'read');"
		   "OSRT_API(start, end, globalTid, nameId, callchainId): (10, 11, $70.71, 1, "
		   "1), (20, 21, $70.71, 1, 0), (30, 31, $70.71, 1, -5), "
		   "(40, 41, $70.71, 1, 1152921504606846975), "
		   "(50, 51, $70.71, 1, 1152921504606846976), (60, 61, $70.71, 1, NULL);",
		   "thread 70.71: 10 +1 'read' stack 5\n"
		   "thread 70.71: 20 +1 'read'\n"
		   "thread 70.71: 30 +1 'read'\n"
		   "thread 70.71: 40 +1 'read' stack 4611686018427387901\n"
		   "thread 70.71: 50 +1 'read'\n"
		   "thread 70.71: 60 +1 'read'\n");
}

static void own_reports_have_one_number_for_a_stack_of_any_call(void **state)
{
	(void)state;
	check_with(&(struct tl_options){.activities = TL_ACT_OSRT | TL_ACT_SYSCALL}, 0,
		   "strings: (1, 'read');"
		   "SL_STACKS(id, depth, frameId): (9, 0, 1);"
		   "CREATE TABLE SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, "
		   "line, inlined, unresolved, originalIP);"
		   "OSRT_API(start, end, globalTid, nameId, callchainId): (10, 11, $70.71, 1, "
		   "9);"
		   "SYSCALL(start, end, globalTid, nameId, callchainId): (20, 21, $70.71, 1, 9);",
		   "thread 70.71: 10 +1 'read' stack 9\n"
		   "thread 70.71: 20 +1 'read' stack 9\n");
}

static void bytes_of_a_call_with_a_path_are_0_where_none_were_moved(void **state)
{
	(void)state;
	check("strings: (1, 'open'), (2, '/data');"
	      "OSRT_API(start, end, globalTid, nameId, pathId, bytesDone): (10, 11, "
	      "$70.71, 1, 2, NULL);",
	      "thread 70.71: 10 +1 'open' path 2, 0 bytes\n");
}

static void ranges_of_the_gil_lie_apart_and_marks_do_not(void **state)
{
	(void)state;
	/* Domain 1 is the GIL's in process 70 alone; 2 has another name, of 3 none is known. */
	check("strings: (1, 'GIL Trace');"
	      "ranges: (0, NULL, 75, $70.71, 1, NULL, 1, NULL), "
	      "(0, NULL, 75, $70.71, 2, 'GIL Trace 2', NULL, NULL), "
	      "(10, 50, 59, $70.71, 1, 'hold', NULL, NULL), "
	      "(20, 60, 59, $70.71, 2, 'step', NULL, NULL), "
	      "(30, 40, 60, $70.72, 1, 'wait', NULL, NULL), "
	      "(35, NULL, 34, $70.71, 1, 'mark', NULL, NULL), "
	      "(36, 37, 59, $80.81, 1, 'other', NULL, NULL), "
	      "(38, 39, 60, $70.71, 3, 'async', NULL, NULL), "
	      "(39, 40, 59, $70.73, NULL, 'none', NULL, NULL);",
	      "gil 70.71: 10 +40 'hold'\n"
	      "thread 70.71: 20 +40 'step'\n"
	      "gil 70.72: 30 +10 'wait'\n"
	      "thread 70.71: 35 'mark'\n"
	      "thread 80.81: 36 +1 'other'\n"
	      "async 70: 38 +1 'async'\n"
	      "thread 70.73: 39 +1 'none'\n");
}

static void a_name_that_the_program_gives_a_thread_comes_before_the_kernels(void **state)
{
	(void)state;
	check_with(&(struct tl_options){.activities = TL_ACT_NVTX, .no_args = true}, SHOW_TRACKS,
		   "strings: (1, 'kworker'), (2, 'python');"
		   "ThreadNames(nameId, priority, globalTid): (1, 20, $70.71), (2, 20, $70.70);"
		   "ranges: (0, NULL, 39, $70.71, NULL, 'first', NULL, NULL), "
		   "(0, NULL, 39, $70.71, NULL, 'loader', NULL, NULL), "
		   "(0, NULL, 39, $70.70, NULL, '', NULL, NULL), "
		   "(10, NULL, 34, $70.71, NULL, 'a', NULL, NULL), "
		   "(20, NULL, 34, $70.70, NULL, 'b', NULL, NULL);",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: thread 70.71 'loader' in 1, pid 70 tid 71 sort 71\n"
		   "thread 70.71: 10 'a'\n"
		   "3: thread 70.70 'python' in 1, pid 70 tid 70 sort 0\n"
		   "thread 70.70: 20 'b'\n");
}

static const char named[] = "strings: (1, '');"
			    "ranges: (0, NULL, 75, $70.71, 1, 'one', NULL, NULL), "
			    "(10, 20, 59, $70.71, 1, 'a', NULL, NULL), "
			    "(0, NULL, 75, $70.71, 2, 'two', NULL, NULL), "
			    "(30, 40, 59, $70.71, 2, 'b', NULL, NULL);";

static bool last_two_rows(void *rows, const char *table, int64_t *after, int64_t *upto)
{
	(void)rows;
	*after = 2;
	*upto = 4;
	return strcmp(table, "NVTX_EVENTS") == 0;
}

static void names_of_domains_are_those_of_the_rows_that_are_read(void **state)
{
	struct tl_options part = {.activities = TL_ACT_NVTX, .part = 0.5};
	struct tl_options one = {
		.activities = TL_ACT_NVTX, .only_table = "NVTX_EVENTS", .only_row = 4, .part = 0.5};
	struct tl_options on = {.activities = TL_ACT_NVTX, .rows = last_two_rows, .goes_on = true};

	(void)state;
	/* Half of four rows are two; of one row's event all domains are known, and of a run that goes on, too. */
	check_with(&part, 0, named, "thread 70.71: 10 +10 'a' {domain='one'}\n");
	check_with(&one, 0, named, "thread 70.71: 30 +10 'b' {domain='two'}\n");
	check_with(&on, 0, named, "thread 70.71: 30 +10 'b' {domain='two'}\n");
	on.activities = TL_ACT_OSRT;
	check_with(&on, 0, named, "");
}

static void domains_of_a_run_that_goes_on_are_also_those_far_back_of_new_rows(void **state)
{
	struct tl_options one = {
		.activities = TL_ACT_NVTX, .only_table = "NVTX_EVENTS", .only_row = 60001};
	struct tl_options on = {.activities = TL_ACT_NVTX, .rows = last_two_rows, .goes_on = true};
	const char *sql =
		"strings: (1, '');"
		"ranges: (0, NULL, 34, 1, 1, 'x', NULL, NULL);"
		"UPDATE NVTX_EVENTS SET rowid = 3; "
		"INSERT INTO NVTX_EVENTS(rowid, start, eventType, globalTid, domainId, text) "
		"VALUES (60000, 0, 75, 1, 1, 'far'), (60001, 5, 34, 1, 1, 'y');";

	(void)state;
	check_with(&on, 0, sql, "thread 0.1: 0 'x' {domain='far'}\n");
	/* Only the first 50,000 rows are looked at for one event. */
	check_with(&one, 0, sql, "thread 0.1: 5 'y'\n");
}

static void metrics_have_the_unit_of_their_name(void **state)
{
	(void)state;
	check_with(
		&(struct tl_options){.activities = TL_ACT_METRIC}, SHOW_TRACKS,
		"strings: (1, '');"
		"TARGET_INFO_GPU_METRICS(typeId, metricId, metricName): (256, 1, 'SMs "
		"[Throughput %]'), (257, 1, 'Clock [MHz]'), (256, 2, 'PCIe [Bytes]'), "
		"(256, 3, 'Warps'), (256, 4, '');"
		"GPU_METRICS(timestamp, typeId, metricId, value): (10, 256, 1, 50), "
		"(10, 257, 1, 60), (10, 256, 2, 70), (10, 256, 3, 80), (10, 256, 4, 90), "
		"(10, 256, 5, NULL), (20, 256, 1, NULL), (30, 256, 1, -1);",
		/* The low byte of 257 is GPU 1; a metric without a name has its number. Rows without a value are none. */
		"1: machine 'CPUs' in 0, pid 16777216 tid 0 sort 0\n"
		"2: counter 'GPU 0: SMs [Throughput %]' of machine 'GPU 0: SMs [Throughput %]' in "
		"1, "
		"pid 16777216 tid 0 sort 0 unit '%'\n"
		"counter 'GPU 0: SMs [Throughput %]' of machine: 10 = 50\n"
		"3: counter 'GPU 1: Clock [MHz]' of machine 'GPU 1: Clock [MHz]' in 1, "
		"pid 16777216 tid 0 sort 0 unit 'Hz'\n"
		"counter 'GPU 1: Clock [MHz]' of machine: 10 = 60\n"
		"4: counter 'GPU 0: PCIe [Bytes]' of machine 'GPU 0: PCIe [Bytes]' in 1, "
		"pid 16777216 tid 0 sort 0 unit 'bytes'\n"
		"counter 'GPU 0: PCIe [Bytes]' of machine: 10 = 70\n"
		"5: counter 'GPU 0: Warps' of machine 'GPU 0: Warps' in 1, "
		"pid 16777216 tid 0 sort 0 unit ''\n"
		"counter 'GPU 0: Warps' of machine: 10 = 80\n"
		"6: counter 'GPU 0: metric 4' of machine 'GPU 0: metric 4' in 1, "
		"pid 16777216 tid 0 sort 0 unit ''\n"
		"counter 'GPU 0: metric 4' of machine: 10 = 90\n"
		"counter 'GPU 0: SMs [Throughput %]' of machine: 30 = -1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_keys_are_thread_0_device_0_and_no_cpu),
		cmocka_unit_test(work_without_a_process_is_of_the_process_with_the_first_call),
		cmocka_unit_test(only_numbers_of_stacks_above_0_and_not_absurd_count),
		cmocka_unit_test(own_reports_have_one_number_for_a_stack_of_any_call),
		cmocka_unit_test(bytes_of_a_call_with_a_path_are_0_where_none_were_moved),
		cmocka_unit_test(ranges_of_the_gil_lie_apart_and_marks_do_not),
		cmocka_unit_test(a_name_that_the_program_gives_a_thread_comes_before_the_kernels),
		cmocka_unit_test(names_of_domains_are_those_of_the_rows_that_are_read),
		cmocka_unit_test(domains_of_a_run_that_goes_on_are_also_those_far_back_of_new_rows),
		cmocka_unit_test(metrics_have_the_unit_of_their_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
