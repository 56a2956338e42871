/*
 * Context switches and lives of real programs, compared with what the kernel counted for them.
 */
#include "tests/unit/kernel/sched_capture.h"

static int exec_true(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return 99;
}

static int exec_long(void)
{
	static char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	execl("/bin/true", "true", text, (char *)NULL);
	return 99;
}

static void *exec_in_thread(void *arg)
{
	told->tid_b = gettid();
	usleep(2000);
	execl("/bin/sleep", "sleep", "0.01", (char *)NULL);
	return arg;
}

static int exec_beside(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exec_in_thread, NULL);
	pthread_join(thread, NULL);
	return 99;
}

static int name_self(void)
{
	prctl(PR_SET_NAME, "a new name");
	return 0;
}

static void spin_ms(int ms)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static void *spin(void *arg)
{
	told->tid_b = gettid();
	spin_ms(80);
	return arg;
}

static int share_a_cpu(void)
{
	pthread_t thread;

	pin();
	told->tid_a = gettid();
	pthread_create(&thread, NULL, spin, NULL);
	spin_ms(80);
	pthread_join(thread, NULL);
	for (int i = 0; i < 20; i++)
		usleep(500);
	return 0;
}

/* Not a volatile bool: with -fsanitize=bool gcc 12 reads that only once. */
static _Atomic int keep_spinning;

static void *spin_in_user_mode(void *arg)
{
	told->tid_b = gettid();
	while (keep_spinning)
		;
	return arg;
}

/* Wakes itself by a timer whose interrupt finds the other thread computing on the same CPU. */
static int timer_beside_spinner(void)
{
	pthread_t thread;

	pin();
	told->tid_a = gettid();
	keep_spinning = 1;
	pthread_create(&thread, NULL, spin_in_user_mode, NULL);
	for (int i = 0; i < 50; i++)
		usleep(1000);
	keep_spinning = 0;
	pthread_join(thread, NULL);
	return 0;
}

static int vfork_and_wait(void)
{
	pid_t pid = vfork(); /* NOLINT: what it does to its caller is the point */

	if (!pid) {
		usleep(5000); /* NOLINT */
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static int threads_galore(void)
{
	for (int round = 0; round < 20; round++) {
		pthread_t threads[20];

		for (int i = 0; i < 20; i++)
			pthread_create(&threads[i], NULL, end_at_once, NULL);
		for (int i = 0; i < 20; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

/* ---- tests, per backend ---- */

static void check_ping_pong(enum sched_backend backend)
{
	struct count n;
	long switches;

	run(backend, ping_pong);
	assert_int_equal(cap.status, 0);
	assert_int_equal(cap.lost, 0);
	n = count_all();
	switches = (long)(n.preempted + n.blocked);
	/* The kernel's count leaves out only what came before and after its two samples. */
	assert_in_range(switches + (long)n.mended, told->switches, told->switches + 10);
	assert_true(told->switches >= 2 * told->rounds - 10);
	assert_int_equal(n.ended, 2);
	assert_int_equal(n.in, n.out);
	assert_int_equal(count_rows((uint32_t)told->tid_b).ended, 1);
}

static void ping_pong_bpf(void **state)
{
	(void)state;
	check_ping_pong(SCHED_BACKEND_BPF);
}

static void ping_pong_perf(void **state)
{
	(void)state;
	check_ping_pong(SCHED_BACKEND_PERF);
}

static void check_family(enum sched_backend backend)
{
	bool knows_status = backend == SCHED_BACKEND_BPF;
	const struct life *l;
	uint32_t child, grandchild;

	run(backend, family);
	child = (uint32_t)told->tid_a;
	grandchild = (uint32_t)told->tid_b;
	l = find_life(BORN, child, child, NULL);
	assert_non_null(l);
	assert_int_equal(l->parent_pid, cap.child);
	l = find_life(BORN, grandchild, grandchild, NULL);
	assert_non_null(l);
	assert_int_equal(l->parent_pid, child);
	l = find_life(GONE, grandchild, 0, NULL);
	assert_non_null(l);
	assert_int_equal(l->exit_code, knows_status ? 3 << 8 : -1);
	l = find_life(GONE, child, 0, NULL);
	assert_non_null(l);
	assert_int_equal(l->exit_code, knows_status ? 7 << 8 : -1);
	l = find_life(GONE, (uint32_t)cap.child, 0, NULL);
	assert_non_null(l);
	assert_int_equal(l->exit_code, knows_status ? cap.status : -1);
	if (knows_status) {
		bool killed = false;

		for (size_t i = 0; i < cap.life_cnt; i++)
			killed |= cap.lives[i].kind == GONE && cap.lives[i].exit_code == SIGKILL;
		assert_true(killed);
	}
	assert_int_equal(count_all().ended, 4);
	assert_int_equal(cap.lost, 0);
}

static void family_bpf(void **state)
{
	(void)state;
	check_family(SCHED_BACKEND_BPF);
}

static void family_perf(void **state)
{
	(void)state;
	check_family(SCHED_BACKEND_PERF);
}

static void check_names(enum sched_backend backend)
{
	run(backend, exec_true);
	assert_non_null(find_life(EXEC, (uint32_t)cap.child, (uint32_t)cap.child, "true"));
	assert_null(find_life(NAMED, (uint32_t)cap.child, 0, "true"));
	assert_non_null(find_life(NAMED, (uint32_t)cap.child, (uint32_t)cap.child, "sched-test"));
	run(backend, name_self);
	assert_non_null(find_life(NAMED, (uint32_t)cap.child, (uint32_t)cap.child, "a new name"));
}

static void program_and_arguments_of_an_exec_bpf(void **state)
{
	const struct life *l;

	(void)state;
	run(SCHED_BACKEND_BPF, exec_true);
	l = find_life(EXEC, (uint32_t)cap.child, (uint32_t)cap.child, "true");
	assert_string_equal(l->path, "/bin/true");
	assert_int_equal(l->args_len, 5);
	assert_memory_equal(l->args, "true", 5);
	run(SCHED_BACKEND_BPF, exec_long);
	l = find_life(EXEC, (uint32_t)cap.child, (uint32_t)cap.child, "true");
	assert_int_equal(l->args_len, SCHED_ARGS_MOST);
	assert_memory_equal(l->args, "true", 5);
	assert_int_equal(l->args[SCHED_ARGS_MOST - 1], 'x');
}

static void names_bpf(void **state)
{
	(void)state;
	check_names(SCHED_BACKEND_BPF);
}

static void names_perf(void **state)
{
	(void)state;
	check_names(SCHED_BACKEND_PERF);
}

/* The thread takes over the id of its process; the rows of both ids must still alternate. */
static void check_exec_beside(enum sched_backend backend)
{
	struct count main_thread, other;

	run(backend, exec_beside);
	assert_non_null(find_life(EXEC, (uint32_t)cap.child, (uint32_t)cap.child, "sleep"));
	assert_non_null(find_life(GONE, (uint32_t)cap.child, (uint32_t)told->tid_b, NULL));
	for (size_t i = 0; i < cap.row_cnt;
	     i++) /* the first main thread ends before exec is done */
		if (cap.rows[i].state == SCHED_STATE_TERMINATED && i + 1 < cap.row_cnt)
			cap.rows[i].state = SCHED_STATE_UNKNOWN;
	main_thread = count_rows((uint32_t)cap.child);
	other = count_rows((uint32_t)told->tid_b);
	assert_int_equal(main_thread.in, main_thread.out);
	assert_int_equal(main_thread.ended, 1);
	assert_true(other.in > 0);
	assert_int_equal(other.in, other.out);
	assert_int_equal(cap.lost, 0);
}

static void exec_beside_bpf(void **state)
{
	(void)state;
	check_exec_beside(SCHED_BACKEND_BPF);
}

static void exec_beside_perf(void **state)
{
	(void)state;
	check_exec_beside(SCHED_BACKEND_PERF);
}

static void check_preempted(enum sched_backend backend)
{
	struct count a, b;

	run(backend, share_a_cpu);
	a = count_rows((uint32_t)told->tid_a);
	b = count_rows((uint32_t)told->tid_b);
	assert_true(a.preempted >= 5);
	assert_true(b.preempted >= 5);
	assert_true(a.blocked >= 20);
	assert_true(b.blocked <= 3 + cap.mended);
}

static void preempted_bpf(void **state)
{
	(void)state;
	check_preempted(SCHED_BACKEND_BPF);
}

static void preempted_perf(void **state)
{
	(void)state;
	check_preempted(SCHED_BACKEND_PERF);
}

static void check_many_threads(enum sched_backend backend)
{
	struct count n;
	size_t born = 0, gone = 0;

	run(backend, threads_galore);
	n = count_all();
	for (size_t i = 0; i < cap.life_cnt; i++) {
		born += cap.lives[i].kind == BORN;
		gone += cap.lives[i].kind == GONE;
	}
	assert_int_equal(born, 400);
	assert_int_equal(gone, 401);
	assert_int_equal(n.ended, 401);
	assert_int_equal(cap.lost, 0);
}

static void many_threads_bpf(void **state)
{
	(void)state;
	check_many_threads(SCHED_BACKEND_BPF);
}

static void many_threads_perf(void **state)
{
	(void)state;
	check_many_threads(SCHED_BACKEND_PERF);
}

/* ---- what only eBPF knows ---- */

static void waker_is_the_other_thread(void **state)
{
	size_t with = 0, wrong = 0;
	struct count n;

	(void)state;
	run(SCHED_BACKEND_BPF, ping_pong);
	n = count_all();
	for (size_t i = 0; i < cap.row_cnt; i++) {
		const struct sched_switch *r = &cap.rows[i];
		uint32_t other = r->tid == (uint32_t)told->tid_a ? (uint32_t)told->tid_b
								 : (uint32_t)told->tid_a;

		if (!r->is_in || !r->wakeup_ns)
			continue;
		with++;
		wrong += r->waker_tid != other || r->waker_pid != (uint32_t)cap.child;
		assert_true(r->wakeup_ns <= r->time_ns);
	}
	/* Every sleep was ended by a waker, and so was the birth of each thread; preemption was not. */
	assert_in_range(with, n.blocked - cap.mended, n.blocked + 2 + cap.mended);
	assert_true(wrong <= 10); /* the release of the child, page faults */
}

static void a_timer_is_no_waker(void **state)
{
	size_t by_none = 0, by_spinner = 0;

	(void)state;
	run(SCHED_BACKEND_BPF, timer_beside_spinner);
	for (size_t i = 0; i < cap.row_cnt; i++) {
		const struct sched_switch *r = &cap.rows[i];

		if (!r->is_in || r->tid != (uint32_t)told->tid_a || !r->wakeup_ns)
			continue;
		by_none += r->waker_tid == 0;
		by_spinner += r->waker_tid == (uint32_t)told->tid_b;
	}
	assert_true(by_none >= 45);
	assert_true(by_spinner <= 2); /* the end of a thread wakes the one that joins it */
}

static void states(void **state)
{
	bool slept = false;

	(void)state;
	run(SCHED_BACKEND_BPF, vfork_and_wait);
	assert_true(count_rows((uint32_t)cap.child).uninterruptible >= 1);
	for (size_t i = 0; i < cap.row_cnt; i++) /* the child's usleep */
		slept |= cap.rows[i].pid != (uint32_t)cap.child &&
			 cap.rows[i].state == SCHED_STATE_INTERRUPTIBLE;
	assert_true(slept);
}

static void priorities(void **state)
{
	(void)state;
	run(SCHED_BACKEND_BPF, exec_true);
	assert_true(cap.row_cnt > 0);
	for (size_t i = 0; i < cap.row_cnt; i++)
		if (!cap.mended || cap.rows[i].priority != -1)
			assert_int_equal(cap.rows[i].priority, 120 + getpriority(PRIO_PROCESS, 0));
}

/* The programs for older kernels record the same. */
static void older_ways(void **state)
{
	(void)state;
	for (unsigned way = 1; way <= 2; way++) {
		sched_tuning.bpf_way = way;
		check_ping_pong(SCHED_BACKEND_BPF);
		check_family(SCHED_BACKEND_BPF);
		waker_is_the_other_thread(NULL);
		a_timer_is_no_waker(NULL);
		sched_tuning.bpf_way = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_pong_bpf),
		cmocka_unit_test(ping_pong_perf),
		cmocka_unit_test(family_bpf),
		cmocka_unit_test(family_perf),
		cmocka_unit_test(program_and_arguments_of_an_exec_bpf),
		cmocka_unit_test(names_bpf),
		cmocka_unit_test(names_perf),
		cmocka_unit_test(exec_beside_bpf),
		cmocka_unit_test(exec_beside_perf),
		cmocka_unit_test(preempted_bpf),
		cmocka_unit_test(preempted_perf),
		cmocka_unit_test(many_threads_bpf),
		cmocka_unit_test(many_threads_perf),
		cmocka_unit_test(waker_is_the_other_thread),
		cmocka_unit_test(a_timer_is_no_waker),
		cmocka_unit_test(states),
		cmocka_unit_test(priorities),
		cmocka_unit_test(older_ways),
	};

	if (!capture_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
