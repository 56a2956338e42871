/* flight_store.c - the event store: adds records to parts, and drops the oldest. */
#include "collector/capture/flight/flight_store_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PARTS    8u /* in the time, at least; twice as many in the memory */
#define PART_NS  100000000
#define LEAST    (UINT64_C(256) << 10)
#define ENTRY    48u /* bytes by which a stack is recognized, about */
#define PAGE     4096u
#define WAKE_MAX ((UINT64_C(1) << WAKE_BITS) - 1)

/* ---- adding ---- */

static struct block *add_block(struct flight_store *q, size_t bytes)
{
	struct flight_part *p = q->last;
	size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct block *b = malloc(sizeof(*b) + room);

	if (!b)
		return NULL;
	*b = (struct block){.room = room};
	*(p->last ? &p->last->next : &p->first) = b;
	p->last = b;
	p->bytes += sizeof(*b) + room;
	q->bytes += sizeof(*b) + room;
	return b;
}

/* Room for a record of @bytes besides its head. NULL: there is no memory, and this part is not whole. */
static char *add(struct flight_store *q, enum kind kind, size_t bytes)
{
	struct flight_part *p = q->last;
	struct block *b = p && !q->is_torn ? p->last : NULL;
	struct record *r;

	bytes = (HEAD + bytes + 7) & ~(size_t)7;
	if (p && !q->is_torn && (!b || b->room - b->used < bytes))
		b = add_block(q, bytes);
	if (!b) {
		q->is_torn = true;
		return NULL;
	}
	r = (struct record *)((char *)b->data + b->used);
	b->used += bytes;
	r->kind = kind;
	r->bytes = (uint32_t)bytes;
	return (char *)r + HEAD;
}

struct piece {
	const void *at;
	size_t len;
};

/* Adds a record put together from @cnt pieces. False: no memory. */
static bool put(struct flight_store *q, enum kind kind, const struct piece *piece, size_t cnt)
{
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < cnt; i++)
		bytes += piece[i].len;
	to = add(q, kind, bytes);
	for (size_t i = 0; to && i < cnt; to += piece[i++].len)
		if (piece[i].len)
			memcpy(to, piece[i].at, piece[i].len);
	return to;
}
#define PUT(q, kind, ...)                                 \
	put(q, kind, (const struct piece[]){__VA_ARGS__}, \
	    sizeof((const struct piece[]){__VA_ARGS__}) / sizeof(struct piece))
#define PIECE(x)                \
	{                       \
		&(x), sizeof(x) \
	}

static void happened(struct flight_store *q, uint64_t ns)
{
	if ((int64_t)ns > q->last->last_ns)
		q->last->last_ns = (int64_t)ns;
}

/* ---- totals of short calls ---- */

static void add_totals_of(struct flight_store *q, const struct thread *t, const struct sl_agg *agg)
{
	unsigned char there[SL_CHUNK_BYTES / PAGE];

	if (mincore((void *)(uintptr_t)agg, SL_CHUNK_BYTES, there) < 0)
		return;
	for (unsigned hook = 0; hook < SL_HOOK_CNT; hook++) {
		const struct sl_agg *g = &agg[hook];
		struct total total = {t->id.global_tid, t->id.use, hook, {0}};

		/* Reading a hole of the memfd would allocate it. */
		if (!(there[hook * sizeof(*agg) / PAGE] & 1) || (!g->count && !g->lost_count))
			continue;
		total.agg = *g;
		total.agg.err_count &= ~SL_AGG_UNTIMED;
		PUT(q, RECORD_TOTAL, PIECE(total));
	}
}

static void add_totals(struct flight_store *q)
{
	uint64_t before = q->last->bytes;

	for (struct arena *a = q->arenas->first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads.cnt && !a->flags.is_bad; i++) {
			sl_ref ref = a->map->slot[i].agg_chunk;

			if (a->threads.at[i] && !a->threads.at[i]->flags.is_over &&
			    arena_has_chunk(a, ref))
				add_totals_of(q, a->threads.at[i],
					      (const struct sl_agg *)sl_chunk_at(a->map, ref));
		}
	q->last->totals = q->last->bytes - before;
}

/* ---- parts ---- */

size_t flight_store_stacks(uint64_t bytes)
{
	return bytes / (2 * PARTS) / ENTRY;
}

void flight_store_open(struct flight_store *q, struct arenas *as, struct sample *sample, int64_t ns,
		       uint64_t bytes)
{
	*q = (struct flight_store){.arenas = as,
				   .sample = sample,
				   .part.ns = ns / PARTS > PART_NS ? ns / PARTS : PART_NS,
				   .part.bytes = bytes / (2 * PARTS)};
	if (q->part.bytes < LEAST)
		q->part.bytes = LEAST;
}

void flight_store_turn(struct flight_store *q, int64_t now)
{
	struct flight_part *p = q->last;

	if (p && !q->is_torn && p->bytes - p->totals < q->part.bytes && now - p->begun < q->part.ns)
		return;
	db_map_free(&q->codes);
	q->codes = (struct db_map){0};
	if (p && p->last_ns < now)
		p->last_ns = now;
	p = calloc(1, sizeof(*p));
	q->is_torn = !p;
	if (!p)
		return;
	p->begun = p->last_ns = now;
	p->bytes = sizeof(*p);
	q->bytes += p->bytes;
	*(q->last ? &q->last->next : &q->first) = p;
	q->last = p;
	/* The first part begins with the session. */
	if (q->has_begun)
		add_totals(q);
	q->has_begun = true;
	if (q->sample)
		sample_renew(q->sample);
}

uint64_t flight_store_bytes(const struct flight_store *q)
{
	return q->bytes + (q->sample ? sample_bytes(q->sample) : 0);
}

void flight_store_look(const struct flight_store *q, struct flight_ages *ages)
{
	for (const struct flight_part *p = q->first; p && p != q->last; p = p->next)
		flight_ages_add(ages, clock_map_ticks(q->arenas->clock, p->last_ns + 1), p->bytes);
}

void flight_part_each(const struct flight_part *p, void (*take)(void *ctx, struct record *r),
		      void *ctx)
{
	for (struct block *b = p->first; b; b = b->next)
		for (size_t at = 0; at < b->used;) {
			struct record *r = (struct record *)((char *)b->data + at);

			at += r->bytes;
			take(ctx, r);
		}
}

/* ---- context switches ---- */

static void add_switch(void *ctx, const struct sched_switch *sw)
{
	struct flight_store *q = ctx;
	uint64_t waited =
		sw->wakeup_ns && sw->wakeup_ns <= sw->time_ns ? sw->time_ns - sw->wakeup_ns + 1 : 0;

	const struct packed_switch e = {
		.time_ns = sw->time_ns,
		.pid = sw->pid,
		.tid = sw->tid,
		.waker_pid = sw->waker_pid,
		.waker_tid = sw->waker_tid,
		.wakeup = waited <= WAKE_MAX ? waited : 0,
		.cpu = sw->cpu & 0xfff,
		.is_in = sw->is_in,
		.state = sw->state & 7u,
		.preempted = (unsigned)(sw->preempted + 1) & 3u,
		.priority = (unsigned)(sw->priority + 1) & 0xffu,
	};

	if (PUT(q, RECORD_SWITCH, PIECE(e)))
		happened(q, sw->time_ns);
	else
		q->lost.switches++;
}

void flight_store_step(struct flight_store *q, const struct packed_switch *e)
{
	struct flight_cpu *more;

	if (e->cpu >= q->cpus.cnt) {
		more = realloc(q->cpus.list, (e->cpu + 1u) * sizeof(*more));
		if (!more)
			return;
		memset(more + q->cpus.cnt, 0, (e->cpu + 1u - q->cpus.cnt) * sizeof(*more));
		q->cpus.list = more;
		q->cpus.cnt = e->cpu + 1u;
	}
	if (e->is_in)
		q->cpus.list[e->cpu] = (struct flight_cpu){e->pid, e->tid};
	else if (q->cpus.list[e->cpu].tid == e->tid)
		q->cpus.list[e->cpu] = (struct flight_cpu){0, 0};
}

static void step_record(void *ctx, struct record *r)
{
	if (r->kind == RECORD_SWITCH)
		flight_store_step(ctx, &r->sw);
}

static void drop_first(struct flight_store *q)
{
	struct flight_part *p = q->first;

	flight_part_each(p, step_record, q);
	for (struct block *b = p->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	q->bytes -= p->bytes;
	q->first = p->next;
	if (!q->first)
		q->last = NULL;
	free(p);
}

void flight_store_forget(struct flight_store *q, int64_t mono)
{
	while (q->first != q->last && q->first->last_ns < mono)
		drop_first(q);
}

void flight_store_release(struct flight_store *q)
{
	while (q->first)
		drop_first(q);
	flight_store_over(q);
	db_map_free(&q->codes);
	free(q->cpus.list);
	memset(q, 0, sizeof(*q));
}

static void on_fork(void *ctx, uint64_t ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
		    uint32_t tid)
{
	const struct flight_store *q = ctx;

	model_sched_ops.on_fork(q->arenas->model, ns, parent_pid, parent_tid, pid, tid);
}

static void on_comm(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, const char *comm,
		    const struct sched_exec *exec)
{
	const struct flight_store *q = ctx;

	model_sched_ops.on_comm(q->arenas->model, ns, pid, tid, comm, exec);
}

static void on_exit_event(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, int exit_code)
{
	const struct flight_store *q = ctx;

	model_sched_ops.on_exit(q->arenas->model, ns, pid, tid, exit_code);
}

const struct sched_ops flight_store_sched_ops = {
	.on_switch = add_switch,
	.on_fork = on_fork,
	.on_comm = on_comm,
	.on_exit = on_exit_event,
};

/* ---- samples: a sink ---- */

static void put_space(void *to, int64_t id, int64_t parent, int64_t global_pid)
{
	const struct space space = {id, parent, global_pid};

	PUT(to, RECORD_SPACE, PIECE(space));
}

static void put_module(void *to, const struct db_module *m)
{
	PUT(to, RECORD_MODULE, PIECE(*m), {m->path, strlen(m->path) + 1},
	    {m->build_id, m->build_id_len});
}

/* Looks up a code object, which is offered with each of its frames. */
static bool has_code(struct flight_store *q, const struct db_code *c)
{
	int64_t *there = db_map_get(&q->codes, c->id);

	if (!there || *there > (int64_t)c->lines_len)
		return there != NULL;
	*there = (int64_t)c->lines_len + 1;
	return false;
}

static void put_code(void *to, const struct db_code *c)
{
	if (!has_code(to, c))
		PUT(to, RECORD_CODE, PIECE(*c), {c->file, strlen(c->file) + 1},
		    {c->name, strlen(c->name) + 1}, {c->lines, c->lines_len});
}

static void put_stack(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
		      size_t cnt)
{
	const struct stack stack = {id, space, ns, cnt};

	PUT(to, RECORD_STACK, PIECE(stack), {frames, cnt * sizeof(*frames)});
}

static void put_row(void *to, const struct sample_row *row)
{
	struct flight_store *q = to;

	if (PUT(q, RECORD_SAMPLE, PIECE(*row)))
		happened(q, row->end_ns ? row->end_ns : row->ns);
	else
		q->lost.samples++;
}

/* Entries missing in this part come with the next part. */
static bool has_it(void *to, int64_t id)
{
	(void)to;
	(void)id;
	return true;
}

static const struct sample_sink_ops sink_ops = {.space = put_space,
						.module = put_module,
						.code = put_code,
						.stack = put_stack,
						.row = put_row,
						.has_space = has_it,
						.has_stack = has_it};

/* Losses since the last poll have the time of this one. Samples and off-CPU intervals count when they are written. */
static void add_losses(struct flight_store *q, int64_t now)
{
	struct losses more = {.ns = now};
	struct sample_losses all = sample_losses(q->sample);
	const uint64_t *a = (const uint64_t *)&all, *seen = (const uint64_t *)&q->seen;
	uint64_t *to = (uint64_t *)&more.l, any = 0;

	all.samples = all.away = 0;
	for (size_t i = 0; i < LOSSES; i++)
		any |= to[i] = a[i] - seen[i];
	if (any && PUT(q, RECORD_LOSSES, PIECE(more)))
		q->seen = all;
}

void flight_store_poll_samples(struct flight_store *q, int64_t now, bool all)
{
	const struct sample_sink sink = {&sink_ops, q};

	sample_poll(q->sample, &sink, NULL, all);
	add_losses(q, now);
}
