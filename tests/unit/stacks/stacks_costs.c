/* stacks_costs.c - events of all kinds, added up by their stack, and by their process or thread. */
#include "costs_test.h"

#define CPU COST_BIT(COST_CPU)
#define OFF COST_BIT(COST_OFF_CPU)

static void kinds_of_costs_are_a_list_of_words(void **state)
{
	char why[300] = "";

	(void)state;
	assert_int_equal(stack_costs_parse("cpu", why, sizeof(why)), COST_BIT(COST_CPU));
	assert_int_equal(stack_costs_parse("gpu,,calls,", why, sizeof(why)),
			 COST_BIT(COST_GPU) | COST_BIT(COST_CALLS));
	assert_int_equal(stack_costs_parse("bytes-written,bytes-read", why, sizeof(why)),
			 COST_BIT(COST_WRITTEN) | COST_BIT(COST_READ));
	assert_string_equal(why, "");
	assert_int_equal(stack_costs_parse("cpu,off,gpu", why, sizeof(why)), 0);
	assert_string_equal(why, "--flame takes cpu, off-cpu, gpu, bytes-read, bytes-written, "
				 "allocations, calls; not 'off'");
	assert_int_equal(stack_costs_parse("", why, sizeof(why)), 0);
	assert_string_equal(why, "--flame takes what to show, as in --flame=off-cpu");
}

static void samples_are_counted_by_stack_and_process(void **state)
{
	struct stack_costs w = {.what = CPU};

	(void)state;
	/* Stack 9 is not there, 0 and NULL are none. The last two were taken off the CPU. */
	check_costs(&w,
		    "strings: (0, '');"
		    "PROCESSES(globalPid, pid, name): ($70, 70, 'app'), ($80, 80, NULL);"
		    "samples: (1, 10, 0, 1, $70.71, 1, 1, NULL), "
		    "(2, 20, 0, 1, $70.72, 1, 1, NULL), (3, 30, 0, 1, $70.71, 1, 2, NULL), "
		    "(4, 40, 0, 1, $80.81, 1, 1, NULL), (5, 50, 0, 1, $70.71, 1, 9, NULL), "
		    "(6, 60, 0, 1, $70.71, 1, NULL, NULL), (7, 70, 0, 1, $70.71, 1, 0, NULL), "
		    "(8, 80, 0, 1, NULL, 1, 2, NULL), (9, 90, 0, 1, $70.71, 0, 1, NULL), "
		    "(10, 95, 0, 1, $70.71, 0, 1, 99);",
		    "app: [no stack][remark] cpu=3\n"
		    "app: main cpu=1\n"
		    "app: main;work cpu=2\n"
		    "process: main cpu=1\n"
		    "process: main;work cpu=1\n");
	assert_int_equal(w.has, CPU);
	assert_int_equal(w.has_stack, CPU);
	assert_int_equal(w.total[COST_CPU], 8);
	end_costs(&w);
	w = (struct stack_costs){.what = COST_ALL};
	check_costs(&w, "strings: (1, 'x');", "");
	assert_int_equal(w.has | w.has_stack, 0);
	end_costs(&w);
}

/* Process 70 was forked by a shell, and ran two programs; 80 stayed what it was; 90 has another one's pid, which ended. */
static void stacks_belong_to_the_program_that_ran_at_their_time(void **state)
{
	const char *report =
		"strings: (1, 'hot'), (2, 'pool'), (5, 'read');"
		"PROCESSES(globalPid, pid, name): ($70, 70, 'hot'), ($80, 80, 'sh'), ($90, 90, "
		"'b');"
		"SL_PROCESS_TREE(globalPid, parentGlobalPid, start, end, kind, traced, exe): "
		"($70, $80, 100, 200, 1, 1, '/bin/dash'), ($70, $80, 200, 300, 2, 1, '/bin/env'), "
		"($70, $80, 300, 350, 2, 1, '/opt/hot'), ($70, $80, 350, 400, 2, 1, '/opt/hot'), "
		"($80, NULL, 0, 400, 0, 1, '/bin/dash'), ($90, $80, 10, 20, 1, 1, '/bin/a'), "
		"($90, $80, 30, 40, 1, 1, '/bin/b');"
		"ThreadNames(nameId, priority, globalTid): (1, 0, $70.70), (2, 0, $70.71);"
		"samples: (1, 99, 0, 1, $70.70, 1, 2, NULL), (2, 199, 0, 1, $70.70, 1, 2, NULL), "
		"(3, 200, 0, 1, $70.70, 1, 2, NULL), (4, 250, 0, 1, $70.71, 1, 2, NULL), "
		"(5, 300, 0, 1, $70.70, 1, 2, NULL), (6, 500, 0, 1, $70.70, 1, 2, NULL), "
		"(7, 500, 0, 1, $70.71, 1, 2, NULL), (8, 100, 0, 1, $80.80, 1, 2, NULL), "
		"(9, 15, 0, 1, $90.90, 1, 2, NULL), (10, 35, 0, 1, $90.90, 1, 2, NULL);"
		"nested: (210, 220, $70.70, 5, 0, NULL, NULL, NULL), "
		"(310, 325, $70.70, 5, 0, NULL, NULL, NULL);";
	struct stack_costs w = {.what = CPU | OFF, .by = OWNER_BY_NAME};

	(void)state;
	check_costs(&w, report,
		    "a/a: main cpu=1\n"
		    "b/thread: main cpu=1\n"
		    "dash/dash: main cpu=2\n"
		    "env/env: [no stack][remark];read[call] off-cpu=10\n"
		    "env/env: main cpu=1\n"
		    "env/pool: main cpu=1\n"
		    "hot/hot: [no stack][remark];read[call] off-cpu=15\n"
		    "hot/hot: main cpu=2\n"
		    "hot/pool: main cpu=1\n"
		    "sh/thread: main cpu=1\n");
	end_costs(&w);
	check(CPU, report,
	      "a: main cpu=1\n"
	      "b: main cpu=1\n"
	      "dash: main cpu=2\n"
	      "env: main cpu=2\n"
	      "hot: main cpu=3\n"
	      "sh: main cpu=1\n");
}

static void threads_of_one_name_are_one_unless_each_is_wanted(void **state)
{
	const char *report =
		"strings: (1, 'main'), (2, 'wor' || char(10) || 'ker'), (3, '');"
		"PROCESSES(globalPid, pid, name): ($70, 70, 'app'), ($80, 80, 'app'), "
		"($90, 90, 'b');"
		"ThreadNames(nameId, priority, globalTid): (1, 0, $70.70), (2, 0, $70.71), "
		"(1, 0, $70.72), (2, 0, $70.72), (2, 0, $80.81), (3, 0, $80.82), "
		"(2, 0, $90.91);"
		"samples: (1, 10, 0, 1, $70.70, 1, 0, NULL), "
		"(2, 10, 0, 1, $70.71, 1, 0, NULL), (3, 10, 0, 1, $70.72, 1, 0, NULL), "
		"(4, 10, 0, 1, $80.81, 1, 0, NULL), (5, 10, 0, 1, $80.82, 1, 0, NULL), "
		"(6, 10, 0, 1, $90.91, 1, 0, NULL), (7, 20, 0, 1, $80.81, 1, 0, NULL);";
	struct stack_costs w = {.what = CPU, .by = OWNER_BY_NAME};

	(void)state;
	/* The last name of a thread counts; its line feed would end a line of some outputs. */
	check_costs(&w, report,
		    "app/main: [no stack][remark] cpu=1\n"
		    "app/thread: [no stack][remark] cpu=1\n"
		    "app/wor ker: [no stack][remark] cpu=4\n"
		    "b/wor ker: [no stack][remark] cpu=1\n");
	assert_int_equal(w.owner[1].global, GLOBAL(70, 71));
	end_costs(&w);
	w = (struct stack_costs){.what = CPU, .by = OWNER_BY_THREAD};
	check_costs(&w, report,
		    "app/main: [no stack][remark] cpu=1\n"
		    "app/thread: [no stack][remark] cpu=1\n"
		    "app/wor ker: [no stack][remark] cpu=1\n"
		    "app/wor ker: [no stack][remark] cpu=1\n"
		    "app/wor ker: [no stack][remark] cpu=2\n"
		    "b/wor ker: [no stack][remark] cpu=1\n");
	end_costs(&w);
}

static void the_time_of_outer_calls_is_time_off_the_cpu(void **state)
{
	(void)state;
	/*
	 * Level 1 is part of level 0. A call that ends before it starts lasted 0. Stack 2 ends in main, of which a call
	 * named main is no other frame. While there are calls of libc, system calls are not counted.
	 */
	check(OFF | COST_BIT(COST_CALLS),
	      "strings: (1, 'read'), (2, 'poll'), (3, 'cuInit_v2000'), "
	      "(4, 'cublasRun_v2'), (5, 'futex');"
	      "nested: (10, 30, $70.71, 1, 0, 1, NULL, NULL), "
	      "(12, 20, $70.71, 2, 1, 1, NULL, NULL), "
	      "(40, 45, $70.71, 1, NULL, 1, NULL, NULL), "
	      "(60, 50, $70.71, 2, 0, 0, NULL, NULL), "
	      "(70, 77, $70.71, 101, 0, 2, NULL, NULL);"
	      "SYSCALL(start, end, globalTid, nameId, callchainId): (10, 99, $70.71, 5, 1);"
	      "cuda: (80, 85, $70.71, 3, 1);"
	      "CUBLAS_EVENTS(start, end, globalTid, nameId, returnValue, callchainId): "
	      "(90, 95, $70.71, 4, 0, 1);"
	      "SL_LIBRARY_API(start, end, globalTid, nameId, returnValue, nestingLevel, "
	      "callchainId): (96, 97, $70.71, 1, 0, 1, 1);",
	      "process: [no stack][remark];cuInit[call] calls=1\n"
	      "process: [no stack][remark];poll[call] calls=1\n"
	      "process: main off-cpu=7 calls=1\n"
	      "process: main;work;cublasRun_v2[call] calls=1\n"
	      "process: main;work;read[call] off-cpu=25 calls=2\n");
}

static void system_calls_count_where_no_libc_was_recorded(void **state)
{
	struct stack_costs w = {.what = OFF | COST_BIT(COST_CALLS), .no_leaves = true};

	(void)state;
	check_costs(&w,
		    "strings: (5, 'futex');"
		    "SYSCALL(start, end, globalTid, nameId, callchainId): (10, 99, $70.71, 5, "
		    "1), (10, 12, $70.72, 5, 1);",
		    "process: main;work off-cpu=91 calls=2\n");
	assert_int_equal(w.has_stack, OFF | COST_BIT(COST_CALLS));
	end_costs(&w);
}

static void bytes_go_the_way_of_the_function_down_to_the_file(void **state)
{
	const char *report =
		"strings: (1, 'read'), (2, 'pwrite64'), (3, 'poll'), (4, '/data'), "
		"(5, 'send'), (6, 'gzread'), (7, 'gzwrite'), (8, 'gzopen');"
		"SL_FUNCTIONS(nameId, library, io): (6, 1, 3), (7, 1, 4), (8, 1, 0);"
		"nested: (10, 11, $70.71, 1, 0, 1, 100, 4), "
		"(20, 21, $70.71, 1, 3, 1, 5, 4), (30, 31, $70.71, 2, 0, 1, 20, NULL), "
		"(40, 41, $70.71, 3, 0, 1, 7, 4), (50, 51, $70.71, 5, 0, 0, 3, 0), "
		"(60, 61, $70.71, 1, 0, 1, 0, 4), (61, 62, $70.71, 6, 0, 2, 11, NULL), "
		"(63, 64, $70.71, 7, 0, 2, 12, NULL), (65, 66, $70.71, 8, 0, 2, 13, NULL);";

	(void)state;
	/* poll moves none, gzopen neither. What moved 0 bytes is none. */
	check(COST_BIT(COST_READ) | COST_BIT(COST_WRITTEN), report,
	      "process: [no stack][remark];send[call] bytes-written=3\n"
	      "process: main;gzread[call] bytes-read=11\n"
	      "process: main;gzwrite[call] bytes-written=12\n"
	      "process: main;work;pwrite64[call] bytes-written=20\n"
	      "process: main;work;read[call];/data[file] bytes-read=105\n");
	check(COST_BIT(COST_WRITTEN), report,
	      "process: [no stack][remark];send[call] bytes-written=3\n"
	      "process: main;gzwrite[call] bytes-written=12\n"
	      "process: main;work;pwrite64[call] bytes-written=20\n");
	{
		struct stack_costs w = {.what = COST_BIT(COST_READ), .no_leaves = true};

		check_costs(&w, report,
			    "process: main bytes-read=11\nprocess: main;work bytes-read=105\n");
		end_costs(&w);
	}
}

static void sums_beyond_63_bits_stay_at_the_largest(void **state)
{
	struct stack_costs w = {.what = COST_BIT(COST_READ)};

	(void)state;
	check_costs(&w,
		    "strings: (1, 'read');"
		    "nested: (10, 11, $70.71, 1, 0, 0, 9223372036854775807, NULL), "
		    "(20, 21, $70.71, 1, 0, 0, 1, NULL);",
		    "process: [no stack][remark];read[call] bytes-read=9223372036854775807\n");
	end_costs(&w);
}

/* ---- time without a CPU ---- */

static void time_off_the_cpu_counts_where_the_thread_left_it(void **state)
{
	(void)state;
	/*
	 * Left at 100 with stack 1, came back at 150; left at 200, and only when back, at 230, was its stack 2 taken.
	 * At 300 it came back without having left; at 400 it left, at 410 once more, until 450: stack 1 from 410 on. At
	 * 500 it left, and never came back.
	 */
	check(OFF,
	      "strings: (0, '');"
	      "switches: (100, 0, 0, $70.71, 1), (150, 0, 1, $70.71, NULL), "
	      "(200, 0, 0, $70.71, 1), (230, 0, 1, $70.71, NULL), "
	      "(300, 0, 1, $70.71, NULL), (400, 0, 0, $70.71, 1), (410, 0, 0, $70.71, 1), "
	      "(450, 0, 1, $70.71, NULL), (500, 0, NULL, $70.71, 1), "
	      "(110, 0, 1, $70.72, NULL);"
	      "samples: (1, 0, 0, 1, $70.71, 1, 1, NULL), "
	      "(2, 100, 0, 1, $70.71, 0, 1, NULL), (3, 230, 0, 1, $70.71, 0, 2, NULL), "
	      "(4, 300, 0, 1, $70.71, 0, 2, NULL), (5, 400, 0, 1, $70.71, 0, 2, NULL), "
	      "(6, 410, 0, 1, $70.71, 0, 1, NULL), (7, 500, 0, 1, $70.71, 0, 2, NULL);",
	      "process: main off-cpu=30\n"
	      "process: main;work off-cpu=90\n");
}

static void samples_that_know_their_end_need_no_switches(void **state)
{
	(void)state;
	/* The first is 50 long, whatever the switches say; the second ends before it begins. */
	check(OFF,
	      "strings: (0, '');"
	      "samples: (1, 0, 0, 1, $70.71, 1, 1, NULL), "
	      "(2, 100, 0, 1, $70.71, 0, 1, 150), (3, 200, 0, 1, $70.71, 0, 2, 190), "
	      "(4, 300, 0, 1, $70.71, 0, NULL, 307);"
	      "switches: (100, 0, 0, $70.71, 1), (140, 0, 1, $70.71, NULL);",
	      "process: [no stack][remark] off-cpu=7\n"
	      "process: main\n"
	      "process: main;work off-cpu=50\n");
}

static void time_off_the_cpu_in_a_call_is_the_calls(void **state)
{
	(void)state;
	/*
	 * 300 to 400 is a call with stack 2: its time is counted there. 500 to 600 is a call without one: 40 of its 100
	 * go to stack 1, where the thread was. 700 to 800 likewise, but the thread was away until 900: only 90 were in
	 * the call. The call of 510 to 520 lies in the one around it. Thread 73 left when its call was over.
	 */
	check(OFF,
	      "strings: (1, 'read'), (2, 'poll');"
	      "nested: (300, 400, $70.71, 1, 0, 2, NULL, NULL), "
	      "(500, 600, $70.71, 1, 0, 0, NULL, NULL), "
	      "(510, 520, $70.71, 2, 0, 1, NULL, NULL), "
	      "(700, 800, $70.73, 1, 0, 0, NULL, NULL), "
	      "(700, 800, $70.71, 1, 0, 0, NULL, NULL);"
	      "switches: (310, 0, 0, $70.71, 1), (350, 0, 1, $70.71, NULL), "
	      "(530, 0, 0, $70.71, 1), (570, 0, 1, $70.71, NULL), (710, 0, 0, $70.71, 1), "
	      "(900, 0, 1, $70.71, NULL);"
	      "samples: (1, 0, 0, 1, $70.71, 1, 1, NULL), "
	      "(2, 310, 0, 1, $70.71, 0, 1, NULL), (3, 530, 0, 1, $70.71, 0, 1, NULL), "
	      "(4, 710, 0, 1, $70.71, 0, 1, NULL), (5, 800, 0, 1, $70.73, 0, 3, 803), "
	      "(6, 310, 0, 1, $70.72, 0, 3, 313);",
	      "process: [no stack][remark];read[call] off-cpu=170\n"
	      "process: main;read[call] off-cpu=100\n"
	      "process: main;step[python];work off-cpu=6\n"
	      "process: main;work off-cpu=130\n"
	      "process: main;work;poll[call] off-cpu=10\n");
}

/* ---- what was launched ---- */

static void work_on_the_gpu_costs_where_it_was_launched(void **state)
{
	const char *report =
		"strings: (1, 'launch'), (2, 'add'), (3, 'add(int*)');"
		"PROCESSES(globalPid, pid, name): ($70, 70, 'app'), ($80, 80, 'other');"
		"launches: (1, 2, $70.71, 1, 5, 0, 1), (3, 4, $70.72, 1, 6, 0, 2), "
		"(5, 6, $80.81, 1, 5, 0, 0), (7, 8, $70.71, 1, 5, 0, 2);"
		"CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, correlationId, shortName, "
		"demangledName): (10, 30, $70, 5, 2, 3), (40, 45, NULL, 6, NULL, 3), "
		"(50, 51, $80, 5, 2, 3), (60, 63, $80, 9, 99, 3), (80, 70, $70, 6, 2, 3);"
		"CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, globalPid, correlationId): (90, "
		"97, $70, 6);"
		"ENUM_CUDA_MEMCPY_OPER(id, name, label): (1, 'X', 'Host-to-Device');"
		"CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, correlationId, copyKind): "
		"(100, 111, $70, 6, 1), (120, 122, $70, 6, 55), (130, 133, $70, NULL, NULL);"
		"CUPTI_ACTIVITY_KIND_MEMSET(start, end, globalPid, correlationId): (140, "
		"144, $70, 6);";

	(void)state;
	/* Of one id that occurs twice in a process the first call, by its thread, counts; name 99 is not there. */
	check(COST_BIT(COST_GPU), report,
	      "app: [no stack][remark];[CUDA memcpy ][work] gpu=3\n"
	      "app: main;CUDA graph[work] gpu=7\n"
	      "app: main;[CUDA memcpy 55][work] gpu=2\n"
	      "app: main;[CUDA memcpy Host-to-Device][work] gpu=11\n"
	      "app: main;[CUDA memset][work] gpu=4\n"
	      "app: main;add(int*)[work] gpu=5\n"
	      "app: main;add[work]\n"
	      "app: main;work;add[work] gpu=20\n"
	      "other: [no stack][remark];[unknown][work] gpu=3\n"
	      "other: [no stack][remark];add[work] gpu=1\n");
	{
		struct stack_costs w = {.what = COST_BIT(COST_GPU), .no_leaves = true};

		check_costs(&w, report,
			    "app: [no stack][remark] gpu=3\n"
			    "app: main gpu=29\n"
			    "app: main;work gpu=20\n"
			    "other: [no stack][remark] gpu=4\n");
		end_costs(&w);
	}
}

static void memory_is_what_was_asked_for_unless_allocations_were_recorded(void **state)
{
	(void)state;
	/*
	 * 64 bytes; 16 wide and 4 high, and 16 wide alone; a call that failed and one of another name ask for none. Of
	 * call 9 the allocation itself was recorded, 256 bytes, and its free is none.
	 */
	check(COST_BIT(COST_ALLOCATIONS),
	      "strings: (1, 'cudaMalloc_v3020'), (2, 'cuMemAllocPitch_v2'), "
	      "(3, 'cudaFree_v3020');"
	      "launches: (1, 2, $70.71, 1, 5, 0, 1), (3, 4, $70.71, 2, 6, 0, 2), "
	      "(5, 6, $70.71, 2, 7, 0, 2), (7, 8, $70.71, 1, 8, 2, 1), "
	      "(9, 10, $70.71, 1, 9, 0, 1), (11, 12, $70.71, 3, 10, 0, 1);"
	      "SL_GPU_ARGUMENTS(callId, role, value): (5, 0, 60), (5, 0, 4), (6, 21, 16), "
	      "(6, 22, 4), (7, 21, 16), (8, 0, 77), (9, 0, 99), (10, 0, 55);"
	      "CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, correlationId, bytes, "
	      "memoryOperationType): (9, $70, 9, 256, 0), (11, $70, 10, 256, 1);",
	      "process: main;cuMemAllocPitch_v2[call] allocations=80\n"
	      "process: main;work;[GPU memory][work] allocations=256\n"
	      "process: main;work;cudaMalloc[call] allocations=64\n");
}

static void stacks_are_loaded_where_an_activity_may_have_some(void **state)
{
	static const struct {
		const char *table;
		uint32_t activities, none;
	} cases[] = {
		{"SL_STACKS(id, depth, frameId): (1, 0, 1);"
		 "SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, line, inlined, "
		 "unresolved, originalIP): (1, 0, 101, 111, NULL, NULL, 0, 0, 0)",
		 TL_ACT_SYSCALL, TL_ACT_SAMPLE},
		{"OSRT_CALLCHAINS(id, symbol, module, stackDepth): (0, 101, 111, 0)", TL_ACT_OSRT,
		 TL_ACT_CUDA_API | TL_ACT_LIBRARY | TL_ACT_SYSCALL},
		{"CUDA_CALLCHAINS(id, symbol, module, stackDepth): (0, 101, 111, 0)",
		 TL_ACT_LIBRARY, TL_ACT_OSRT | TL_ACT_SYSCALL},
		{"SYSCALL_CALLCHAINS(id, symbol, module, stackDepth): (0, 101, 111, 0)",
		 TL_ACT_SYSCALL, TL_ACT_OSRT | TL_ACT_CUDA_API},
	};
	char why[200] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *report = sqlite3_mprintf(
			"strings: (101, 'main'), (102, 'work'), (103, 'step'), (104, 'do_read'), "
			"(111, '/bin/app'), (112, '/src/train.py'), (113, '[kernel]'); "
			"%s;",
			cases[i].table);

		for (int wanted = 0; wanted < 2; wanted++) {
			struct stack_costs w = {.db = report_of(report)};

			assert_int_equal(
				stack_costs_load(&w, wanted ? cases[i].activities : cases[i].none,
						 why, sizeof(why)),
				0);
			assert_int_equal(w.frame_cnt, wanted);
			/* Stack 1 of our reports; stack 0 of a table of nsys is 0 * 4 and its number. */
			assert_int_equal(stack_node(&w, i ? (int64_t)i : 1), wanted);
			end_costs(&w);
		}
		sqlite3_free(report);
	}
}

static void a_report_that_is_none_is_a_reason(void **state)
{
	struct stack_costs w = {.what = CPU};
	char why[200] = "";

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &w.db), SQLITE_OK);
	assert_int_equal(stack_costs_run(&w, why, sizeof(why)), -1);
	assert_string_equal(why, "no such table: StringIds");
	end_costs(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_costs_are_a_list_of_words),
		cmocka_unit_test(samples_are_counted_by_stack_and_process),
		cmocka_unit_test(stacks_belong_to_the_program_that_ran_at_their_time),
		cmocka_unit_test(threads_of_one_name_are_one_unless_each_is_wanted),
		cmocka_unit_test(the_time_of_outer_calls_is_time_off_the_cpu),
		cmocka_unit_test(system_calls_count_where_no_libc_was_recorded),
		cmocka_unit_test(bytes_go_the_way_of_the_function_down_to_the_file),
		cmocka_unit_test(sums_beyond_63_bits_stay_at_the_largest),
		cmocka_unit_test(time_off_the_cpu_counts_where_the_thread_left_it),
		cmocka_unit_test(samples_that_know_their_end_need_no_switches),
		cmocka_unit_test(time_off_the_cpu_in_a_call_is_the_calls),
		cmocka_unit_test(work_on_the_gpu_costs_where_it_was_launched),
		cmocka_unit_test(memory_is_what_was_asked_for_unless_allocations_were_recorded),
		cmocka_unit_test(stacks_are_loaded_where_an_activity_may_have_some),
		cmocka_unit_test(a_report_that_is_none_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
