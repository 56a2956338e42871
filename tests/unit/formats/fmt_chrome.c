/* fmt_chrome.c - trace events: names and numbers of tracks, open and overlapping ranges, arrows, CPUs, stacks. */
#include "fmt_test.h"

extern const struct exporter exporter_chrome;

#define BEGIN                                                                        \
	"{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"" \
	"sightline " SL_VERSION "\",\"report\":\"report.sqlite\"},\"traceEvents\":[\n"

/* The whole file but its head, and without the lines about names and places of tracks unless @meta. */
static const char *events(const char *sql, struct export_options opt, bool meta)
{
	static char kept[65536];
	size_t at = 0;
	const char *p;

	fmt_report(sql);
	fmt_export(&exporter_chrome, &opt);
	p = strstr(fmt_text, "\"traceEvents\":[\n");
	assert_non_null(p);
	*kept = '\0';
	for (p += 16; *p;) {
		size_t n = strcspn(p, "\n");

		if (meta || strncmp(p, "{\"ph\":\"M\"", 9) != 0)
			at += (size_t)snprintf(kept + at, sizeof(kept) - at, "%.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	assert_true(at < sizeof(kept));
	return kept;
}

static const struct export_options plain = {.lazy = true};

static void an_empty_report_is_valid(void **state)
{
	(void)state;
	fmt_report("");
	fmt_same(fmt_export(&exporter_chrome, &plain), BEGIN "\n]}\n");
}

static void the_head_ties_times_to_the_clock(void **state)
{
	(void)state;
	fmt_report("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (5000)");
	fmt_export(&exporter_chrome, &plain);
	assert_non_null(strstr(fmt_text, "\"ns\",\"baseTimeNanoseconds\":5000,\"otherData\""));
	fmt_export(&exporter_chrome, &(struct export_options){.shift = 7000});
	assert_non_null(strstr(fmt_text, "\"baseTimeNanoseconds\":-2000,"));
	/* Times that are Unix time already have no base. */
	fmt_export(&exporter_chrome, &(struct export_options){.shift = 5000, .normalize = true});
	assert_null(strstr(fmt_text, "baseTimeNanoseconds"));
}

/* Readers drop times below 0: the first event is at 0 then, wherever it is; differences stay, and so does the clock. */
static void times_before_the_session_become_times_from_0(void **state)
{
	(void)state;
	fmt_report("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (5000);" RANGE(
		-3000, -1000, "'early'", T1) RANGE(2000, 2500, "'late'", T2));
	fmt_export(&exporter_chrome, &plain);
	assert_non_null(strstr(fmt_text, "\"baseTimeNanoseconds\":2000,"));
	assert_non_null(strstr(fmt_text, "\"report.sqlite\",\"sessionStartNs\":3000},"));
	assert_non_null(strstr(fmt_text, "\"ts\":0.000,\"dur\":2.000,\"cat\":\"user_annotation\","
					 "\"name\":\"early\""));
	assert_non_null(strstr(fmt_text, "\"ts\":5.000,\"dur\":0.500,\"cat\":\"user_annotation\","
					 "\"name\":\"late\""));
	/* A shift that leaves none below 0 leaves all at their places. */
	fmt_export(&exporter_chrome, &(struct export_options){.shift = 3500});
	assert_non_null(strstr(fmt_text, "\"baseTimeNanoseconds\":1500,"));
	assert_null(strstr(fmt_text, "sessionStartNs"));
	assert_non_null(strstr(fmt_text, "\"ts\":0.500,\"dur\":2.000"));
	/* One that moves some below 0 is as far from the truth as was asked. */
	fmt_export(&exporter_chrome, &(struct export_options){.shift = -1000});
	assert_non_null(strstr(fmt_text, "\"sessionStartNs\":3000}"));
	assert_non_null(strstr(fmt_text, "\"ts\":0.000,\"dur\":2.000"));
}

#define META(pid, tid, what, key, value)                                                         \
	"{\"ph\":\"M\",\"pid\":" #pid ",\"tid\":" #tid ",\"name\":\"" what "\",\"args\":{\"" key \
	"\":" value "}},\n"
#define NAME(pid, tid, what, name) META(pid, tid, what "_name", "name", "\"" name "\"")
#define PLACE(pid, tid, what, n)   META(pid, tid, what "_sort_index", "sort_index", #n)
#define SLICE(pid, tid, ts, dur, cat, name)                                            \
	"{\"ph\":\"X\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
	",\"cat\":\"" cat "\",\"name\":\"" name "\""
#define MARKED(phase, pid, tid, ts, cat, name)                                                  \
	"{\"ph\":\"" phase "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"cat\":\"" cat \
	"\",\"name\":\"" name "\""
#define LAST "]}\n"

/* The second lane of a thread is a thread of its own, with a number that no thread of the kernel has. */
/* clang-format off */
static void tracks_have_names_and_places(void **state)
{
	(void)state;
	fmt_same(events("INSERT INTO PROCESSES VALUES (" P1 ", 100, 'a\"pp'); INSERT INTO StringIds VALUES "
			"(1, 'main'); INSERT INTO ThreadNames VALUES (1, 20, " T1 ");"
			RANGE(1, 2, "'r'", T1) RANGE(5, 7, "'t'", T1B) RANGE(6, 8, "'u'", T1B)
			RANGE(9, 10, "'v'", T1) RANGE(9, 11, "'w'", T2),
			plain, true),
		 NAME(100, 0, "process", "a\\\"pp") PLACE(100, 0, "process", 6400)
		 NAME(100, 100, "thread", "main") PLACE(100, 100, "thread", 0)
		 SLICE(100, 100, 0.001, 0.001, "user_annotation", "r") "},\n"
		 PLACE(100, 101, "thread", 101)
		 SLICE(100, 101, 0.005, 0.002, "user_annotation", "t") "},\n"
		 NAME(100, 16777216, "thread", "lane 2") PLACE(100, 16777216, "thread", 101)
		 SLICE(100, 16777216, 0.006, 0.002, "user_annotation", "u") "},\n"
		 NAME(200, 0, "process", "process 200") PLACE(200, 0, "process", 12800)
		 PLACE(200, 200, "thread", 0)
		 SLICE(200, 200, 0.009, 0.002, "user_annotation", "w") "},\n"
		 SLICE(100, 100, 0.009, 0.001, "user_annotation", "v") "}\n" LAST);
	assert_int_equal(fmt_events, 5);
}
/* clang-format on */

/* clang-format off */
static void names_with_bytes_that_are_no_text(void **state)
{
	(void)state;
	fmt_same(events(RANGE(0, 1, "CAST(x'01FF225C' AS TEXT)", T1) RANGE(1, 2, "''", T1)
			RANGE(2, 3, "NULL", T1),
			plain, false),
		 SLICE(100, 100, 0.000, 0.001, "user_annotation", "\\u0001\\ufffd\\\"\\\\") "},\n"
		 SLICE(100, 100, 0.001, 0.001, "user_annotation", "") "},\n"
		 SLICE(100, 100, 0.002, 0.001, "user_annotation", "") "}\n" LAST);
}
/* clang-format on */

/* Nanoseconds are exact at every size; what had not ended has a beginning only. */
/* clang-format off */
static void times_are_exact(void **state)
{
	(void)state;
	fmt_same(events(RANGE(-1, 1, "'a'", T1) RANGE(1700000000123456789, 1700000000123456790, "'b'", T1)
			RANGE(1800000000000000000, NULL, "'open'", T1),
			plain, false),
		 SLICE(100, 100, 0.000, 0.002, "user_annotation", "a") "},\n"
		 SLICE(100, 100, 1700000000123456.790, 0.001, "user_annotation", "b") "},\n"
		 MARKED("B", 100, 100, 1800000000000000.001, "user_annotation", "open") "}\n" LAST);
	fmt_same(events(RANGE(1000, 3000, "'a'", T1), (struct export_options){.shift = -1500}, false),
		 SLICE(100, 100, 0.000, 2.000, "user_annotation", "a") "}\n" LAST);
}
/* clang-format on */

#define ASYNC(start, end, id, text)                                                                \
	"INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, text, globalTid, endGlobalTid) " \
	"VALUES (" #start ", " #end ", 60, " #id ", '" text "', " T1 ", " T1 ");"

/* Ends wait for the next beginning on their lane, or the end of all; each lane has an id of its own. */
/* clang-format off */
static void ranges_of_start_and_end(void **state)
{
	(void)state;
	fmt_same(events(ASYNC(0, 100, 1, "out\"") ASYNC(10, 20, 2, "in") ASYNC(20, 30, 3, "next")
			ASYNC(50, 150, 4, "over") ASYNC(60, NULL, 5, "open"),
			plain, false),
		 MARKED("b", 100, 16777216, 0.000, "user_annotation", "out\\\"")
		 ",\"id\":2,\"args\":{\"range id\":1}},\n"
		 MARKED("b", 100, 16777216, 0.010, "user_annotation", "in")
		 ",\"id\":2,\"args\":{\"range id\":2}},\n"
		 MARKED("e", 100, 16777216, 0.020, "user_annotation", "in") ",\"id\":2},\n"
		 MARKED("b", 100, 16777216, 0.020, "user_annotation", "next")
		 ",\"id\":2,\"args\":{\"range id\":3}},\n"
		 MARKED("b", 100, 16777217, 0.050, "user_annotation", "over")
		 ",\"id\":3,\"args\":{\"range id\":4}},\n"
		 MARKED("b", 100, 16777218, 0.060, "user_annotation", "open")
		 ",\"id\":4,\"args\":{\"range id\":5}},\n"
		 MARKED("e", 100, 16777217, 0.150, "user_annotation", "over") ",\"id\":3},\n"
		 MARKED("e", 100, 16777216, 0.030, "user_annotation", "next") ",\"id\":2},\n"
		 MARKED("e", 100, 16777216, 0.100, "user_annotation", "out\\\"") ",\"id\":2}\n" LAST);
}
/* clang-format on */

#define KERNEL(start, end, device, stream, correlation, process)                                 \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "    \
	"correlationId, globalPid, demangledName, shortName, registersPerThread, gridX, gridY, " \
	"gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "               \
	"localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES "    \
	"(" #start ", " #end ", " #device ", 1, " #stream ", " #correlation ", " process         \
	", 5, 5, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '');"

/* An arrow from the call to the kernel; the other process has the same correlation id. */
/* clang-format off */
static void arrows_lead_from_calls_to_kernels(void **state)
{
	const char *p;

	(void)state;
	p = events("INSERT INTO StringIds VALUES (4, 'cudaLaunchKernel_v7000'), (5, 'gemm');"
		   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " T1
		   ", 9, 4, 0, NULL), (1, 3, 0, " T2 ", 9, 4, 700, NULL), (4, 5, 0, " T1 ", 10, 4, 0, NULL);"
		   KERNEL(5, 8, 0, 7, 9, P1) KERNEL(6, 7, 0, 7, 9, P2) KERNEL(9, 10, 0, 7, 77, P1),
		   plain, false);
	assert_int_equal(fmt_count(p, "\"ph\":\"s\""), 2);
	assert_int_equal(fmt_count(p, "\"ph\":\"f\""), 2);
	assert_non_null(strstr(p, MARKED("s", 100, 100, 0.001, "ac2g", "ac2g") ",\"id\":9},\n"));
	assert_non_null(strstr(p, MARKED("f", 16777216, 7, 0.005, "ac2g", "ac2g")
				  ",\"id\":9,\"bp\":\"e\"},\n"));
	assert_non_null(strstr(p, ",\"args\":{\"correlation\":9,\"result\":700}},\n"));
	assert_int_equal(fmt_count(p, ",\"id\":9}"), 1); /* the other's id is another */
}
/* clang-format on */

/* GPUs are processes, behind the one that uses them; from number 62 on they share a place. */
static void gpus_are_processes(void **state)
{
	const char *p;

	(void)state;
	p = events("INSERT INTO StringIds VALUES (5, 'k'); INSERT INTO PROCESSES VALUES (" P1
		   ", 100, 'app');" KERNEL(0, 1, 0, 7, 1, P1) KERNEL(0, 1, 61, 7, 2, P1)
			   KERNEL(0, 1, 62, 7, 3, P1) KERNEL(0, 1, 63, 7, 4, P1)
				   KERNEL(0, 1, 0, 7, 5, P2),
		   plain, true);
	assert_non_null(strstr(p, NAME(16777216, 0, "process", "GPU 0 (app 100)")
					  PLACE(16777216, 0, "process", 6401)));
	assert_non_null(strstr(p, "\"GPU 0 (200)\""));
	assert_int_equal(fmt_count(p, "\"sort_index\":6462}"), 1);
	assert_int_equal(fmt_count(p, "\"sort_index\":6463}"), 2);
	assert_int_equal(fmt_count(p, "\"name\":\"stream 7\""), 5);
}

#define SWITCH(start, cpu, in, thread, block)                                                 \
	"INSERT INTO SCHED_EVENTS VALUES (" #start ", " #cpu ", " #in ", " thread ", " #block \
	", NULL);"

/* A lost switch out ends with the next thread; what runs at the end is open; a switch out alone is nothing. */
/* clang-format off */
static void what_ran_on_a_cpu(void **state)
{
	(void)state;
	fmt_same(events(NAMED SWITCH(5, 0, 0, T1, 1) SWITCH(10, 0, 1, T1, NULL) SWITCH(15, 0, 0, T1, 2)
			SWITCH(20, 0, 1, T1, NULL) SWITCH(30, 0, 1, T2, NULL) SWITCH(40, 0, 0, T1, 1)
			SWITCH(45, 0, 0, T2, 77) SWITCH(50, 3, 1, T1B, NULL),
			plain, false),
		 SLICE(16777216, 0, 0.010, 0.005, "sched", "main thread 100")
		 ",\"args\":{\"pid\":100,\"tid\":100,\"end state\":\"interruptible\"}},\n"
		 SLICE(16777216, 0, 0.020, 0.010, "sched", "main thread 100")
		 ",\"args\":{\"pid\":100,\"tid\":100}},\n"
		 SLICE(16777216, 0, 0.030, 0.015, "sched", "thread 200")
		 ",\"args\":{\"pid\":200,\"tid\":200}},\n"
		 MARKED("B", 16777216, 3, 0.050, "sched", "worker 101")
		 ",\"args\":{\"pid\":100,\"tid\":101}}\n" LAST);
}
/* clang-format on */

/* clang-format off */
static void instants_have_a_scope(void **state)
{
	(void)state;
	fmt_same(events("INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) VALUES (1, 34, 'mark', "
			T1 "); INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 1, 1, 3, 'all', NULL), "
			"(3, 1, 1, 77, 'one', " P1 ")",
			plain, false),
		 MARKED("i", 100, 100, 0.001, "user_annotation", "mark") ",\"s\":\"t\"},\n"
		 MARKED("i", 16777216, 0, 0.002, "diagnostic", "all")
		 ",\"s\":\"g\",\"args\":{\"severity\":\"Error\"}},\n"
		 MARKED("i", 100, 0, 0.003, "diagnostic", "one")
		 ",\"s\":\"p\",\"args\":{\"severity\":\"77\"}}\n" LAST);
}
/* clang-format on */

static void memory_in_use_is_a_counter(void **state)
{
	(void)state;
	fmt_same(events("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, "
			"contextId, "
			"address, pc, bytes, memKind, memoryOperationType) VALUES (1, " P1
			", 0, 1, 16, 0, 4611686018427387904, 2, 0), (2, " P1 ", 0, 1, 16, 0, "
			"4611686018427387904, 2, 1)",
			plain, false),
		 "{\"ph\":\"C\",\"pid\":16777216,\"ts\":0.001,\"name\":\"GPU memory: "
		 "device\",\"args\":{\"bytes\":"
		 "4611686018427387904}},\n{\"ph\":\"C\",\"pid\":16777216,\"ts\":0.002,\"name\":"
		 "\"GPU memory: "
		 "device\",\"args\":{\"bytes\":0}}\n" LAST);
}

#define FRAMES                                                                                    \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, '/lib/x.so'), (14, "       \
	"'x.c'), "                                                                                \
	"(15, 'read'), (16, 'unused');"                                                           \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, file, line, inlined) VALUES "           \
	"(1, 0, 11, 13, 14, 7, 0), (2, 0, 12, 13, NULL, NULL, 0), (3, 0, 16, 13, NULL, NULL, 0);" \
	"INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1), (2, 0, 3), (3, 0, 1);"

/* Frames stand at the end, once each, those of no event not at all. */
/* clang-format off */
static void stacks_of_calls(void **state)
{
	(void)state;
	fmt_same(events(FRAMES CALL(0, 1, 15, T1) CALL(2, 3, 15, T1) CALL(4, 5, 15, T1) CALL(6, 7, 15, T1)
			"UPDATE OSRT_API SET callchainId = CASE start WHEN 0 THEN 1 WHEN 2 THEN 3 WHEN 4 "
			"THEN 99 ELSE 0 END",
			plain, false),
		 SLICE(100, 100, 0.000, 0.001, "osrt", "read") ",\"sf\":2},\n"
		 SLICE(100, 100, 0.002, 0.001, "osrt", "read") ",\"sf\":1},\n"
		 SLICE(100, 100, 0.004, 0.001, "osrt", "read") "},\n"
		 SLICE(100, 100, 0.006, 0.001, "osrt", "read") "}\n"
		 "],\"stackFrames\":{\n\"1\":{\"name\":\"main (x.c:7)\",\"category\":\"/lib/x.so\"},\n"
		 "\"2\":{\"name\":\"leaf\",\"category\":\"/lib/x.so\",\"parent\":1}}}\n");
	/* None of them is used: the list is empty. */
	fmt_same(events(FRAMES CALL(0, 1, 15, T1), plain, false),
		 SLICE(100, 100, 0.000, 0.001, "osrt", "read") "}\n],\"stackFrames\":{}}\n");
}
/* clang-format on */

/* clang-format off */
static void samples_are_instants(void **state)
{
	(void)state;
	fmt_same(events(FRAMES "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) "
			"VALUES (1, 10, 3, " T1 ", 1, 1), (2, 20, NULL, " T1 ", 1, NULL)",
			(struct export_options){.activities = TL_ACT_SAMPLE}, false),
		 MARKED("i", 100, 100, 0.010, "sample", "leaf")
		 ",\"s\":\"t\",\"args\":{\"cpu\":3,\"stack\":[\"leaf\",\"main\"]}},\n"
		 MARKED("i", 100, 100, 0.020, "sample", "?")
		 ",\"s\":\"t\",\"args\":{\"stack\":[]}}\n" LAST);
}
/* clang-format on */

static void a_name_of_2000_characters(void **state)
{
	const char *p;

	(void)state;
	p = events(RANGE(0, 1, "replace(printf('%2000s', ''), ' ', char(1))", T1), plain, false);
	assert_int_equal(fmt_count(p, "\\u0001"), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_is_valid),
		cmocka_unit_test(the_head_ties_times_to_the_clock),
		cmocka_unit_test(times_before_the_session_become_times_from_0),
		cmocka_unit_test(tracks_have_names_and_places),
		cmocka_unit_test(names_with_bytes_that_are_no_text),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(ranges_of_start_and_end),
		cmocka_unit_test(arrows_lead_from_calls_to_kernels),
		cmocka_unit_test(gpus_are_processes),
		cmocka_unit_test(what_ran_on_a_cpu),
		cmocka_unit_test(instants_have_a_scope),
		cmocka_unit_test(memory_in_use_is_a_counter),
		cmocka_unit_test(stacks_of_calls),
		cmocka_unit_test(samples_are_instants),
		cmocka_unit_test(a_name_of_2000_characters),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
