/*
 * Context switches where something is special: full rings, the whole system, a user without rights, a
 * PID namespace, processes that run already.
 */
#include "tests/unit/kernel/sched_capture.h"

#define NOBODY 65534

/* Nothing is taken out until the end: most is lost, and every row is one or the other. */
static void check_losses(enum sched_backend backend)
{
	struct sched *s;
	struct count n;
	long kept;

	sched_tuning.records_per_cpu = 256;
	sched_tuning.pages_per_cpu = 4;
	s = must_open(SCHED_MODE_TREE, backend);
	run_on(s, ping_pong, 0);
	sched_close(s);
	memset(&sched_tuning, 0, sizeof(sched_tuning));
	n = count_all();
	assert_true(cap.lost > (uint64_t)told->rounds);
	kept = (long)(n.in + n.out - cap.mended + cap.lost);
	/* The last row of each thread, and records that are no rows, are the margin. */
	assert_in_range(kept, 2 * told->switches - 10, 2 * told->switches + 30);
}

static void losses_bpf(void **state)
{
	(void)state;
	check_losses(SCHED_BACKEND_BPF);
}

static void losses_perf(void **state)
{
	(void)state;
	check_losses(SCHED_BACKEND_PERF);
}

/* ---- modes and rights ---- */

static void check_system(enum sched_backend backend)
{
	struct sched *s = must_open(SCHED_MODE_SYSTEM, backend);
	int go, status;
	pid_t child = start_child(family, &go);
	bool child_seen = false, self_seen = false;

	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	waitpid(child, &status, 0);
	usleep(5000);
	sched_stop(s);
	sched_poll(s, &ops, &cap);
	sched_close(s);
	count_all();
	for (size_t i = 0; i < cap.row_cnt; i++) {
		assert_int_not_equal(cap.rows[i].tid, 0);
		child_seen |= cap.rows[i].pid == (uint32_t)child;
		self_seen |= cap.rows[i].pid == (uint32_t)getpid();
	}
	assert_true(child_seen);
	assert_true(self_seen);
}

static void system_bpf(void **state)
{
	(void)state;
	check_system(SCHED_BACKEND_BPF);
}

static void system_perf(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	check_system(SCHED_BACKEND_PERF);
}

/* Runs @part in a child so that it can change its user. */
static void in_child(int (*become)(void), void (*part)(void))
{
	int status, err;
	pid_t pid = fork();

	if (!pid) {
		err = become();
		if (err)
			_exit(err);
		part();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

#define REQUIRE(condition)                                                        \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "# line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                                 \
		}                                                                 \
	} while (0)

static int become_nobody(void)
{
	if (geteuid())
		return 77;
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	return prctl(PR_SET_DUMPABLE, 1) ? 1 : 0; /* as after an exec by that user */
}

static void as_nobody(void)
{
	char why[512] = "", fix[256] = "";
	struct sched *s;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int level = 2;

	REQUIRE(sched_probe(SCHED_BACKEND_BPF, why, sizeof(why), fix, sizeof(fix)) < 0);
	REQUIRE(*why && *fix);
	if (f && fscanf(f, "%d", &level) == 1 && level > 2)
		_exit(77);
	s = sched_open_for(&(struct sched_ask){.mode = SCHED_MODE_TREE, .want = SCHED_BACKEND_BPF},
			   why, sizeof(why));
	REQUIRE(s && sched_backend(s) == SCHED_BACKEND_PERF);
	REQUIRE(strstr(why, "perf_event_open"));
	run_on(s, ping_pong, 5);
	sched_close(s);
	REQUIRE(cap.lost == 0);
	REQUIRE(count_all().out >= (size_t)told->switches);
	s = sched_open_for(
		&(struct sched_ask){.mode = SCHED_MODE_SYSTEM, .want = SCHED_BACKEND_BPF}, why,
		sizeof(why));
	REQUIRE(level <= 0 || (!s && strstr(why, "perf_event_paranoid")));
	sched_close(s);
}

static void nobody_gets_perf(void **state)
{
	(void)state;
	capture_reset();
	in_child(become_nobody, as_nobody);
}

/* The grandchild is process 1 of a new PID namespace and collects there. */
static int become_container(void)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID))
		return 77;
	pid = fork();
	if (!pid)
		return 0;
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void ids_in_container(enum sched_backend backend)
{
	char why[512];
	struct sched *s = sched_open_for(
		&(struct sched_ask){.mode = SCHED_MODE_TREE, .want = backend}, why, sizeof(why));
	const struct life *l;
	size_t woken = 0;

	REQUIRE(getpid() == 1);
	if (!s || sched_backend(s) != backend)
		_exit(77);
	run_on(s, ping_pong, 5);
	sched_close(s);
	REQUIRE(told->tid_a == cap.child && cap.child < 100);
	REQUIRE(cap.lost == 0);
	for (size_t i = 0; i < cap.row_cnt; i++) {
		REQUIRE(cap.rows[i].pid == (uint32_t)cap.child);
		REQUIRE(cap.rows[i].tid == (uint32_t)told->tid_a ||
			cap.rows[i].tid == (uint32_t)told->tid_b);
		woken += cap.rows[i].waker_tid == (uint32_t)told->tid_a;
	}
	REQUIRE(count_rows((uint32_t)told->tid_a).ended == 1);
	REQUIRE(count_rows((uint32_t)told->tid_b).ended == 1);
	REQUIRE(count_rows((uint32_t)told->tid_b).out + cap.mended >= (size_t)told->rounds);
	l = find_life(BORN, (uint32_t)cap.child, (uint32_t)told->tid_b, NULL);
	REQUIRE(l && l->parent_tid == (uint32_t)told->tid_a);
	REQUIRE(backend == SCHED_BACKEND_PERF || woken >= 1000);
}

static void container_bpf_part(void)
{
	ids_in_container(SCHED_BACKEND_BPF);
}

static void container_perf_part(void)
{
	ids_in_container(SCHED_BACKEND_PERF);
}

static void container_bpf(void **state)
{
	(void)state;
	capture_reset();
	in_child(become_container, container_bpf_part);
}

static void container_perf(void **state)
{
	(void)state;
	capture_reset();
	in_child(become_container, container_perf_part);
}

static void unknown_process_is_refused(void **state)
{
	struct sched *s = must_open(SCHED_MODE_TREE, SCHED_BACKEND_PERF);

	(void)state;
	assert_int_equal(sched_follow(s, 4194303), -ESRCH);
	sched_close(s);
	s = must_open(SCHED_MODE_TREE, SCHED_BACKEND_BPF);
	assert_int_equal(sched_follow(s, 4194303), -ESRCH);
	sched_close(s);
}

static void none_is_none(void **state)
{
	char why[128];

	(void)state;
	assert_null(sched_open_for(
		&(struct sched_ask){.mode = SCHED_MODE_NONE, .want = SCHED_BACKEND_BPF}, why,
		sizeof(why)));
	assert_true(*why);
	assert_int_equal(sched_backend(NULL), SCHED_BACKEND_NONE);
}

/* A process with threads that run already: their names are known, their rows begin with an in. */
static void running_threads_are_followed(void **state)
{
	enum sched_backend backends[] = {SCHED_BACKEND_BPF, SCHED_BACKEND_PERF};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sched *s;
		int go, status;

		sched_tuning.records_per_cpu = 1 << 17;
		sched_tuning.pages_per_cpu = 2048;
		s = must_open(SCHED_MODE_TREE, backends[i]);
		memset(&sched_tuning, 0, sizeof(sched_tuning));
		told->rounds = 2 * ROUNDS;
		cap.child = start_child(ping_pong, &go);
		assert_int_equal(write(go, "x", 1), 1);
		while (!*(volatile pid_t *)&told->tid_b)
			usleep(100);
		usleep(1000);
		assert_int_equal(sched_follow(s, cap.child), 0);
		while (waitpid(cap.child, &status, WNOHANG) == 0) {
			usleep(5000);
			sched_poll(s, &ops, &cap);
		}
		usleep(2000);
		sched_stop(s);
		sched_poll(s, &ops, &cap);
		assert_int_equal(s->driver->lost(s) + s->missing.dropped, 0);
		assert_true(s->missing.mended <= 5 + cap.row_cnt / 100);
		sched_close(s);
		close(go);
		assert_true(count_rows((uint32_t)told->tid_a).in > 100);
		assert_true(count_rows((uint32_t)told->tid_b).in > 100);
		assert_int_equal(count_all().ended, 2);
		assert_non_null(find_life(NAMED, 0, (uint32_t)told->tid_b, "sched-test"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_bpf),       cmocka_unit_test(losses_perf),
		cmocka_unit_test(system_bpf),       cmocka_unit_test(system_perf),
		cmocka_unit_test(nobody_gets_perf), cmocka_unit_test(container_bpf),
		cmocka_unit_test(container_perf),   cmocka_unit_test(unknown_process_is_refused),
		cmocka_unit_test(none_is_none),     cmocka_unit_test(running_threads_are_followed),
	};

	if (!capture_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
