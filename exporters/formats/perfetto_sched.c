/*
 * perfetto_sched.c - context switches as the kernel's own trace has them: so Perfetto shows CPUs and states of
 * threads and fills its tables sched and thread_state.
 *
 * The report has a row when a thread gets a CPU and one when it leaves it; a switch holds both at once, per CPU.
 * Where no recorded thread follows, the CPU is shown as idle. Wake-ups come from SL_SCHED_DETAIL, read beside the switches.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exporters/events/thread_switches.h"
#include "exporters/formats/perfetto.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"

#define CPUS_MAX  1024 /* Perfetto takes no more */
#define BATCH     128  /* switches per packet */
#define COMMS     64   /* names per packet */
#define PRIORITY  120  /* of an ordinary thread */
#define COMM_SIZE 16   /* the kernel's names are no longer */

enum { /* FtraceEventBundle */
	FB_CPU = 1,
	FB_EVENT = 2,
	FB_COMPACT = 4,

	SW_TIME = 1, /* CompactSched */
	SW_STATE = 2,
	SW_NEXT = 3,
	SW_PRIORITY = 4,
	SW_NAMES = 5,
	SW_NAME = 6,

	FE_TIME = 1, /* FtraceEvent */
	FE_PID = 2,
	FE_WAKING = 20,

	WK_NAME = 1, /* SchedWakingFtraceEvent */
	WK_PID = 2,
	WK_PRIORITY = 3,
	WK_SUCCESS = 4,
	WK_CPU = 5,
};

/* States of a thread that leaves the CPU, in the kernel's bits. */
enum {
	RUNNABLE = 0,
	INTERRUPTIBLE = 1,
	UNINTERRUPTIBLE = 2,
	STOPPED = 4,
	DEAD = 16,
	PREEMPTED = 0x800, /* as before Linux 4.8, which readers assume where no version is given */
};

struct change { /* a switch to @next; @state is that of the one before */
	int64_t ts;
	int64_t next;
	int state, priority;
	unsigned name; /* place in names */
};

struct cpu {
	const struct tl_track *in;     /* runs now; NULL: no known thread */
	const struct tl_track *before; /* ran before the last switch */
	const struct tl_track *out;    /* left it at out_ts; its successor is not known yet */
	int64_t out_ts;
	int out_state;
	bool begun;
	unsigned cnt, name_cnt;
	struct change change[BATCH];
	const struct tl_track *named[COMMS];
	char name[COMMS][COMM_SIZE]; /* of them: tracks are gone when the last packet is written */
};

struct pf_sched {
	struct cpu *cpu[CPUS_MAX];
	struct thread_details *details;
};

struct pf_sched *pf_sched_new(struct perfetto *pf)
{
	struct pf_sched *s = calloc(1, sizeof(*s));
	bool in_order = tl_in_order(pf->job->db, "SL_SCHED_DETAIL", "start", NULL) == 1;

	if (s && !(s->details = thread_details_open(pf->job->db, INT64_MIN, in_order))) {
		free(s);
		return NULL;
	}
	return s;
}

/* ---- packets ---- */

static size_t open_bundle(struct perfetto *pf, int64_t cpu)
{
	size_t at;

	pf_begin(pf);
	proto_uint(&pf->packet, PF_SEQUENCE_ID, PF_SEQUENCE);
	at = proto_open(&pf->packet, PF_FTRACE_EVENTS);
	proto_uint(&pf->packet, FB_CPU, (uint64_t)cpu);
	return at;
}

/* One column of the switches: numbers without tags. */
static void put_column(struct perfetto *pf, struct cpu *c, unsigned field)
{
	struct proto *m = &pf->packet;
	size_t at = proto_open(m, field);
	int64_t before = 0;

	for (unsigned i = 0; i < c->cnt; i++) {
		const struct change *ch = &c->change[i];
		int64_t ts = ch->ts + pf->base;
		int64_t v = ch->name;

		if (field == SW_TIME)
			v = ts - before;
		else if (field == SW_STATE)
			v = ch->state;
		else if (field == SW_NEXT)
			v = ch->next;
		else if (field == SW_PRIORITY)
			v = ch->priority;
		proto_room(m, PROTO_SCALAR_MAX);
		m->p = proto_put(m->p, (uint64_t)v);
		before = ts;
	}
	proto_close(m, at);
}

static void flush_cpu(struct perfetto *pf, int64_t number)
{
	struct cpu *c = pf->sched->cpu[number];
	struct proto *m = &pf->packet;
	size_t bundle, compact;

	if (c->cnt == 0)
		return;
	bundle = open_bundle(pf, number);
	compact = proto_open(m, FB_COMPACT);
	for (unsigned i = 0; i < c->name_cnt; i++)
		proto_text(m, SW_NAMES, c->name[i], strlen(c->name[i]));
	put_column(pf, c, SW_TIME);
	put_column(pf, c, SW_STATE);
	put_column(pf, c, SW_NEXT);
	put_column(pf, c, SW_PRIORITY);
	put_column(pf, c, SW_NAME);
	proto_close(m, compact);
	proto_close(m, bundle);
	pf_send(pf);
	c->cnt = c->name_cnt = 0;
}

/* ---- switches ---- */

static const char *name_of(const struct tl_track *thread)
{
	if (!thread)
		return "swapper";
	return *thread->name || !thread->parent ? thread->name : thread->parent->name;
}

/* @to NULL: to the idle task. */
static void put_switch(struct perfetto *pf, int64_t number, int64_t ts, int state,
		       const struct tl_track *to, int priority)
{
	struct cpu *c = pf->sched->cpu[number];
	unsigned i = 0;

	if (c->cnt == BATCH || c->name_cnt == COMMS)
		flush_cpu(pf, number);
	while (i < c->name_cnt && c->named[i] != to)
		i++;
	if (i == c->name_cnt) {
		c->named[i] = to;
		snprintf(c->name[i], COMM_SIZE, "%s", name_of(to));
		c->name_cnt++;
	}
	c->change[c->cnt++] = (struct change){ts, to ? to->tid : 0, state, priority, i};
	c->before = c->in;
	c->in = to;
}

/* The thread that left waited long enough for a successor. */
static void settle(struct perfetto *pf, int64_t number)
{
	struct cpu *c = pf->sched->cpu[number];

	if (!c->out)
		return;
	put_switch(pf, number, c->out_ts, c->out_state, NULL, PRIORITY);
	c->out = NULL;
}

static void put_waking(struct perfetto *pf, const struct tl_event *e, const struct thread_detail *d)
{
	struct proto *m = &pf->packet;
	size_t bundle = open_bundle(pf, e->cpu), event, waking;

	event = proto_open(m, FB_EVENT);
	proto_uint(m, FE_TIME, (uint64_t)(d->wakeup + pf->job->opt.shift + pf->base));
	/* An interrupt that woke it is on no thread's account: the idle task's, as good as any. */
	proto_uint(m, FE_PID, d->waker < 0 ? 0 : (uint64_t)d->waker & 0xFFFFFF);
	waking = proto_open(m, FE_WAKING);
	proto_text(m, WK_NAME, e->track->name, strlen(e->track->name));
	proto_uint(m, WK_PID, (uint64_t)e->track->tid);
	proto_uint(m, WK_PRIORITY, (uint64_t)(d->priority < 0 ? PRIORITY : d->priority));
	proto_uint(m, WK_SUCCESS, 1);
	proto_uint(m, WK_CPU, (uint64_t)e->cpu);
	proto_close(m, waking);
	proto_close(m, event);
	proto_close(m, bundle);
	pf_send(pf);
}

static int state_of(const struct tl_event *e, const struct thread_detail *d)
{
	struct thread_switch left = {.state = thread_state_of(e->state)};

	if (d)
		thread_switch_complete(&left, d);
	switch (left.state) {
	case THREAD_RUNNABLE:
		return d && d->is_preempted ? PREEMPTED : RUNNABLE;
	case THREAD_BLOCKED:
		return UNINTERRUPTIBLE;
	case THREAD_STOPPED:
		return STOPPED;
	case THREAD_ENDED:
		return DEAD;
	default: /* older reports lack it; most threads that leave a CPU wait for something */
		return INTERRUPTIBLE;
	}
}

static struct cpu *cpu_of(struct perfetto *pf, int64_t number)
{
	if (number < 0 || number >= CPUS_MAX)
		return NULL;
	if (!pf->sched->cpu[number] && !(pf->sched->cpu[number] = calloc(1, sizeof(struct cpu))))
		pf->failed = true;
	return pf->sched->cpu[number];
}

static void leave(struct cpu *c, const struct tl_event *e, int state)
{
	if (c->in == e->track && !c->out) {
		c->out = e->track;
		c->out_ts = e->ts;
		c->out_state = state;
	} else if (c->before == e->track && c->cnt > 0 && c->change[c->cnt - 1].ts == e->ts) {
		/* Rows of one moment come in any order: the switch out stood first. */
		c->change[c->cnt - 1].state = state;
	}
}

void pf_sched_event(struct perfetto *pf, const struct tl_event *e)
{
	struct cpu *c = cpu_of(pf, e->cpu);
	const struct thread_detail *d;

	if (!c)
		return;
	d = thread_details_at(pf->sched->details, e->ts - pf->job->opt.shift, e->track->global,
			      e->sched_in);
	if (!e->sched_in) {
		leave(c, e, state_of(e, d));
		return;
	}
	if (d && d->wakeup != THREAD_NONE && d->wakeup <= d->time &&
	    d->wakeup + pf->job->opt.shift + pf->base >= 0)
		put_waking(pf, e, d);
	int priority = d && d->priority >= 0 ? (int)d->priority : PRIORITY;

	if (c->out && c->out_ts == e->ts) {
		put_switch(pf, e->cpu, e->ts, c->out_state, e->track, priority);
		c->out = NULL;
		return;
	}
	settle(pf, e->cpu);
	/* Readers use only the thread that the first switch of a CPU switches to. */
	if (!c->begun)
		put_switch(pf, e->cpu, e->ts, RUNNABLE, NULL, PRIORITY);
	c->begun = true;
	put_switch(pf, e->cpu, e->ts, c->in ? INTERRUPTIBLE : RUNNABLE, e->track, priority);
}

int pf_sched_end(struct perfetto *pf)
{
	for (int64_t i = 0; i < CPUS_MAX; i++) {
		if (!pf->sched->cpu[i])
			continue;
		settle(pf, i);
		flush_cpu(pf, i);
	}
	return thread_details_failed(pf->sched->details) ? -1 : 0;
}

void pf_sched_free(struct pf_sched *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CPUS_MAX; i++)
		free(s->cpu[i]);
	thread_details_free(s->details);
	free(s);
}
