/* fmt_folded.c - lines of stacks: sums by stack, characters that would break a line, what --flame asks for. */
#include "fmt_test.h"

extern const struct exporter exporter_folded;

static const char *folded(const char *sql, uint32_t activities, unsigned flame)
{
	const struct export_options opt = {.activities = activities, .flame = flame};

	fmt_report(sql);
	return fmt_export(&exporter_folded, &opt);
}

static void an_empty_report_gives_no_line(void **state)
{
	(void)state;
	fmt_same(folded("", 0, 0), "");
	fmt_same(folded("", 0, COST_BIT(COST_CALLS)), "");
}

/* Own times: step 100 - 40 = 60 and 10, read 40 twice below different ranges; a range without own time has no line. */
static void equal_stacks_are_one_line(void **state)
{
	(void)state;
	fmt_same(folded(NAMED
			"INSERT INTO StringIds VALUES (7, 'read');" RANGE(0, 100, "'step'", T1)
				CALL(10, 50, 7, T1) RANGE(200, 210, "'step'", T1)
					RANGE(300, 340, "'full'", T1) CALL(300, 340, 7, T1),
			0, 0),
		 "app;main thread;step 70\napp;main thread;step;read 40\napp;main thread;full;read "
		 "40\n");
}

/* The other process has a thread of the same number of a frame: trees do not mix. */
static void threads_stay_apart(void **state)
{
	(void)state;
	fmt_same(folded(NAMED RANGE(0, 5, "'r'", T1) RANGE(0, 7, "'r'", T1B) RANGE(0, 9, "'r'", T2),
			0, 0),
		 "other;thread;r 9\napp;worker;r 7\napp;main thread;r 5\n");
}

static void characters_that_would_end_a_frame(void **state)
{
	(void)state;
	/* Blanks stay: readers take the last one of a line. U+0085 is a control, too. */
	fmt_same(folded(RANGE(0, 1, "'a;b c'", T1) RANGE(1, 2, "char(10, 27, 127) || 'x'", T1)
				RANGE(2, 3, "CAST(x'FF41C285C3A9' AS TEXT)", T1),
			0, 0),
		 "process;thread;a:b c 1\nprocess;thread;  ?x 1\nprocess;thread;?A?\xC3\xA9 1\n");
}

static void weights_beyond_32_bits(void **state)
{
	(void)state;
	fmt_same(folded(RANGE(0, 4611686018427387903, "'a'", T1)
				RANGE(-4611686018427387900, -1, "'a'", T1B),
			0, 0),
		 "process;thread;a 9223372036854775802\n");
}

#define STACKS                                                                                    \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, '/lib/libx.so'), "         \
	"(14, 'read'), (15, 'write'), (16, '/data/a;b'), (17, 'libc');"                           \
	"INSERT INTO SL_FUNCTIONS(nameId, library, io, isStdio) VALUES (14, 17, 3, 0), (15, 17, " \
	"4, 0);"                                                                                  \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, file, line, inlined) VALUES "           \
	"(1, 0, 11, 13, 16, 7, 0), (2, 0, 12, 13, NULL, NULL, 0);"                                \
	"INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1), (2, 0, 1);"

#define SAMPLES                                                                                \
	"INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) VALUES " \
	"(1, 10, 0, " T1 ", 1, 1), (2, 20, 0, " T1 ", 1, 2), (3, 30, 0, " T1 ", 1, 1), "       \
	"(4, 40, 0, " T1B ", 1, NULL), (5, 50, 0, " T1 ", 1, 99);"

static void samples_are_counted_by_stack(void **state)
{
	(void)state;
	fmt_same(folded(NAMED STACKS SAMPLES RANGE(0, 100, "'step'", T1), 0, 0),
		 "app;main thread;main;leaf 2\napp;main thread;main 1\napp;worker;[no stack] 1\n"
		 "app;main thread;[no stack] 1\n");
	assert_int_equal(fmt_events, 4);
}

#define IO(start, end, name, stack, path, bytes)                                               \
	"INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, "       \
	"nestingLevel, callchainId, argumentsId, pathId, bytesDone) VALUES (" #start ", " #end \
	", 27, " T1 ", " #name ", 0, 0, " #stack ", 0, " #path ", " #bytes ");"

static void flames_of_calls(void **state)
{
	static const char sql[] = NAMED STACKS IO(0, 100, 14, 1, 16, 4096)
		IO(200, 250, 14, 1, 16, 4) IO(300, 301, 15, 0, NULL, 7) IO(400, 400, 15, 2, 16, 0);

	(void)state;
	fmt_same(folded(sql, 0, COST_BIT(COST_OFF_CPU)),
		 "app;main thread;main;leaf;read 150\napp;main thread;[no stack];write 1\n");
	fmt_same(folded(sql, 0, COST_BIT(COST_READ)),
		 "app;main thread;main;leaf;read;/data/a:b 4100\n");
	fmt_same(folded(sql, 0, COST_BIT(COST_WRITTEN)), "app;main thread;[no stack];write 7\n");
	fmt_same(folded(sql, 0, COST_BIT(COST_CALLS)),
		 "app;main thread;main;leaf;read 2\napp;main thread;[no stack];write 1\n"
		 "app;main thread;main;write 1\n");
}

static void names_of_frames_by_line_and_module(void **state)
{
	struct export_options opt = {.flame = COST_BIT(COST_CPU), .frames = FRAMES_BY_LINE};

	(void)state;
	fmt_report(NAMED STACKS SAMPLES);
	fmt_same(fmt_export(&exporter_folded, &opt),
		 "app;main thread;main (a:b:7);leaf 2\napp;main thread;main (a:b:7) 1\n"
		 "app;worker;[no stack] 1\napp;main thread;[no stack] 1\n");
	opt.frames = FRAMES_BY_MODULE;
	fmt_same(fmt_export(&exporter_folded, &opt),
		 "app;main thread;main (libx.so);leaf (libx.so) 2\napp;main thread;main (libx.so) "
		 "1\n"
		 "app;worker;[no stack] 1\napp;main thread;[no stack] 1\n");
}

static void several_things_at_once_are_refused(void **state)
{
	const struct export_options opt = {.flame = COST_BIT(COST_CPU) | COST_BIT(COST_CALLS)};

	(void)state;
	fmt_report("");
	assert_int_equal(fmt_run(&exporter_folded, &opt), -1);
	fmt_same(fmt_why, "folded shows one thing at a time; pprof takes several");
	fmt_same(fmt_text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_gives_no_line),
		cmocka_unit_test(equal_stacks_are_one_line),
		cmocka_unit_test(threads_stay_apart),
		cmocka_unit_test(characters_that_would_end_a_frame),
		cmocka_unit_test(weights_beyond_32_bits),
		cmocka_unit_test(samples_are_counted_by_stack),
		cmocka_unit_test(flames_of_calls),
		cmocka_unit_test(names_of_frames_by_line_and_module),
		cmocka_unit_test(several_things_at_once_are_refused),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
