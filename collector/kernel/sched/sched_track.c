/*
 * sched_track.c - keeps the rules of the rows.
 *
 * Rows of one thread strictly alternate. Two things in the stream break that and are mended here:
 *   - it begins in the middle of a life: the first record of a thread that was already running is
 *     that it leaves its CPU. That row is left out, as its other half lies before the session;
 *   - records are missing, because a ring was full or because the kernel does not trace the switches
 *     of some task. Then a row stands in for the missing one (state unknown, preempted and priority
 *     -1): an out at the first sign that the thread had left (another thread leaves its CPU, or it
 *     enters another one), an in at the time of the out that lacks it.
 */
#include <string.h>
#include <stdlib.h>

#include "collector/kernel/sched/sched_internal.h"

enum thread_flag {
	THREAD_KNOWN = 1,    /* pid and tid are set */
	THREAD_IN = 2,       /* its last row is an in */
	THREAD_COMPLETE = 4, /* nothing of it lies before the session, so nothing may be missing */
	THREAD_BLOCKED = 8,  /* its last out blocked: the next in has a wake-up */
	THREAD_ENDED = 16,   /* its last row had state TERMINATED */
	THREAD_EXITED = 32,  /* on_exit was called */
	THREAD_GROUP_EXITED =
		64,          /* of the main thread: on_exit with the process's status was called */
	THREAD_CUT = 128,    /* ended by its exit: rows of its last steps after that do not count */
	THREAD_HIDDEN = 256, /* no switches arrive */
};

/* ---- threads ---- */

static struct sched_thread *thread_find(const struct sched *s, uint32_t key)
{
	struct sched_thread *chunk = s->threads.chunks[key % SCHED_KEY_LIMIT / SCHED_CHUNK];

	return chunk ? &chunk[key % SCHED_CHUNK] : NULL;
}

/* NULL without memory. */
static struct sched_thread *thread_get(struct sched *s, uint32_t key)
{
	struct sched_thread **chunk = &s->threads.chunks[key % SCHED_KEY_LIMIT / SCHED_CHUNK];

	if (!*chunk)
		*chunk = calloc(SCHED_CHUNK, sizeof(**chunk));
	return *chunk ? &(*chunk)[key % SCHED_CHUNK] : NULL;
}

/* The thread of a switch or event; NULL when it can have no row. */
static struct sched_thread *thread_of(struct sched *s, uint32_t key, uint32_t pid, uint32_t tid)
{
	struct sched_thread *t = thread_get(s, key);

	if (!t || (!(t->flags & THREAD_KNOWN) && s->must_announce)) {
		s->missing.dropped += !s->edge.is_off;
		return NULL;
	}
	if (!(t->flags & THREAD_KNOWN)) {
		t->pid = pid;
		t->tid = tid;
		t->flags = THREAD_KNOWN;
	}
	return t;
}

/* The thread that is on @cpu as far as we know; 0 none. */
static uint32_t running_on(const struct sched *s, unsigned cpu)
{
	return cpu < s->cpu.cnt ? s->cpu.running[cpu] : 0;
}

static void emit(struct sched *s, struct sched_thread *t, struct sched_switch *row)
{
	uint64_t before_ns = t->since_ns;

	row->pid = t->pid;
	row->tid = t->tid;
	t->since_ns = row->time_ns;
	t->cpu = (uint16_t)row->cpu;
	t->flags = (uint16_t)(row->is_in ? t->flags | THREAD_IN : t->flags & ~THREAD_IN);
	if (row->cpu < s->cpu.cnt)
		s->cpu.moved_ns[row->cpu] = row->time_ns;
	if (s->edge.is_off || s->no_switches)
		return;
	sched_count(s, t, before_ns, row);
	s->out.handled++;
	if (s->out.ops->on_switch)
		s->out.ops->on_switch(s->out.ctx, row);
}

static void emit_out(struct sched *s, struct sched_thread *t, uint64_t ns, uint8_t state,
		     int8_t preempted, int priority)
{
	struct sched_switch row = {
		.time_ns = ns > t->since_ns ? ns : t->since_ns,
		.cpu = t->cpu,
		.state = state,
		.preempted = preempted,
		.priority = priority,
	};

	if (t->cpu < s->cpu.cnt)
		s->cpu.running[t->cpu] = 0;
	emit(s, t, &row);
}

/* @t is found to have left its CPU without a word: the out was lost. */
static void mend_out(struct sched *s, struct sched_thread *t, uint64_t ns)
{
	t->flags &= (uint16_t)~THREAD_BLOCKED;
	s->missing.mended += !s->edge.is_off;
	emit_out(s, t, ns, SCHED_STATE_UNKNOWN, -1, -1);
}

static void emit_in(struct sched *s, struct sched_thread *t, uint64_t ns, unsigned cpu)
{
	struct sched_switch row = {
		.time_ns = ns > t->since_ns ? ns : t->since_ns,
		.cpu = cpu,
		.is_in = true,
		.preempted = -1,
		.priority = -1,
	};

	emit(s, t, &row);
}

/* @t leaves a CPU that it never entered: the in was lost. */
static void mend_in(struct sched *s, struct sched_thread *t, uint64_t ns, unsigned cpu)
{
	s->missing.mended += !s->edge.is_off;
	emit_in(s, t, ns, cpu);
}

/* @t leaves a CPU that it has had since before recording began. */
static bool was_running(const struct sched *s, const struct sched_thread *t, unsigned cpu)
{
	return s->edge.on_ns && !(t->flags & THREAD_IN) && t->since_ns < s->edge.on_ns &&
	       cpu < s->cpu.cnt && s->cpu.moved_ns[cpu] <= s->edge.on_ns;
}

/* Any thread recorded as running on @cpu other than @key is not any more. */
static void mend_cpu(struct sched *s, uint64_t ns, unsigned cpu, uint32_t key)
{
	uint32_t other = running_on(s, cpu);
	struct sched_thread *t;

	if (!other || other == key)
		return;
	s->cpu.running[cpu] = 0;
	t = thread_find(s, other);
	if (t && (t->flags & THREAD_IN) && t->cpu == cpu)
		mend_out(s, t, ns);
}

static void report_exit(struct sched *s, struct sched_thread *t, uint64_t ns, int exit_code)
{
	if (t->flags & THREAD_EXITED)
		return;
	t->flags |= THREAD_EXITED;
	s->out.handled++;
	if (s->out.ops->on_exit)
		s->out.ops->on_exit(s->out.ctx, ns, t->pid, t->tid, exit_code);
}

static void report_comm(struct sched *s, const struct sched_thread *t, uint64_t ns,
			const char *comm, const struct sched_exec *exec)
{
	s->out.handled++;
	if (s->out.ops->on_comm)
		s->out.ops->on_comm(s->out.ctx, ns, t->pid, t->tid, comm, exec);
}

void track_out(struct sched *s, uint64_t ns, unsigned cpu, const struct track_out *out)
{
	struct sched_thread *t = thread_of(s, out->key, out->pid, out->tid);
	bool ends = out->state == SCHED_STATE_TERMINATED;

	mend_cpu(s, ns, cpu, out->key);
	if (!t || (t->flags & THREAD_CUT))
		return;
	if ((t->flags & THREAD_IN) && t->cpu != cpu)
		mend_out(s, t, ns);
	if (was_running(s, t, cpu))
		emit_in(s, t, s->edge.on_ns, cpu);
	if ((t->flags & (THREAD_IN | THREAD_COMPLETE | THREAD_ENDED)) == THREAD_COMPLETE)
		mend_in(s, t, ns, cpu);
	if (t->flags & THREAD_IN)
		emit_out(s, t, ns, out->state, out->preempted, out->priority);
	t->flags |= THREAD_COMPLETE;
	t->flags &= (uint16_t)~THREAD_BLOCKED;
	if (out->state != SCHED_STATE_RUNNING && !ends)
		t->flags |= THREAD_BLOCKED;
	if (ends) {
		t->flags |= THREAD_ENDED;
		report_exit(s, t, ns, -1); /* unless the kernel's own word arrived before */
	}
}

void track_in(struct sched *s, uint64_t ns, unsigned cpu, const struct track_in *in)
{
	struct sched_thread *t = thread_of(s, in->key, in->pid, in->tid), *waker;
	struct sched_switch row = {
		.time_ns = ns,
		.cpu = cpu,
		.is_in = true,
		.preempted = -1,
		.priority = in->priority,
	};

	mend_cpu(s, ns, cpu, in->key);
	if (!t || (t->flags & THREAD_CUT))
		return;
	if (t->flags & THREAD_IN)
		mend_out(s, t, ns);
	/* A thread that was preempted had no wake-up: the one in the record is from before. */
	if (in->wakeup_ns > s->edge.on_ns &&
	    (t->flags & (THREAD_BLOCKED | THREAD_COMPLETE)) != THREAD_COMPLETE) {
		row.wakeup_ns = in->wakeup_ns;
		row.waker_pid = in->waker_pid;
		row.waker_tid = in->waker_tid;
		waker = in->waker_key ? thread_find(s, in->waker_key) : NULL;
		if (waker && (waker->flags & THREAD_KNOWN)) {
			row.waker_pid = waker->pid;
			row.waker_tid = waker->tid;
		} else if (s->must_announce) {
			row.waker_pid = row.waker_tid = 0;
		}
	}
	if (t->flags &
	    THREAD_ENDED) /* the id of an ended thread, and word of the new one was lost */
		t->flags &= (uint16_t) ~(THREAD_ENDED | THREAD_EXITED);
	t->flags = (uint16_t)((t->flags | THREAD_COMPLETE) & ~THREAD_BLOCKED);
	emit(s, t, &row);
	if (cpu < s->cpu.cnt)
		s->cpu.running[cpu] = in->key;
}

void track_task(struct sched *s, uint64_t ns, const struct track_task *task)
{
	struct sched_thread *t = thread_get(s, task->key), *parent;
	uint32_t parent_pid = task->parent_pid, parent_tid = task->parent_tid;

	if (!t)
		return;
	if (task->is_born) {
		if (t->flags & THREAD_IN) /* of an earlier thread of this id */
			mend_out(s, t, ns);
		t->flags = task->is_hidden ? THREAD_HIDDEN : THREAD_COMPLETE | THREAD_BLOCKED;
	}
	if (task->is_born || !(t->flags & THREAD_KNOWN))
		t->since_ns = ns;
	t->flags |= THREAD_KNOWN;
	t->pid = task->pid;
	t->tid = task->tid;
	if (task->is_born) {
		parent = thread_find(s, task->parent_key);
		if (parent && (parent->flags & THREAD_KNOWN)) {
			parent_pid = parent->pid;
			parent_tid = parent->tid;
		} else if (s->must_announce) {
			parent_pid = parent_tid = 0;
		}
		s->out.handled++;
		if (s->out.ops->on_fork)
			s->out.ops->on_fork(s->out.ctx, ns, parent_pid, parent_tid, t->pid, t->tid);
	}
	if (task->comm)
		report_comm(s, t, ns, task->comm, NULL);
}

/* The thread that a process has left besides its main one; 0 none. Rare enough to look at all. */
static uint32_t left_thread(const struct sched *s, uint32_t main_key)
{
	const uint16_t mask = THREAD_KNOWN | THREAD_ENDED | THREAD_EXITED;
	const struct sched_thread *t = thread_find(s, main_key);
	uint32_t pid = t ? t->pid : 0;

	for (uint32_t key = 0; key < SCHED_KEY_LIMIT; key++) {
		t = thread_find(s, key);
		if (!t)
			key |= SCHED_CHUNK - 1; /* no thread in this chunk */
		else if (key != main_key && t->pid == pid && (t->flags & mask) == THREAD_KNOWN)
			return key;
	}
	return 0;
}

/*
 * A thread other than the main one takes over the id of its process in exec: under its old id it ends
 * here, and under the new one, whose old owner is gone or about to be, it is on the CPU.
 */
static void change_id(struct sched *s, uint64_t ns, unsigned cpu, uint32_t key, uint32_t old_key)
{
	struct sched_thread *t = thread_get(s, key), *old = thread_find(s, old_key);
	struct track_in in = {.key = key, .priority = -1};

	if (!t)
		return;
	if (old && (old->flags & THREAD_KNOWN)) {
		if (!(old->flags & THREAD_IN)) /* it has been switched under the new id already */
			mend_in(s, old, ns, cpu);
		emit_out(s, old, ns, SCHED_STATE_TERMINATED, -1, -1);
		report_exit(s, old, ns, -1);
		old->flags |= THREAD_ENDED | THREAD_COMPLETE | THREAD_CUT;
	}
	t->flags &= (uint16_t) ~(THREAD_ENDED | THREAD_EXITED | THREAD_BLOCKED | THREAD_CUT);
	t->flags |= THREAD_COMPLETE;
	if (!(t->flags & THREAD_IN) || t->cpu != cpu)
		track_in(s, ns, cpu, &in);
}

/* From its exec on, @t has no switches, or has them again. */
static void hide_or_show(struct sched *s, struct sched_thread *t, uint64_t ns, bool is_hidden)
{
	if (is_hidden && t->flags & THREAD_IN)
		emit_out(s, t, ns, SCHED_STATE_UNKNOWN, -1, -1);
	if (is_hidden || t->flags & THREAD_HIDDEN) { /* it is as if heard of for the first time */
		t->flags &= (uint16_t) ~(THREAD_COMPLETE | THREAD_BLOCKED | THREAD_HIDDEN);
		t->since_ns = ns;
	}
	if (is_hidden)
		t->flags |= THREAD_HIDDEN;
}

void track_exec(struct sched *s, uint64_t ns, unsigned cpu, uint32_t key, uint32_t old_key,
		uint32_t pid, uint32_t tid, const char *comm, const struct sched_exec *exec)
{
	struct sched_thread *t = thread_of(s, key, pid, tid);

	if (!t)
		return;
	/* A thread reported as ended that calls exec is another thread. */
	if (!old_key)
		old_key = t->flags & THREAD_EXITED ? left_thread(s, key) : key;
	if (old_key != key)
		change_id(s, ns, cpu, key, old_key);
	hide_or_show(s, t, ns, exec->is_hidden);
	report_comm(s, t, ns, comm, exec);
}

void track_rename(struct sched *s, uint64_t ns, uint32_t key, uint32_t pid, uint32_t tid,
		  const char *comm)
{
	struct sched_thread *t = thread_of(s, key, pid, tid);

	if (t)
		report_comm(s, t, ns, comm, NULL);
}

void track_exit(struct sched *s, uint64_t ns, uint32_t key, uint32_t pid, uint32_t tid,
		int exit_code, bool leaves_cpu)
{
	struct sched_thread *t = thread_of(s, key, pid, tid), *leader;

	if (!t)
		return;
	/* Two threads that end together may both see themselves as the last. */
	if (exit_code != -1 && pid != tid) {
		leader = thread_find(s, pid);
		if (leader && (leader->flags & THREAD_GROUP_EXITED))
			exit_code = -1;
		else if (leader)
			leader->flags |= THREAD_GROUP_EXITED;
	} else if (exit_code != -1) {
		if (t->flags & THREAD_GROUP_EXITED)
			exit_code = -1;
		t->flags |= THREAD_GROUP_EXITED;
	}
	report_exit(s, t, ns, exit_code);
	if (leaves_cpu && was_running(s, t, t->cpu))
		emit_in(s, t, s->edge.on_ns, t->cpu);
	if (leaves_cpu && (t->flags & (THREAD_IN | THREAD_COMPLETE)) == THREAD_COMPLETE)
		mend_in(s, t, ns, t->cpu); /* it runs, or it could not end */
	if (leaves_cpu && (t->flags & THREAD_IN)) {
		emit_out(s, t, ns, SCHED_STATE_TERMINATED, 0, -1);
		t->flags |= THREAD_ENDED;
	}
	if (leaves_cpu)
		t->flags |= THREAD_CUT;
}

/* ---- recording begins and ends ---- */

static struct sched_thread *holder_of(struct sched *s, unsigned cpu)
{
	struct sched_thread *t = s->cpu.running[cpu] ? thread_find(s, s->cpu.running[cpu]) : NULL;

	return t && (t->flags & THREAD_IN) && t->cpu == cpu ? t : NULL;
}

/* Threads stay in their states: only their rows end. */
void track_off(struct sched *s, uint64_t ns)
{
	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++) {
		struct sched_thread *t = holder_of(s, cpu);
		uint32_t key = s->cpu.running[cpu];

		if (!t)
			continue;
		emit_out(s, t, ns, SCHED_STATE_UNKNOWN, -1, -1);
		t->flags |= THREAD_IN;
		s->cpu.running[cpu] = key;
	}
	if (s->driver->leave)
		s->driver->leave(s);
	s->edge.is_off = true;
}

void track_running(struct sched *s, unsigned cpu, uint32_t key, uint32_t pid, uint32_t tid)
{
	struct sched_thread *t = thread_of(s, key, pid, tid);

	if (!t || cpu >= s->cpu.cnt || (t->flags & (THREAD_IN | THREAD_CUT | THREAD_ENDED)))
		return;
	emit_in(s, t, s->edge.on_ns, cpu);
	t->flags = (uint16_t)((t->flags | THREAD_COMPLETE) & ~THREAD_BLOCKED);
	s->cpu.running[cpu] = key;
}

/* No switch has arrived since the last edge: the running threads are read anew. */
static void forget_running(struct sched *s)
{
	for (unsigned i = 0; i < SCHED_KEY_LIMIT / SCHED_CHUNK; i++)
		for (unsigned k = 0; s->threads.chunks[i] && k < SCHED_CHUNK; k++)
			s->threads.chunks[i][k].flags =
				(uint16_t)((s->threads.chunks[i][k].flags & ~THREAD_IN) |
					   THREAD_BLOCKED);
	memset(s->cpu.running, 0, s->cpu.cnt * sizeof(*s->cpu.running));
}

void track_on(struct sched *s, const struct sched_edge *edge)
{
	s->edge.is_off = false;
	s->edge.on_ns = edge->ns;
	s->edge.window++;
	if (s->driver->enter) {
		forget_running(s);
		s->driver->enter(s, edge);
		return;
	}
	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++) {
		struct sched_thread *t = holder_of(s, cpu);

		if (t)
			emit_in(s, t, edge->ns, cpu);
	}
}

/* ---- system calls ---- */

/* The thread as it is known; else as the kernel's record names it. */
static void ids_of(struct sched *s, uint32_t key, uint32_t *pid, uint32_t *tid)
{
	const struct sched_thread *t = thread_find(s, key);

	*tid = key;
	if (t && (t->flags & THREAD_KNOWN)) {
		*pid = t->pid;
		*tid = t->tid;
	} else if (s->must_announce) {
		*pid = *tid = 0;
	}
}

void track_call(struct sched *s, uint32_t key, uint32_t pid, struct sched_call *call)
{
	call->pid = pid;
	ids_of(s, key, &call->pid, &call->tid);
	if (s->edge.is_off || call->start_ns < s->edge.on_ns)
		return;
	s->out.handled++;
	if (s->out.ops->on_call)
		s->out.ops->on_call(s->out.ctx, call);
}

void track_call_sum(struct sched *s, uint32_t key, uint32_t pid, struct sched_call_sum *sum)
{
	sum->pid = pid;
	ids_of(s, key, &sum->pid, &sum->tid);
	s->out.handled++;
	if (s->out.ops->on_call_sum)
		s->out.ops->on_call_sum(s->out.ctx, sum);
}
