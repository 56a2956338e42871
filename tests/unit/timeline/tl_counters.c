/* tl_counters.c - event counters of CPUs, counters of the machine and of GPUs, and where nothing is known of them. */
#include "tl_test.h"

static const struct tl_options metrics = {.activities = TL_ACT_METRIC, .no_args = true};

static void counts_of_an_interval_become_a_rate_from_its_start_on(void **state)
{
	(void)state;
	/*
	 * CPU 0: 50 in 100 ns are 5e8 a second; the next interval follows at once, the last one leaves 0. CPU 1: a gap
	 * from 200 to 300. An interval without time has no rate.
	 */
	check_with(
		&metrics, SHOW_TRACKS,
		"strings: (1, 'x');"
		"PMU_EVENTS(start, end, globalTid, cpu, counter_id): (100, 200, 0, 0, 1), "
		"(200, 300, 0, 0, 2), (100, 200, 0, 1, 3), (300, 400, 0, 1, 4), "
		"(500, 500, 0, 0, 5);"
		"PMU_EVENT_COUNTERS(id, idx, value, overflow): (1, 1, 50, 0), "
		"(2, 1, 10, 0), (3, 2, 7, 0), (4, 2, 8, 0), (5, 1, 9, 0), (6, 1, 9, 0);"
		"PMU_EVENT_REQUESTS(id, event_name): (1, 'cycles'), (2, '');",
		"1: machine 'CPUs' in 0, pid 16777216 tid 0 sort 0\n"
		"2: counter 'CPU 0: cycles per second' of machine 'CPU 0: cycles per second' in 1, "
		"pid 16777216 tid 0 sort 0 unit ''\n"
		"counter 'CPU 0: cycles per second' of machine: 100 = 500000000\n"
		"3: counter 'CPU 1: event 2 per second' of machine 'CPU 1: event 2 per second' in "
		"1, "
		"pid 16777216 tid 0 sort 0 unit ''\n"
		"counter 'CPU 1: event 2 per second' of machine: 100 = 70000000\n"
		"counter 'CPU 0: cycles per second' of machine: 200 = 100000000\n"
		"counter 'CPU 1: event 2 per second' of machine: 200 = 0\n"
		"counter 'CPU 0: cycles per second' of machine: 300 = 0\n"
		"counter 'CPU 1: event 2 per second' of machine: 300 = 80000000\n"
		"counter 'CPU 1: event 2 per second' of machine: 400 = 0\n"
		"counter 'CPU 0: cycles per second' of machine: 500 = 0\n");
}

static void intervals_without_their_counts_are_none(void **state)
{
	(void)state;
	check_with(&metrics, 0,
		   "strings: (1, 'x');"
		   "PMU_EVENTS(start, end, globalTid, cpu, counter_id): (100, 200, 0, 0, 1);"
		   "PMU_EVENT_COUNTERS(id, idx, value, overflow): (9, 1, 50, 0);"
		   "PMU_EVENT_REQUESTS(id, event_name): (1, 'cycles'), (2, '');",
		   "");
	check_with(&metrics, 0,
		   "strings: (1, 'x');"
		   "PMU_EVENTS(start, end, cpu, counter_id): (1, 2, 0, 1);",
		   "");
}

/* id, scope, scopeId, scopeName, gpuId, name, unit, isSum; counterId, timestamp, value */

static void a_sum_is_a_rate_from_the_sample_before_on(void **state)
{
	(void)state;
	/*
	 * A level is as it was sampled. Bytes: 500 in 1 s from 0 on, 2,000 in 2 s from 1 s on; after the last sample
	 * nothing is known. Time: 250,000,000 of 1,000,000,000 ns are 25 %. A sum of one sample is no rate.
	 */
	check_with(&metrics, 0,
		   "strings: (1, 'x');"
		   "SL_COUNTERS(id, scope, scopeId, scopeName, gpuId, name, unit, isSum): (1, "
		   "'host', NULL, NULL, NULL, 'free', 'B', 0), "
		   "(2, 'host', NULL, NULL, NULL, 'received', 'B', 1), "
		   "(3, 'core', 5, NULL, NULL, 'steal', 'ns', 1), "
		   "(4, 'host', NULL, NULL, NULL, 'once', 'B', 1);"
		   "SL_COUNTER_SAMPLES(counterId, timestamp, value): (1, 0, 10), "
		   "(1, 1000000000, 12.25), (2, 0, 77), (2, 1000000000, 500), "
		   "(2, 3000000000, 2000), (3, 0, 5), (3, 1000000000, 250000000), (4, 7, 7);",
		   "counter 'free' of machine: 0 = 10\n"
		   "counter 'received' of machine: 0 = 500\n"
		   "counter 'CPU 5: steal' of machine: 0 = 25\n"
		   "counter 'free' of machine: 1000000000 = 12.25\n"
		   "counter 'received' of machine: 1000000000 = 1000\n"
		   "counter 'CPU 5: steal' of machine: 1000000000 = nan\n"
		   "counter 'received' of machine: 3000000000 = nan\n");
}

static void names_of_counters_begin_with_what_they_are_of(void **state)
{
	(void)state;
	/* Process: (70 << 24) is 1174405120. */
	check_with(
		&metrics, SHOW_TRACKS,
		"strings: (1, 'x');"
		"SL_COUNTERS(id, scope, scopeId, scopeName, gpuId, name, unit, isSum): (1, "
		"'gpu', 2, NULL, NULL, 'power', 'W', 0), "
		"(2, 'gpu', 2, NULL, 0, 'energy', 'J', 1), "
		"(3, 'process', 1174405120, NULL, NULL, 'memory', 'B', 0), "
		"(4, 'process', 1174405120, NULL, 1, 'share', '%', 1), "
		"(5, 'cgroup', 1, 'x', NULL, 'used', 'C', 0), "
		"(6, 'disk', 1, 'sda', NULL, 'busy', 'ns', 0), "
		"(7, 'link', 4, NULL, 3, 'sent', 'Hz', 1), "
		"(8, 'nic', NULL, NULL, NULL, 'drops', '', 1), "
		"(9, 'nic', NULL, NULL, NULL, NULL, 'B', 0);"
		"SL_COUNTER_SAMPLES(counterId, timestamp, value): (1, 10, 1), (2, 10, 2), "
		"(2, 20, 2), (3, 20, 3), (4, 20, 1), (4, 30, 4), (5, 30, 5), (6, 40, 6), "
		"(7, 40, 1), (7, 50, 7), (8, 50, 1), (8, 60, 8), (9, 60, 9), (10, 70, 10);",
		/* 2 J in 10 ns are 2e8 W, 4 % in 10 ns 4e8 a second, 7 in 10 ns 7e8. */
		"1: machine 'CPUs' in 0, pid 16777216 tid 0 sort 0\n"
		"2: counter 'GPU 2: power' of machine 'GPU 2: power' in 1, pid 16777216 tid 0 sort "
		"0 unit 'W'\n"
		"counter 'GPU 2: power' of machine: 10 = 1\n"
		"3: counter 'GPU 0: energy' of machine 'GPU 0: energy' in 1, pid 16777216 tid 0 "
		"sort 0 unit 'W'\n"
		"counter 'GPU 0: energy' of machine: 10 = 2e+08\n"
		"counter 'GPU 0: energy' of machine: 20 = nan\n"
		"4: counter 'process 70: memory' of machine 'process 70: memory' in 1, pid "
		"16777216 "
		"tid 0 sort 0 unit 'bytes'\n"
		"counter 'process 70: memory' of machine: 20 = 3\n"
		"5: counter 'GPU 1, process 70: share' of machine 'GPU 1, process 70: share' in 1, "
		"pid 16777216 tid 0 sort 0 unit '%/s'\n"
		"counter 'GPU 1, process 70: share' of machine: 20 = 4e+08\n"
		"counter 'GPU 1, process 70: share' of machine: 30 = nan\n"
		"6: counter 'cgroup: used' of machine 'cgroup: used' in 1, pid 16777216 tid 0 sort "
		"0 unit 'C'\n"
		"counter 'cgroup: used' of machine: 30 = 5\n"
		"7: counter 'sda: busy' of machine 'sda: busy' in 1, pid 16777216 tid 0 sort 0 "
		"unit 'ns'\n"
		"counter 'sda: busy' of machine: 40 = 6\n"
		"8: counter 'GPU 3, link 4: sent' of machine 'GPU 3, link 4: sent' in 1, pid "
		"16777216 tid 0 sort 0 unit ''\n"
		"counter 'GPU 3, link 4: sent' of machine: 40 = 7e+08\n"
		"counter 'GPU 3, link 4: sent' of machine: 50 = nan\n"
		"9: counter 'nic: drops' of machine 'nic: drops' in 1, pid 16777216 tid 0 sort 0 "
		"unit '/s'\n"
		"counter 'nic: drops' of machine: 50 = 8e+08\n"
		"counter 'nic: drops' of machine: 60 = nan\n"
		"10: counter 'counter 9' of machine 'counter 9' in 1, pid 16777216 tid 0 sort 0 "
		"unit ''\n"
		"counter 'counter 9' of machine: 60 = 9\n");
}

static void where_sampling_has_ended_nothing_is_known(void **state)
{
	struct tl_options opt = metrics;

	(void)state;
	opt.ends = true;
	/*
	 * One interval after the last sample of the machine, 30 + 10: also for a level that was last sampled at 10. A
	 * GPU's own: 25 + 5. Of a level sampled once, a GPU's, no interval is known.
	 */
	check_with(&opt, 0,
		   "strings: (1, 'x');"
		   "SL_COUNTERS(id, scope, scopeId, scopeName, gpuId, name, unit, isSum): (1, "
		   "'host', NULL, NULL, NULL, 'load', '', 0), "
		   "(2, 'host', NULL, NULL, NULL, 'rare', '', 0), "
		   "(3, 'gpu', 0, NULL, 0, 'power', 'W', 0), "
		   "(4, 'gpu', 0, NULL, 0, 'once', 'W', 0);"
		   "SL_COUNTER_SAMPLES(counterId, timestamp, value): (1, 10, 1), (1, 20, 2), "
		   "(1, 30, 3), (2, 10, 4), (3, 20, 5), (3, 25, 6), (4, 5, 7);",
		   "counter 'GPU 0: once' of machine: 5 = 7\n"
		   "counter 'load' of machine: 10 = 1\n"
		   "counter 'rare' of machine: 10 = 4\n"
		   "counter 'load' of machine: 20 = 2\n"
		   "counter 'GPU 0: power' of machine: 20 = 5\n"
		   "counter 'GPU 0: power' of machine: 25 = 6\n"
		   "counter 'load' of machine: 30 = 3\n"
		   "counter 'GPU 0: power' of machine: 30 = nan\n"
		   "counter 'load' of machine: 40 = nan\n"
		   "counter 'rare' of machine: 40 = nan\n");
}

static void gaps_of_gpu_metrics_end_their_curves(void **state)
{
	struct tl_options opt = metrics;
	const char *sql =
		"strings: (1, 'x');"
		"TARGET_INFO_GPU_METRICS(typeId, metricId, metricName): (257, 1, 'a'), "
		"(257, 2, 'b'), (256, 1, 'c');"
		"GPU_METRICS(timestamp, typeId, metricId, value): (10, 257, 1, 5), "
		"(10, 257, 2, 6), (20, 257, 1, 7), (20, 257, 2, 8), (60, 256, 1, 9);"
		"SL_GPU_METRIC_GAPS(typeId, start, end, why): (257, 30, 2500030, 'another "
		"profiler');";

	(void)state;
	/* 2,500,000 ns are 2.5 ms. */
	check_with(
		&opt, SHOW_ROWS, sql,
		"counter 'GPU 1: a' of machine: 10 = 5 (GPU_METRICS 1, metric)\n"
		"counter 'GPU 1: b' of machine: 10 = 6 (GPU_METRICS 2, metric)\n"
		"counter 'GPU 1: a' of machine: 20 = 7 (GPU_METRICS 3, metric)\n"
		"counter 'GPU 1: b' of machine: 20 = 8 (GPU_METRICS 4, metric)\n"
		"counter 'GPU 1: a' of machine: 30 = nan (SL_TL_COUNTERS 0, counter)\n"
		"counter 'GPU 1: b' of machine: 30 = nan (SL_TL_COUNTERS 0, counter)\n"
		"machine: 30 'GPU 1 not sampled for 2.5 ms: another profiler' (SL_TL_GAPS 0, gap)\n"
		"counter 'GPU 0: c' of machine: 60 = 9 (GPU_METRICS 5, metric)\n");
	/* With ends: type 257 was sampled every 10, last at 20; of 256 with one sample nothing is known. */
	opt.ends = true;
	check_with(&opt, 0, sql,
		   "counter 'GPU 1: a' of machine: 10 = 5\n"
		   "counter 'GPU 1: b' of machine: 10 = 6\n"
		   "counter 'GPU 1: a' of machine: 20 = 7\n"
		   "counter 'GPU 1: b' of machine: 20 = 8\n"
		   "counter 'GPU 1: a' of machine: 30 = nan\n"
		   "counter 'GPU 1: b' of machine: 30 = nan\n"
		   "counter 'GPU 1: a' of machine: 30 = nan\n"
		   "counter 'GPU 1: b' of machine: 30 = nan\n"
		   "machine: 30 'GPU 1 not sampled for 2.5 ms: another profiler'\n"
		   "counter 'GPU 0: c' of machine: 60 = 9\n");
}

static void a_report_of_metrics_alone_has_ends_too(void **state)
{
	struct tl_options opt = metrics;

	(void)state;
	opt.ends = true;
	check_with(&opt, 0,
		   "strings: (1, 'x');"
		   "TARGET_INFO_GPU_METRICS(typeId, metricId, metricName): (256, 1, 'c');"
		   "GPU_METRICS(timestamp, typeId, metricId, value): (10, 256, 1, 5), "
		   "(14, 256, 1, 6);",
		   "counter 'GPU 0: c' of machine: 10 = 5\n"
		   "counter 'GPU 0: c' of machine: 14 = 6\n"
		   "counter 'GPU 0: c' of machine: 18 = nan\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_an_interval_become_a_rate_from_its_start_on),
		cmocka_unit_test(intervals_without_their_counts_are_none),
		cmocka_unit_test(a_sum_is_a_rate_from_the_sample_before_on),
		cmocka_unit_test(names_of_counters_begin_with_what_they_are_of),
		cmocka_unit_test(where_sampling_has_ended_nothing_is_known),
		cmocka_unit_test(gaps_of_gpu_metrics_end_their_curves),
		cmocka_unit_test(a_report_of_metrics_alone_has_ends_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
