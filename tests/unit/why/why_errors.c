/* why_errors.c - no memory, and tables that cannot be read: the answer is refused, or it is whole; nothing is left behind. */
#include "tests/unit/why/why_test.h"

#include <dlfcn.h>

/* ---- an allocator that fails once ---- */

static struct {
	long left; /* allocations until the one that fails; below 0: none does */
	bool is_armed, has_failed;
} memory = {.left = -1};

static bool fails(void)
{
	if (!memory.is_armed || memory.left < 0 || memory.left--)
		return false;
	memory.has_failed = true;
	return true;
}

/* What the program allocates zeroed or as an array that grows comes here, and goes on to the allocator behind. */
void *calloc(size_t cnt, size_t size)
{
	static char early[8192];
	static size_t taken;
	static void *(*next)(size_t, size_t);
	static bool is_looking;

	if (!next && is_looking) { /* dlsym() itself needs memory, which is never freed */
		size_t at = taken;

		taken += (cnt * size + 15) / 16 * 16;
		return taken <= sizeof(early) ? &early[at] : NULL;
	}
	if (!next) {
		is_looking = true;
		*(void **)&next = dlsym(RTLD_NEXT, "calloc");
		is_looking = false;
	}
	return fails() ? NULL : next(cnt, size);
}

void *reallocarray(void *old, size_t cnt, size_t size)
{
	if (fails())
		return NULL;
	return realloc(old, cnt * size);
}

/* ---- a report with a row of everything ---- */

static void rows_of_threads(void)
{
	report(100);
	process(CHILD, MAIN, 1, 90);
	runs(MAIN, 0, 10);
	sample(MAIN, 5, L(1));
	sample(MAIN, 95, L(1));
	call(MAIN, "pthread_mutex_lock", 10, 20, L(2), .lock = 7, .owner = OTHER);
	runs(MAIN, 20, 30, .by = OTHER);
	call(MAIN, "sem_wait", 21, 22, L(2), .lock = 8);
	call(MAIN, "sem_post", 23, 24, L(2), .lock = 8);
	call(MAIN, "recv", 30, 40, L(3), .path = "tcp:1.1.1.1:80", .file = 1);
	runs(MAIN, 40, 50, .ready = 39);
	call(CHILD, "send", 38, 39, L(4), .path = "tcp:1.1.1.2:90", .file = 2);
	runs(CHILD, 1, 85, .by = MAIN);
	runs(OTHER, 0, 19, .by = MAIN);
	system_call(OTHER, "futex", 19, 30, L(5));
	off_sample(OTHER, 19, 30, L(5));
	fault(MAIN, 50.5, L(6), "/data/x");
	request(MAIN, 50.1, 50.2, "vda", "p100", 0);
	request(0, 50, 51, "vda", "jbd2/vda-8", 1);
	sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 100, 0, 0, 'tcp:1.1.1.1:80'), (2, "
	    "200, 0, 0, "
	    "'tcp:1.1.1.2:90')");
	sql("INSERT INTO SL_SOCKETS VALUES (1, 'tcp:1.1.1.2:90'), (2, 'tcp:1.1.1.1:80')");
	sql("INSERT INTO SL_LOST_EVENTS VALUES (0, 1, NULL, 'records', 3)");
	sql("INSERT INTO DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text) VALUES "
	    "(0, 0, 0, 0, "
	    "'no CPU samples: x'), (0, 0, 0, 0, 'Python''s frames in samples need y')");
}

static void rows_of_gpus(void)
{
	sql("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, NULL, 1)");
	cuda(MAIN, "cudaLaunchKernel", 51, 52, L(7), 1);
	library_call(MAIN, "cublasSgemm", 52, 54, L(7));
	cuda(MAIN, "cudaMemcpyAsync", 52.5, 53, L(7), 2);
	cuda(MAIN, "cudaDeviceSynchronize", 54, 70, L(8), 3);
	runs(MAIN, 50.3, 54);
	runs(MAIN, 70, 100);
	kernel(60, 65, 1);
	kernel(62, 64, 1, .stream = 9);
	copy(56, 61, 2);
	fill(66, 67, 2);
	graph(67, 68, 2);
	for (int i = 0; i < 6; i++)
		range(MAIN, 15 * i, 15 * i + 10, "step");
}

static void rows(void)
{
	rows_of_threads();
	rows_of_gpus();
}

/* Refused with a sentence, or a whole answer; then all is freed. */
static bool is_answered(const struct why_ask *how, const char *because)
{
	char text[512] = "";
	int rc;

	memory.is_armed = true;
	rc = why_run(&test.y, test.db, NULL, how, text, sizeof(text));
	memory.is_armed = false;
	if (rc == 0)
		parts();
	else if (!*text || (because && strcmp(text, because) != 0))
		fail_msg("refused, but: '%s'", text);
	why_free(&test.y);
	memset(&test.y, 0, sizeof(test.y));
	return rc == 0;
}

/* Fails each allocation, one after the other, until an answer needs none more. The number of answers that stood one that failed. */
static unsigned fail_each(const struct why_ask *how, unsigned *tried)
{
	unsigned stood = 0;

	*tried = 0;
	for (long n = 0;; n++) {
		bool answered;

		memory.left = n;
		memory.has_failed = false;
		answered = is_answered(how, "out of memory");
		memory.left = -1;
		if (!memory.has_failed) {
			assert_true(answered);
			return stood;
		}
		stood += answered;
		++*tried;
	}
}

/* Only places may lack memory: they are left out. Their list, their slots, the table by stack: each grows once here. */
static void no_memory(void **state)
{
	unsigned tried, stood;

	(void)state;
	rows();
	open_report();
	stood = fail_each(&(struct why_ask){0}, &tried);
	assert_true(tried > 60);
	assert_in_range(stood, 0, 9);
}

static void no_memory_for_steps(void **state)
{
	unsigned tried, stood;

	(void)state;
	rows();
	open_report();
	stood = fail_each(&(struct why_ask){.step = ""}, &tried);
	assert_true(tried > 60);
	assert_in_range(stood, 0, 9);
}

static void no_memory_for_a_gpu(void **state)
{
	unsigned tried, stood;

	(void)state;
	rows();
	open_report();
	stood = fail_each(&(struct why_ask){.of_gpu = true}, &tried);
	assert_true(tried > 60);
	assert_in_range(stood, 0, 9);
}

/* ---- tables that cannot be read ---- */

static const char *refused_table;
static unsigned refusals;

static int authorize(void *ctx, int action, const char *table, const char *column, const char *base,
		     const char *view)
{
	(void)ctx;
	(void)column;
	(void)base;
	(void)view;
	if (action != SQLITE_READ || !table || strcmp(table, refused_table) != 0)
		return SQLITE_OK;
	refusals++;
	return SQLITE_DENY;
}

static void tables_that_cannot_be_read(void **state)
{
	static const char *const tables[] = {"SL_PROCESS_TREE",
					     "SCHED_EVENTS",
					     "SL_SCHED_DETAIL",
					     "OSRT_API",
					     "StringIds",
					     "CUPTI_ACTIVITY_KIND_RUNTIME",
					     "CUPTI_ACTIVITY_KIND_KERNEL",
					     "CUPTI_ACTIVITY_KIND_MEMCPY",
					     "CUPTI_ACTIVITY_KIND_MEMSET",
					     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
					     "CUBLAS_EVENTS",
					     "SYSCALL",
					     "TARGET_INFO_CUDA_DEVICE",
					     "SL_LOST_EVENTS",
					     "ANALYSIS_DETAILS"};

	(void)state;
	rows();
	open_report();
	sqlite3_set_authorizer(test.db, authorize, NULL);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		refused_table = tables[i];
		refusals = 0;
		if (is_answered(&(struct why_ask){0}, NULL))
			fail_msg("%s was not needed", tables[i]);
		assert_true(refusals > 0);
	}
	/* Some are looked at only if they have rows; that cannot be seen of these, and the answer lacks what they have. */
	refused_table = "NVTX_EVENTS";
	assert_true(is_answered(&(struct why_ask){0}, NULL));
	assert_false(is_answered(&(struct why_ask){.nvtx = "step"}, NULL));
	assert_false(is_answered(&(struct why_ask){.step = ""}, NULL));
	sqlite3_set_authorizer(test.db, NULL, NULL);
	refused_table = "";
	assert_true(is_answered(&(struct why_ask){0}, NULL));
}

/* ---- a statement that is interrupted ---- */

static long steps_left;

static int interrupt(void *ctx)
{
	(void)ctx;
	return steps_left-- <= 0;
}

/* After ever more steps of 200 instructions each: refused as interrupted, or answered, as some tables are only asked for whether they have rows. */
static void interrupted_at_any_time(void **state)
{
	unsigned refused = 0;

	(void)state;
	rows();
	open_report();
	for (long n = 0; n < 400; n += 1 + n / 20) {
		steps_left = n;
		sqlite3_progress_handler(test.db, 200, interrupt, NULL);
		refused += !is_answered(&(struct why_ask){0}, "interrupted");
	}
	sqlite3_progress_handler(test.db, 0, NULL, NULL);
	assert_true(refused > 5);
	assert_true(is_answered(&(struct why_ask){0}, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_memory),
		TEST(no_memory_for_steps),
		TEST(no_memory_for_a_gpu),
		TEST(tables_that_cannot_be_read),
		TEST(interrupted_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
