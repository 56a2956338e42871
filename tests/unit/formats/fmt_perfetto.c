/* fmt_perfetto.c - traces of Perfetto, decoded: order of ends, names defined once, arguments, arrows, clocks, tracks. */
#include "proto_reader.h"

extern const struct exporter exporter_perfetto;

/* A packet: ftrace events, process tree, clocks, track event, interned data, track descriptor, sample. */
#define SPEC                                                                \
	"1{1{2{20{}} 4{1# 2# 3# 4# 6#}} 2{1{} 2{}} 6{1{}} 10- 11{4{12{}}} " \
	"12{1{} 2{} 3{} 5{} 6{} 7{} 17{} 19{} 29{}} 60{3{} 4{} 8{}} 66{}}"

/* Numbers from 1 << 24 on, which are made up, as #0, #1, ... */
static void shorten_numbers(char *text)
{
	char *to = text;

	for (char *p = text; *p;) {
		long n = strtol(p, NULL, 10);

		if (p > text && p[-1] == ':' && n >= 1 << 24 && n < (1 << 24) + 1000) {
			p += strspn(p, "0123456789");
			to += sprintf(to, "#%ld", n - (1 << 24));
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
}

/* The packets, a line each, without "1{" and "}"; @kinds lists the fields by which they are chosen, "" all. */
static const char *packets(const char *sql, struct export_options opt, const char *kinds)
{
	static char kept[65536];
	const char *lines;
	size_t at = 0;

	fmt_report(sql);
	fmt_export(&exporter_perfetto, &opt);
	lines = pb_lines(fmt_text, fmt_len, SPEC);
	*kept = '\0';
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		char line[8192], kind[16];
		bool chosen = !*kinds;

		snprintf(line, sizeof(line), "%.*s", (int)n - 3, lines + 2);
		for (const char *k = kinds; *k && !chosen; k += strcspn(k, " "), k += *k == ' ') {
			snprintf(kind, sizeof(kind), "%.*s{", (int)strcspn(k, " "), k);
			chosen = strncmp(line, kind, strlen(kind)) == 0 ||
				 (strstr(line, kind) && strstr(line, kind)[-1] == ' ');
		}
		if (chosen)
			at += (size_t)snprintf(kept + at, sizeof(kept) - at, "%s%s", at ? "\n" : "",
					       line);
		lines += n + (lines[n] == '\n');
	}
	assert_true(at < sizeof(kept));
	shorten_numbers(kept);
	return kept;
}

static const struct export_options plain = {.lazy = true};

static void an_empty_report_begins_a_sequence(void **state)
{
	(void)state;
	fmt_same(packets("", plain, ""), "13:1 87:1\n6{2:6 1{1:6 2:0}}");
	assert_int_equal(fmt_events, 0);
}

/* Names, categories and keys are defined in the packet that uses them first; ends need none. */
static void names_are_defined_once(void **state)
{
	(void)state;
	fmt_same(
		packets(RANGE(0, 10, "'a'", T1) RANGE(2, 5, "'b'", T1) RANGE(20, 30, "'a'", T1),
			plain, "11"),
		"8:0 13:2 11{9:1 11:2 3:1 10:#1} 12{1{1:1 2:\"user_annotation\"} 2{1:#1 2:\"a\"}}\n"
		"8:2 13:2 11{9:1 11:2 3:1 10:#2} 12{2{1:#2 2:\"b\"}}\n"
		"8:5 13:2 11{9:2 11:2}\n8:10 13:2 11{9:2 11:2}\n"
		"8:20 13:2 11{9:1 11:2 3:1 10:#1}\n8:30 13:2 11{9:2 11:2}");
}

/* Ends stand before what begins at the same time; of a track, so that slices nest. */
static void ends_are_in_order_of_time(void **state)
{
	const char *p;
	char sql[4096] = "", ends[1024] = "";

	(void)state;
	fmt_same(
		packets(RANGE(0, 10, "'a'", T1) RANGE(10, 10, "'b'", T1) RANGE(10, 20, "'c'", T1B),
			plain, "11"),
		"8:0 13:2 11{9:1 11:2 3:1 10:#1} 12{1{1:1 2:\"user_annotation\"} 2{1:#1 2:\"a\"}}\n"
		"8:10 13:2 11{9:2 11:2}\n"
		"8:10 13:2 11{9:1 11:3 3:1 10:#2} 12{2{1:#2 2:\"c\"}}\n"
		"8:10 13:2 11{9:1 11:2 3:1 10:#3} 12{2{1:#3 2:\"b\"}}\n"
		"8:10 13:2 11{9:2 11:2}\n8:20 13:2 11{9:2 11:3}");
	/* Of 20 threads, whose ranges end in another order than they begin. */
	for (int i = 0; i < 20; i++)
		snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql),
			 "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES "
			 "(%d, %d, "
			 "59, 'r', " P1 " + %d);",
			 i, 100 + i * 7 % 20, 100 + i);
	p = packets(sql, plain, "11");
	for (int i = 0; i < 20; i++)
		snprintf(ends + strlen(ends), sizeof(ends) - strlen(ends),
			 "\n8:%d 13:2 11{9:2 11:%d}", 100 + i, 2 + i * 3 % 20);
	fmt_same(strstr(p, "\n8:100 "), ends);
}

static void open_slices_have_no_end(void **state)
{
	(void)state;
	fmt_same(packets(RANGE(5, NULL, "'open'", T1), plain, "11"),
		 "8:5 13:2 11{9:1 11:2 3:1 10:#1} 12{1{1:1 2:\"user_annotation\"} 2{1:#1 "
		 "2:\"open\"}}");
}

static void names_that_are_no_utf8(void **state)
{
	char *want = malloc(3000);
	const char *p;

	(void)state;
	p = packets(RANGE(0, 1, "CAST(x'61FF01' AS TEXT)", T1), plain, "11");
	assert_non_null(strstr(p, " 2{1:#1 2:\"a\\xFF\1\"}}"));
	p = packets(RANGE(0, 1, "printf('%2000s', 'n')", T1), plain, "");
	sprintf(want, "2{1:#1 2:\"%2000s\"}}", "n");
	assert_non_null(strstr(p, want));
	p = packets(RANGE(0, 1, "NULL", T1), plain, "11");
	assert_non_null(strstr(p, " 2{1:#1 2:\"\"}}"));
	free(want);
}

/* text (a string of its own), pointer, double, whole number, vector, JSON */
static void arguments_of_every_kind(void **state)
{
	(void)state;
	fmt_same(
		packets("INSERT INTO StringIds VALUES (5, 'k'), (6, 'k(int)'), (7, '{}');"
			"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, "
			"streamId, "
			"globalPid, demangledName, shortName, registersPerThread, gridX, gridY, "
			"gridZ, "
			"blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
			"localMemoryPerThread, localMemoryTotal, gridId, "
			"tensorSizeMinusOneElements) VALUES "
			"(5, 6, 0, 1, 7, " P1 ", 6, 5, 16, 1, -2, 3, 32, 4, 1, 0, 0, 0, 0, 1, '')",
			(struct export_options){.activities = TL_ACT_KERNEL}, "11"),
		"8:5 13:2 11{9:1 11:3 3:1 10:6 4{1:1 4:0} 4{1:2 4:1} 4{1:3 4:7} 4{1:4 17:7} "
		"4{1:5 12{4:1} 12{4:-2} 12{4:3}} 4{1:6 12{4:32} 12{4:4} 12{4:1}} 4{1:7 4:16}} "
		"12{1{1:1 2:\"kernel\"} 2{1:6 2:\"k\"} 3{1:1 2:\"device\"} 3{1:2 2:\"context\"} "
		"3{1:3 2:\"stream\"} 3{1:4 2:\"full_name\"} 29{1:7 2:\"k(int)\"} 3{1:5 2:\"grid\"} "
		"3{1:6 2:\"block\"} 3{1:7 2:\"registers_per_thread\"}}\n8:6 13:2 11{9:2 11:3}");
	fmt_same(packets("INSERT INTO NVTX_EVENTS (start, eventType, color, text, globalTid, "
			 "doubleValue, "
			 "jsonText) VALUES (1, 34, -1, 'm', " T1 ", 0.5, '{\"a\":1}')",
			 plain, "11"),
		 "8:1 13:2 11{9:3 11:2 3:1 10:#1 4{1:1 7:-1} 4{1:2 5:0x3fe0000000000000} 4{1:3 "
		 "9:\"{\"a\":1}\"}} "
		 "12{1{1:1 2:\"user_annotation\"} 2{1:#1 2:\"m\"} 3{1:1 2:\"color\"} 3{1:2 "
		 "2:\"payload\"} "
		 "3{1:3 2:\"payload_json\"}}");
}

/* ---- clocks ---- */

#define CLOCKS(utc, monotonic)                                                                 \
	"INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs) VALUES (" #utc \
	", " #monotonic ");"
#define MARK(start)                                                                   \
	"INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) VALUES (" #start \
	", 34, 'm', " T1 ");"

static void times_are_since_boot(void **state)
{
	const char *p;

	(void)state;
	/* 700 monotonic, slept for 300: boot time 1000 */
	p = packets(CLOCKS(5000,
			   700) "INSERT INTO SL_CLOCK_SNAPSHOTS VALUES (0, 900, 0, 1200, 1, 0, 0), "
				"(0, 950, 0, 9999, 1, 0, 0);" MARK(5),
		    plain, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:1000} 1{1:3 2:700} 1{1:1 2:5000}}\n8:1005 ");
	/* Without snapshots the machine is taken not to have slept. */
	p = packets(CLOCKS(NULL, 700) MARK(5), plain, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:700} 1{1:3 2:700}}\n8:705 ");
	/* nsys: the clock is that of ANALYSIS_DETAILS. */
	p = packets("INSERT INTO ANALYSIS_DETAILS VALUES (1, 5, 800, 805);" MARK(5), plain, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:800} 1{1:3 2:800}}\n8:805 ");
}

static void shifted_times(void **state)
{
	const char *p;

	(void)state;
	p = packets(CLOCKS(5000, 700) MARK(5), (struct export_options){.shift = 50}, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:750} 1{1:3 2:700} 1{1:1 2:5000}}\n8:755 ");
	p = packets(CLOCKS(5000, 700) MARK(5),
		    (struct export_options){.shift = 5000, .normalize = true}, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:5000} 1{1:3 2:700} 1{1:1 2:5000}}\n8:5005 ");
}

/* Perfetto knows no times before 0: the first event has it then, and the clocks what they showed there. */
static void times_before_boot(void **state)
{
	const char *p;

	(void)state;
	p = packets(CLOCKS(5000, 700) MARK(-1000) MARK(5), plain, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:1000} 1{1:3 2:700} 1{1:1 2:5000}}\n8:0 ");
	assert_non_null(strstr(p, "\n8:1005 "));
	p = packets(CLOCKS(5000, 700) MARK(1000), (struct export_options){.shift = -2000}, "6 11");
	fmt_begins(p, "6{2:6 1{1:6 2:0} 1{1:3 2:1700} 1{1:1 2:6000}}\n8:0 ");
}

/* ---- tracks ---- */

static void processes_and_threads(void **state)
{
	(void)state;
	fmt_same(packets(NAMED "INSERT INTO SL_PROCESS_TREE (globalPid, parentGlobalPid, start, "
			       "kind, traced, "
			       "commandLine) VALUES (" P1 ", " P2 ", 0, 0, 1, 'sh -c x'), (" P1
			       ", " P2 ", 5, 2, 1, 'app  a b '), (" P1 ", " P2
			       ", 9, 2, 1, NULL);" RANGE(0, 1, "'r'", T1) RANGE(2, 3, "'r'", T2),
			 plain, "2 60"),
		 "2{1{1:100 2:200 3:\"app\" 3:\"a\" 3:\"b\"}}\n60{1:1 3{1:100 6:\"app\"}}\n"
		 "2{2{1:100 3:100 2:\"main thread\"}}\n60{1:2 4{1:100 2:100 5:\"main thread\"}}\n"
		 "2{1{1:200 3:\"other\"}}\n60{1:3 3{1:200 6:\"other\"}}\n"
		 "2{2{1:200 3:200}}\n60{1:4 4{1:200 2:200}}");
}

/* A second lane stands below the first, which is the thread's own. */
static void lanes_of_a_thread(void **state)
{
	(void)state;
	fmt_same(packets(RANGE(0, 10, "'a'", T1) RANGE(5, 15, "'b'", T1) RANGE(7, 20, "'c'", T1),
			 plain, "60"),
		 "60{1:1 3{1:100}}\n60{1:2 4{1:100 2:100}}\n60{1:3 5:2 2:\"overlapping\"}\n"
		 "60{1:4 5:2 2:\"overlapping\"}");
}

static void other_tracks(void **state)
{
	(void)state;
	fmt_same(
		packets("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, "
			"contextId, "
			"address, pc, bytes, memKind, memoryOperationType) VALUES (1, " P1
			", 3, 1, 16, 0, 512, 2, 0); INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 1, 1, "
			"3, 'x', NULL);"
			"INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, text, globalTid, "
			"endGlobalTid) VALUES (3, 5, 60, 1, 'r', " T1 ", " T1 ")",
			plain, "60"),
		"60{1:1 3{1:100}}\n60{1:2 5:1 2:\"GPU 3\" 11:3 12:3}\n"
		"60{1:3 5:2 2:\"GPU memory: device\" 12:0 8{3:3}}\n"
		"60{1:4 2:\"Machine\" 11:3 12:0}\n60{1:5 5:1 2:\"NVTX start/end\" 12:#0}");
}

static void counters(void **state)
{
	(void)state;
	fmt_same(packets("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, "
			 "contextId, "
			 "address, pc, bytes, memKind, memoryOperationType) VALUES (1, " P1
			 ", 3, 1, 16, 0, 512, 2, 0), (2, " P1 ", 3, 1, 16, 0, 512, 2, 1)",
			 plain, "11"),
		 "8:1 13:2 11{9:4 11:3 30:512}\n8:2 13:2 11{9:4 11:3 30:0}");
}

/* ---- stacks ---- */

#define FRAMES                                                                               \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, '/lib/x.so'), (15, "  \
	"'read'), "                                                                          \
	"(16, '');"                                                                          \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined, originalIP, kernelMode) " \
	"VALUES "                                                                            \
	"(1, 0, 11, 13, 0, 64, 0), (2, 2, 12, 13, 0, 80, 1);"                                \
	"INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1), (2, 0, 1);"

static void stacks_of_calls(void **state)
{
	(void)state;
	fmt_same(packets(FRAMES CALL(0, 1, 15, T1) CALL(2, 3, 15, T1)
				 CALL(4, 5, 15, T1) "UPDATE OSRT_API SET callchainId = CASE start "
						    "WHEN 0 THEN 1 WHEN 2 THEN 1 ELSE 99 END",
			 plain, "11"),
		 "8:0 13:2 11{9:1 11:2 3:1 10:16 56:#1} 12{1{1:1 2:\"osrt\"} 2{1:16 2:\"read\"} "
		 "5{1:#1 2:\"leaf\"} 17{1:#1 2:\"/lib/x.so\"} 19{1:#1 7:#1} 6{1:#1 2:#1 3:#1 4:0} "
		 "5{1:#2 2:\"main\"} 6{1:#2 2:#2 3:#1 4:0} 7{1:#1 2:#2 2:#1}}\n"
		 "8:1 13:2 11{9:2 11:2}\n8:2 13:2 11{9:1 11:2 3:1 10:16 56:#1}\n8:3 13:2 11{9:2 "
		 "11:2}\n"
		 "8:4 13:2 11{9:1 11:2 3:1 10:16}\n8:5 13:2 11{9:2 11:2}");
}

/* CPU, process, thread, stack, mode: 1 in the kernel, 2 not. Frames are defined outermost first. */
static void samples(void **state)
{
	(void)state;
	fmt_same(packets(FRAMES "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, "
				"cpuCycles, stackId) "
				"VALUES (1, 10, 3, " T1 ", 1, 1), (2, 20, NULL, " T1
				", 1, 2), (3, 30, 0, " T1B ", 1, 1), (4, 40, 0, " T1B ", 1, NULL)",
			 plain, "66"),
		 "8:10 13:2 66{1:3 2:100 3:100 4:#1 5:1} 12{5{1:13 2:\"leaf\"} 17{1:14 "
		 "2:\"/lib/x.so\"} 19{1:14 7:14} "
		 "6{1:#1 2:13 3:14 4:80} 5{1:12 2:\"main\"} 6{1:#2 2:12 3:14 4:64} 7{1:#1 2:#2 "
		 "2:#1}}\n"
		 "8:20 13:2 66{2:100 3:100 4:#2 5:2} 12{7{1:#2 2:#2}}\n"
		 "8:30 13:2 66{1:0 2:100 3:101 4:#1 5:1}\n8:40 13:2 66{1:0 2:100 3:101}");
}

/* ---- arrows ---- */

static void arrows(void **state)
{
	const char *p;

	(void)state;
	p = packets("INSERT INTO StringIds VALUES (4, 'cudaMemsetAsync_v3020');"
		    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " T1
		    ", 9, 4, 0, NULL);"
		    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, "
		    "streamId, "
		    "correlationId, globalPid, value, bytes, memKind) VALUES (5, 6, 0, 1, 7, 9, " P1
		    ", 0, 64, 2)",
		    plain, "11");
	assert_int_equal(fmt_count(p, " 47:0x9"), 2);
	assert_non_null(strstr(p, " 4{1:1 4:9} 47:0x9} 12{"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_begins_a_sequence),
		cmocka_unit_test(names_are_defined_once),
		cmocka_unit_test(ends_are_in_order_of_time),
		cmocka_unit_test(open_slices_have_no_end),
		cmocka_unit_test(names_that_are_no_utf8),
		cmocka_unit_test(arguments_of_every_kind),
		cmocka_unit_test(times_are_since_boot),
		cmocka_unit_test(shifted_times),
		cmocka_unit_test(times_before_boot),
		cmocka_unit_test(processes_and_threads),
		cmocka_unit_test(lanes_of_a_thread),
		cmocka_unit_test(other_tracks),
		cmocka_unit_test(counters),
		cmocka_unit_test(stacks_of_calls),
		cmocka_unit_test(samples),
		cmocka_unit_test(arrows),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
