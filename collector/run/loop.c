/*
 * loop.c - the event loop: who calls, who ended, when to look at the rings.
 *
 * One thread. Nothing in it waits but epoll_wait(), whose period adapts: the rings are polled, since a
 * wake-up from the traced program would cost it a system call per event.
 */
#include "collector/collect/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/session/hello.h"
#include "collector/run/launch.h"
#include "collector/base/proc.h"

#define EVENTS         64
#define BUSY_ROWS      20000u
#define PERIOD_BUSY_MS 2
#define PERIOD_SOME_MS 10
#define PERIOD_IDLE_MS 50
#define PERIOD_LOOK_MS 20 /* whether it can still wait */
#define KIND_SHIFT     56

/* Descriptors fit into the lower half, pointers to processes into 56 bits. */
void loop_add(struct collector *c, int fd, unsigned kind, void *what)
{
	uint64_t value = what ? (uint64_t)(uintptr_t)what : (uint64_t)(uint32_t)fd;
	struct epoll_event ev = {.events = EPOLLIN,
				 .data.u64 = value | (uint64_t)kind << KIND_SHIFT};

	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* Edge-triggered: a ring whose first thread has ended is ready for ever. */
void loop_watch_ring(void *ctx, int fd)
{
	struct collector *c = ctx;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET,
				 .data.u64 = (uint64_t)(uint32_t)fd | (uint64_t)LOOP_SAMPLE
									      << KIND_SHIFT};

	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev);
}

void loop_watch_proc(void *ctx, struct proc *p)
{
	struct collector *c = ctx;

	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd >= 0)
		loop_add(c, p->pidfd, LOOP_PROC, p);
	else
		c->has_unwatched = true;
}

/* Another user's process may only be one that we have seen start: root's session is open to all. */
static bool is_ours(struct collector *c, const struct hello *h)
{
	uint32_t pid = h->pid;

	if (h->uid == geteuid() || h->uid == 0)
		return true;
	for (int steps = 0; pid > 1 && steps < 64; steps++) {
		if (model_find(&c->model, pid))
			return true;
		pid = proc_parent(pid);
	}
	return false;
}

static void on_peer(struct collector *c, int sock)
{
	struct hello h;
	int got = attach_receive(sock, &h);

	if (got == 0)
		return;
	if (got < 0) {
		/* Most simply hang up after their hello. */
		c->turned_away += got == -2;
		close(sock);
		return;
	}
	if (!is_ours(c, &h)) {
		c->arenas.refused++;
		if (h.fd >= 0)
			close(h.fd);
		close(sock);
		return;
	}
	if (h.kind == SL_HELLO_ARENA) {
		collect_arena(c, h.fd, c->arenas.last_id + 1, h.pid, h.claimed);
		close(h.fd);
		return;
	}
	if (h.kind == SL_HELLO_OPEN || h.kind == SL_HELLO_CLOSE) {
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, sock, NULL);
		capture_asked(c, sock, &h);
		return;
	}
	/* The root of a bare preload waits on this connection; answered after the commit. */
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, sock, NULL);
	if (c->leaving_cnt < (int)(sizeof(c->leaving) / sizeof(*c->leaving)))
		c->leaving[c->leaving_cnt++] = sock;
	else
		close(sock);
}

/* No descriptor is left: whoever knocks goes untraced, and is counted; else the knocking would never end. */
static bool turn_away(struct collector *c)
{
	int sock;

	if ((errno != EMFILE && errno != ENFILE) || c->reserve_fd < 0)
		return false;
	close(c->reserve_fd);
	sock = attach_accept(c->session.listen_fd);
	if (sock >= 0)
		close(sock);
	c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->turned_away += sock >= 0;
	return sock >= 0;
}

void loop_accept(struct collector *c)
{
	int sock;

	if (c->session.listen_fd < 0)
		return;
	do {
		while ((sock = attach_accept(c->session.listen_fd)) >= 0) {
			loop_add(c, sock, LOOP_PEER, NULL);
			on_peer(c, sock);
		}
	} while (turn_away(c));
}

static void mirror_stop(struct collector *c, int sig)
{
	if (!launch_stops_us(c->child, sig))
		return;
	collect_tick(c);
	collect_commit(c);
	steer_yield(c);
	launch_stop_as(sig);
}

/* The program (our child) changed: ended, or stopped as by Ctrl-Z. */
static void on_child(struct collector *c)
{
	struct proc *p;
	int status;
	pid_t pid;

	while ((pid = waitpid(c->child, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			mirror_stop(c, WSTOPSIG(status));
			continue;
		}
		c->root_is_gone = true;
		c->root_status = status;
		collect_poll(c);
		/* Not the time of the round: since then a report may have begun that it lived to see. */
		collect_now(c);
		p = model_find_newest(&c->model, (uint32_t)pid);
		if (p)
			model_exit(&c->model, p, c->now, status);
		return;
	}
}

static void on_signal(struct collector *c)
{
	struct signalfd_siginfo si;

	while (read(c->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		int sig = (int)si.ssi_signo;

		if (steer_signal(c, sig))
			continue;
		if (c->child && !c->root_is_gone) {
			if (sig == SIGCHLD)
				on_child(c);
			else
				launch_pass_on(c->child, &si);
		} else if ((c->root_is_gone || c->is_attached) &&
			   (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)) {
			c->is_over = c->was_cut = true;
		}
	}
}

static void on_proc(struct collector *c, struct proc *p)
{
	if (p->is_gone || p->pidfd < 0)
		return;
	/* The kernel's event has the exit status: let it come first. */
	collect_poll(c);
	if (c->child && p->pid == (uint32_t)c->child) {
		on_child(c);
	} else {
		collect_now(c);
		model_exit(&c->model, p, c->now, proc_exit_status(p->pid, p->pidfd));
	}
	if (p->pid == c->root)
		c->root_is_gone = true;
	if (p->pidfd >= 0 && !p->is_gone)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, p->pidfd, NULL);
}

static void dispatch(struct collector *c, const struct epoll_event *ev)
{
	uint64_t value = ev->data.u64 & ((1ull << KIND_SHIFT) - 1);

	switch (ev->data.u64 >> KIND_SHIFT) {
	case LOOP_LISTEN:
		loop_accept(c);
		break;
	case LOOP_SIGNAL:
		on_signal(c);
		break;
	case LOOP_PEER:
		on_peer(c, (int)value);
		break;
	case LOOP_PROC:
		on_proc(c, (struct proc *)(uintptr_t)value);
		break;
	case LOOP_COMMAND:
		steer_serve(c);
		break;
	case LOOP_SAMPLE:
		collect_samples(c, false);
		break;
	case LOOP_COUNTERS:
		collect_counters_tick(c);
		break;
	case LOOP_KEY:
		steer_key(c);
		break;
	}
}

/* Roots that are about to exit: all of theirs must be in the report. */
static void answer_leaving(struct collector *c)
{
	if (!c->leaving_cnt)
		return;
	while (collect_tick(c) >= BUSY_ROWS)
		;
	drain_reap(&c->arenas, true);
	drain_totals(&c->arenas, false);
	collect_commit(c);
	db_settle(c->db);
	while (c->leaving_cnt)
		close(c->leaving[--c->leaving_cnt]);
}

/* Kernels without pidfd, or no descriptors left: ask. */
static void check_processes(struct collector *c)
{
	if (!c->has_unwatched)
		return;
	c->has_unwatched = false;
	collect_now(c);
	for (struct proc *p = c->model.procs; p; p = p->next) {
		char state = p->is_gone || p->pidfd >= 0 ? 'R' : proc_state(p->pid);

		/* Our child is gone when its status has been asked for: its signal may come later than we look. */
		if (c->child && p->pid == (uint32_t)c->child && !c->root_is_gone) {
			on_child(c);
			state = 'R';
		}
		if (state == 0 || state == 'Z' || state == 'X') {
			model_exit(&c->model, p, c->now, -1);
			if (p->pid == c->root)
				c->root_is_gone = true;
		} else if (!p->is_gone && p->pidfd < 0) {
			c->has_unwatched = true;
		}
	}
}

/* Without the kernel's word, a child that has had nothing to say is known by the memory it shares. */
static bool arenas_are_over(const struct collector *c)
{
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		if (!a->is_over)
			return false;
	return true;
}

static int64_t second_look_ns(const struct collector *c)
{
	switch (sched_backend(c->sched)) {
	case SCHED_BACKEND_BPF:
		return sched_lost(c->sched) ? 5000000 : SCHED_SETTLE_NS;
	case SCHED_BACKEND_PERF:
		return 2000000;
	default:
		return 5000000;
	}
}

static void check_end(struct collector *c)
{
	bool tree_is_gone = c->model.alive == 0 && (c->sched || arenas_are_over(c));

	/* Where it is no child of ours: the kernel's event may come first, and then its pidfd is closed unread. */
	if (!c->root_is_gone && !c->child) {
		const struct proc *root = model_find_newest(&c->model, (uint32_t)c->root);

		c->root_is_gone = root && root->is_gone;
	}
	if (!c->root_is_gone)
		return;
	if (c->options->wait_all && !tree_is_gone) {
		c->alone_at = 0; /* another process was on its way */
		return;
	}
	if (!c->options->stop_on_exit && capture_is_on(c))
		return;
	/*
	 * A process may be on its way: connected, or forked without a call yet. The kernel reports a fork before its parent's
	 * end, but the record is handed over only SCHED_SETTLE_NS later: a daemon's parents are gone by then.
	 */
	if (c->options->wait_all && !c->alone_at) {
		c->alone_at = c->now;
		return;
	}
	if (c->options->wait_all && c->now - c->alone_at < second_look_ns(c))
		return;
	c->is_over = true;
}

static int period(struct collector *c, size_t rows)
{
	if (c->root_is_gone)
		return PERIOD_BUSY_MS;
	if (rows >= BUSY_ROWS) {
		c->idle_rounds = 0;
		return rows >= 3 * BUSY_ROWS ? 0 : PERIOD_BUSY_MS;
	}
	if (rows) {
		c->idle_rounds = 0;
		return PERIOD_SOME_MS;
	}
	return ++c->idle_rounds < 10 ? PERIOD_SOME_MS : PERIOD_IDLE_MS;
}

/*
 * On a machine that is full, the program comes first: as a batch job the collector does not push a running
 * thread off its CPU whenever its timer fires. Nothing lower, or threads that wait for room would wait for us,
 * unless never holding the program up is what the user has asked for.
 */
static void be_modest(const struct collector *c)
{
	struct sched_param none = {0};

	sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
	if (c->options->on_full == SL_FULL_DROP)
		setpriority(PRIO_PROCESS, 0, 19);
}

void loop_run(struct collector *c)
{
	struct epoll_event ev[EVENTS];
	int wait = PERIOD_SOME_MS;

	be_modest(c);
	while (!c->is_over) {
		int n = epoll_wait(c->epoll, ev, EVENTS, wait);

		collect_now(c);
		for (int i = 0; i < n; i++) {
			dispatch(c, &ev[i]);
			/* A clock is nobody. */
			if (ev[i].data.u64 >> KIND_SHIFT != LOOP_COUNTERS)
				c->alone_at = 0;
		}
		wait = collect_can_wait(c) ? PERIOD_LOOK_MS : period(c, collect_tick(c));
		answer_leaving(c);
		check_processes(c);
		steer_tick(c);
		check_end(c);
		if (c->alone_at)
			wait = 1;
	}
}
