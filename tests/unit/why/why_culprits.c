/* why_culprits.c - which lines of the program the time is due to: own lines, those that wait for others, imports, functions. */
#include "tests/unit/why/why_test.h"

#define IMPORT(n) "x <frozen importlib._bootstrap>; " L(n)

/* "PLACE MS MAIN_REASON" of each culprit, in their order. */
static const char *culprits(void)
{
	static char text[4096];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < test.y.culprits_cnt; i++) {
		const struct why_culprit *c = &test.y.culprits[i];
		const char *place = test.y.walk.places.list[c->place].text;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %g %s\n",
					place ? place : "-", (double)c->ns / MS,
					why_reason_name(why_main_reason(c)));
	}
	return text;
}

/* ---- lines of one function ---- */

/* 30 at line 1 and 20 at line 2 of @second; of the first function of /me/a.py. */
static void two_lines(const char *first, const char *second)
{
	report(50);
	runs(MAIN, 0, 50);
	computes(MAIN, 0, 30, first);
	computes(MAIN, 30, 50, second);
	ask();
}

static void lines_of_a_loop_are_one(void **state)
{
	(void)state;
	two_lines("f /me/a.py:1", "f /me/a.py:2");
	assert_string_equal(culprits(), "a.py:1 in f 50 COMPUTE\n");
	/* Each line's leaves are the culprit's. */
	for (size_t i = 0; i < test.y.walk.leaves_cnt; i++)
		assert_int_equal(why_culprit_of(&test.y, &test.y.walk.leaves[i]), 0);
}

static void lines_of_two_functions_are_two(void **state)
{
	(void)state;
	two_lines("f /me/a.py:1", "g /me/a.py:2");
	assert_string_equal(culprits(), "a.py:1 in f 30 COMPUTE\na.py:2 in g 20 COMPUTE\n");
}

static void functions_of_two_files_are_two(void **state)
{
	(void)state;
	two_lines("f /me/a.py:1", "f /me/b.py:2");
	assert_string_equal(culprits(), "a.py:1 in f 30 COMPUTE\nb.py:2 in f 20 COMPUTE\n");
}

static void lines_of_a_module_are_two(void **state)
{
	(void)state;
	two_lines("<module> /me/a.py:1", "<module> /me/a.py:2");
	assert_string_equal(culprits(),
			    "a.py:1 in <module> 30 COMPUTE\na.py:2 in <module> 20 COMPUTE\n");
}

/* Native code without a line has no file, and a name that many have. */
static void functions_without_a_file_are_two(void **state)
{
	(void)state;
	two_lines("f /me/a", "f /me/b");
	assert_string_equal(culprits(), "f in a 30 COMPUTE\nf in b 20 COMPUTE\n");
}

/* Line 2 of f computes 10 and sleeps for @ms: of 10 it computes half. */
static void line_that_waits(double ms)
{
	report(60 + ms);
	runs(MAIN, 0, 40);
	computes(MAIN, 0, 30, "f /me/a.py:1");
	computes(MAIN, 30, 40, "f /me/a.py:2");
	call(MAIN, "usleep", 40, 40 + ms, "f /me/a.py:2");
	runs(MAIN, 40 + ms, 60 + ms);
	computes(MAIN, 40 + ms, 60 + ms, L(9));
	ask();
}

static void line_that_computes_half_of_its_time(void **state)
{
	(void)state;
	line_that_waits(10);
	assert_string_equal(culprits(), "a.py:1 in f 50 COMPUTE\na.py:9 in f9 20 COMPUTE\n");
}

static void line_that_waits_more_than_it_computes(void **state)
{
	(void)state;
	line_that_waits(10.5);
	assert_string_equal(culprits(), "a.py:1 in f 30 COMPUTE\n"
					"a.py:2 in f 20.5 SLEEP\n"
					"a.py:9 in f9 20 COMPUTE\n");
}

/* Three functions of three lines each, 10 ms a line: three culprits of 30. */
static void three_functions(void **state)
{
	(void)state;
	report(90);
	runs(MAIN, 0, 90);
	for (int i = 0; i < 9; i++) {
		char line[40];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i / 3, 100 + i);
		computes(MAIN, 10 * i, 10 * i + 10, line);
	}
	ask();
	assert_string_equal(culprits(), "a.py:100 in f0 30 COMPUTE\n"
					"a.py:103 in f1 30 COMPUTE\n"
					"a.py:106 in f2 30 COMPUTE\n");
}

/* ---- the line that waits ---- */

/* A child that sleeps 20 without a line of its own, for which line 5 waits; its own 1 ms on a CPU, too. */
static void time_of_a_child_is_the_waiters(void **state)
{
	uint32_t process_of_line;

	(void)state;
	report(50);
	process(CHILD, MAIN, 9, 31);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "waitpid", 10, 31, L(5));
	runs(CHILD, 9, 10, .by = MAIN);
	call(CHILD, "usleep", 10, 30, "main /usr/bin/python3");
	runs(CHILD, 30, 31);
	runs(MAIN, 31, 50, .by = CHILD);
	computes(MAIN, 31, 50, L(1));
	ask();
	assert_string_equal(culprits(), "a.py:1 in f1 29 COMPUTE\na.py:5 in f5 21 SLEEP\n");
	assert_true(test.y.culprits[1].is_of_processes);
	assert_false(test.y.culprits[0].is_of_processes);
	for (size_t i = 0; i < test.y.walk.leaves_cnt; i++)
		if (test.y.walk.leaves[i].cause.reason == WHY_SLEEP) {
			why_line_of(&test.y, &test.y.walk.leaves[i], &process_of_line);
			assert_int_equal(process_of_line,
					 test.y.model.threads[test.y.focus].process);
			assert_true(why_is_in_child(&test.y, test.y.walk.leaves[i].hop,
						    test.y.culprits[1].place));
			assert_false(why_is_in_child(&test.y, test.y.walk.leaves[i].hop,
						     test.y.culprits[0].place));
		}
}

/* A process is made at line 110: 5 ms in fork(). */
static void line_that_makes_processes(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 50);
	call(MAIN, "fork", 10, 15, L(110));
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 15, 50, L(1));
	ask();
	assert_string_equal(culprits(), "a.py:1 in f1 45 COMPUTE\na.py:110 in f110 5 KERNEL\n");
	assert_true(test.y.culprits[1].is_of_processes);
}

/* ---- without lines ---- */

/* No samples at all: what computes is the process's. */
static void without_samples_the_process_is_to_blame(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 30);
	call(MAIN, "usleep", 30, 50, L(2));
	ask();
	assert_string_equal(culprits(), "- 30 COMPUTE\na.py:2 in f2 20 SLEEP\n");
}

/* With samples, what has no line is the start of a program: 10, more than 20 ms before the first. */
static void with_samples_the_start_has_no_culprit(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 50);
	computes(MAIN, 29, 50, L(1));
	ask();
	assert_string_equal(culprits(), "a.py:1 in f1 20 COMPUTE\n");
	assert_near(of_reason(WHY_COMPUTE), 50);
}

/* Calls of CUDA without stacks, as none was asked for: the process. The one sample has all of the span of 30 ms. */
static void calls_of_cuda_without_stacks(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 50);
	sample(MAIN, 1, L(1));
	cuda(MAIN, "cudaMalloc", 30, 50, NULL, 1);
	ask();
	assert_string_equal(culprits(), "a.py:1 in f1 30 COMPUTE\n- 20 GPU_CALL\n");
}

/* One call has a stack: so they were recorded, and the one without is of the start. */
static void call_of_cuda_without_its_stack(void **state)
{
	(void)state;
	report(80);
	runs(MAIN, 0, 80);
	cuda(MAIN, "cudaMalloc", 20, 40, NULL, 1);
	cuda(MAIN, "cudaMalloc", 60, 80, L(2), 1);
	sample(MAIN, 1, L(1));
	ask();
	assert_near(of_reason(WHY_GPU_CALL), 40);
	for (size_t i = 0; i < test.y.culprits_cnt; i++)
		assert_int_not_equal(test.y.culprits[i].place, PLACE_NONE);
}

/* ---- imports ---- */

/* Line 95 imports @path so many times, 1 ms each, and reads something else once. */
static void imports(int times, const char *path)
{
	report(100);
	runs(MAIN, 0, 100);
	for (int i = 0; i < times; i++)
		call(MAIN, "open64", 10 * i, 10 * i + 1, IMPORT(95), .path = path);
	call(MAIN, "read", 90, 91, IMPORT(95), .path = "/me/z.pyc");
	computes(MAIN, 91, 100, L(1));
	ask();
}

static const struct why_culprit *culprit_at(int line)
{
	for (size_t i = 0; i < test.y.culprits_cnt; i++)
		if (test.y.walk.places.list[test.y.culprits[i].place].line == line)
			return &test.y.culprits[i];
	return NULL;
}

static void import_again_and_again_is_to_blame(void **state)
{
	(void)state;
	imports(5, "/me/b.pyc");
	assert_non_null(culprit_at(95));
	assert_int_equal(culprit_at(95)->ns, 6 * MS);
	assert_int_equal(why_main_reason(culprit_at(95)), WHY_IMPORT);
}

static void import_at_the_start_is_not(void **state)
{
	(void)state;
	imports(4, "/me/b.pyc");
	assert_null(culprit_at(95));
	assert_near(of_reason(WHY_IMPORT), 5);
}

static void data_that_an_import_opens_is_no_module(void **state)
{
	(void)state;
	imports(5, "/me/b.txt");
	assert_null(culprit_at(95));
}

static void libraries_are_modules(void **state)
{
	(void)state;
	imports(5, "/me/b.so.1");
	assert_non_null(culprit_at(95));
}

/* Four times by a child and once by the main thread are not five. */
static void imports_count_by_process(void **state)
{
	(void)state;
	report(100);
	process(CHILD, MAIN, 0, 60);
	runs(CHILD, 0, 60, .by = MAIN);
	for (int i = 0; i < 4; i++)
		call(CHILD, "open64", 10 + 10 * i, 11 + 10 * i, IMPORT(95), .path = "/me/b.pyc");
	runs(MAIN, 0, 10);
	call(MAIN, "open64", 1, 2, IMPORT(96), .path = "/me/b.pyc");
	call(MAIN, "waitpid", 10, 60, L(5));
	runs(MAIN, 60, 100, .by = CHILD);
	computes(MAIN, 60, 100, L(1));
	ask();
	assert_near(of_reason(WHY_IMPORT), 5);
	assert_null(culprit_at(95));
	assert_null(culprit_at(96));
}

/* Two lines of a function that import again are one culprit. */
static void lines_that_import_again_are_one(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	for (int i = 0; i < 5; i++) {
		call(MAIN, "open64", 10 * i, 10 * i + 1,
		     "x <frozen importlib._bootstrap>; f /me/a.py:7", .path = "/me/b.pyc");
		call(MAIN, "open64", 10 * i + 5, 10 * i + 7,
		     "x <frozen importlib._bootstrap>; f /me/a.py:8", .path = "/me/c.pyc");
	}
	computes(MAIN, 90, 100, L(1));
	ask();
	assert_int_equal(culprit_at(8)->ns, 15 * MS);
	assert_null(culprit_at(7));
}

/*
 * One function: line 1 computes 50; line 3 imports 5 * 6 again; line 2 imports 5 * 2 again, computes 6 and is in the kernel for 5, so it
 * belongs to both. Line 1, which has most, gets its 21; line 3 nothing.
 */
static void line_is_joined_once(void **state)
{
	(void)state;
	report(101);
	runs(MAIN, 0, 101);
	computes(MAIN, 0, 50, "f /me/a.py:1");
	for (int i = 0; i < 5; i++) {
		call(MAIN, "open64", 50 + 6 * i, 56 + 6 * i,
		     "x <frozen importlib._bootstrap>; f /me/a.py:3", .path = "/me/c.pyc");
		call(MAIN, "open64", 80 + 2 * i, 82 + 2 * i,
		     "x <frozen importlib._bootstrap>; f /me/a.py:2", .path = "/me/b.pyc");
	}
	computes(MAIN, 90, 96, "f /me/a.py:2");
	call(MAIN, "write", 96, 101, "f /me/a.py:2");
	ask();
	assert_string_equal(culprits(), "a.py:1 in f 71 COMPUTE\na.py:3 in f 30 IMPORT\n");
	assert_int_equal(culprit_at(3)->of_reason[WHY_IMPORT], 30 * MS);
	assert_int_equal(culprit_at(1)->of_reason[WHY_IMPORT], 10 * MS);
}

/* ---- the order ---- */

/*
 * Line 1: 20 computing, 40 without a CPU: 60, of weight 20. Line 2: 30 asleep. Line 3: 30 in the kernel; the later place comes
 * after an equal one.
 */
static void time_without_a_cpu_has_no_weight(void **state)
{
	(void)state;
	report(120);
	runs(MAIN, 0, 20, .preempted = true);
	computes(MAIN, 0, 20, L(1));
	runs(MAIN, 60, 60.001);
	call(MAIN, "usleep", 60, 90, L(2));
	runs(MAIN, 90, 120);
	call(MAIN, "write", 90, 120, L(3));
	ask();
	/* 60-60.001 is in usleep(): on a CPU, at its line. */
	assert_string_equal(culprits(), "a.py:2 in f2 30 SLEEP\n"
					"a.py:3 in f3 30 KERNEL\n"
					"a.py:1 in f1 60 COMPUTE\n");
	assert_int_equal(why_weight(&test.y.culprits[2]), 20 * MS);
	/* Its largest part is not the time without a CPU, which explains least. */
	assert_int_equal(test.y.culprits[2].part.cause.reason, WHY_COMPUTE);
	assert_int_equal(test.y.culprits[2].part_ns, 20 * MS);
	assert_int_equal(test.y.culprits[2].of_reason[WHY_NO_CPU], 40 * MS);
}

/* Of equal weights the one with more time: line 2 was 10 without a CPU. */
static void more_time_comes_first_of_equal_weights(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 40, .preempted = true);
	computes(MAIN, 0, 20, L(1));
	computes(MAIN, 20, 40, L(2));
	runs(MAIN, 50, 50);
	ask();
	assert_string_equal(culprits(), "a.py:2 in f2 30 COMPUTE\na.py:1 in f1 20 COMPUTE\n");
}

/* A line that is without a CPU and nothing else. */
static void line_without_a_cpu_alone(void **state)
{
	struct why_culprit c = {0};

	(void)state;
	c.of_reason[WHY_NO_CPU] = 5;
	assert_int_equal(why_main_reason(&c), WHY_NO_CPU);
	c.of_reason[WHY_UNKNOWN] = 1;
	assert_int_equal(why_main_reason(&c), WHY_UNKNOWN);
	/* Of equals the first in the order of reasons. */
	c.of_reason[WHY_FILE] = c.of_reason[WHY_LOCK] = 3;
	assert_int_equal(why_main_reason(&c), WHY_FILE);
	c.of_reason[WHY_LOCK] = 4;
	assert_int_equal(why_main_reason(&c), WHY_LOCK);
	/* Kernels that a GPU is there for have no weight, either. */
	c.ns = 100;
	c.of_reason[WHY_GPU] = 30;
	c.of_reason[WHY_GPU_KERNEL] = 20;
	assert_int_equal(why_weight(&c), 100 - 5 - 30 - 20);
}

/* What records the program, and what is not known, is no line's. */
static void tracer_and_unknown_are_not_to_blame(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 20, 60, .ready = 20);
	computes(MAIN, 20, 40, L(1));
	for (int t = 41; t <= 60; t++)
		sample(MAIN, t, "x /lib/libcupti.so.13; y /lib/libcuda.so.1; " L(2));
	ask();
	assert_near(of_reason(WHY_UNKNOWN), 20);
	assert_near(of_reason(WHY_TRACER), 20);
	assert_string_equal(culprits(), "a.py:1 in f1 20 COMPUTE\n");
}

/* How sure a culprit is: 20 measured, 20 by a message (0.7). */
static void confidence_is_that_of_the_parts(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 20);
	computes(MAIN, 0, 20, L(5));
	call(MAIN, "recv", 20, 41, L(5), .path = "tcp:1.1.1.1:80");
	runs(MAIN, 40, 60);
	computes(MAIN, 41, 60, L(1));
	process(CHILD, MAIN, 0, 60);
	runs(CHILD, 0, 60);
	call(CHILD, "send", 20, 40, "x /lib/libc.so.6", .path = "tcp:1.1.1.2:90");
	ask();
	/* 1 ms of the call on a CPU. */
	assert_int_equal(culprit_at(5)->ns, 41 * MS);
	assert_near(culprit_at(5)->sure, (21 + 20 * 0.7) / 41);
}

/* 300 lines: those beyond the first 256 are not joined, and none is lost. */
static void many_lines(void **state)
{
	int64_t sum = 0;

	(void)state;
	report(300);
	runs(MAIN, 0, 300);
	for (int i = 0; i < 300; i++) {
		char line[32];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, i + 1);
		sample(MAIN, i + 1, line);
	}
	ask();
	assert_int_equal(test.y.culprits_cnt, 300);
	for (size_t i = 0; i < 300; i++)
		sum += test.y.culprits[i].ns;
	assert_int_equal(sum, 300 * (int64_t)MS);
}

/* A line calls @name, which runs for 8 of 20 and waits for the rest, and writes for 13 without a wait. */
static void line_that_syncs(const char *name)
{
	report(33);
	runs(MAIN, 0, 8, .on_disk = true);
	call(MAIN, name, 0, 20, L(1), .path = "/me/log");
	runs(MAIN, 20, 33);
	call(MAIN, "pwrite", 20, 33, L(1), .path = "/me/log");
	ask();
}

static void work_of_the_kernel_in_a_sync_counts_with_its_wait(void **state)
{
	(void)state;
	line_that_syncs("fdatasync");
	assert_string_equal(culprits(), "a.py:1 in f1 33 FSYNC\n");
	assert_int_equal(test.y.culprits[0].of_reason[WHY_FSYNC], ns_of(12));
	assert_int_equal(test.y.culprits[0].of_reason[WHY_KERNEL], ns_of(21));
}

static void work_of_the_kernel_in_a_read_does_not(void **state)
{
	(void)state;
	line_that_syncs("read");
	assert_string_equal(culprits(), "a.py:1 in f1 33 KERNEL\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_of_a_loop_are_one),
		TEST(lines_of_two_functions_are_two),
		TEST(functions_of_two_files_are_two),
		TEST(lines_of_a_module_are_two),
		TEST(functions_without_a_file_are_two),
		TEST(line_that_computes_half_of_its_time),
		TEST(line_that_waits_more_than_it_computes),
		TEST(three_functions),
		TEST(time_of_a_child_is_the_waiters),
		TEST(line_that_makes_processes),
		TEST(without_samples_the_process_is_to_blame),
		TEST(with_samples_the_start_has_no_culprit),
		TEST(calls_of_cuda_without_stacks),
		TEST(call_of_cuda_without_its_stack),
		TEST(import_again_and_again_is_to_blame),
		TEST(import_at_the_start_is_not),
		TEST(data_that_an_import_opens_is_no_module),
		TEST(libraries_are_modules),
		TEST(imports_count_by_process),
		TEST(lines_that_import_again_are_one),
		TEST(line_is_joined_once),
		TEST(time_without_a_cpu_has_no_weight),
		TEST(more_time_comes_first_of_equal_weights),
		TEST(line_without_a_cpu_alone),
		TEST(tracer_and_unknown_are_not_to_blame),
		TEST(confidence_is_that_of_the_parts),
		TEST(many_lines),
		TEST(work_of_the_kernel_in_a_sync_counts_with_its_wait),
		TEST(work_of_the_kernel_in_a_read_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
