/* tl_tracks.c - tracks: their names, their numbers, the lane of a slice that overlaps others. */
#include "tl_test.h"

static const struct tl_options all = {.activities = TL_ACT_ALL, .no_args = true};

static void slices_of_a_thread_nest_and_what_overlaps_takes_another_lane(void **state)
{
	(void)state;
	check("strings: (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f'), "
	      "(7, 'g'), (8, 'h');"
	      "libc: (10, 100, 1, 1), (20, 50, 1, 2), (20, 50, 1, 3), (40, 60, 1, 4), "
	      "(45, 70, 1, 5), (50, 60, 1, 6), (60, 110, 1, 7), (100, 100, 1, 8);",
	      /*
	       * b and c lie in a, d overlaps them in part. e overlaps c and d. f fits where c has ended. g overlaps a,
	       * d has ended, so it fits the lane of d. At 100 a has ended.
	       */
	      "thread 0.1: 10 +90 'a'\n"
	      "thread 0.1: 20 +30 'b'\n"
	      "thread 0.1: 20 +30 'c'\n"
	      "thread 0.1/1: 40 +20 'd'\n"
	      "thread 0.1/2: 45 +25 'e'\n"
	      "thread 0.1: 50 +10 'f'\n"
	      "thread 0.1/1: 60 +50 'g'\n"
	      "thread 0.1: 100 +0 'h'\n");
}

static void on_a_stream_nothing_nests(void **state)
{
	(void)state;
	check_with(&all, SHOW_TRACKS,
		   "strings: (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');"
		   "kernels: (10, 100, $70, 0, 1, 7, NULL, 1), "
		   "(20, 30, $70, 0, 1, 7, NULL, 2), (25, 40, $70, 0, 1, 7, NULL, 3), "
		   "(100, 110, $70, 0, 1, 7, NULL, 4), (30, 35, $70, 0, 1, 7, NULL, 4);",
		   /* Lanes have the name and the place of their track, and a tid of their own. */
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: gpu 0 of 70 'GPU 0' in 1, pid 16777216 tid 0 sort 0\n"
		   "3: stream 7 'stream 7' in 2, pid 16777216 tid 7 sort 14\n"
		   "stream 7: 10 +90 'a'\n"
		   "4: stream 7/1 'stream 7' in 2, pid 16777216 tid 16777217 sort 14\n"
		   "stream 7/1: 20 +10 'b'\n"
		   "5: stream 7/2 'stream 7' in 2, pid 16777216 tid 16777218 sort 14\n"
		   "stream 7/2: 25 +15 'c'\n"
		   "stream 7/1: 30 +5 'd'\n"
		   "stream 7: 100 +10 'd'\n");
}

static void an_open_slice_holds_what_comes_after_it(void **state)
{
	(void)state;
	check("strings: (1, 'a'), (2, 'b');"
	      "libc: (10, NULL, 1, 1), (20, 9223372036854775807, 1, 2), (30, NULL, 1, 1), "
	      "(40, 50, 1, 2);",
	      "thread 0.1: 10 open 'a'\n"
	      "thread 0.1: 20 +4611686018427387883 'b'\n"
	      "thread 0.1: 30 open 'a'\n"
	      "thread 0.1: 40 +10 'b'\n");
}

static void processes_of_two_machines_with_one_pid_have_numbers_of_their_own(void **state)
{
	(void)state;
	/* Machine 1 is 1 << 48 in packed ids. The second pid 70, and the second tid 71 of a process, are made up. */
	check_with(&all, SHOW_TRACKS,
		   "strings: (1, 'read'), (2, 'main'), (3, 'long');"
		   "PROCESSES(globalPid, pid, name): ($70, 70, 'one'), "
		   "((1 << 48) | $70, 70, 'two'), ($80, 80, NULL);"
		   "ThreadNames(nameId, priority, globalTid): (2, 0, $70.71), (3, 0, NULL), "
		   "(9, 0, $80.80);"
		   "libc: (10, 11, $70.71, 1), (20, 21, (1 << 48) | $70.71, 1), "
		   "(30, 31, $80.80, 1), (40, 41, $70.71, 1);",
		   "1: process 70 'one' in 0, pid 70 tid 0 sort 70\n"
		   "2: thread 70.71 'main' in 1, pid 70 tid 71 sort 71\n"
		   "thread 70.71: 10 +1 'read'\n"
		   "3: process 70 'two' in 0, pid 16777216 tid 0 sort 70\n"
		   "4: thread 70.71 '' in 3, pid 16777216 tid 71 sort 71\n"
		   "thread 70.71: 20 +1 'read'\n"
		   "5: process 80 '' in 0, pid 80 tid 0 sort 80\n"
		   "6: thread 80.80 'string 9' in 5, pid 80 tid 80 sort 0\n"
		   "thread 80.80: 30 +1 'read'\n"
		   "thread 70.71: 40 +1 'read'\n");
}

static void ranks_are_the_order_of_processes_and_of_their_gpus(void **state)
{
	(void)state;
	/* GPU 3 of rank 2: 2 * 64 + 3. Ranks below 0 and above 9,999,999 are none. */
	check_with(&all, SHOW_TRACKS,
		   "strings: (1, 'add');"
		   "SL_RANK_PROCESSES(globalPid, rank, host): ($70, 2, 'a'), ($80, -1, 'b'), "
		   "($90, 10000000, 'c');"
		   "kernels: (10, 11, $70, 3, 1, 7, NULL, 1), (20, 21, $80, 3, 1, 7, NULL, 1), "
		   "(30, 31, $90, 3, 1, 7, NULL, 1);",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 2 rank 2\n"
		   "2: gpu 3 of 70 'GPU 3' in 1, pid 16777216 tid 0 sort 131\n"
		   "3: stream 7 'stream 7' in 2, pid 16777216 tid 7 sort 14\n"
		   "stream 7: 10 +1 'add'\n"
		   "4: process 80 '' in 0, pid 80 tid 0 sort 80\n"
		   "5: gpu 3 of 80 'GPU 3' in 4, pid 16777217 tid 0 sort 3\n"
		   "6: stream 7 'stream 7' in 5, pid 16777217 tid 7 sort 14\n"
		   "stream 7: 20 +1 'add'\n"
		   "7: process 90 '' in 0, pid 90 tid 0 sort 90\n"
		   "8: gpu 3 of 90 'GPU 3' in 7, pid 16777218 tid 0 sort 3\n"
		   "9: stream 7 'stream 7' in 8, pid 16777218 tid 7 sort 14\n"
		   "stream 7: 30 +1 'add'\n");
}

static void gpus_and_streams_have_the_names_that_are_known(void **state)
{
	(void)state;
	/*
	 * GPU 0 of process 70 is the report's GPU 5; 1 is found by its ordinal, 2 by its number. Stream 7 has its last
	 * name, that of context 2 none. Of a stream with 25 bits 24 give the order.
	 */
	check_with(&all, SHOW_TRACKS,
		   "strings: (1, 'add');"
		   "TARGET_INFO_GPU(id, name, cuDevice): (5, 'H100', 9), (6, 'L4', 1), "
		   "(2, 'A2', 8), (3, '', 3);"
		   "TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid): (5, 0, 70), (6, 0, 80);"
		   "TARGET_INFO_NVTX_CUDA_STREAM(name, hwId, vmId, processId, deviceId, "
		   "contextId, streamId): ('old', 0, 1, 70, 0, 1, 7), "
		   "('copies', 0, 1, 70, 0, 1, 7), ('other', 0, 1, 80, 0, 1, 33554431);"
		   "kernels: (10, 11, $70, 0, 1, 7, NULL, 1), (20, 21, $70, 1, 2, 7, NULL, 1), "
		   "(30, 31, $70, 2, 1, 33554431, NULL, 1), (40, 41, $70, 3, 1, 7, NULL, 1), "
		   "(50, 51, $70, 1, 1, 7, NULL, 1), (60, 61, $70, 0, 1, 7, NULL, 1);",
		   "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		   "2: gpu 0 of 70 'GPU 5: H100' in 1, pid 16777216 tid 0 sort 5\n"
		   "3: stream 7 'stream 7: copies' in 2, pid 16777216 tid 7 sort 14\n"
		   "stream 7: 10 +1 'add'\n"
		   "4: gpu 1 of 70 'GPU 1: L4' in 1, pid 16777217 tid 0 sort 1\n"
		   "5: stream 7 'stream 7' in 4, pid 16777217 tid 7 sort 14\n"
		   "stream 7: 20 +1 'add'\n"
		   "6: gpu 2 of 70 'GPU 2: A2' in 1, pid 16777218 tid 0 sort 2\n"
		   "7: stream 33554431 'stream 33554431' in 6, pid 16777218 tid 33554431 sort "
		   "33554430\n"
		   "stream 33554431: 30 +1 'add'\n"
		   "8: gpu 3 of 70 'GPU 3' in 1, pid 16777219 tid 0 sort 3\n"
		   "9: stream 7 'stream 7: copies' in 8, pid 16777219 tid 7 sort 14\n"
		   "stream 7: 40 +1 'add'\n"
		   "10: stream 7 'stream 7: copies' in 4, pid 16777217 tid 16777220 sort 14\n"
		   "stream 7: 50 +1 'add'\n"
		   "stream 7: 60 +1 'add'\n");
}

static void cpus_of_several_machines_have_the_name_of_theirs(void **state)
{
	(void)state;
	/* CPUs 0 to 3 are of no host, 4 to 5 of b; 6 is of none. */
	check_with(&all, SHOW_TRACKS,
		   "strings: (1, 'x');"
		   "SL_RANK_CPUS(host, firstCpu, cpus): (NULL, 0, 4), ('b', 4, 2);"
		   "SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState): (10, 3, 1, 1, "
		   "NULL), (20, 5, 1, 1, NULL), (30, 6, 1, 1, NULL), (40, 67, 1, 1, NULL), "
		   "(50, 3, 1, 1, NULL);",
		   "1: process 0 '' in 0, pid 0 tid 0 sort 0\n"
		   "2: thread 0.1 '' in 1, pid 0 tid 1 sort 1\n"
		   "3: machine 'CPUs' in 0, pid 16777216 tid 0 sort 0\n"
		   "4: cpu 3 'CPU 3' in 3, pid 16777216 tid 3 sort 3\n"
		   "thread 0.1: 10 on cpu 3\n"
		   "5: cpu 5 'CPU 1, b' in 3, pid 16777216 tid 5 sort 5\n"
		   "thread 0.1: 20 on cpu 5\n"
		   "6: cpu 6 'CPU 6' in 3, pid 16777216 tid 6 sort 6\n"
		   "thread 0.1: 30 on cpu 6\n"
		   "7: cpu 67 'CPU 67' in 3, pid 16777216 tid 67 sort 67\n"
		   "thread 0.1: 40 on cpu 67\n"
		   "thread 0.1: 50 on cpu 3\n");
}

/* ---- names that are too long for their place ---- */

static void names_of_2000_characters_are_kept_or_cut_but_never_run_over(void **state)
{
	sqlite3 *db = report_of(
		"strings: (1, printf('%.*c', 2000, 'n')), (2, printf('%.*c', 2000, 't'));"
		"PROCESSES(globalPid, pid, name): ($70, 70, printf('%.*c', 2000, 'p'));"
		"ThreadNames(nameId, priority, globalTid): (2, 0, $70.71);"
		"TARGET_INFO_GPU(id, name, cuDevice): (0, printf('%.*c', 2000, 'g'), 0);"
		"TARGET_INFO_NVTX_CUDA_STREAM(name, processId, contextId, streamId): "
		"(printf('%.*c', 2000, 's'), 70, 1, 7);"
		"ranges: (0, NULL, 75, $70.71, 1, printf('%.*c', 2000, 'd'), NULL, NULL), "
		"(0, NULL, 33, $70.71, 1, printf('%.*c', 2000, 'c'), NULL, 5), "
		"(10, 11, 59, $70.71, 1, printf('%.*c', 2000, 'r'), NULL, 5);"
		"kernels: (20, 21, $70, 0, 1, 7, NULL, 1);");
	struct tl_options opt = {.activities = TL_ACT_NVTX | TL_ACT_KERNEL};
	char *text = timeline_of(db, &opt, SHOW_TRACKS);
	size_t cnt[256] = {0};

	(void)state;
	for (const char *p = strchr(text, '\''); p; p = strchr(p + 1, '\''))
		cnt[(unsigned char)p[1]] += strspn(p + 1, (char[]){p[1], '\0'});
	/* Names of tracks that are made up of parts have 159 bytes: "GPU 0: " and 152, "stream 7: " and 149. */
	for (const char *p = "ntprdc"; *p; p++)
		assert_int_equal(cnt[(unsigned char)*p], 2000);
	assert_non_null(strstr(text, "'GPU 0: gg"));
	assert_int_equal(strspn(strstr(text, "'GPU 0: ") + 8, "g"), 152);
	assert_int_equal(strspn(strstr(text, "'stream 7: ") + 11, "s"), 149);
	free(text);
	sqlite3_close(db);
}

/* ---- tracks alone ---- */

static void a_track_is_made_once_however_many_there_are(void **state)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	struct said s = {0};
	sqlite3 *db = report_of("strings: (1, 'x');");
	struct tl_names *names = tl_names_new(db);
	struct tl_tracks *t = tl_tracks_new(db, names, &sink, &s);
	struct tl_track *machine = tl_track_machine(t);

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 300; i++) {
			struct tl_track *thread = tl_track_thread(t, GLOBAL(i % 7, i));

			assert_ptr_equal(thread, tl_track_thread(t, GLOBAL(i % 7, i)));
			assert_int_equal(thread->tid, i);
			assert_ptr_equal(thread->parent, tl_track_process(t, GLOBAL(i % 7, 1)));
			assert_int_equal(tl_track_stream(t, GLOBAL(1, 0), i % 3, i % 5, i)->stream,
					 i);
			assert_int_equal(tl_track_cpu(t, i)->cpu, i);
			assert_string_equal(tl_track_counter(t, machine, i, "level", "bytes")->unit,
					    "bytes");
			assert_ptr_equal(tl_track_gil(t, thread->global)->parent, thread);
		}
	/* The machine, 7 processes, 3 GPUs, and 300 threads, locks, streams, CPUs and counters. */
	assert_int_equal(s.tracks, 1 + 7 + 3 + 5 * 300);
	tl_tracks_free(t);
	tl_names_free(names);
	sqlite3_close(db);
}

static int refuse(void *self, struct tl_track *t)
{
	(void)t;
	return --*(int *)self < 0 ? -1 : 0;
}

static void a_sink_that_refuses_a_track_stops_the_run(void **state)
{
	static const struct tl_sink sink = {refuse, on_event, NULL};
	sqlite3 *db = report_of("strings: (1, 'add');"
				"kernels: (1, 2, $70, 0, 1, 7, 1, 1);");
	char why[64];

	(void)state;
	/* Process, GPU, stream. */
	for (int tracks = 0; tracks < 3; tracks++) {
		int left = tracks;

		assert_int_equal(timeline_run(db, &all, &sink, &left, why, sizeof(why)), -1);
		assert_int_equal(left, -1);
	}
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_of_a_thread_nest_and_what_overlaps_takes_another_lane),
		cmocka_unit_test(on_a_stream_nothing_nests),
		cmocka_unit_test(an_open_slice_holds_what_comes_after_it),
		cmocka_unit_test(processes_of_two_machines_with_one_pid_have_numbers_of_their_own),
		cmocka_unit_test(ranks_are_the_order_of_processes_and_of_their_gpus),
		cmocka_unit_test(gpus_and_streams_have_the_names_that_are_known),
		cmocka_unit_test(cpus_of_several_machines_have_the_name_of_theirs),
		cmocka_unit_test(names_of_2000_characters_are_kept_or_cut_but_never_run_over),
		cmocka_unit_test(a_track_is_made_once_however_many_there_are),
		cmocka_unit_test(a_sink_that_refuses_a_track_stops_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
