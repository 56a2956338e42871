/*
 * sched_capture.h - for tests of collector/kernel/sched/sched.h: runs a program under a backend and keeps all that it
 * reports; two programs that several tests use.
 *
 * Tests that need a right which is not there are skipped; those of the perf backend run as any user
 * while kernel.perf_event_paranoid is at most 2.
 */
#pragma once

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

#include "collector/base/proc.h"
#include "collector/kernel/sched/sched_internal.h"

/* Small enough for a ring to hold them all, however late the reader gets the CPU. */
#define ROUNDS      20000
#define ROUNDS_PERF 3000

struct life {
	enum {
		BORN,
		EXEC,
		NAMED,
		GONE
	} kind;
	uint32_t pid, tid, parent_pid, parent_tid;
	int exit_code;
	char comm[16];
	char path[256], args[SCHED_ARGS_MOST]; /* of EXEC */
	size_t args_len;
};

struct capture {
	struct sched_switch *rows;
	size_t row_cnt, row_max;
	struct life *lives;
	size_t life_cnt, life_max;
	uint64_t lost;   /* full rings */
	uint64_t mended; /* rows that stand in */
	pid_t child;
	int status;
};

/* What the traced child reports about itself. */
struct told {
	_Atomic int turn;
	long switches; /* of all its threads, by getrusage, while it worked */
	pid_t tid_a, tid_b;
	int rounds;
};
static struct told *told;
static struct capture cap;

/* ---- recording ---- */

static inline void on_switch(void *ctx, const struct sched_switch *sw)
{
	struct capture *c = ctx;

	if (c->row_cnt == c->row_max) {
		c->row_max = c->row_max * 2 + 4096;
		c->rows = realloc(c->rows, c->row_max * sizeof(*c->rows));
		assert_non_null(c->rows);
	}
	c->rows[c->row_cnt++] = *sw;
}

static inline struct life *add_life(struct capture *c, int kind, uint32_t pid, uint32_t tid)
{
	struct life *l;

	if (c->life_cnt == c->life_max) {
		c->life_max = c->life_max * 2 + 4096;
		c->lives = realloc(c->lives, c->life_max * sizeof(*c->lives));
		assert_non_null(c->lives);
	}
	l = &c->lives[c->life_cnt++];
	memset(l, 0, sizeof(*l));
	l->kind = kind;
	l->pid = pid;
	l->tid = tid;
	return l;
}

static inline void on_fork(void *ctx, uint64_t ns, uint32_t parent_pid, uint32_t parent_tid,
			   uint32_t pid, uint32_t tid)
{
	struct life *l = add_life(ctx, BORN, pid, tid);

	(void)ns;
	l->parent_pid = parent_pid;
	l->parent_tid = parent_tid;
}

static inline void on_comm(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, const char *comm,
			   const struct sched_exec *exec)
{
	struct life *l = add_life(ctx, exec ? EXEC : NAMED, pid, tid);

	(void)ns;
	snprintf(l->comm, sizeof(l->comm), "%s", comm);
	if (!exec)
		return;
	snprintf(l->path, sizeof(l->path), "%s", exec->path ? exec->path : "");
	l->args_len = exec->args_len;
	if (exec->args_len)
		memcpy(l->args, exec->args, exec->args_len);
}

static inline void on_exit_of(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, int exit_code)
{
	(void)ns;
	add_life(ctx, GONE, pid, tid)->exit_code = exit_code;
}

static const struct sched_ops ops = {
	.on_switch = on_switch, .on_fork = on_fork, .on_comm = on_comm, .on_exit = on_exit_of};

static inline const struct life *find_life(int kind, uint32_t pid, uint32_t tid, const char *comm)
{
	for (size_t i = 0; i < cap.life_cnt; i++) {
		const struct life *l = &cap.lives[i];

		if (l->kind == (unsigned)kind && (!pid || l->pid == pid) &&
		    (!tid || l->tid == tid) && (!comm || !strcmp(l->comm, comm)))
			return l;
	}
	return NULL;
}

static inline void capture_reset(void)
{
	free(cap.rows);
	free(cap.lives);
	memset(&cap, 0, sizeof(cap));
	memset(told, 0, sizeof(*told));
}

/* Starts @work in a child that waits until it is followed. */
static inline pid_t start_child(int (*work)(void), int *go)
{
	int pipe_fd[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a test fails */
		/* As exec would: what is attached goes with the last descriptor of it. */
		for (int fd = 3; fd < 1024; fd++)
			if (fd != pipe_fd[0])
				close(fd);
		if (read(pipe_fd[0], &c, 1) != 1)
			_exit(99);
		close(pipe_fd[0]);
		_exit(work());
	}
	assert_true(pid > 0);
	close(pipe_fd[0]);
	*go = pipe_fd[1];
	/* A program that is followed while it runs has its first switch out left out: it has to wait by then. */
	for (int i = 0; i < 5000 && proc_state((uint32_t)pid) != 'S'; i++)
		usleep(1000);
	return pid;
}

/* Threads whose exit is reported before they have left their CPU for the last time. */
static inline bool a_thread_still_exits(const struct sched *s)
{
	size_t gone = 0, ended = 0;

	for (size_t i = 0; i < cap.life_cnt; i++)
		gone += cap.lives[i].kind == GONE;
	for (size_t i = 0; i < cap.row_cnt; i++)
		ended += cap.rows[i].state == SCHED_STATE_TERMINATED;
	return !s->edge.is_paused && !s->no_switches && !s->driver->lost(s) && ended < gone;
}

/*
 * A child that has been waited for may still be on its way off the CPU, and on a busy machine that takes any time.
 * Bounded, as the kernel drops some switches.
 */
static inline void await_last_switches(struct sched *s, bool polls)
{
	usleep(2000);
	for (int i = 0; polls && i < 400 && a_thread_still_exits(s); i++) {
		usleep(5000);
		sched_poll(s, &ops, &cap);
	}
}

/* Runs @work under the backend; @poll_ms 0: takes everything out only at the end. */
static inline void run_on(struct sched *s, int (*work)(void), unsigned poll_ms)
{
	int go;

	told->rounds = sched_backend(s) == SCHED_BACKEND_PERF ? ROUNDS_PERF : ROUNDS;
	cap.child = start_child(work, &go);
	assert_int_equal(sched_follow(s, cap.child), 0);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	while (waitpid(cap.child, &cap.status, poll_ms ? WNOHANG : 0) == 0) {
		usleep(poll_ms * 1000);
		sched_poll(s, &ops, &cap);
	}
	await_last_switches(s, poll_ms);
	sched_stop(s);
	sched_poll(s, &ops, &cap);
	cap.lost = s->driver->lost(s) + s->missing.dropped;
	cap.mended = s->missing.mended;
	assert_true(sched_lost(s) >= cap.lost && sched_lost(s) >= cap.mended);
	/* Kernels of some virtual machines keep the switches of their agent's threads to themselves. */
	if (!cap.lost && cap.mended)
		print_message("# %d switches were not traced by the kernel\n", (int)cap.mended);
	if (!cap.lost)
		assert_true(cap.mended <= 5 + cap.row_cnt / 100);
}

static inline struct sched *must_open(enum sched_mode mode, enum sched_backend backend)
{
	char why[512], fix[256];
	struct sched *s;

	capture_reset();
	if (sched_probe(backend, why, sizeof(why), fix, sizeof(fix))) {
		print_message("%s; to enable: %s\n", why, fix);
		skip();
	}
	s = sched_open_for(&(struct sched_ask){.mode = mode, .want = backend}, why, sizeof(why));
	if (!s)
		print_message("%s\n", why);
	assert_non_null(s);
	assert_int_equal(sched_backend(s), backend);
	return s;
}

static inline void run(enum sched_backend backend, int (*work)(void))
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
static inline struct count count_rows(uint32_t tid)
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

static inline struct count count_all(void)
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

static inline void pin(void)
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

static inline long switches_so_far(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static inline void play(int who)
{
	for (int i = 0; i < told->rounds; i++) {
		while (told->turn != who)
			syscall(SYS_futex, &told->turn, FUTEX_WAIT, !who, NULL, NULL, 0);
		told->turn = !who;
		syscall(SYS_futex, &told->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static inline void *play_b(void *arg)
{
	told->tid_b = gettid();
	play(1);
	return arg;
}

static inline int ping_pong(void)
{
	pthread_t thread;
	long before;

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

static inline int family(void)
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

/* Shared with the children; call first in main(). */
static inline bool capture_init(void)
{
	prctl(PR_SET_NAME, "sched-test");
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return told != MAP_FAILED;
}
