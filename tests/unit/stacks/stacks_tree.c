/* stacks_tree.c - all stacks of a report as one tree: what its frames are called, and which of them are the same. */
#include "costs_test.h"

#define CPU COST_BIT(COST_CPU)

static void check_frames(enum stack_frames frames, const char *report, const char *want)
{
	struct stack_costs w = {.what = CPU, .frames = frames};

	check_costs(&w, report, want);
	end_costs(&w);
}

static void a_frame_is_called_by_its_function_its_line_or_its_module(void **state)
{
	/* One stack of all frames, the first the outermost, and a sample of it. */
	const char *report =
		"strings: (1, 'main'), (2, '/usr/lib/libc.so'), (3, '/src/a.c'), "
		"(4, '0x10'), (5, ''), (6, '[vdso]'), (7, 'a' || char(10) || 'b'), "
		"(8, '/dir/');"
		"frames: (1, 0, 1, 2, 3, 12, 0, 0, 1), (2, 0, 4, 2, NULL, NULL, 0, 1, 2), "
		"(3, 0, 4, 5, NULL, NULL, 0, 1, 3), (4, 0, 4, 6, NULL, NULL, 0, 1, 4), "
		"(5, 0, 5, 2, 3, 0, 0, 0, 5), (6, 0, 7, 5, NULL, 5, 0, 0, 6), "
		"(7, 0, 99, 8, NULL, NULL, 0, 0, 7);"
		"CREATE TABLE SL_STACKS(id, depth, frameId);"
		"INSERT INTO SL_STACKS SELECT 1, 100 - id, id FROM SL_FRAMES ORDER BY id "
		"DESC;"
		"samples: (1, 10, 0, 1, $70.71, 1, 1, NULL);";

	(void)state;
	/* Without a name, or not resolved, a frame is its module, in brackets; text 99 is not there. */
	check_frames(FRAMES_BY_FUNCTION, report,
		     "process: main;[libc.so];[unknown];[vdso];[libc.so];a b;[/dir/] cpu=1\n");
	check_frames(
		FRAMES_BY_LINE, report,
		"process: main (a.c:12);[libc.so];[unknown];[vdso];[libc.so] (a.c);a b;[/dir/] "
		"cpu=1\n");
	check_frames(
		FRAMES_BY_MODULE, report,
		"process: main (libc.so);[libc.so];[unknown];[vdso];[libc.so];a b;[/dir/] cpu=1\n");
}

static void frames_of_one_text_are_one_unless_each_address_is_wanted(void **state)
{
	const char *report =
		"strings: (1, 'main'), (2, 'app'), (3, 'other');"
		"frames: (1, 0, 1, 2, NULL, NULL, 0, 0, 16), "
		"(2, 0, 1, 2, NULL, NULL, 0, 0, 32), (3, 0, 1, 3, NULL, NULL, 0, 0, 16), "
		"(4, 2, 1, 2, NULL, NULL, 0, 0, 16), (5, 0, 1, 2, NULL, NULL, 1, 0, 16), "
		"(6, 0, 1, 2, 3, 5, 0, 0, 16), (7, 0, 1, 2, 3, 6, 0, 0, 16);"
		"stacks: (1, 0, 1), (2, 0, 2), (3, 0, 3), (4, 0, 4), "
		"(5, 0, 5), (6, 0, 6), (7, 0, 7);"
		"samples: (1, 10, 0, 1, 5, 1, 1, NULL), (2, 10, 0, 1, 5, 1, 2, NULL), "
		"(3, 10, 0, 1, 5, 1, 3, NULL), (4, 10, 0, 1, 5, 1, 4, NULL), "
		"(5, 10, 0, 1, 5, 1, 5, NULL), (6, 10, 0, 1, 5, 1, 6, NULL), "
		"(7, 10, 0, 1, 5, 1, 7, NULL), (8, 10, 0, 1, 5, 1, 7, NULL);";

	(void)state;
	check_frames(FRAMES_BY_FUNCTION, report,
		     "process: main cpu=7\n"
		     "process: main[kernel] cpu=1\n");
	check_frames(FRAMES_BY_EXACT, report,
		     "process: main cpu=1\nprocess: main cpu=1\nprocess: main cpu=1\n"
		     "process: main cpu=1\nprocess: main cpu=1\nprocess: main cpu=2\n"
		     "process: main[kernel] cpu=1\n");
	check_frames(FRAMES_BY_LINE, report,
		     "process: main (other:5) cpu=1\n"
		     "process: main (other:6) cpu=2\n"
		     "process: main cpu=4\n"
		     "process: main[kernel] cpu=1\n");
}

static void stacks_whose_frames_lie_apart_are_put_in_order(void **state)
{
	(void)state;
	/* The frames of two stacks take turns, and of one they lie outermost first. */
	check(CPU,
	      "strings: (0, '');"
	      "stacks: (1, 0, 2), (2, 1, 1), (1, 1, 3), (2, 0, 4), "
	      "(1, 2, 1);"
	      "samples: (1, 10, 0, 1, 5, 1, 1, NULL), (2, 20, 0, 1, 5, 1, 2, NULL);",
	      "process: main;do_read[kernel] cpu=1\n"
	      "process: main;step[python];work cpu=1\n");
}

static void of_a_stack_of_2000_frames_the_outermost_1024_are_kept(void **state)
{
	struct stack_costs w = {.what = CPU};
	char want[20000], *p = want;

	(void)state;
	p += sprintf(p, "process: ");
	/* Frame 1 is the innermost, so that 2000 to 977 are kept. */
	for (int i = 2000; i > 2000 - 1024; i--)
		p += sprintf(p, "f%d%s", i, i > 977 ? ";" : " cpu=1\n");
	check_costs(&w,
		    "strings: (0, 'app');"
		    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		    "2000) INSERT INTO StringIds SELECT i, 'f' || i FROM n;"
		    "CREATE TABLE SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, "
		    "line, inlined, unresolved, originalIP);"
		    "INSERT INTO SL_FRAMES SELECT id, 0, id, 0, NULL, NULL, 0, 0, 0 FROM "
		    "StringIds;"
		    "CREATE TABLE SL_STACKS(id, depth, frameId);"
		    "INSERT INTO SL_STACKS SELECT 1, id - 1, id FROM StringIds WHERE id > 0;"
		    "samples: (1, 10, 0, 1, 5, 1, 1, NULL);",
		    want);
	end_costs(&w);
}

static void only_python_is_what_led_to_it_and_else_a_remark(void **state)
{
	struct stack_costs w = {.what = CPU | COST_BIT(COST_OFF_CPU), .python_only = true};

	(void)state;
	check_costs(&w,
		    "strings: (1, 'read');"
		    "samples: (1, 10, 0, 1, 5, 1, 1, NULL), (2, 20, 0, 1, 5, 1, 3, NULL), "
		    "(3, 30, 0, 1, 5, 1, 2, NULL), (4, 40, 0, 1, 5, 1, NULL, NULL);"
		    "OSRT_API(start, end, globalTid, nameId, callchainId): (10, 15, 5, 1, 3);",
		    "process: [no Python][remark] cpu=2\n"
		    "process: [no stack][remark] cpu=1\n"
		    "process: step[python] cpu=1\n"
		    "process: step[python];read[call] off-cpu=5\n");
	assert_true(w.has_python);
	end_costs(&w);
	w = (struct stack_costs){.what = CPU, .python_only = true};
	check_costs(&w,
		    "strings: (0, '');"
		    "stacks: (1, 0, 2), (1, 1, 1);"
		    "samples: (1, 10, 0, 1, 5, 1, 1, NULL);",
		    "process: [no Python][remark] cpu=1\n");
	assert_false(w.has_python);
	end_costs(&w);
}

static void stacks_of_nsys_are_of_the_table_of_their_events(void **state)
{
	(void)state;
	/*
	 * Id 3 is in each table another stack. A frame is Python's where its module is a file of Python, a remark where it
	 * is marked so, and the kernel's.
	 */
	check(CPU | COST_BIT(COST_CALLS),
	      "strings: (1, 'read'), (2, 'launch'), (3, 'futex'), (105, '[Max depth]'), "
	      "(101, 'main'), (102, 'work'), (103, 'step'), (104, 'do_read'), "
	      "(111, '/bin/app'), (112, '/src/train.py'), (113, '[kernel]');"
	      "SAMPLING_CALLCHAINS(id, symbol, module, kernelMode, unresolved, "
	      "specialEntry, stackDepth): (3, 102, 111, 0, 0, 0, 0), "
	      "(3, 103, 112, 0, 0, 0, 1), (3, 105, 111, 0, 0, 1, 2), "
	      "(4, 104, 113, 1, 0, 0, 0), (4, 102, 111, 0, 1, 0, 1);"
	      "OSRT_CALLCHAINS(id, symbol, module, stackDepth): (3, 101, 111, 0);"
	      "CUDA_CALLCHAINS(id, symbol, module, stackDepth): (3, 102, 111, 0), "
	      "(3, 101, 111, 1);"
	      "COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, threadState, "
	      "globalTid, cpuCycles): (3, 10, 0, 1, 5, 7), (4, 20, 0, 1, 5, 7), "
	      "(5, 30, 0, 1, 5, 7);"
	      "OSRT_API(start, end, globalTid, nameId, callchainId): (10, 15, 5, 1, 3);"
	      "CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, callchainId): "
	      "(10, 15, 5, 2, 3);"
	      "SYSCALL(start, end, globalTid, nameId, callchainId): (10, 15, 5, 3, 3);",
	      "process: [Max depth][remark];step[python];work cpu=1\n"
	      "process: [app];do_read[kernel] cpu=1\n"
	      "process: [no stack][remark] cpu=1\n"
	      "process: main;read[call] calls=1\n"
	      "process: main;work;launch[call] calls=1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_called_by_its_function_its_line_or_its_module),
		cmocka_unit_test(frames_of_one_text_are_one_unless_each_address_is_wanted),
		cmocka_unit_test(stacks_whose_frames_lie_apart_are_put_in_order),
		cmocka_unit_test(of_a_stack_of_2000_frames_the_outermost_1024_are_kept),
		cmocka_unit_test(only_python_is_what_led_to_it_and_else_a_remark),
		cmocka_unit_test(stacks_of_nsys_are_of_the_table_of_their_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
