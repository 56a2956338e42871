/* fmt_text.c - a line per event: columns, durations, arguments of every kind, characters that would upset a terminal. */
#include "fmt_test.h"

extern const struct exporter exporter_text;

#define HEAD "#      start [s]   duration [us]  where                     what             name\n"

static void lines(const char *sql, struct export_options opt, const char *want)
{
	char all[16384];

	fmt_report(sql);
	snprintf(all, sizeof(all), "%s%s", HEAD, want);
	fmt_same(fmt_export(&exporter_text, &opt), all);
}

static const struct export_options plain = {.lazy = true};

static void an_empty_report_has_a_head(void **state)
{
	(void)state;
	lines("", plain, "");
	assert_int_equal(fmt_events, 0);
}

static void times_and_durations(void **state)
{
	(void)state;
	lines(RANGE(-1500000000, -1499999999, "'early'", T1) RANGE(0, 0, "'none'", T1)
		      RANGE(1, 1000001, "'ms'", T1)
			      RANGE(5000000000, NULL, "'open'",
				    T1B) "INSERT INTO NVTX_EVENTS (start, eventType, text, "
					 "globalTid) VALUES (7, 34, 'mark', "
					 "" T1 ")",
	      plain,
	      "    -1.500000000           0.001  100/100                   user_annotation  early\n"
	      "     0.000000000           0.000  100/100                   user_annotation  none\n"
	      "     0.000000001        1000.000  100/100                   user_annotation  ms\n"
	      "     0.000000007               -  100/100                   user_annotation  mark\n"
	      "     5.000000000            open  100/101                   user_annotation  "
	      "open\n");
	assert_int_equal(fmt_events, 5);
}

/* Fields that are too wide are written out; the next begins two blanks behind. */
static void wide_fields(void **state)
{
	(void)state;
	lines("INSERT INTO PROCESSES VALUES (" P1
	      ", 100, 'p'); INSERT INTO StringIds VALUES (3, 'a thread "
	      "with quite a long name'); INSERT INTO ThreadNames VALUES (3, 20, " T1
	      ");" RANGE(4000000000000000000, 4600000000000000000, "'r'", T1),
	      plain,
	      "4000000000.000000000  600000000000000.000  100/100 a thread with quite a long name  "
	      "user_annotation  r\n");
}

static void characters_that_are_not_shown(void **state)
{
	(void)state;
	lines(RANGE(0, 1, "'a' || char(10, 27) || 'b'", T1) RANGE(1, 2, "CAST(x'41FFC3A9' AS TEXT)",
								  T1)
		      RANGE(2, 3, "char(126) || char(127)", T1) RANGE(3, 4, "char(133) || 'x'", T1),
	      plain,
	      "     0.000000000           0.001  100/100                   user_annotation  "
	      "a\\n\\x1Bb\n"
	      "     0.000000001           0.001  100/100                   user_annotation  "
	      "A\\xFF\xC3\xA9\n"
	      "     0.000000002           0.001  100/100                   user_annotation  "
	      "~\\x7F\n"
	      "     0.000000003           0.001  100/100                   user_annotation  "
	      "\\xC2\\x85x\n");
}

static void a_name_of_2000_characters(void **state)
{
	(void)state;
	fmt_report(RANGE(0, 1, "printf('%2000s', 'z')", T1));
	fmt_export(&exporter_text, &plain);
	assert_int_equal(fmt_len, strlen(HEAD) + 16 + 2 + 14 + 2 + 24 + 2 + 15 + 2 + 2000 + 1);
	fmt_same(fmt_text + fmt_len - 3, " z\n");
}

static void arguments_of_every_kind(void **state)
{
	(void)state;
	lines("INSERT INTO StringIds VALUES (5, 'k'), (6, 'k(int)');"
	      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
	      "correlationId, globalPid, demangledName, shortName, registersPerThread, gridX, "
	      "gridY, gridZ, "
	      "blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
	      "localMemoryPerThread, "
	      "localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES (5, 6, 0, 1, 7, 3, " P1
	      ", 6, 5, 16, 1, -2, 9223372036854775807, 32, 4, 1, 0, 9, 0, 0, 1, '');"
	      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, "
	      "correlationId, globalPid, value, bytes, memKind) VALUES (10, 20, 1, 1, 8, NULL, " P1
	      ", 255, 15, 2);"
	      "INSERT INTO NVTX_EVENTS (start, end, eventType, color, text, globalTid, domainId, "
	      "uint64Value, "
	      "doubleValue, jsonText) VALUES (30, 40, 59, -1, 'r', " T1
	      ", 0, -1, 0.25, '{\"a\":1}'), (50, 60, 59, NULL, 's', " T1 ", 0, NULL, 9e999, NULL);"
	      "INSERT INTO DIAGNOSTIC_EVENT VALUES (70, 1, 1, 2, 'hello', NULL)",
	      plain,
	      "     0.000000005           0.001  100 GPU 0 stream 7        kernel           k  "
	      "device=0  "
	      "context=1  stream=7  correlation=3  full name=k(int)  grid=1x-2x9223372036854775807 "
	      " "
	      "block=32x4x1  registers per thread=16  dynamic shared memory=9\n"
	      "     0.000000010           0.010  100 GPU 1 stream 8        gpu_memset       Memset "
	      "(Device)  "
	      "device=1  context=1  stream=8  bytes=15  memory bandwidth (GB/s)=1.5  value=255\n"
	      "     0.000000030           0.010  100/100                   user_annotation  r  "
	      "color=0xffffffffffffffff  payload=0xffffffffffffffff  payload json={\"a\":1}\n"
	      "     0.000000050           0.010  100/100                   user_annotation  s  "
	      "payload=inf\n"
	      "     0.000000070               -  CPUs                      diagnostic       hello  "
	      "severity=Warning\n");
}

static void context_switches_and_samples(void **state)
{
	(void)state;
	lines(NAMED
	      "INSERT INTO SCHED_EVENTS VALUES (0, 3, 1, " T1 ", NULL, NULL), (5, 3, 0, " T1
	      ", 2, NULL), (6, 3, 0, " T1 ", 99, NULL), (7, 3, 0, " T1 ", NULL, NULL);"
	      "INSERT INTO StringIds VALUES (11, 'main'), (12, 'le' || char(7) || 'af');"
	      "INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) VALUES (1, 0, 11, 11, 0), "
	      "(2, 0, 12, 11, 0); INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1);"
	      "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) VALUES "
	      "(1, 10, 0, " T1 ", 1, 1), (2, 11, 0, " T1 ", 1, NULL)",
	      plain,
	      "     0.000000000               -  100/100 main thread       sched            on CPU "
	      "3\n"
	      "     0.000000005               -  100/100 main thread       sched            off "
	      "CPU 3, "
	      "interruptible\n"
	      "     0.000000006               -  100/100 main thread       sched            off "
	      "CPU 3\n"
	      "     0.000000007               -  100/100 main thread       sched            off "
	      "CPU 3\n"
	      "     0.000000010               -  100/100 main thread       sample           "
	      "le\\x07af < main\n"
	      "     0.000000011               -  100/100 main thread       sample           \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_has_a_head),
		cmocka_unit_test(times_and_durations),
		cmocka_unit_test(wide_fields),
		cmocka_unit_test(characters_that_are_not_shown),
		cmocka_unit_test(a_name_of_2000_characters),
		cmocka_unit_test(arguments_of_every_kind),
		cmocka_unit_test(context_switches_and_samples),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
