/*
 * nvtx.c - pairs NVTX records: push and pop per thread and domain, start and end per process.
 *
 * Threads are read one after the other, so an end may come before its start, from another ring; it waits for it. A push
 * and its pop are in the same ring. Both carry their level: when records were lost, ranges above stay open and the rest
 * is right.
 *
 * With every commit, ranges that are open get rows without an end, so that a reader of a growing report sees them, and a
 * later collector goes on from these rows after a crash.
 */
#include "collector/decode/nvtx/nvtx_internal.h"
#include "collector/base/grow.h"

#include <stdlib.h>
#include <string.h>

#include "collector/decode/gpu/gpu.h"
#include "collector/model/identity.h"

#define NESTED_MAX  65536u /* open push ranges of one thread and domain */
#define EARLY_MAX   65536u
#define SWEEP_SAVES 64u
#define EARLY_NS    INT64_C(30000000000)

static struct nvtx_arena *arena_of(struct arena *a)
{
	if (!a->family.nvtx)
		a->family.nvtx = calloc(1, sizeof(*a->family.nvtx));
	return a->family.nvtx;
}

/* ---- push and pop ---- */

static struct nvtx_stack **stack_bucket(struct nvtx_arena *n, int64_t use, uint32_t domain)
{
	uint64_t h = ((uint64_t)use * 0x9e3779b97f4a7c15u) ^ (domain * 0xbf58476d1ce4e5b9u);

	return &n->stack[(h >> 40) % NVTX_STACK_BUCKETS];
}

struct nvtx_stack *nvtx_stack_find(struct nvtx_arena *n, int64_t use, uint32_t domain)
{
	struct nvtx_stack *s = *stack_bucket(n, use, domain);

	while (s && (s->use != use || s->domain != domain))
		s = s->next;
	return s;
}

struct nvtx_stack *nvtx_stack_of(struct arenas *as, struct thread *t, uint32_t domain, int64_t ns)
{
	struct nvtx_arena *n = t->image->arena->family.nvtx;
	struct nvtx_stack **bucket = stack_bucket(n, t->id.use, domain);
	struct nvtx_stack *s = nvtx_stack_find(n, t->id.use, domain);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->use = t->id.use;
	s->domain = domain;
	s->image = t->image->number;
	s->global_tid = t->id.global_tid;
	s->next = *bucket;
	*bucket = s;
	n->stacks++;
	nvtx_inherit(as, t->image->arena, s, ns);
	return s;
}

struct nvtx_event *nvtx_stack_next(struct nvtx_stack *s)
{
	if (s->cnt == NESTED_MAX)
		return NULL;
	if (s->cnt == s->cap) {
		uint32_t cap = s->cap * 2 + 4;
		struct nvtx_event *more = realloc(s->event, cap * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + s->cap, 0, (cap - s->cap) * sizeof(*more));
		s->event = more;
		s->cap = cap;
	}
	return &s->event[s->cnt];
}

/* Ranges at @level and above were closed by records that were lost. */
static void close_above(struct arenas *as, struct arena *a, struct nvtx_stack *s, unsigned level)
{
	while (s->cnt && level != SL_NVTX_LEVEL_UNKNOWN && s->event[s->cnt - 1].level >= level &&
	       s->event[s->cnt - 1].level != SL_NVTX_LEVEL_UNKNOWN) {
		struct nvtx_event *e = &s->event[--s->cnt];

		if (!e->row)
			nvtx_row(as, a, e, NVTX_PUSH_POP, s->global_tid, DB_NULL, DB_NULL);
	}
}

static void on_push(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;
	struct nvtx_event *scratch = &a->family.nvtx->scratch, *e, old;
	struct nvtx_stack *s;

	if (!nvtx_read_event(as, a, c, scratch)) {
		as->lost.corrupt++;
		return;
	}
	s = nvtx_stack_of(as, t, scratch->domain, scratch->start);
	if (!s)
		return;
	close_above(as, a, s, scratch->level);
	e = nvtx_stack_next(s);
	if (!e) {
		/* Too deep, or no memory: its row is written now, without an end. */
		nvtx_row(as, a, scratch, NVTX_PUSH_POP, t->id.global_tid, DB_NULL, DB_NULL);
		return;
	}
	old = *e;
	*e = *scratch;
	*scratch = old;
	s->cnt++;
}

bool nvtx_end_left(struct arenas *as, int type, const struct thread *t, int64_t which, int64_t ns)
{
	int64_t row = db_nvtx_left_open(as->db, type, t->id.global_tid, which);

	if (row)
		db_nvtx_end(as->db, row, ns, type == NVTX_START_END ? t->id.global_tid : DB_NULL,
			    DB_NULL, NULL);
	return row != 0;
}

static void on_pop(struct arenas *as, struct thread *t, const struct call *c)
{
	struct nvtx_reader r = {.at = c->data.payload, .left = c->data.words};
	uint64_t first = nvtx_word(&r), second = nvtx_word(&r);
	uint64_t value = second & SL_NVTX_POP_VALUE ? nvtx_word(&r) : 0;
	unsigned blobs = (unsigned)second, level = first >> 32 & 0xffff;
	int64_t ns = clock_map_ns(as->clock, c->start);
	struct arena *a = t->image->arena;
	struct nvtx_stack *s = nvtx_stack_of(as, t, (uint32_t)first, ns);
	struct nvtx_event *e;

	if (!s)
		return;
	if (level != SL_NVTX_LEVEL_UNKNOWN)
		close_above(as, a, s, level + 1);
	if (!s->cnt) {
		/* The push was read by a previous collector, or is of the parent, before a fork. */
		nvtx_end_left(as, NVTX_PUSH_POP, t, (uint32_t)first, ns);
		return;
	}
	e = &s->event[s->cnt - 1];
	if (level != SL_NVTX_LEVEL_UNKNOWN && e->level != level &&
	    e->level != SL_NVTX_LEVEL_UNKNOWN)
		return; /* its push was lost */
	s->cnt--;
	if (second & SL_NVTX_POP_VALUE) {
		e->payload = SL_NVTX_PAYLOAD_I64;
		e->payload_bits = value;
	}
	if (blobs)
		nvtx_read_blobs(a, &r, blobs, e);
	nvtx_row(as, a, e, NVTX_PUSH_POP, t->id.global_tid, ns, DB_NULL);
}

/* ---- start and end ---- */

static struct nvtx_range **range_at(struct nvtx_arena *n, uint32_t image, uint64_t id)
{
	uint64_t h = (id ^ (uint64_t)image << 32) * 0x9e3779b97f4a7c15u;
	struct nvtx_range **at = &n->range[(h >> 40) % NVTX_RANGE_BUCKETS];

	while (*at && ((*at)->event.range_id != id || (*at)->image != image))
		at = &(*at)->next;
	return at;
}

static struct nvtx_range *range_add(struct nvtx_arena *n, uint32_t image, uint64_t id)
{
	struct nvtx_range **at = range_at(n, image, id), *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->image = image;
	r->event.range_id = id;
	r->next = *at;
	*at = r;
	return r;
}

static void range_drop(struct nvtx_arena *n, struct nvtx_range **at)
{
	struct nvtx_range *r = *at;

	*at = r->next;
	n->early -= r->is_early;
	nvtx_free_event(&r->event);
	free(r);
}

static void on_start(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;
	struct nvtx_event *e = &a->family.nvtx->scratch;
	struct nvtx_range **at, *r;

	if (!nvtx_read_event(as, a, c, e)) {
		as->lost.corrupt++;
		return;
	}
	nvtx_stack_of(as, t, e->domain, e->start);
	at = range_at(a->family.nvtx, t->image->number, e->range_id);
	if (*at && (*at)->is_early) {
		nvtx_row(as, a, e, NVTX_START_END, t->id.global_tid, (*at)->end,
			 (*at)->end_global_tid);
		range_drop(a->family.nvtx, at);
		return;
	}
	r = range_add(a->family.nvtx, t->image->number, e->range_id);
	if (!r) {
		nvtx_row(as, a, e, NVTX_START_END, t->id.global_tid, DB_NULL, DB_NULL);
		return;
	}
	r->global_tid = t->id.global_tid;
	r->event = *e;
	memset(e, 0, sizeof(*e));
}

static void on_end(struct arenas *as, struct thread *t, const struct call *c)
{
	struct nvtx_reader rd = {.at = c->data.payload, .left = c->data.words};
	uint32_t domain = (uint32_t)nvtx_word(&rd);
	uint64_t id = nvtx_word(&rd);
	unsigned blobs = (unsigned)nvtx_word(&rd);
	int64_t ns = clock_map_ns(as->clock, c->start);
	struct arena *a = t->image->arena;
	struct nvtx_range **at = range_at(a->family.nvtx, t->image->number, id), *r = *at;

	if (rd.failed) {
		as->lost.corrupt++;
		return;
	}
	if (r && !r->is_early) {
		if (blobs)
			nvtx_read_blobs(a, &rd, blobs, &r->event);
		nvtx_row(as, a, &r->event, NVTX_START_END, r->global_tid, ns, t->id.global_tid);
		range_drop(a->family.nvtx, at);
		return;
	}
	if (r || nvtx_end_left(as, NVTX_START_END, t, (int64_t)id, ns) ||
	    a->family.nvtx->early >= EARLY_MAX)
		return;
	r = range_add(a->family.nvtx, t->image->number, id);
	if (!r)
		return;
	r->is_early = true;
	r->event.domain = domain;
	r->end = ns;
	r->end_global_tid = t->id.global_tid;
	a->family.nvtx->early++;
}

/* ---- names ---- */

static void inherit_all(struct arenas *as, struct arena *a, uint32_t domain, int64_t ns)
{
	for (unsigned i = 0; i < NVTX_STACK_BUCKETS; i++)
		for (struct nvtx_stack *s = a->family.nvtx->stack[i]; s; s = s->next)
			if (s->domain == domain)
				nvtx_inherit(as, a, s, ns);
}

static void on_domain(struct arenas *as, struct thread *t, const struct call *c,
		      struct nvtx_text *text)
{
	struct arena *a = t->image->arena;
	int64_t ns = clock_map_ns(as->clock, c->start);
	uint64_t first = c->data.payload[0];

	switch (c->hook) {
	case SL_NVTX_DOMAIN:
		nvtx_name_row(as, NVTX_DOMAIN, ns, t->id.global_tid, (uint32_t)first, DB_NULL,
			      text->at, text->len);
		nvtx_name_given(a->family.nvtx, t->image->number, (uint32_t)first, false, 0,
				text->at);
		inherit_all(as, a, (uint32_t)first, ns);
		break;
	case SL_NVTX_DOMAIN_END:
		nvtx_name_row(as, NVTX_DOMAIN_END, ns, t->id.global_tid, (uint32_t)first, DB_NULL,
			      "", 0);
		break;
	default:
		nvtx_stack_of(as, t, (uint32_t)first, ns);
		nvtx_name_row(as, NVTX_CATEGORY, ns, t->id.global_tid, (uint32_t)first,
			      (int64_t)(first >> 32), text->at, text->len);
		nvtx_name_given(a->family.nvtx, t->image->number, (uint32_t)first, true,
				(uint32_t)(first >> 32), text->at);
	}
}

static void on_thread_name(struct arenas *as, struct thread *t, int64_t ns, uint32_t tid,
			   const struct nvtx_text *text)
{
	uint32_t pid = t->image->proc->pid;

	nvtx_name_row(as, NVTX_THREAD, ns, GLOBAL_TID(pid, identity_thread(t->image, tid)), 0,
		      DB_NULL, text->at, text->len);
}

/*
 * GPUs by their ordinal have a table in nsys's schema. Its other tables need CUPTI's numbers, not handles: those of
 * streams are found (gpu_streams.c). Those of contexts are not: no call that starts work has a context as an argument, and
 * cuptiGetContextId() dereferences any handle, so that a wrong name would crash the program. So
 * TARGET_INFO_NVTX_CUDA_CONTEXT is not written; names of contexts and events are in SL_NVTX_NAMES, by handle.
 */
static void on_resource(struct arenas *as, struct thread *t, const struct call *c, int64_t ns,
			const struct nvtx_text *text)
{
	uint64_t first = c->data.payload[0], what = c->data.payload[1];
	uint32_t type = (uint32_t)(first >> 32);
	int64_t numbers[] = {ns, t->id.global_tid, (uint32_t)first, type, (int64_t)what};
	const char *name = text->at;
	int64_t device = (int64_t)what;

	if (type == SL_NVTX_RESOURCE_THREAD)
		on_thread_name(as, t, ns, (uint32_t)what, text);
	else if (type == SL_NVTX_RESOURCE_CU_DEVICE || type == SL_NVTX_RESOURCE_CUDA_DEVICE)
		db_nvtx_row(as->db, DB_NVTX_CUDA_DEVICE, &device, &name);
	else
		db_nvtx_row(as->db, DB_NVTX_NAME, numbers, &name);
	if (name && *name &&
	    (type == SL_NVTX_RESOURCE_CU_STREAM || type == SL_NVTX_RESOURCE_CUDA_STREAM))
		gpu_stream_named(t->image->arena, t->image->number, what, ns, name);
}

static void on_name(struct arenas *as, struct thread *t, const struct call *c)
{
	static const uint8_t words[SL_NVTX_CNT] = {
		[SL_NVTX_DOMAIN] = 1, [SL_NVTX_DOMAIN_END] = 1, [SL_NVTX_CATEGORY] = 1,
		[SL_NVTX_THREAD] = 1, [SL_NVTX_RESOURCE] = 3,
	};
	struct nvtx_reader r = {.at = c->data.payload, .left = c->data.words};
	struct nvtx_text text = {0};
	int64_t ns = clock_map_ns(as->clock, c->start);

	if (c->data.words < words[c->hook]) {
		as->lost.corrupt++;
		return;
	}
	for (unsigned i = 0; i < words[c->hook]; i++)
		nvtx_word(&r);
	if (!r.left || !nvtx_read_text(&r, &text))
		nvtx_text_add(&text, "", 0);
	if (!text.at)
		return;
	if (c->hook == SL_NVTX_THREAD)
		on_thread_name(as, t, ns, (uint32_t)c->data.payload[0], &text);
	else if (c->hook == SL_NVTX_RESOURCE)
		on_resource(as, t, c, ns, &text);
	else
		on_domain(as, t, c, &text);
	nvtx_text_free(&text);
}

/* ---- the record family ---- */

void nvtx_record(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;

	if (!arena_of(a))
		return;
	switch (c->hook) {
	case SL_NVTX_MARK:
		if (!nvtx_read_event(as, a, c, &a->family.nvtx->scratch)) {
			as->lost.corrupt++;
			break;
		}
		nvtx_stack_of(as, t, a->family.nvtx->scratch.domain, a->family.nvtx->scratch.start);
		nvtx_row(as, a, &a->family.nvtx->scratch, NVTX_MARK, t->id.global_tid, DB_NULL,
			 DB_NULL);
		break;
	case SL_NVTX_PUSH:
		on_push(as, t, c);
		break;
	case SL_NVTX_POP:
		on_pop(as, t, c);
		break;
	case SL_NVTX_START:
		on_start(as, t, c);
		break;
	case SL_NVTX_END:
		on_end(as, t, c);
		break;
	case SL_NVTX_DOMAIN:
	case SL_NVTX_DOMAIN_END:
	case SL_NVTX_CATEGORY:
	case SL_NVTX_THREAD:
	case SL_NVTX_RESOURCE:
		on_name(as, t, c);
		break;
	case SL_NVTX_RESOURCE_END:
		break; /* the name held while it was there */
	case SL_NVTX_STRING:
	case SL_NVTX_SCHEMA:
	case SL_NVTX_ENTRY:
	case SL_NVTX_ENUM:
	case SL_NVTX_ENUM_VALUE:
		nvtx_schema_record(as->db, a, c);
		break;
	case SL_NVTX_GIL_WAIT:
	case SL_NVTX_GIL_TAKE:
	case SL_NVTX_GIL_DROP:
		nvtx_gil_record(as, t, c);
		break;
	default:
		as->lost.corrupt++;
	}
}

static void prescan(struct arena *a, uint32_t process, const struct call *c)
{
	(void)process;
	if (arena_of(a))
		nvtx_schema_record(NULL, a, c);
}

static bool use_lives(const struct arena *a, int64_t use)
{
	for (uint32_t i = 0; i < a->threads.cnt; i++)
		if (a->threads.at[i] && a->threads.at[i]->id.use == use)
			return true;
	return false;
}

static void free_stack(struct nvtx_stack *s)
{
	for (uint32_t i = 0; i < s->cap; i++)
		nvtx_free_event(&s->event[i]);
	free(s->event);
	free(s);
}

/* Threads that exited, ends whose start never came: a server makes new ones all the time. */
static void sweep(struct arenas *as, struct arena *a)
{
	int64_t now = clock_map_ns(as->clock, as->clock->newest);
	struct nvtx_arena *n = a->family.nvtx;

	for (unsigned i = 0; i < NVTX_STACK_BUCKETS; i++)
		for (struct nvtx_stack **at = &n->stack[i], *s = *at; s; s = *at) {
			if (use_lives(a, s->use)) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			n->stacks--;
			free_stack(s);
		}
	for (unsigned i = 0; i < NVTX_RANGE_BUCKETS; i++)
		for (struct nvtx_range **at = &n->range[i]; *at;) {
			if ((*at)->is_early && now - (*at)->end > EARLY_NS)
				range_drop(n, at);
			else
				at = &(*at)->next;
		}
}

void nvtx_save(struct arenas *as, struct arena *a)
{
	struct nvtx_arena *n = a->family.nvtx;

	if (!n)
		return;
	n->looked = false;
	for (unsigned i = 0; i < NVTX_STACK_BUCKETS; i++)
		for (struct nvtx_stack *s = n->stack[i]; s; s = s->next)
			for (uint32_t k = 0; k < s->cnt; k++)
				if (!s->event[k].row)
					nvtx_row(as, a, &s->event[k], NVTX_PUSH_POP, s->global_tid,
						 DB_NULL, DB_NULL);
	for (unsigned i = 0; i < NVTX_RANGE_BUCKETS; i++)
		for (struct nvtx_range *r = n->range[i]; r; r = r->next)
			if (!r->is_early && !r->event.row)
				nvtx_row(as, a, &r->event, NVTX_START_END, r->global_tid, DB_NULL,
					 DB_NULL);
	if (++n->saves % SWEEP_SAVES == 0)
		sweep(as, a);
}

static void each_open(struct nvtx_arena *n,
		      void (*what)(void *to, struct nvtx_event *e, int type, int64_t global_tid),
		      void *to)
{
	for (unsigned i = 0; i < NVTX_STACK_BUCKETS; i++)
		for (struct nvtx_stack *s = n->stack[i]; s; s = s->next)
			for (uint32_t k = 0; k < s->cnt; k++)
				what(to, &s->event[k], NVTX_PUSH_POP, s->global_tid);
	for (unsigned i = 0; i < NVTX_RANGE_BUCKETS; i++)
		for (struct nvtx_range *r = n->range[i]; r; r = r->next)
			if (!r->is_early)
				what(to, &r->event, NVTX_START_END, r->global_tid);
}

struct closing {
	struct arenas *as;
	struct arena *arena;
	int64_t ns;
};

static void leave_one(void *to, struct nvtx_event *e, int type, int64_t global_tid)
{
	struct closing *l = to;

	/* A range that began since belongs to the next report. */
	if (e->start < l->ns)
		nvtx_leave(l->as, l->arena, e, type, global_tid, l->ns);
}

static void cut(struct arenas *as, struct arena *a, int64_t end)
{
	struct closing l = {as, a, end};

	if (!arena_of(a))
		return;
	each_open(a->family.nvtx, leave_one, &l);
	nvtx_gil_leave(as, a, end);
}

static void shift_one(void *to, struct nvtx_event *e, int type, int64_t global_tid)
{
	(void)type;
	(void)global_tid;
	e->start -= *(const int64_t *)to;
	if (e->row == NVTX_ROW_LEFT)
		e->row = 0;
}

static void rotate(struct arena *a, int64_t shift)
{
	if (!a->family.nvtx)
		return;
	each_open(a->family.nvtx, shift_one, &shift);
	for (unsigned i = 0; i < NVTX_RANGE_BUCKETS; i++)
		for (struct nvtx_range *r = a->family.nvtx->range[i]; r; r = r->next)
			if (r->is_early)
				r->end -= shift;
}

void nvtx_release(struct arena *a)
{
	struct nvtx_arena *n = a->family.nvtx;

	if (!n)
		return;
	for (unsigned i = 0; i < NVTX_STACK_BUCKETS; i++)
		while (n->stack[i]) {
			struct nvtx_stack *s = n->stack[i];

			n->stack[i] = s->next;
			free_stack(s);
		}
	for (unsigned i = 0; i < NVTX_RANGE_BUCKETS; i++)
		while (n->range[i])
			range_drop(n, &n->range[i]);
	while (n->names) {
		struct nvtx_name *name = n->names;

		n->names = name->next;
		free(name->text);
		free(name);
	}
	nvtx_schemas_release(n);
	nvtx_free_event(&n->scratch);
	free(n->named);
	free_pages(&n->texts.page, &n->texts.pages);
	free(n);
	a->family.nvtx = NULL;
}

static void settle(struct arenas *as, struct arena *a, bool all)
{
	if (all)
		nvtx_save(as, a);
}

static int save(struct arenas *as, struct arena *a)
{
	nvtx_save(as, a);
	return 0;
}

static void release(struct arenas *as, struct arena *a)
{
	nvtx_save(as, a);
	nvtx_release(a);
}

const struct record_family nvtx_records = {
	.prescan = prescan,
	.record = nvtx_record,
	.thread_end = nvtx_gil_end,
	.settle = settle,
	.save = save,
	.cut = cut,
	.rotate = rotate,
	.release = release,
};
