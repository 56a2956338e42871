/*
 * ctxsw ROUND_TRIPS ROUNDS - what recording a context switch costs the program.
 *
 * Two threads on one CPU hand a token to and fro; each hand-over is a switch and a wake-up. Untraced,
 * under the minimal ring-buffer program (ctxsw_min.bpf.o, next to this program), under ours, under ours with stacks of
 * threads without a CPU (which these are too shortly to have one sent), of some hundred bytes and of as much as is kept,
 * and under ours between two captures: paused a moment ago, and for longer; in turn, round by round; figures are medians over the rounds of the difference to the untraced run of
 * the same round. Time is the program's CPU time, which other programs do not disturb much. Needs root.
 */
#include <errno.h>
#include <libgen.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/kernel/sample/sample_offcpu.h"
#include "collector/kernel/sched/sched_internal.h"

#define POLL_US    10000
#define ROUNDS_MAX 101

enum variant {
	UNTRACED,
	MINIMAL,
	OURS,
	STACKS,
	DEEP_STACKS,
	PAUSED,
	LONG_PAUSED,
	VARIANT_CNT
};

static long round_trips = 100000;
static _Atomic int turn;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void play(int who)
{
	for (long i = 0; i < round_trips; i++) {
		while (turn != who)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !who, NULL, NULL, 0);
		turn = !who;
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static bool is_deep;

/* With more of the stack in use than is kept. */
static void __attribute__((noinline)) play_deep(int who)
{
	volatile char below[2 * OFFCPU_STACK];

	/* What was never written to has no memory, and ends what can be read. */
	for (size_t i = 0; i < sizeof(below); i += 64)
		below[i] = (char)i;
	play(who);
	below[1] = 0;
}

static void play_one(int who)
{
	if (is_deep)
		play_deep(who);
	else
		play(who);
}

static void *play_second(void *arg)
{
	play_one(1);
	return arg;
}

/* The traced program: waits for @go, plays, writes ns of CPU time per switch to @figure. */
static _Noreturn void program(int go, int figure)
{
	pthread_t thread;
	cpu_set_t set;
	double ns;
	char c;

	if (read(go, &c, 1) != 1)
		_exit(1);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	ns = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (pthread_create(&thread, NULL, play_second, NULL))
		_exit(1);
	play_one(0);
	pthread_join(thread, NULL);
	ns = (seconds(CLOCK_PROCESS_CPUTIME_ID) - ns) * 1e9 / (2.0 * (double)round_trips);
	_exit(write(figure, &ns, sizeof(ns)) != sizeof(ns));
}

/* ---- tracers: open, follow, poll, close ---- */

static struct {
	struct bpf_object *object;
	struct bpf_link *link;
	struct ring_buffer *ring;
} minimal;
static struct sched *ours;
static struct sample_offcpu *stacks;
static unsigned long rows, lost, sent;
static double open_ms, poll_s;

static int count_record(void *ctx, void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

static void count_row(void *ctx, const struct sched_switch *sw)
{
	(void)ctx;
	(void)sw;
	rows++;
}

static const struct sched_ops ops = {.on_switch = count_row};

static void die(const char *what)
{
	fprintf(stderr, "ctxsw: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool is_ours(enum variant v)
{
	return v == OURS || v == STACKS || v == DEEP_STACKS || v == PAUSED || v == LONG_PAUSED;
}

static void stacks_open(void)
{
	struct sched_maps maps;
	struct sample_ask ask = {.scope = SCHED_MODE_TREE, .off_cpu_ns = 80000, .kernel = &maps};
	char why[256] = "no eBPF";

	stacks = sched_maps(ours, &maps) ? sample_offcpu_open(&ask, NULL, why, sizeof(why)) : NULL;
	if (!stacks)
		die(why);
}

static void tracer_open(enum variant v, pid_t pid)
{
	char self[512] = "", path[600], why[256];
	double start = seconds(CLOCK_MONOTONIC);

	if (is_ours(v)) {
		ours = sched_open_for(
			&(struct sched_ask){.mode = SCHED_MODE_TREE, .want = SCHED_BACKEND_BPF},
			why, sizeof(why));
		open_ms = (seconds(CLOCK_MONOTONIC) - start) * 1e3;
		if (sched_backend(ours) != SCHED_BACKEND_BPF || sched_follow(ours, pid))
			die(why);
		if (v == STACKS || v == DEEP_STACKS)
			stacks_open();
		if (v == PAUSED || v == LONG_PAUSED)
			sched_pause(ours, (uint64_t)(seconds(CLOCK_MONOTONIC) * 1e9));
	} else if (v == MINIMAL) {
		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
			die("/proc/self/exe");
		snprintf(path, sizeof(path), "%s/ctxsw_min.bpf.o", dirname(self));
		minimal.object = bpf_object__open(path);
		if (!minimal.object || bpf_object__load(minimal.object))
			die(path);
		minimal.ring =
			ring_buffer__new(bpf_object__find_map_fd_by_name(minimal.object, "ring"),
					 count_record, NULL, NULL);
		minimal.link = bpf_program__attach(
			bpf_object__find_program_by_name(minimal.object, "on_switch"));
		if (!minimal.ring || !minimal.link)
			die("attaching the minimal program");
	}
}

static void tracer_poll(enum variant v)
{
	double start = seconds(CLOCK_THREAD_CPUTIME_ID);

	if (v == PAUSED || v == LONG_PAUSED) {
		sched_tuning.detach_ns = v == LONG_PAUSED ? 1 : 0;
		sched_poll(ours, &ops, NULL);
	} else if (v == OURS) {
		sched_poll(ours, &ops, NULL);
		poll_s += seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	} else if (v == STACKS || v == DEEP_STACKS) {
		sched_poll(ours, &ops, NULL);
		sample_offcpu_look(stacks);
		while (sample_offcpu_next(stacks, UINT64_MAX))
			sent++;
		sample_offcpu_done(stacks);
	} else if (v == MINIMAL) {
		ring_buffer__consume(minimal.ring);
	}
}

static void tracer_close(enum variant v)
{
	if (is_ours(v)) {
		sched_stop(ours);
		tracer_poll(v);
		lost += sched_lost(ours);
		sample_offcpu_close(stacks);
		stacks = NULL;
		sched_close(ours);
	} else if (v == MINIMAL) {
		bpf_link__destroy(minimal.link);
		ring_buffer__free(minimal.ring);
		bpf_object__close(minimal.object);
	}
}

static double measure(enum variant v)
{
	int go[2], figure[2], status;
	double ns = 0;
	pid_t pid;

	if (pipe(go) || pipe(figure))
		die("pipe");
	is_deep = v == DEEP_STACKS;
	pid = fork();
	if (!pid)
		program(go[0], figure[1]);
	if (pid < 0)
		die("fork");
	tracer_open(v, pid);
	tracer_poll(v);
	if (write(go[1], "x", 1) != 1)
		die("write");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(POLL_US);
		tracer_poll(v);
	}
	tracer_close(v);
	if (status || read(figure[0], &ns, sizeof(ns)) != sizeof(ns))
		die("the program failed");
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(figure[i]);
	}
	return ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int cnt)
{
	qsort(values, (size_t)cnt, sizeof(*values), by_value);
	return cnt % 2 ? values[cnt / 2] : (values[cnt / 2 - 1] + values[cnt / 2]) / 2;
}

int main(int argc, char **argv)
{
	static double base[ROUNDS_MAX], min_over[ROUNDS_MAX], our_over[ROUNDS_MAX],
		paused_over[ROUNDS_MAX], long_over[ROUNDS_MAX], stacks_over[ROUNDS_MAX],
		deep_over[ROUNDS_MAX];
	int rounds = argc > 2 ? atoi(argv[2]) : 15;
	double b, m, o, p, l, st, d;

	if (argc > 1)
		round_trips = atol(argv[1]);
	if (rounds < 1 || rounds > ROUNDS_MAX || round_trips < 1) {
		fprintf(stderr, "usage: ctxsw [ROUND_TRIPS [ROUNDS]], up to %d rounds\n",
			ROUNDS_MAX);
		return 2;
	}
	for (int r = 0; r < rounds; r++) {
		base[r] = measure(UNTRACED);
		min_over[r] = measure(MINIMAL) - base[r];
		our_over[r] = measure(OURS) - base[r];
		stacks_over[r] = measure(STACKS) - base[r];
		deep_over[r] = measure(DEEP_STACKS) - base[r];
		paused_over[r] = measure(PAUSED) - base[r];
		long_over[r] = measure(LONG_PAUSED) - base[r];
	}
	b = median(base, rounds);
	m = median(min_over, rounds);
	o = median(our_over, rounds);
	st = median(stacks_over, rounds);
	d = median(deep_over, rounds);
	p = median(paused_over, rounds);
	l = median(long_over, rounds);
	printf("untraced_ns %.0f minimal_over_ns %.1f ours_over_ns %.1f ratio %.2f paused_over_ns "
	       "%.1f long_paused_over_ns %.1f stacks_over_ns %.1f deep_stacks_over_ns %.1f sent "
	       "%lu rows %lu lost "
	       "%lu poll_ns_per_row %.1f open_ms %.1f\n",
	       b, m, o, o / m, p, l, st, d, sent, rows, lost,
	       rows ? poll_s * 1e9 / (double)rows : 0, open_ms);
	return 0;
}
