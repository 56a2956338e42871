/* why_reasons.c - each function of the hook tables has the reason of its class, each kind of file its own; names of CUDA's calls. */
#include "exporters/why/walk/walk.h"

/* Of a call on nothing: a descriptor of unknown origin is one of a file, a condition with a time limit one of a queue. */
#define WANT_NONE      WHY_BLOCKED
#define WANT_OBJECT    WHY_FILE
#define WANT_FILE      WHY_FILE
#define WANT_OPEN      WHY_FILE
#define WANT_DISK      WHY_FSYNC
#define WANT_SOCKET    WHY_SOCKET
#define WANT_ACCEPT    WHY_SOCKET
#define WANT_LOCK      WHY_LOCK
#define WANT_QUEUE     WHY_QUEUE
#define WANT_CONDITION WHY_QUEUE
#define WANT_BARRIER   WHY_QUEUE
#define WANT_JOIN      WHY_JOIN
#define WANT_CHILD     WHY_CHILD
#define WANT_FORK      WHY_BLOCKED
#define WANT_CREATE    WHY_BLOCKED
#define WANT_SLEEP     WHY_SLEEP
#define WANT_POLL      WHY_POLL
#define WANT_SIGNAL    WHY_SIGNAL
#define WANT_LOAD      WHY_IMPORT
#define WANT_MEMORY    WHY_PAGE_IN

static const struct {
	const char *name;
	uint32_t reason;
} calls[] = {
#define SL_HOOK_ONE(fail, op, waits, name) {#name, WANT_##waits},
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
#define KNOWN(op, waits, name) {#name, WANT_##waits},
#include "preload/libc/known.def"
};
#define CALLS (sizeof(calls) / sizeof(*calls))

/* Names of threads in it are words of the tables above. */
#include "tests/unit/why/why_test.h"

/* What a call is, in the report that is read: its reason, by its place in time. */
static uint32_t reason_at(double ms)
{
	const struct why_thread *t = &test.y.model.threads[test.y.focus];
	size_t i = why_last(t->calls, t->calls_cnt, sizeof(*t->calls), ns_of(ms));

	assert_true(i < t->calls_cnt && t->calls[i].start == ns_of(ms));
	return reason_of_call(&test.y.walk, &t->calls[i]);
}

/* The call of CUDA at @ms. */
static const struct why_call *cuda_at(double ms)
{
	const struct why_thread *t = &test.y.model.threads[test.y.focus];
	size_t i = why_last(t->gpu, t->gpu_cnt, sizeof(*t->gpu), ns_of(ms));

	assert_true(i < t->gpu_cnt && t->gpu[i].start == ns_of(ms));
	return &t->gpu[i];
}

/* A call a ms. */
static void each_function_has_the_reason_of_its_class(void **state)
{
	(void)state;
	report(1000);
	for (size_t i = 0; i < CALLS; i++)
		call(MAIN, calls[i].name, (double)i, (double)i + 0.5, NULL);
	ask();
	for (size_t i = 0; i < CALLS; i++)
		if (reason_at((double)i) != calls[i].reason)
			fail_msg("%s: %s, not %s", calls[i].name,
				 why_reason_name(reason_at((double)i)),
				 why_reason_name(calls[i].reason));
}

/* Rows of SL_FUNCTIONS come first; the hook tables are for older reports, and those of nsys. */
static void report_decides_before_the_tables(void **state)
{
	(void)state;
	report(1000);
	call(MAIN, "my_own_lock", 1, 2, NULL);
	call(MAIN, "read", 3, 4, NULL);
	call(MAIN, "fgets", 5, 6, NULL, .path = "pipe:[1]");
	call(MAIN, "sleep", 7, 8, NULL);
	sql("INSERT INTO SL_FUNCTIONS SELECT id, 1, NULL, 0, NULL, CASE value WHEN 'read' THEN "
	    "'sleep' "
	    "WHEN 'my_own_lock' THEN 'lock' END, 0, 0, 0 FROM StringIds WHERE value IN "
	    "('my_own_lock', "
	    "'read', 'fgets')");
	ask();
	assert_int_equal(reason_at(1), WHY_LOCK);
	assert_int_equal(reason_at(3), WHY_SLEEP);
	assert_int_equal(reason_at(5), WHY_PIPE);
	assert_int_equal(reason_at(7), WHY_BLOCKED);
}

/* Names of one call only differ by a letter, or are longer: no reason. */
static void names_that_are_nearly_known_have_no_reason(void **state)
{
	static const char *const names[] = {"rea",    "read2", "Sleep", "sem_wai", "sem_wait2",
					    "waitpi", "polls", "x",     ""};

	(void)state;
	report(1000);
	for (int i = 0; i < 9; i++)
		call(MAIN, names[i], i, i + 0.5, NULL);
	ask();
	for (int i = 0; i < 9; i++)
		assert_int_equal(reason_at(i), WHY_BLOCKED);
}

static void file_behind_a_descriptor_decides(void **state)
{
	static const struct {
		const char *path;
		uint32_t reason;
	} files[] = {
		{"pipe:[17]", WHY_PIPE},
		{"fifo:/run/x", WHY_PIPE},
		{"/dev/pts/3", WHY_POLL},
		{"/dev/tty", WHY_POLL},
		{"/dev/tty7", WHY_POLL},
		{"tcp:10.0.0.1:80", WHY_SOCKET},
		{"tcp6:[::1]:80", WHY_SOCKET_ANY},
		{"udp:10.0.0.1:53", WHY_SOCKET},
		{"unix:/run/s", WHY_SOCKET_ANY},
		{"socket:[5]", WHY_SOCKET_ANY},
		{"anon_inode:[eventfd]", WHY_POLL},
		{"inotify", WHY_POLL},
		{"/dev/nvidia0", WHY_GPU_CALL},
		{"/dev/nvidiactl", WHY_GPU_CALL},
		{"/data/pipe:", WHY_FILE},
		{"/dev/null", WHY_FILE},
		{"pipe", WHY_FILE},
		{"", WHY_FILE},
	};
	const int cnt = sizeof(files) / sizeof(*files);

	(void)state;
	report(1000);
	for (int i = 0; i < cnt; i++) {
		call(MAIN, "read", 2 * i, 2 * i + 0.5, NULL, .path = files[i].path);
		/* The path decides for calls that move data; others have a reason of their own. */
		call(MAIN, "fsync", 2 * i + 1, 2 * i + 1.5, NULL, .path = files[i].path);
	}
	/* An id that no text has, as it was lost. */
	call(MAIN, "read", 900, 901, NULL);
	sql("UPDATE OSRT_API SET pathId = 123456 WHERE start = %lld", ns_of(900));
	ask();
	for (int i = 0; i < cnt; i++) {
		if (reason_at(2 * i) != files[i].reason)
			fail_msg("%s: %s", files[i].path, why_reason_name(reason_at(2 * i)));
		assert_int_equal(reason_at(2 * i + 1), WHY_FSYNC);
	}
	assert_int_equal(reason_at(900), WHY_FILE);
}

/* Of calls for sockets, too: Unix sockets, peers on the same machine, and sockets without the address of a peer are not the network. */
static void only_sockets_of_the_network_are_called_so(void **state)
{
	static const struct {
		const char *name, *path;
		uint32_t reason;
	} made[] = {
		{"recv", "tcp:10.0.0.1:80", WHY_SOCKET},
		{"recv", "unix:/run/s", WHY_SOCKET_ANY},
		{"recvmsg", "socket:[5]", WHY_SOCKET_ANY},
		{"sendto", "udp:1.1.1.1:1", WHY_SOCKET},
		{"connect", "unix:/run/s", WHY_SOCKET_ANY},
		{"connect", "tcp6:[fe80::1]:8", WHY_SOCKET},
		{"recv", "tcp:127.0.0.1:80", WHY_SOCKET_ANY},
		{"recv", "tcp6:[::1]:8", WHY_SOCKET_ANY},
		{"recv", "tcp6:[::ffff:127.0.0.1]:8", WHY_SOCKET_ANY},
		{"recv", "udp:127.0.0.53:53", WHY_SOCKET_ANY},
		{"recv", "udp6:[::1]:53", WHY_SOCKET_ANY},
		{"recv", "udp6:[::ffff:127.0.0.1]:53", WHY_SOCKET_ANY},
		{"recv", "tcp:12.7.0.1:80", WHY_SOCKET},
		{"getaddrinfo", NULL, WHY_SOCKET},
		{"accept", NULL, WHY_SOCKET},
		{"accept", "/dev/null", WHY_SOCKET},
	};
	const int cnt = sizeof(made) / sizeof(*made);

	(void)state;
	report(1000);
	for (int i = 0; i < cnt; i++)
		call(MAIN, made[i].name, i, i + 0.5, NULL, .path = made[i].path);
	ask();
	for (int i = 0; i < cnt; i++)
		if (reason_at(i) != made[i].reason)
			fail_msg("%s of %s: %s", made[i].name, made[i].path,
				 why_reason_name(reason_at(i)));
}

/* A path of 2,000 characters is looked up as any other. */
static void long_names(void **state)
{
	char path[2001], name[2001];

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, "pipe:", 5);
	memset(name, 'y', sizeof(name));
	path[2000] = name[2000] = '\0';
	report(1000);
	call(MAIN, "read", 1, 2, NULL, .path = path);
	call(MAIN, name, 3, 4, NULL);
	ask();
	assert_int_equal(reason_at(1), WHY_PIPE);
	assert_int_equal(reason_at(3), WHY_BLOCKED);
}

/* ---- CUDA ---- */

static void calls_of_cuda(void **state)
{
	static const struct {
		const char *name;
		bool waits, copies;
	} names[] = {
		{"cudaDeviceSynchronize_v3020", true, false},
		{"cuStreamSynchronize", true, false},
		{"cudaEventSynchronize", true, false},
		{"cudaFree_v3020", true, false},
		{"cudaFreeHost", false, false},
		{"cudaFreeAsync", false, false},
		{"cuMemFree_v2", true, false},
		{"cuMemFreeHost", true, false},
		{"cudaMemcpy_v3020", true, false},
		{"cudaMemcpy2D", true, false},
		{"cuMemcpyDtoH_v2", true, false},
		{"cudaMemcpyAsync_v3020", false, true},
		{"cudaMemcpyPeer", false, true},
		{"cuMemcpyHtoDAsync_v2", false, true},
		{"cuMemcpyPeer", false, true},
		{"cudaMemset_v3020", false, false},
		{"cudaLaunchKernel_v7000", false, false},
		{"ncclAllReduce", false, false},
	};
	const int cnt = sizeof(names) / sizeof(*names);

	(void)state;
	report(1000);
	for (int i = 0; i < cnt; i++)
		cuda(MAIN, names[i].name, i, i + 0.5, NULL, i + 1);
	ask();
	for (int i = 0; i < cnt; i++) {
		const struct why_call *c = cuda_at(i);

		if (reason_is_gpu_wait(&test.y.walk, c) != names[i].waits ||
		    reason_is_gpu_copy(&test.y.walk, c) != names[i].copies)
			fail_msg("%s", names[i].name);
		assert_int_equal(reason_of_call(&test.y.walk, c), WHY_GPU_CALL);
		assert_false(reason_is_timed_condition(&test.y.walk, c));
	}
}

/* The same names as calls of libc, as in reports of programs that wrap them. */
static void driver_calls_among_libcs(void **state)
{
	(void)state;
	report(1000);
	call(MAIN, "cuInit", 1, 2, NULL);
	call(MAIN, "ncclCommInitRank", 3, 4, NULL);
	call(MAIN, "pthread_cond_timedwait", 5, 6, NULL);
	call(MAIN, "pthread_cond_wait", 7, 8, NULL);
	ask();
	assert_int_equal(reason_at(1), WHY_GPU_CALL);
	assert_int_equal(reason_at(3), WHY_GPU_CALL);
	assert_true(reason_is_timed_condition(&test.y.walk,
					      &test.y.model.threads[test.y.focus].calls[2]));
	assert_false(reason_is_timed_condition(&test.y.walk,
					       &test.y.model.threads[test.y.focus].calls[3]));
}

static void kernels_of_nccl(void **state)
{
	static const struct {
		const char *name;
		bool is;
	} names[] = {
		{"ncclDevKernel_AllReduce_Sum_f32", true},
		{"ncclKernel_Broadcast", true},
		{"ncclDevKernel", true},
		{"ncclDevKerne", false},
		{"my_ncclKernel", false},
		{"k", false},
	};

	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	for (int i = 0; i < 6; i++)
		kernel(i, i + 0.5, 0, .name = names[i].name);
	ask();
	for (int i = 0; i < 6; i++)
		assert_int_equal(
			reason_is_nccl(&test.y.walk,
				       why_kind(&test.y.model, &test.y.model.ops[i])->name),
			names[i].is);
	assert_false(reason_is_nccl(&test.y.walk, WHY_NONE));
}

static void names_of_opens_and_of_processes(void **state)
{
	static const struct {
		const char *name;
		bool opens, processes;
	} names[] = {
		{"open", true, false},   {"openat64", true, false}, {"fopen", true, false},
		{"stat", false, false},  {"fork", false, true},     {"waitpid", false, true},
		{"system", false, true}, {"clone", false, true},    {"pthread_join", false, false},
	};

	(void)state;
	report(100);
	for (int i = 0; i < 9; i++)
		call(MAIN, names[i].name, i, i + 0.5, NULL);
	ask();
	for (int i = 0; i < 9; i++) {
		const struct why_thread *t = &test.y.model.threads[test.y.focus];
		uint32_t name = why_what(&test.y.model, &t->calls[i])->name;

		assert_int_equal(reason_is_open(&test.y.walk, name), names[i].opens);
		assert_int_equal(reason_is_of_processes(&test.y.walk, name), names[i].processes);
	}
	assert_false(reason_is_open(&test.y.walk, WHY_NONE));
	assert_false(reason_is_of_processes(&test.y.walk, WHY_NONE));
}

/* ---- versions ---- */

static void versions_are_cut(void **state)
{
	static const char *const names[][2] = {
		{"cudaFree_v3020", "cudaFree"},
		{"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"},
		{"cuMemFree_v2", "cuMemFree_v2"}, /* one digit: the driver's own name */
		{"cuMemFree_v12", "cuMemFree"},
		{"cudaFree", "cudaFree"},
		{"open_v3020", "open_v3020"}, /* not CUDA's */
		{"cudaFree_x3020", "cudaFree_x3020"},
		{"cudaFree3020", "cudaFree3020"},
		{"cudaFree_v3020x", "cudaFree_v3020x"},
		{"cu_v3020", "cu"},
		{"cu42", "cu42"},
		{"42", "42"},
		{"_v3020", "_v3020"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[64];

		strcpy(name, names[i][0]);
		reason_cut_version(name);
		assert_string_equal(name, names[i][1]);
	}
}

/* Each reason has a text, and a name of capital letters; no two are alike. */
static void reasons_have_texts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < WHY_REASON_CNT; i++) {
		const char *name = why_reason_name(i);

		assert_true(*why_reason_text(i) && *name);
		assert_int_equal(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), strlen(name));
		for (uint32_t k = 0; k < i; k++) {
			assert_string_not_equal(name, why_reason_name(k));
			assert_string_not_equal(why_reason_text(i), why_reason_text(k));
		}
	}
	assert_string_equal(why_reason_text(WHY_COMPUTE), "computing");
	assert_string_equal(why_reason_text(WHY_UNKNOWN), "not recorded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_function_has_the_reason_of_its_class),
		TEST(report_decides_before_the_tables),
		TEST(names_that_are_nearly_known_have_no_reason),
		TEST(only_sockets_of_the_network_are_called_so),
		TEST(file_behind_a_descriptor_decides),
		TEST(long_names),
		TEST(calls_of_cuda),
		TEST(driver_calls_among_libcs),
		TEST(kernels_of_nccl),
		TEST(names_of_opens_and_of_processes),
		cmocka_unit_test(versions_are_cut),
		cmocka_unit_test(reasons_have_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
