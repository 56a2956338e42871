/* fmt_pprof.c - profiles for pprof, decoded: columns, functions and locations once each, mappings, labels. */
#include "proto_reader.h"

extern const struct exporter exporter_pprof;

/* Samples with packed-free numbers and labels, mappings, locations with lines, functions, types. */
#define SPEC "1{} 2{3{}} 3{} 4{4{}} 5{} 11{}"

static const char *profile(const char *sql, unsigned flame)
{
	const struct export_options opt = {.flame = flame};

	fmt_report(sql);
	fmt_export(&exporter_pprof, &opt);
	return pb_lines(fmt_text, fmt_len, SPEC);
}

/* The lines of one kind of field, with the numbers of strings as in the file. */
static const char *only(const char *lines, const char *field)
{
	static char kept[16384];
	size_t len = strlen(field), at = 0;

	*kept = '\0';
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		if (strncmp(lines, field, len) == 0 && (lines[len] == ':' || lines[len] == '{'))
			at += (size_t)snprintf(kept + at, sizeof(kept) - at, "%s%.*s",
					       at ? "\n" : "", (int)n, lines);
		lines += n + (lines[n] == '\n');
	}
	return kept;
}

static void an_empty_report(void **state)
{
	(void)state;
	fmt_same(profile("", 0), "6:\"\"\n9:0\n10:0");
	fmt_same(profile("", COST_BIT(COST_CALLS)),
		 "6:\"\"\n6:\"calls\"\n6:\"count\"\n1{1:1 2:2}\n9:0\n10:0\n14:1");
}

#define STACKS                                                                                    \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, '/lib/libx.so'), "         \
	"(14, 'inner'), (15, 'x.c'), (16, '[kernel.kallsyms]'), (17, 'vfs'), (18, 'x.py');"       \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, file, line, inlined, originalIP) "      \
	"VALUES "                                                                                 \
	"(1, 0, 11, 13, NULL, NULL, 0, 4096), (2, 0, 12, 13, 15, 7, 0, 4112), "                   \
	"(3, 0, 14, 13, 15, 9, 1, 4112), (4, 2, 17, 16, NULL, NULL, 0, -4096), "                  \
	"(5, 1, 12, 18, 18, 3, 0, NULL);"                                                         \
	"INSERT INTO SL_STACKS VALUES (1, 0, 3), (1, 1, 2), (1, 2, 1), (2, 0, 2), (2, 1, 1), "    \
	"(3, 0, 4), (3, 1, 5);"                                                                   \
	"INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY', '1000');" \
	"INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (1700000000000000000);"   \
	"INSERT INTO ANALYSIS_DETAILS VALUES (1, 5000, 0, 5000);"                                 \
	"INSERT INTO SL_SPACES VALUES (1, NULL, " P1 ");"                                         \
	"INSERT INTO SL_MODULES VALUES (1, 4096, 8192, 0, 0, 13, 'abcd');"

#define SAMPLE(id, thread, stack)                                                              \
	"INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) VALUES " \
	"(" #id ", 10, 0, " thread ", 1, " #stack ");"

/* Two samples of one stack, one of its outer part; inlined frames are lines of one location. */
static void samples_with_inlined_functions(void **state)
{
	const char *lines;

	(void)state;
	lines = profile(NAMED STACKS SAMPLE(1, T1, 1) SAMPLE(2, T1, 1) SAMPLE(3, T1, 2), 0);
	fmt_same(only(lines, "1"), "1{1:1 2:2}\n1{1:3 2:4}");
	lines = profile(NAMED STACKS SAMPLE(1, T1, 1) SAMPLE(2, T1, 1) SAMPLE(3, T1, 2), 0);
	/* strings 0 to 4: "", samples, count, cpu, nanoseconds; the period is 1 ms */
	fmt_same(only(lines, "11"), "11{1:3 2:4}");
	lines = profile(NAMED STACKS SAMPLE(1, T1, 1) SAMPLE(2, T1, 1) SAMPLE(3, T1, 2), 0);
	fmt_same(lines,
		 "6:\"\"\n6:\"samples\"\n6:\"count\"\n1{1:1 2:2}\n"
		 "6:\"cpu\"\n6:\"nanoseconds\"\n1{1:3 2:4}\n11{1:3 2:4}\n"
		 "12:1000000\n9:1700000000000000000\n10:5000\n14:3\n"
		 /* location 1: inner (x.c:9), inlined into leaf (x.c:7) */
		 "6:\"/lib/libx.so\"\n6:\"abcd\"\n"
		 "3{1:1 2:4096 3:8192 5:5 6:6 7:1 8:1 9:1 10:1}\n"
		 "6:\"inner\"\n6:\"x.c\"\n5{1:1 2:7 3:7 4:8}\n"
		 "6:\"leaf\"\n5{1:2 2:9 3:9 4:8}\n"
		 "4{1:1 2:1 3:4112 4{1:1 2:9} 4{1:2 2:7}}\n"
		 "6:\"main\"\n5{1:3 2:10 3:10 4:0}\n"
		 "4{1:2 2:1 3:4096 4{1:3 2:0}}\n"
		 "6:\"process\"\n6:\"pid\"\n6:\"thread\"\n6:\"tid\"\n6:\"app\"\n6:\"main thread\"\n"
		 "2{1:1 1:2 2:2 2:2000000 3{1:11 2:15} 3{1:12 3:100} 3{1:13 2:16} 3{1:14 3:100}}\n"
		 /* leaf alone is another location, of the same function */
		 "4{1:3 2:1 3:4112 4{1:2 2:7}}\n"
		 "2{1:3 1:2 2:1 2:1000000 3{1:11 2:15} 3{1:12 3:100} 3{1:13 2:16} 3{1:14 3:100}}");
}

/* Frames of Python are in no mapping; the kernel's file was mapped nowhere that is known. */
static void mappings(void **state)
{
	const char *lines;

	(void)state;
	lines = profile(STACKS SAMPLE(1, T1, 3), 0);
	fmt_same(only(lines, "3"), "3{1:1 2:0 3:0 5:5 6:0 7:1 8:1 9:1 10:1}");
	assert_non_null(
		strstr(lines = profile(STACKS SAMPLE(1, T1, 3), 0), "\n6:\"[kernel.kallsyms]\"\n"));
	fmt_same(only(lines, "4"), "4{1:1 2:1 3:-4096 4{1:1 2:0}}\n4{1:2 2:0 3:0 4{1:2 2:3}}");
}

/* An address at a module's end is not in it: the file is known, its place is not. */
static void addresses_around_a_module(void **state)
{
	static const struct {
		int ip;
		const char *mapping;
	} cases[] = {
		{4096, "3{1:1 2:4096 3:8192 "},
		{8191, "3{1:1 2:4096 3:8192 "},
		{8192, "3{1:1 2:0 3:0 "},
		{4095, "3{1:1 2:0 3:0 "},
	};
	char sql[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(sql, sizeof(sql), "%s UPDATE SL_FRAMES SET originalIP = %d; %s", STACKS,
			 cases[i].ip, "INSERT INTO SL_STACKS VALUES (9, 0, 1);" SAMPLE(1, T1, 9));
		assert_memory_equal(only(profile(sql, 0), "3"), cases[i].mapping,
				    strlen(cases[i].mapping));
	}
}

/* What the root process ran last is the first mapping, whether its code is in stacks or not. */
static void the_program_comes_first(void **state)
{
	static const char tree[] =
		"INSERT INTO SL_PROCESS_TREE (globalPid, start, kind, traced, exe) VALUES "
		"(" P1 ", 0, 0, 1, '/bin/sh'), (" P1 ", 5, 2, 1, '/lib/libx.so'), "
		"(" P2 ", 9, 1, 1, '/bin/other');";
	char sql[4096];
	const char *lines;

	(void)state;
	snprintf(sql, sizeof(sql), "%s%s%s", STACKS, SAMPLE(1, T1, 3), tree);
	lines = profile(sql, 0);
	fmt_same(only(lines, "3"), "3{1:1 2:4096 3:8192 5:5 6:6 7:1 8:1 9:1 10:1}\n"
				   "3{1:2 2:0 3:0 5:7 6:0 7:1 8:1 9:1 10:1}");
	snprintf(sql, sizeof(sql), "%s%s%s%s", STACKS, SAMPLE(1, T1, 2), tree,
		 "UPDATE SL_PROCESS_TREE SET exe = '/bin/app' WHERE start = 5");
	lines = profile(sql, 0);
	fmt_same(only(lines, "3"), "3{1:1 2:0 3:0 5:5 6:0 7:1 8:1 9:1 10:1}\n"
				   "3{1:2 2:4096 3:8192 5:6 6:7 7:1 8:1 9:1 10:1}");
}

/* Without a rate samples have no time; a thread whose number is not known has no label. */
static void samples_without_a_rate(void **state)
{
	const char *lines;

	(void)state;
	lines = profile(
		"INSERT INTO COMPOSITE_EVENTS (id, start, globalTid, cpuCycles) VALUES (1, 1, " P1
		", 1), (2, 2, NULL, 1)",
		0);
	fmt_same(lines, "6:\"\"\n6:\"samples\"\n6:\"count\"\n1{1:1 2:2}\n9:0\n10:0\n14:1\n"
			"6:\"[no stack]\"\n5{1:1 2:3 3:3 4:0}\n4{1:1 2:0 3:0 4{1:1 2:0}}\n"
			"6:\"process\"\n6:\"pid\"\n6:\"thread\"\n6:\"tid\"\n"
			"2{1:1 2:1 3{1:4 2:4} 3{1:5 3:100}}\n"
			"2{1:1 2:1 3{1:4 2:4} 3{1:5 3:0}}");
}

/* A column for each thing, sums up to 2^63 - 1; a stack that has none of what is asked for has no sample. */
static void several_columns(void **state)
{
	static const char sql[] =
		"INSERT INTO StringIds VALUES (7, 'read'), (8, 'poll');"
		"INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, "
		"nestingLevel, "
		"callchainId, argumentsId) VALUES (0, 30, 27, " T1
		", 7, 0, 0, 0, 0), (40, 40, 27, " T1
		", 8, 0, 0, 0, 0), (20, 9223372036854775807, 27, " T1 ", 7, 0, 0, 0, 0)";
	const char *lines;

	(void)state;
	lines = profile(sql, COST_BIT(COST_OFF_CPU) | COST_BIT(COST_CALLS));
	fmt_same(only(lines, "1"), "1{1:1 2:2}\n1{1:3 2:4}");
	lines = profile(sql, COST_BIT(COST_OFF_CPU) | COST_BIT(COST_CALLS));
	fmt_same(only(lines, "2"),
		 "2{1:1 1:2 2:9223372036854775807 2:2 3{1:7 2:7} 3{1:8 3:100} 3{1:9 2:9} "
		 "3{1:10 3:100}}\n"
		 "2{1:3 1:2 2:0 2:1 3{1:7 2:7} 3{1:8 3:100} 3{1:9 2:9} 3{1:10 3:100}}");
	lines = profile(sql, COST_BIT(COST_OFF_CPU));
	assert_int_equal(fmt_count(lines, "\n2{"), 1);
	assert_non_null(strstr(lines, "\n14:1\n")); /* the only one is the default */
}

static void names_that_are_no_utf8(void **state)
{
	const char *lines;

	(void)state;
	lines = profile("INSERT INTO PROCESSES VALUES (" P1
			", 100, CAST(x'61FF0A62' AS TEXT));" SAMPLE(1, T1, NULL),
			0);
	assert_non_null(strstr(lines, "6:\"a\\xFF b\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report),
		cmocka_unit_test(samples_with_inlined_functions),
		cmocka_unit_test(mappings),
		cmocka_unit_test(addresses_around_a_module),
		cmocka_unit_test(the_program_comes_first),
		cmocka_unit_test(samples_without_a_rate),
		cmocka_unit_test(several_columns),
		cmocka_unit_test(names_that_are_no_utf8),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
