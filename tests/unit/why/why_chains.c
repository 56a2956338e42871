/* why_chains.c - places of stacks in reports of nsys, which have a table of stacks for each kind of event and no index. */
#include "tests/unit/why/why_test.h"

static const char *const tables[] = {"SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS", "CUDA_CALLCHAINS",
				     "SYSCALL_CALLCHAINS"};

/* Tables as nsys has them. */
static void report_of_nsys(void)
{
	report(60);
	sql("DROP TABLE SL_STACKS");
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sql("DROP %s %s", i ? "TABLE" : "VIEW", tables[i]);
		sql("CREATE TABLE %s(id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER "
		    "NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER, "
		    "specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth "
		    "INTEGER NOT NULL)",
		    tables[i]);
	}
}

/* A frame of stack @id in a table. */
static void chain(int table, int id, int depth, const char *symbol, const char *module)
{
	sql("INSERT INTO %s VALUES (%d, %d, %d, %d, NULL, 0, 0, 1, NULL, %d)", tables[table], id,
	    text_id(symbol), text_id(module), strcmp(module, "[kernel.kallsyms]") == 0, depth);
}

/* A sample whose stack is that of its id; it stands for less than 20 ms before it, else the one before stands for the time. */
static void nsys_sample(int id, int tid, double time)
{
	sql("INSERT INTO COMPOSITE_EVENTS(id, start, cpu, threadState, globalTid, cpuCycles) "
	    "VALUES (%d, %lld, 0, 1, %lld, 1)",
	    id, ns_of(time), tid_of(tid));
}

static void two_samples(void)
{
	report_of_nsys();
	runs(MAIN, 0, 60);
	nsys_sample(1, MAIN, 10);
	nsys_sample(2, MAIN, 30);
}

static void samples_have_the_places_of_their_stacks(void **state)
{
	(void)state;
	two_samples();
	chain(0, 1, 0, "memcpy", "/lib/libc.so.6");
	chain(0, 1, 1, "f", "/me/a");
	chain(0, 1, 2, "main", "/me/a");
	chain(0, 2, 0, "g", "/me/a");
	/* of no event */
	chain(0, 7, 0, "h", "/me/a");
	ask();
	assert_string_equal(parts(), "COMPUTE at f in a 30\nCOMPUTE at g in a 30\n");
}

/* Frames in reverse, and the stacks mixed. */
static void rows_in_any_order_are_the_same_stacks(void **state)
{
	(void)state;
	two_samples();
	nsys_sample(3, MAIN, 50);
	chain(0, 1, 2, "main", "/me/a");
	chain(0, 2, 0, "g", "/me/a");
	chain(0, 3, 0, "k", "/me/a");
	chain(0, 1, 1, "f", "/me/a");
	chain(0, 1, 0, "memcpy", "/lib/libc.so.6");
	ask();
	assert_string_equal(parts(), "COMPUTE at f in a 30\nCOMPUTE at g in a 20\n"
				     "COMPUTE at k in a 10\n");
}

/* The same stack twice, as other stacks came between its frames. */
static void stack_in_two_pieces_is_one(void **state)
{
	(void)state;
	two_samples();
	chain(0, 1, 0, "memcpy", "/lib/libc.so.6");
	chain(0, 2, 0, "g", "/me/a");
	chain(0, 1, 1, "f", "/me/a");
	ask();
	assert_string_equal(parts(), "COMPUTE at f in a 30\nCOMPUTE at g in a 30\n");
}

/* Stack 1 of samples is not stack 1 of calls, of CUDA's calls or of the kernel's. */
static void each_table_has_numbers_of_its_own(void **state)
{
	(void)state;
	report_of_nsys();
	runs(MAIN, 0, 60);
	nsys_sample(1, MAIN, 10);
	call(MAIN, "write", 10, 20, NULL);
	cuda(MAIN, "cudaMalloc", 20, 30, NULL, 1);
	sql("UPDATE OSRT_API SET callchainId = 1");
	sql("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 1");
	for (int i = 0; i < 4; i++) {
		char symbol[] = {(char)('a' + i), 0};

		chain(i, 1, 0, symbol, "/me/x");
	}
	ask();
	assert_string_equal(parts(), "COMPUTE 30\n"
				     "COMPUTE at a in x 10\n"
				     "GPU_CALL at c in x 10\n"
				     "KERNEL at b in x 10\n");
}

/* What is given away by frames: the kernel is innermost in one, and in the other it is not. */
static void frames_of_the_kernel_are_known_by_their_mark(void **state)
{
	(void)state;
	two_samples();
	chain(0, 1, 0, "copy", "[kernel.kallsyms]");
	chain(0, 1, 1, "f", "/me/a");
	chain(0, 2, 0, "g", "/me/a");
	ask();
	assert_string_equal(parts(), "COMPUTE at g in a 30\nKERNEL at f in a 30\n");
}

/* Equal frames are one: of 20,000 stacks with 12 frames each, the list has the distinct ones. */
static void distinct_frames_are_kept_once(void **state)
{
	(void)state;
	report_of_nsys();
	runs(MAIN, 0, 60);
	for (int k = 0; k < 5; k++) {
		char symbol[16];

		snprintf(symbol, sizeof(symbol), "f%d", k);
		text_id(symbol);
	}
	text_id("/me/a");
	sql("INSERT INTO SAMPLING_CALLCHAINS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
	    "1 FROM n WHERE i < 20000), d(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM d WHERE k < "
	    "11) SELECT i, (SELECT id FROM StringIds WHERE value = 'f' || ((i + k) %% 5)), (SELECT "
	    "id FROM StringIds WHERE value = '/me/a'), 0, 0, 0, 0, i, 0, k FROM n, d ORDER BY i, "
	    "k");
	sql("INSERT INTO COMPOSITE_EVENTS(id, start, cpu, threadState, globalTid, cpuCycles) WITH "
	    "RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, "
	    "i "
	    "* 2500, 0, 1, %lld, 1 FROM n",
	    tid_of(MAIN));
	ask();
	assert_int_equal(test.y.walk.places.frames.cnt, 5);
	assert_int_equal(test.y.walk.places.cnt, 6);
	assert_near(of_reason(WHY_COMPUTE), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_have_the_places_of_their_stacks),
		TEST(rows_in_any_order_are_the_same_stacks),
		TEST(stack_in_two_pieces_is_one),
		TEST(each_table_has_numbers_of_its_own),
		TEST(frames_of_the_kernel_are_known_by_their_mark),
		TEST(distinct_frames_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
