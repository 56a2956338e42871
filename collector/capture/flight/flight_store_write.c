/* flight_store_write.c - the event store: writes the records of a window into a report. */
#include "collector/capture/flight/flight_store_internal.h"

#include <stdlib.h>
#include <string.h>

struct writing {
	struct flight_store *q;
	const struct sample_sink *sink;
	uint64_t from, to;
	uint64_t switches;
	bool has_begun;        /* switches of the window have */
	struct db_map stacks;  /* that samples of this report have */
	struct db_map modules; /* written already, by their hash */
};

static uint64_t hash(uint64_t h, uint64_t value)
{
	h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static bool is_in(const struct writing *w, const struct sample_row *row)
{
	/* An interval has its part of each report. */
	return (row->end_ns ? row->end_ns > w->from : row->ns >= w->from) && row->ns < w->to;
}

static void mark(void *ctx, struct record *r)
{
	struct writing *w = ctx;
	int64_t *stack;

	if (r->kind != RECORD_SAMPLE || !is_in(w, &r->row) || r->row.stack == DB_NULL)
		return;
	stack = db_map_get(&w->stacks, r->row.stack);
	if (stack)
		*stack = 1;
}

/* Parts have the same ones. */
static void write_module(struct writing *w, const struct record *r)
{
	struct db_module m = r->module;
	uint64_t key = hash(hash(hash((uint64_t)m.space, m.start), m.end), (uint64_t)m.since);
	int64_t *there = db_map_get(&w->modules, (int64_t)key);

	m.path = TAIL(r, module);
	m.build_id = (const uint8_t *)m.path + strlen(m.path) + 1;
	if (!there || !(*there)++)
		w->sink->ops->module(w->sink->to, &m);
}

static void write_code(const struct writing *w, const struct record *r)
{
	struct db_code c = r->code;

	c.file = TAIL(r, code);
	c.name = c.file + strlen(c.file) + 1;
	c.lines = (const uint8_t *)c.name + strlen(c.name) + 1;
	w->sink->ops->code(w->sink->to, &c);
}

static void write_row(struct writing *w, struct sample_row *r)
{
	struct sample_row row = *r;

	if (!is_in(w, r))
		return;
	if (!row.end_ns) {
		w->q->losses.samples++;
	} else {
		w->q->losses.away++;
		row.ns = row.ns > w->from ? row.ns : w->from;
		row.end_ns = row.end_ns < w->to ? row.end_ns : w->to;
	}
	w->sink->ops->row(w->sink->to, &row);
	/* Another row follows when the thread runs again: only one of both may be in a report. */
	if (r->still)
		r->ns = r->end_ns = 0;
}

/* Once: those from before the window are not in the next report. */
static void write_losses(struct writing *w, struct record *r)
{
	uint64_t *to = (uint64_t *)&w->q->losses, *from = (uint64_t *)&r->losses.l;

	for (size_t i = 0; i < LOSSES && (uint64_t)r->losses.ns >= w->from; i++)
		to[i] += from[i];
	memset(from, 0, sizeof(r->losses.l));
}

/* A switch at @ns for every thread that runs. */
static void write_edge(struct writing *w, uint64_t ns, bool is_in)
{
	for (uint32_t i = 0; i < w->q->cpus.cnt; i++) {
		struct sched_switch sw = {.time_ns = ns,
					  .cpu = i,
					  .pid = w->q->cpus.list[i].pid,
					  .tid = w->q->cpus.list[i].tid,
					  .is_in = is_in,
					  .state = SCHED_STATE_UNKNOWN,
					  .preempted = -1,
					  .priority = -1};

		if (!sw.tid)
			continue;
		model_sched_ops.on_switch(w->q->arenas->model, &sw);
		w->switches++;
	}
}

static struct sched_switch unpack(const struct packed_switch *e)
{
	return (struct sched_switch){
		.time_ns = e->time_ns,
		.cpu = (uint32_t)e->cpu,
		.pid = e->pid,
		.tid = e->tid,
		.is_in = e->is_in,
		.state = (uint8_t)e->state,
		.preempted = (int8_t)((int)e->preempted - 1),
		.priority = (int)e->priority - 1,
		.wakeup_ns = e->wakeup ? e->time_ns - (e->wakeup - 1) : 0,
		.waker_pid = e->waker_pid,
		.waker_tid = e->waker_tid,
	};
}

static void write_switch(struct writing *w, const struct packed_switch *e)
{
	struct sched_switch sw = unpack(e);

	if (sw.time_ns >= w->to)
		return;
	if (sw.time_ns >= w->from && !w->has_begun) {
		w->has_begun = true;
		write_edge(w, w->from, true);
	}
	flight_store_step(w->q, e);
	if (sw.time_ns < w->from)
		return;
	model_sched_ops.on_switch(w->q->arenas->model, &sw);
	w->switches++;
}

static void write_record(void *ctx, struct record *r)
{
	struct writing *w = ctx;
	const struct sample_sink_ops *to;

	if (r->kind == RECORD_SWITCH)
		write_switch(w, &r->sw);
	else if (r->kind == RECORD_LOSSES)
		write_losses(w, r);
	/* Without a sink, samples have ended, and the report has none. */
	if (!w->sink)
		return;
	to = w->sink->ops;
	switch ((enum kind)r->kind) {
	case RECORD_SPACE:
		to->space(w->sink->to, r->space.id, r->space.parent, r->space.global_pid);
		break;
	case RECORD_MODULE:
		write_module(w, r);
		break;
	case RECORD_CODE:
		write_code(w, r);
		break;
	case RECORD_STACK:
		if (w->stacks.cnt && *db_map_peek(&w->stacks, r->stack.id))
			to->stack(w->sink->to, r->stack.id, r->stack.space, r->stack.ns,
				  (const uint64_t *)TAIL(r, stack), r->stack.cnt);
		break;
	case RECORD_SAMPLE:
		write_row(w, &r->row);
		break;
	case RECORD_LOSSES:
	case RECORD_SWITCH:
	case RECORD_TOTAL:
		break;
	}
}

uint64_t flight_store_write(struct flight_store *q, int64_t from, int64_t to,
			    const struct sample_sink *sink)
{
	struct writing w = {.q = q, .sink = sink, .from = (uint64_t)from, .to = (uint64_t)to};
	size_t bytes = q->cpus.cnt * sizeof(*q->cpus.list);
	struct flight_cpu *before = bytes ? malloc(bytes) : NULL;
	uint32_t cpus = before ? q->cpus.cnt : 0;

	if (before)
		memcpy(before, q->cpus.list, bytes);
	for (const struct flight_part *p = q->first; p; p = p->next)
		flight_part_each(p, mark, &w);
	for (const struct flight_part *p = q->first; p; p = p->next)
		flight_part_each(p, write_record, &w);
	if (!w.has_begun)
		write_edge(&w, w.from, true);
	write_edge(&w, w.to, false);
	free(q->cpus.list);
	q->cpus.list = before;
	q->cpus.cnt = cpus;
	db_map_free(&w.stacks);
	db_map_free(&w.modules);
	return w.switches;
}

/* ---- totals of short calls ---- */

static int64_t total_key(int64_t global_tid, int64_t use, unsigned hook)
{
	return (int64_t)hash(hash((uint64_t)global_tid, (uint64_t)use), hook);
}

static void note_total(void *ctx, struct record *r)
{
	struct flight_store *q = ctx;
	int64_t *to = r->kind == RECORD_TOTAL
			      ? db_map_get(&q->base, total_key(r->total.global_tid, r->total.use,
							       (unsigned)r->total.hook))
			      : NULL;

	if (to)
		*to = (int64_t)(intptr_t)r;
}

void flight_store_base(struct flight_store *q, int64_t from)
{
	const struct flight_part *p = q->first;

	flight_store_over(q);
	while (p && p->next && p->next->begun <= from)
		p = p->next;
	if (p)
		flight_part_each(p, note_total, q);
}

void flight_store_over(struct flight_store *q)
{
	db_map_free(&q->base);
	q->base = (struct db_map){0};
}

void flight_store_since(void *ctx, const struct thread *t, unsigned hook, struct sl_agg *g)
{
	const struct flight_store *q = ctx;
	const struct record *r;

	if (!q->base.cnt)
		return;
	r = (const struct record *)(intptr_t)*db_map_peek(
		&q->base, total_key(t->id.global_tid, t->id.use, hook));
	/* A thread that has begun them anew has fewer than it had. */
	if (!r || r->total.agg.count > g->count || r->total.agg.lost_count > g->lost_count)
		return;
	g->count -= r->total.agg.count;
	g->total -= r->total.agg.total;
	g->bytes -= r->total.agg.bytes;
	g->err_count -= r->total.agg.err_count;
	g->lost_count -= r->total.agg.lost_count;
	g->lost_total -= r->total.agg.lost_total;
}
