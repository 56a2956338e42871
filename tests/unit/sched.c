/*
 * Context switches of real programs, compared with what the kernel counted for them.
 *
 * Tests that need a right which is not there are skipped; those of the perf backend run as any user
 * while kernel.perf_event_paranoid is at most 2.
 */
#include <errno.h>
#include <grp.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/sched_internal.h"

#define NOBODY 65534
#define ROUNDS 20000

struct life {
	enum { BORN, EXEC, NAMED, GONE } kind;
	uint32_t pid, tid, parent_pid, parent_tid;
	int exit_code;
	char comm[16];
};

struct capture {
	struct sched_switch *rows;
	size_t row_cnt, row_max;
	struct life lives[4096];
	size_t life_cnt;
	uint64_t lost;   /* full rings */
	uint64_t mended; /* rows that stand in */
	pid_t child;
	int status;
};

/* What the traced child tells about itself. */
struct told {
	_Atomic int turn;
	long switches; /* of all its threads, by getrusage, while it worked */
	pid_t tid_a, tid_b;
	int rounds;
};
static struct told *told;
static struct capture cap;

/* ---- recording ---- */

static void on_switch(void *ctx, const struct sched_switch *sw)
{
	struct capture *c = ctx;

	if (c->row_cnt == c->row_max) {
		c->row_max = c->row_max * 2 + 4096;
		c->rows = realloc(c->rows, c->row_max * sizeof(*c->rows));
		assert_non_null(c->rows);
	}
	c->rows[c->row_cnt++] = *sw;
}

static struct life *add_life(struct capture *c, int kind, uint32_t pid, uint32_t tid)
{
	struct life *l = &c->lives[c->life_cnt];

	if (c->life_cnt + 1 < sizeof(c->lives) / sizeof(*c->lives))
		c->life_cnt++;
	memset(l, 0, sizeof(*l));
	l->kind = kind;
	l->pid = pid;
	l->tid = tid;
	return l;
}

static void on_fork(void *ctx, uint64_t ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
		    uint32_t tid)
{
	struct life *l = add_life(ctx, BORN, pid, tid);

	(void)ns;
	l->parent_pid = parent_pid;
	l->parent_tid = parent_tid;
}

static void on_comm(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	struct life *l = add_life(ctx, exec ? EXEC : NAMED, pid, tid);

	(void)ns;
	snprintf(l->comm, sizeof(l->comm), "%s", comm);
}

static void on_exit_of(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, int exit_code)
{
	(void)ns;
	add_life(ctx, GONE, pid, tid)->exit_code = exit_code;
}

static const struct sched_ops ops = {
	.on_switch = on_switch, .on_fork = on_fork, .on_comm = on_comm, .on_exit = on_exit_of};

static const struct life *find_life(int kind, uint32_t pid, uint32_t tid, const char *comm)
{
	for (size_t i = 0; i < cap.life_cnt; i++) {
		const struct life *l = &cap.lives[i];

		if (l->kind == (unsigned)kind && (!pid || l->pid == pid) && (!tid || l->tid == tid) &&
		    (!comm || !strcmp(l->comm, comm)))
			return l;
	}
	return NULL;
}

static void capture_reset(void)
{
	free(cap.rows);
	memset(&cap, 0, sizeof(cap));
	memset(told, 0, sizeof(*told));
}

/* Starts @work in a child that waits until it is followed. */
static pid_t start_child(int (*work)(void), int *go)
{
	int pipe_fd[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid) {
		close(pipe_fd[1]);
		if (read(pipe_fd[0], &c, 1) != 1)
			_exit(99);
		close(pipe_fd[0]);
		_exit(work());
	}
	assert_true(pid > 0);
	close(pipe_fd[0]);
	*go = pipe_fd[1];
	return pid;
}

/* Runs @work under the backend; @poll_ms 0: takes everything out only at the end. */
static void run_on(struct sched *s, int (*work)(void), unsigned poll_ms)
{
	int go;

	cap.child = start_child(work, &go);
	assert_int_equal(sched_follow(s, cap.child), 0);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	while (waitpid(cap.child, &cap.status, poll_ms ? WNOHANG : 0) == 0) {
		usleep(poll_ms * 1000);
		sched_poll(s, &ops, &cap);
	}
	usleep(2000); /* the last thread is reaped before it has left its CPU */
	sched_stop(s);
	sched_poll(s, &ops, &cap);
	cap.lost = s->driver->lost(s) + s->dropped;
	cap.mended = s->mended;
	assert_true(sched_lost(s) >= cap.lost && sched_lost(s) >= cap.mended);
	/* Kernels of some virtual machines keep the switches of their agent's threads to themselves. */
	if (!cap.lost && cap.mended)
		print_message("# %d switches were not traced by the kernel\n", (int)cap.mended);
	if (!cap.lost)
		assert_true(cap.mended <= 5 + cap.row_cnt / 100);
}

static struct sched *must_open(enum sched_mode mode, enum sched_backend backend)
{
	char why[512], fix[256];
	struct sched *s;

	capture_reset();
	if (sched_probe(backend, why, sizeof(why), fix, sizeof(fix))) {
		print_message("%s; to enable: %s\n", why, fix);
		skip();
	}
	s = sched_open(mode, backend, why, sizeof(why));
	if (!s)
		print_message("%s\n", why);
	assert_non_null(s);
	assert_int_equal(sched_backend(s), backend);
	return s;
}

static void run(enum sched_backend backend, int (*work)(void))
{
	struct sched *s = must_open(SCHED_MODE_TREE, backend);

	run_on(s, work, 5);
	sched_close(s);
}

/* ---- checks ---- */

struct count {
	size_t in, out, preempted, blocked, uninterruptible, ended, mended;
};

/* Counts the rows of @tid (0: of all threads) and asserts that they alternate. */
static struct count count_rows(uint32_t tid)
{
	struct count n = {0};
	const struct sched_switch *last = NULL;

	for (size_t i = 0; i < cap.row_cnt; i++) {
		const struct sched_switch *r = &cap.rows[i];

		if (r->tid != tid)
			continue;
		assert_true(r->is_in == (last ? !last->is_in : true));
		if (last) {
			assert_true(last->time_ns <= r->time_ns);
			assert_int_not_equal(last->state, SCHED_STATE_TERMINATED);
			if (!r->is_in)
				assert_int_equal(last->cpu, r->cpu);
		}
		n.in += r->is_in;
		n.out += !r->is_in;
		if (!r->is_in) {
			n.preempted += r->preempted == 1;
			n.blocked += r->preempted == 0 && r->state != SCHED_STATE_TERMINATED;
			n.mended += r->preempted == -1;
			n.uninterruptible += r->state == SCHED_STATE_UNINTERRUPTIBLE;
			n.ended += r->state == SCHED_STATE_TERMINATED;
		}
		last = r;
	}
	return n;
}

static struct count count_all(void)
{
	struct count all = {0};
	uint32_t *seen = calloc(cap.row_cnt + 1, sizeof(*seen));
	size_t seen_cnt = 0, at;

	assert_non_null(seen);
	for (size_t i = 0; i < cap.row_cnt; i++) {
		struct count n;

		for (at = 0; at < seen_cnt && seen[at] != cap.rows[i].tid; at++)
			;
		if (at < seen_cnt)
			continue;
		seen[seen_cnt++] = cap.rows[i].tid;
		n = count_rows(cap.rows[i].tid);
		all.in += n.in;
		all.out += n.out;
		all.preempted += n.preempted;
		all.blocked += n.blocked;
		all.uninterruptible += n.uninterruptible;
		all.ended += n.ended;
		all.mended += n.mended;
	}
	free(seen);
	return all;
}

/* ---- programs to be traced ---- */

static void pin(void)
{
	cpu_set_t set;
	int cpu;

	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static long switches_so_far(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void play(int who)
{
	for (int i = 0; i < told->rounds; i++) {
		while (told->turn != who)
			syscall(SYS_futex, &told->turn, FUTEX_WAIT, !who, NULL, NULL, 0);
		told->turn = !who;
		syscall(SYS_futex, &told->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void *play_b(void *arg)
{
	told->tid_b = gettid();
	play(1);
	return arg;
}

static int ping_pong(void)
{
	pthread_t thread;
	long before;

	if (!told->rounds)
		told->rounds = ROUNDS;
	pin();
	before = switches_so_far();
	told->tid_a = gettid();
	if (pthread_create(&thread, NULL, play_b, NULL))
		return 1;
	play(0);
	pthread_join(thread, NULL);
	told->switches = switches_so_far() - before;
	return 0;
}

static int family(void)
{
	pid_t child = fork(), killed;

	if (!child) {
		pid_t grandchild = fork();

		if (!grandchild)
			_exit(3);
		told->tid_b = grandchild;
		waitpid(grandchild, NULL, 0);
		_exit(7);
	}
	told->tid_a = child;
	waitpid(child, NULL, 0);
	killed = fork();
	if (!killed) {
		pause();
		_exit(0);
	}
	kill(killed, SIGKILL);
	waitpid(killed, NULL, 0);
	return 5;
}

static int exec_true(void)
{
	execl("/bin/true", "true", (char *)NULL);
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

static volatile bool keep_spinning;

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
	keep_spinning = true;
	pthread_create(&thread, NULL, spin_in_user_mode, NULL);
	for (int i = 0; i < 50; i++)
		usleep(1000);
	keep_spinning = false;
	pthread_join(thread, NULL);
	return 0;
}

static int vfork_and_wait(void)
{
	pid_t pid = vfork();

	if (!pid) {
		usleep(5000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static int threads_galore(void)
{
	for (int round = 0; round < 20; round++) {
		pthread_t threads[20];

		for (int i = 0; i < 20; i++)
			pthread_create(&threads[i], NULL, play_b, NULL);
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
	assert_true(told->switches >= 2 * ROUNDS - 10);
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
	for (size_t i = 0; i < cap.row_cnt; i++) /* the first main thread ends before exec is done */
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
	assert_true(cap.lost > ROUNDS);
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
	/* Every sleep was ended by somebody, and so was the birth of each thread; preemption was not. */
	assert_in_range(with, n.blocked - cap.mended, n.blocked + 2 + cap.mended);
	assert_true(wrong <= 10); /* the release of the child, page faults */
}

static void timer_is_nobody(void **state)
{
	size_t by_nobody = 0, by_spinner = 0;

	(void)state;
	run(SCHED_BACKEND_BPF, timer_beside_spinner);
	for (size_t i = 0; i < cap.row_cnt; i++) {
		const struct sched_switch *r = &cap.rows[i];

		if (!r->is_in || r->tid != (uint32_t)told->tid_a || !r->wakeup_ns)
			continue;
		by_nobody += r->waker_tid == 0;
		by_spinner += r->waker_tid == (uint32_t)told->tid_b;
	}
	assert_true(by_nobody >= 45);
	assert_true(by_spinner <= 2); /* the end of the thread wakes who joins it */
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

/* Runs @part in a child so that it can change who it is. */
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

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                  \
			_exit(1);                                                                  \
		}                                                                                  \
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
	s = sched_open(SCHED_MODE_TREE, SCHED_BACKEND_BPF, why, sizeof(why));
	REQUIRE(s && sched_backend(s) == SCHED_BACKEND_PERF);
	REQUIRE(strstr(why, "perf_event_open"));
	run_on(s, ping_pong, 5);
	sched_close(s);
	REQUIRE(cap.lost == 0);
	REQUIRE(count_all().out >= (size_t)told->switches);
	s = sched_open(SCHED_MODE_SYSTEM, SCHED_BACKEND_BPF, why, sizeof(why));
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
	struct sched *s = sched_open(SCHED_MODE_TREE, backend, why, sizeof(why));
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
	REQUIRE(count_rows((uint32_t)told->tid_b).out >= ROUNDS);
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
	assert_null(sched_open(SCHED_MODE_NONE, SCHED_BACKEND_BPF, why, sizeof(why)));
	assert_true(*why);
	assert_int_equal(sched_backend(NULL), SCHED_BACKEND_NONE);
}

/* A process with threads that run already: their names are known, their rows begin with an in. */
static void running_threads_are_followed(void **state)
{
	enum sched_backend backends[] = {SCHED_BACKEND_BPF, SCHED_BACKEND_PERF};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sched *s = must_open(SCHED_MODE_TREE, backends[i]);
		int go, status;

		told->rounds = 10 * ROUNDS;
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
		assert_int_equal(s->driver->lost(s) + s->dropped, 0);
		assert_true(s->mended <= 5 + cap.row_cnt / 100);
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
		cmocka_unit_test(ping_pong_bpf),
		cmocka_unit_test(ping_pong_perf),
		cmocka_unit_test(family_bpf),
		cmocka_unit_test(family_perf),
		cmocka_unit_test(names_bpf),
		cmocka_unit_test(names_perf),
		cmocka_unit_test(exec_beside_bpf),
		cmocka_unit_test(exec_beside_perf),
		cmocka_unit_test(preempted_bpf),
		cmocka_unit_test(preempted_perf),
		cmocka_unit_test(many_threads_bpf),
		cmocka_unit_test(many_threads_perf),
		cmocka_unit_test(losses_bpf),
		cmocka_unit_test(losses_perf),
		cmocka_unit_test(waker_is_the_other_thread),
		cmocka_unit_test(timer_is_nobody),
		cmocka_unit_test(states),
		cmocka_unit_test(priorities),
		cmocka_unit_test(system_bpf),
		cmocka_unit_test(system_perf),
		cmocka_unit_test(nobody_gets_perf),
		cmocka_unit_test(container_bpf),
		cmocka_unit_test(container_perf),
		cmocka_unit_test(unknown_process_is_refused),
		cmocka_unit_test(none_is_none),
		cmocka_unit_test(running_threads_are_followed),
	};

	prctl(PR_SET_NAME, "sched-test");
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
