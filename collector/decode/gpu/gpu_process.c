/* gpu_process.c - processes and threads that call GPU libraries, and the queues of records that wait in them. */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>

void *gpu_queue_add(struct gpu_queue *q, size_t bytes)
{
	char *more;

	if (q->len + bytes > q->cap) {
		size_t cap = q->cap ? q->cap : 4096;

		while (cap < q->len + bytes)
			cap *= 2;
		more = realloc(q->at, cap);
		if (!more)
			return NULL;
		q->at = more;
		q->cap = cap;
	}
	more = q->at + q->len;
	q->len += bytes;
	return more;
}

int64_t gpu_session_ns(const struct arenas *as, uint64_t mono)
{
	return mono ? (int64_t)mono - as->clock->zero : 0;
}

void gpu_waits(struct gpu_arena *g, size_t bytes)
{
	g->pending += bytes;
	g->waiting++;
	g->save.fresh++;
}

void gpu_waits_no_more(struct gpu_arena *g, uint64_t logged, size_t bytes)
{
	g->pending -= bytes;
	g->waiting--;
	gpu_log_settled(g, logged);
}

void gpu_count_row(struct gpu_arena *g, int64_t start, int64_t end)
{
	if (!g->txn.rows++)
		g->txn.first_ns = start;
	g->txn.last_ns = end;
}

static struct gpu_arena *gpu_of(struct arena *a)
{
	if (!a->family.gpu)
		a->family.gpu = calloc(1, sizeof(*a->family.gpu));
	return a->family.gpu;
}

struct gpu_process *gpu_process(struct arena *a, uint32_t number, uint32_t pid, int64_t now)
{
	struct gpu_arena *g = gpu_of(a);
	struct gpu_process *p;

	if (!g)
		return NULL;
	if (g->last && g->last->id.number == number)
		return g->last;
	for (p = g->first; p && p->id.number != number; p = p->next)
		;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->arena = g;
		p->id.number = number;
		p->id.pid = pid;
		p->id.global_pid = GLOBAL_PID(pid);
		p->time.first = now;
		p->reached.until = p->reached.next_until = p->reached.last_until = p->time.horizon =
			p->calls.last = INT64_MIN;
		p->lent.reported_all_at = p->lent.back_at = INT64_MIN;
		p->next = g->first;
		g->first = p;
	}
	g->last = p;
	return p;
}

struct gpu_thread *gpu_thread(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid)
{
	struct gpu_thread **list = &p->threads.at[ns_tid % GPU_THREADS], *th = p->threads.last;

	if (th && th->ns_tid == ns_tid)
		return th;
	for (th = *list; th && th->ns_tid != ns_tid; th = th->next)
		;
	if (!th) {
		th = calloc(1, sizeof(*th));
		if (!th)
			return NULL;
		th->ns_tid = ns_tid;
		th->global_tid = global_tid;
		th->oldest = INT64_MAX;
		th->next = *list;
		*list = th;
	}
	/* Ids of threads are reused. */
	if (global_tid)
		th->global_tid = global_tid;
	p->threads.last = th;
	return th;
}

void gpu_hurry(struct arenas *as, const struct gpu_process *p)
{
	if (p->arena->pending <= GPU_PENDING || p->time.is_hurried)
		return;
	as->gpu.hurried += p->arena->waiting;
	for (struct gpu_process *q = p->arena->first; q; q = q->next)
		q->time.is_hurried = true;
}

bool gpu_is_over(const struct arena *a, const struct gpu_process *p)
{
	for (const struct image *im = a->images; im; im = im->next)
		if (im->number == p->id.number)
			return model_image_is_over(im) && !im->threads;
	return true;
}
