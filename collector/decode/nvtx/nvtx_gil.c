/*
 * nvtx_gil.c - Python's interpreter lock (preload/python/python_gil.h) as push ranges: which thread waits, which holds it.
 *
 * Taking the lock ends the wait, releasing it ends the holding: exactly one range is open. A thread that took the lock
 * while nothing was recorded, and has not released it since, has no record: its slot has the time, for the report that
 * ends.
 */
#include "collector/decode/nvtx/nvtx_internal.h"

#include <string.h>

#include "preload/wire/arena.h"

static uint32_t domain_of(const struct arena *a)
{
	/* Acquire: pairs with the release in tell_names() (preload/python/python_gil.c). */
	return __atomic_load_n(&a->map->gil_domain, __ATOMIC_ACQUIRE);
}

static void fill(struct nvtx_event *e, uint32_t domain, uint32_t string, int64_t start,
		 uint64_t number)
{
	memset(e, 0, sizeof(*e));
	e->start = start;
	e->domain = domain;
	e->string = string;
	if (number) {
		e->payload = SL_NVTX_PAYLOAD_U64;
		e->payload_bits = number;
	}
}

static void end_all(struct arenas *as, struct arena *a, struct nvtx_stack *s, int64_t ns)
{
	while (s->cnt) {
		struct nvtx_event *e = &s->event[--s->cnt];

		nvtx_row(as, a, e, NVTX_PUSH_POP, s->global_tid,
			 ns == DB_NULL || ns > e->start ? ns : e->start, DB_NULL);
	}
}

/* If not, the record of its end was lost, and its time is unknown. */
static bool is_end_of(const struct arena *a, const struct nvtx_stack *s, unsigned hook)
{
	bool is_wait = s->cnt && s->event[s->cnt - 1].string == a->map->gil_wait;

	return hook == (is_wait ? SL_NVTX_GIL_TAKE : SL_NVTX_GIL_DROP);
}

void nvtx_gil_record(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;
	uint32_t domain = domain_of(a);
	int64_t ns = clock_map_ns(as->clock, c->start);
	bool is_wait = c->hook == SL_NVTX_GIL_WAIT;
	struct nvtx_stack *s;
	struct nvtx_event *e;

	if (!domain) {
		as->lost.corrupt++;
		return;
	}
	s = nvtx_stack_of(as, t, domain, ns);
	if (!s)
		return;
	if (!s->cnt && !is_wait)
		nvtx_end_left(as, NVTX_PUSH_POP, t, domain, ns);
	end_all(as, a, s, is_end_of(a, s, c->hook) ? ns : DB_NULL);
	if (c->hook == SL_NVTX_GIL_DROP)
		return;
	e = nvtx_stack_next(s);
	if (!e)
		return;
	fill(e, domain, is_wait ? a->map->gil_wait : a->map->gil_hold, ns,
	     c->data.words ? c->data.payload[0] : 0);
	s->cnt++;
}

void nvtx_gil_end(struct arenas *as, struct thread *t, int64_t ns)
{
	struct arena *a = t->image->arena;
	uint32_t domain = a->family.nvtx ? domain_of(a) : 0;
	struct nvtx_stack *s = domain ? nvtx_stack_find(a->family.nvtx, t->id.use, domain) : NULL;

	if (s)
		end_all(as, a, s, ns);
}

void nvtx_gil_leave(struct arenas *as, struct arena *a, int64_t end)
{
	uint32_t domain = domain_of(a);

	for (uint32_t i = 0; domain && i < a->threads.cnt; i++) {
		const struct sl_slot *slot = &a->map->slot[i];
		uint64_t since = __atomic_load_n(&slot->gil_since, __ATOMIC_ACQUIRE);
		struct thread *t = a->threads.at[i];
		struct nvtx_event e;

		if (!t || t->flags.is_over || !since ||
		    __atomic_load_n(&slot->gil_recorded, __ATOMIC_RELAXED))
			continue;
		fill(&e, domain, a->map->gil_hold, clock_map_ns(as->clock, since), 0);
		if (e.start >= end || !nvtx_stack_of(as, t, domain, e.start))
			continue;
		nvtx_leave(as, a, &e, NVTX_PUSH_POP, t->id.global_tid, end);
	}
}
