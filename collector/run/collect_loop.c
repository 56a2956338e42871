/*
 * collect_loop.c - the loop of a collection: signals, ends of processes, and when to look at the rings.
 *
 * One thread. Nothing in it waits but epoll_wait(), whose period adapts: the rings are polled, since a
 * wake-up from the traced program would cost it a system call per event.
 */
#include "collector/run/collect.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/collect/intake.h"
#include "collector/kernel/sample/sample.h"
#include "collector/collect/pump.h"
#include "collector/run/launch.h"
#include "collector/run/drain_pacing.h"
#include "collector/run/session_control.h"

#define BUSY_ROWS 20000u
#define FIRST_MS  1

static void mirror_stop(struct collector *c, int sig)
{
	if (!launch_stops_us(c->root.child, sig))
		return;
	collect_tick(c);
	pump_commit(c);
	session_control_yield(c);
	launch_stop_as(sig);
}

/* The program (the collector's child) ended, or was stopped as by Ctrl-Z. */
static void on_child(struct collector *c)
{
	struct proc *p;
	int status;
	pid_t pid;

	while ((pid = waitpid(c->root.child, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			mirror_stop(c, WSTOPSIG(status));
			continue;
		}
		c->root.is_gone = true;
		c->root.status = status;
		pump_poll(c);
		/* Not the time of the round: since then a report may have begun that it lived to see. */
		pump_now(c);
		p = model_find_newest(&c->model, (uint32_t)pid);
		if (p)
			model_exit(&c->model, p, c->clocks.now, status);
		return;
	}
}

static void on_signal(void *ctx, int fd)
{
	struct collector *c = ctx;
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		int sig = (int)si.ssi_signo;

		if (session_control_signal(c, sig))
			continue;
		if (c->root.child && !c->root.is_gone) {
			if (sig == SIGCHLD)
				on_child(c);
			else
				launch_pass_on(c->root.child, &si);
		} else if ((c->root.is_gone || c->root.is_attached) &&
			   (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)) {
			c->end = RUN_CUT;
		}
	}
}

void collect_take_signals(struct collector *c, int fd)
{
	c->root.signal_fd = fd;
	loop_add(&c->loop, fd, on_signal, c);
}

static void on_proc(void *ctx, int fd)
{
	struct proc *p = ctx;
	struct collector *c = p->life.watcher;

	if (p->flags.is_gone || p->life.pidfd != fd)
		return;
	/* The kernel's event has the exit status: let it come first. */
	pump_poll(c);
	if (c->root.child && p->pid == (uint32_t)c->root.child) {
		on_child(c);
	} else {
		pump_now(c);
		model_exit(&c->model, p, c->clocks.now, proc_exit_status(p->pid, p->life.pidfd));
	}
	if (p->pid == c->root.pid)
		c->root.is_gone = true;
	if (p->life.pidfd >= 0 && !p->flags.is_gone)
		loop_remove(&c->loop, p->life.pidfd);
}

void collect_watch_proc(void *ctx, struct proc *p)
{
	struct collector *c = ctx;

	p->life.watcher = c;
	p->life.pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->life.pidfd >= 0)
		loop_add(&c->loop, p->life.pidfd, on_proc, p);
	else
		c->root.has_unwatched = true;
}

/* Root processes that exit wait until all their records are committed. */
static void answer_exits(struct collector *c)
{
	int64_t asked = mono_ns();

	if (!c->intake.exit_cnt)
		return;
	while (collect_tick(c) >= BUSY_ROWS || !pump_knows_processes(c, asked))
		;
	drain_reap(&c->arenas, true);
	drain_totals(&c->arenas, false);
	pump_commit(c);
	db_settle(c->report.db);
	intake_answer_exits(c);
}

/* Kernels without pidfd, or no descriptors left: ask. */
static void check_processes(struct collector *c)
{
	if (!c->root.has_unwatched)
		return;
	c->root.has_unwatched = false;
	for (struct proc *p = c->model.procs; p; p = p->links.next) {
		char state = p->flags.is_gone || p->life.pidfd >= 0 ? 'R' : proc_state(p->pid);

		/*
		 * The child has ended only when its status was waited for: its signal may come later than this check.
		 */
		if (c->root.child && p->pid == (uint32_t)c->root.child && !c->root.is_gone) {
			on_child(c);
			state = 'R';
		}
		if (state == 0 || state == 'Z' || state == 'X') {
			/* After the look: the process may have made calls until then. */
			pump_now(c);
			model_exit(&c->model, p, c->clocks.now, -1);
			if (p->pid == c->root.pid)
				c->root.is_gone = true;
		} else if (!p->flags.is_gone && p->life.pidfd < 0) {
			c->root.has_unwatched = true;
		}
	}
}

/* Without kernel events, a child that has made no call yet is known by the arena it shares. */
static bool arenas_are_over(const struct collector *c)
{
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		if (!a->flags.is_over)
			return false;
	return true;
}

static int64_t second_look_ns(const struct collector *c)
{
	switch (sched_backend(c->recording.sched)) {
	case SCHED_BACKEND_BPF:
		return sched_lost(c->recording.sched) ? 5000000 : SCHED_SETTLE_NS;
	case SCHED_BACKEND_PERF:
		return 2000000;
	default:
		return 5000000;
	}
}

static void check_end(struct collector *c)
{
	bool tree_is_gone =
		c->model.counts.alive == 0 && (c->recording.sched || arenas_are_over(c));

	/* Not the collector's child: the kernel's event may come first, which closes its pidfd unread. */
	if (!c->root.is_gone && !c->root.child) {
		const struct proc *root = model_find_newest(&c->model, (uint32_t)c->root.pid);

		c->root.is_gone = root && root->flags.is_gone;
	}
	if (!c->root.is_gone)
		return;
	if (c->options->program.wait_all && !tree_is_gone) {
		c->clocks.alone_at = 0; /* another process was on its way */
		return;
	}
	if (!c->options->program.stop_on_exit && capture_is_on(c))
		return;
	/*
	 * A process may be on its way: connected, or forked without a call yet. The kernel reports a fork before its parent's
	 * end, but the record is handed over only SCHED_SETTLE_NS later: a daemon's parents are gone by then.
	 */
	if (c->options->program.wait_all && !c->clocks.alone_at) {
		c->clocks.alone_at = c->clocks.now;
		return;
	}
	if (c->options->program.wait_all && c->clocks.now - c->clocks.alone_at < second_look_ns(c))
		return;
	if (c->end == RUN_GOES_ON)
		c->end = RUN_ENDS;
}

/*
 * On a busy machine the program comes first: as a batch job the collector does not preempt a running thread whenever
 * its timer fires. No lower priority, or threads that wait for room would wait for the collector; except with --on-
 * full=drop, where none waits.
 */
static void be_modest(const struct collector *c)
{
	struct sched_param none = {0};

	/* Read from outside, Python's frames cannot wait until a CPU is free. */
	if (!c->recording.sample || !sample_is_outside(c->recording.sample))
		sched_setscheduler(0, SCHED_BATCH, &none);
	if (c->options->rings.on_full == SL_FULL_DROP)
		setpriority(PRIO_PROCESS, 0, 19);
}

/* Each program that starts wakes the loop by its connection, more often than the rings of all need a look. */
static bool wakes_early(struct collector *c, int64_t look_at)
{
	return !c->root.is_gone && !c->intake.exit_cnt && c->session.control &&
	       !capture_is_urgent(c) && mono_ns() < look_at;
}

static int ms_until(int64_t mono)
{
	int64_t left = mono - mono_ns();

	return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

void collect_run(struct collector *c)
{
	int wait = FIRST_MS;
	int64_t look_at = 0;
	bool due;
	size_t rows;

	be_modest(c);
	collect_late_begin(c);
	while (c->end == RUN_GOES_ON) {
		loop_wait(&c->loop, wait);
		pump_now(c);
		if (loop_dispatch(&c->loop))
			c->clocks.alone_at = 0;
		if (wakes_early(c, look_at)) {
			wait = ms_until(look_at);
		} else {
			due = pace_look(c);
			rows = due ? collect_tick(c) : 0;
			wait = pace_next(c, due, rows);
			look_at = mono_ns() + wait * 1000000ll;
		}
		answer_exits(c);
		check_processes(c);
		session_control_tick(c);
		collect_late_tick(c);
		check_end(c);
		if (c->clocks.alone_at)
			wait = 1;
	}
	collect_late_end(c);
}
