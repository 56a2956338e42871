/*
 * open_samples.c - /proc/PID/task/TID/schedstat has the time that a thread has run: if it is another than at the last look, there is something
 * to read: its call, which also shows whether it runs now, and its stack, unless it waits at the same place of the same frame as before.
 *
 * Threads that have not run for a while are not even asked: the CPU time of a process is the sum of what its threads have run, now
 * and before they ended. As long as that of the others explains it, none of these has run.
 */
#include "collector/waits/open_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/limits.h"
#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/base/proc_numbers.h"
#include "collector/base/stop_signal.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/kernel/sched/sched.h"
#include "collector/model/model.h"
#include "collector/report/db_ids.h"
#include "collector/waits/open_waits_internal.h"

#define THREADS_MOST 4096u
#define LIST_NS      INT64_C(100000000) /* threads are listed so often */
#define COMMIT_NS    INT64_C(1000000000)
#define LEAVE        32u /* descriptors, for all else */
#define ACTIVE_LOOKS \
	16u /* a thread that has not run in so many is asked when another one must have run */

struct watched {
	struct thread_call call;
	int schedstat, syscall; /* descriptors; -1: opened for each look */
	uint64_t ran;           /* ns, as schedstat had it; UINT64_MAX: not looked at yet */
	uint64_t since;         /* ns, waits; 0: it does not, or nothing is known of that */
	int64_t stack;          /* of the wait */
	uint64_t place[2];      /* innermost frame of Python, and its instruction */
	uint32_t idle;          /* looks since it ran */
	bool is_listed, is_gone;
};

/* Threads of one process: those from @first up to @end of the list. */
struct group {
	uint32_t pid;
	clockid_t clock; /* its CPU time */
	bool has_clock, is_known;
	uint64_t ended; /* ns that no thread of the list has run; if it is known */
	size_t first, end;
};

static struct sampler {
	struct collector *c;
	struct sample_waiting *stacks;
	struct sample_report to;
	struct sample_sink sink;
	struct watched *list; /* by process and thread */
	size_t cnt, room;
	struct group *groups;
	size_t groups_cnt, groups_room;
	uint64_t now;    /* CLOCK_MONOTONIC */
	uint64_t random; /* state of the generator */
	struct {
		uint32_t pid, owner[PYOUTSIDE_GILS];
		unsigned cnt;
	} gil; /* of the process that was looked at last in this round */
	bool is_full;
} sampler;

/* ---- reading ---- */

static int open_file(const struct watched *t, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", proc_root(), t->call.pid, t->call.tid,
		 name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* False: the thread has ended. */
static bool read_file(const struct watched *t, int kept, const char *name, char *text, size_t len)
{
	int fd = kept >= 0 ? kept : open_file(t, name);
	ssize_t got = fd < 0 ? -1 : pread(fd, text, len - 1, 0);

	if (fd >= 0 && fd != kept)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static void forget(struct watched *t)
{
	if (t->schedstat >= 0)
		close(t->schedstat);
	if (t->syscall >= 0)
		close(t->syscall);
	t->is_gone = true;
}

/* ---- rows ---- */

static bool has_gil(uint32_t pid, uint32_t tid, bool *is_known)
{
	struct pyoutside_gil list[PYOUTSIDE_GILS];

	if (sampler.gil.pid != pid) {
		sampler.gil.pid = pid;
		sampler.gil.cnt = sample_waiting_gils(sampler.stacks, pid, list);
		for (unsigned i = 0; i < sampler.gil.cnt; i++)
			sampler.gil.owner[i] = list[i].owner;
	}
	*is_known = sampler.gil.cnt != 0;
	for (unsigned i = 0; i < sampler.gil.cnt; i++)
		if (sampler.gil.owner[i] == tid)
			return true;
	return false;
}

static int64_t stack_of(const struct watched *t)
{
	const struct sample_wait wait = {t->call.pid, t->call.tid, t->call.pc, t->call.sp,
					 sampler.now};

	return sample_waiting_stack(sampler.stacks, &sampler.sink, &wait);
}

static void put(const struct sample_row *row)
{
	sampler.sink.ops->row(sampler.sink.to, row);
}

static void put_sample(const struct watched *t)
{
	struct sample_row row = {.ns = sampler.now,
				 .cpu = SAMPLE_CPU_UNKNOWN,
				 .pid = t->call.pid,
				 .tid = t->call.tid};
	bool is_known, has = has_gil(t->call.pid, t->call.tid, &is_known);

	row.gil = !is_known ? SAMPLE_GIL_UNKNOWN : has ? SAMPLE_GIL_HELD : SAMPLE_GIL_NOT_HELD;
	row.stack = stack_of(t);
	put(&row);
}

static void end_wait(struct watched *t, bool still)
{
	if (t->since && t->since < sampler.now)
		put(&(struct sample_row){.ns = t->since,
					 .cpu = SAMPLE_CPU_UNKNOWN,
					 .pid = t->call.pid,
					 .tid = t->call.tid,
					 .stack = t->stack,
					 .end_ns = sampler.now,
					 .state = SCHED_STATE_UNKNOWN,
					 .still = still});
	t->since = 0;
}

/* ---- a look ---- */

static void begin_wait(struct watched *t, const struct thread_call *before)
{
	struct pyoutside *python = sample_waiting_python(sampler.stacks);
	uint64_t place[2] = {0, 0};
	bool is_same = before->sp && thread_call_is_same(before, &t->call);

	if (python && !pyoutside_place(python, t->call.pid, t->call.tid, place))
		is_same &= !sample_waiting_layout(sampler.stacks, t->call.pid);
	is_same &= memcmp(place, t->place, sizeof(place)) == 0;
	if (!is_same)
		t->stack = stack_of(t);
	memcpy(t->place, place, sizeof(place));
	t->since = sampler.now;
}

static void look_at(struct watched *t)
{
	struct thread_call before = t->call;
	unsigned long long ran;
	char text[256];

	if (!read_file(t, t->schedstat, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%llu", &ran) != 1) {
		end_wait(t, false);
		forget(t);
		return;
	}
	if (ran == t->ran) {
		t->idle++;
		return;
	}
	end_wait(t, false);
	t->ran = ran;
	t->idle = 0;
	if (!read_file(t, t->syscall, "syscall", text, sizeof(text)))
		return;
	thread_call_parse(&t->call, text);
	if (t->call.number == CALL_RUNS) {
		put_sample(t);
		/* The place of the last wait, and its stack, stay. */
		t->call = before;
	} else {
		begin_wait(t, &before);
	}
}

/* ns; 0: it has ended. */
static uint64_t cpu_of(const struct group *g)
{
	struct timespec t;

	return clock_gettime(g->clock, &t) == 0
		       ? (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec
		       : 0;
}

static uint64_t sum_of(const struct group *g)
{
	uint64_t sum = 0;

	for (size_t i = g->first; i < g->end; i++)
		if (!sampler.list[i].is_gone && sampler.list[i].ran != UINT64_MAX)
			sum += sampler.list[i].ran;
	return sum;
}

/* Looks at the active threads of the group, or at the others. */
static void look_at_part(const struct group *g, bool active)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!sampler.list[i].is_gone && (sampler.list[i].idle < ACTIVE_LOOKS) == active)
			look_at(&sampler.list[i]);
}

static void look_at_group(struct group *g)
{
	uint64_t before = g->has_clock ? cpu_of(g) : 0;

	if (g->is_known && before && before - sum_of(g) == g->ended)
		return;
	look_at_part(g, true);
	if (g->is_known && before && cpu_of(g) == before && before - sum_of(g) == g->ended)
		return;
	look_at_part(g, false);
	/* A thread that runs meanwhile makes the sum another one. */
	g->is_known = before && cpu_of(g) == before;
	if (g->is_known)
		g->ended = before - sum_of(g);
}

/* ---- which threads ---- */

static int by_thread(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;

	if (x->call.pid != y->call.pid)
		return x->call.pid < y->call.pid ? -1 : 1;
	return (x->call.tid > y->call.tid) - (x->call.tid < y->call.tid);
}

static void name_thread(const struct thread_call *call)
{
	char name[64];

	if (!thread_read(name, sizeof(name), "comm", call->pid, call->tid))
		return;
	name[strcspn(name, "\n")] = '\0';
	db_thread_name(sampler.c->report.db, GLOBAL_TID(call->pid, call->tid), name,
		       model_priority(call->tid));
}

static void add_thread(uint32_t pid, uint32_t tid, size_t known)
{
	struct watched t = {.call = {.pid = pid, .tid = tid},
			    .ran = UINT64_MAX,
			    .stack = DB_NULL,
			    .schedstat = -1,
			    .syscall = -1,
			    .is_listed = true};
	struct watched *had = known ? bsearch(&t, sampler.list, known, sizeof(t), by_thread) : NULL;

	if (had) {
		had->is_listed = true;
		return;
	}
	sampler.is_full |= sampler.cnt >= THREADS_MOST;
	if (sampler.cnt >= THREADS_MOST ||
	    !grow(&sampler.list, sampler.cnt, &sampler.room, sizeof(t)))
		return;
	if (limits_free_descriptors() > LEAVE) {
		t.schedstat = open_file(&t, "schedstat");
		t.syscall = open_file(&t, "syscall");
	}
	name_thread(&t.call);
	sampler.list[sampler.cnt++] = t;
}

static void group_threads(void)
{
	sampler.groups_cnt = 0;
	for (size_t i = 0; i < sampler.cnt; i++) {
		uint32_t pid = sampler.list[i].call.pid;
		struct group *g =
			sampler.groups_cnt ? &sampler.groups[sampler.groups_cnt - 1] : NULL;

		if (g && g->pid == pid) {
			g->end = i + 1;
			continue;
		}
		if (!grow(&sampler.groups, sampler.groups_cnt, &sampler.groups_room, sizeof(*g)))
			return;
		g = &sampler.groups[sampler.groups_cnt++];
		*g = (struct group){.pid = pid, .first = i, .end = i + 1};
		g->has_clock = clock_getcpuclockid((pid_t)pid, &g->clock) == 0;
	}
}

/* False: no process is left. */
static bool list_threads(void)
{
	size_t known = sampler.cnt, kept = 0;
	bool is_other = false;

	for (size_t i = 0; i < known; i++)
		sampler.list[i].is_listed = false;
	for (struct proc *p = sampler.c->model.procs; p; p = p->links.next) {
		struct proc_numbers threads;
		uint32_t tid;

		if (p->flags.is_gone || !(p->flags.is_traced || p->flags.in_tree))
			continue;
		threads = proc_numbers_open(p->pid, "task");
		while (proc_numbers_next(&threads, &tid))
			/* A main thread stays until its process is waited for. */
			if (tid != p->pid || proc_state(tid) != 'Z')
				add_thread(p->pid, tid, known);
		proc_numbers_close(&threads);
	}
	for (size_t i = 0; i < sampler.cnt; i++) {
		struct watched *t = &sampler.list[i];

		if (!t->is_listed && !t->is_gone) {
			end_wait(t, false);
			forget(t);
		}
		is_other |= t->is_gone;
		if (!t->is_gone)
			sampler.list[kept++] = *t;
	}
	is_other |= kept != known;
	sampler.cnt = kept;
	if (!is_other)
		return kept;
	if (kept > 1)
		qsort(sampler.list, kept, sizeof(*sampler.list), by_thread);
	group_threads();
	return kept;
}

/* ---- all looks ---- */

/* At any moment of the interval: a program that does something in the same rhythm is not always met at the same. */
static int64_t moment_of(int64_t from, int64_t every)
{
	sampler.random ^= sampler.random << 13;
	sampler.random ^= sampler.random >> 7;
	sampler.random ^= sampler.random << 17;
	return from + (int64_t)(sampler.random % (uint64_t)every);
}

static void sleep_until(int64_t ns)
{
	struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void commit(void)
{
	struct collector *c = sampler.c;

	sample_report_written(&c->recording, &sampler.to);
	pump_now(c);
	pump_clocks(c);
	pump_commit(c);
	sampler.to = sample_report_of(&c->recording);
}

static void take_all(const struct samples_ask *ask)
{
	int64_t begun = mono_ns(), next = begun, listed = 0, committed = begun;

	while (!stop_signal_pending() && (!ask->for_ns || mono_ns() - begun < ask->for_ns)) {
		sleep_until(moment_of(next, ask->every_ns));
		sampler.now = (uint64_t)mono_ns();
		sampler.gil.pid = 0;
		if ((int64_t)sampler.now - listed >= LIST_NS) {
			listed = (int64_t)sampler.now;
			if (!list_threads())
				break;
		}
		for (size_t i = 0; i < sampler.groups_cnt; i++)
			look_at_group(&sampler.groups[i]);
		if ((int64_t)sampler.now - committed >= COMMIT_NS) {
			committed = (int64_t)sampler.now;
			commit();
		}
		/* A look that came late is not made up for: that would count one moment twice. */
		next += ask->every_ns;
		if (next + ask->every_ns < mono_ns())
			next = mono_ns();
	}
}

void open_samples_take(struct collector *c, const struct samples_ask *ask)
{
	char text[32];

	if (!open_waits_begin(c))
		return;
	sampler = (struct sampler){
		.c = c, .stacks = open_waits_stacks(c), .random = (uint64_t)mono_ns() | 1};
	if (!sampler.stacks)
		return;
	limits_raise_descriptors();
	sampler.to = sample_report_of(&c->recording);
	sampler.sink = sample_report_sink(&sampler.to);
	snprintf(text, sizeof(text), "%lld", (long long)(1000000000 / ask->every_ns));
	db_meta_capture(c->report.db, "LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY", text);
	take_all(ask);
	sampler.now = (uint64_t)mono_ns();
	for (size_t i = 0; i < sampler.cnt; i++)
		if (!sampler.list[i].is_gone) {
			end_wait(&sampler.list[i], true);
			forget(&sampler.list[i]);
		}
	commit();
	if (sampler.is_full)
		notes_say(c, 2, "threads beyond the first %u were not looked at", THREADS_MOST);
	free(sampler.list);
	free(sampler.groups);
	sampler = (struct sampler){.c = NULL};
}
