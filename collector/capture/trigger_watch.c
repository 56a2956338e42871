/*
 * trigger_watch.c - checks new records of the rings against the triggers, before they are drained.
 *
 * A range is open between its push and its pop, or its start and its end; one that a trigger may want is kept in a
 * table until then. Whether it does may be known later than its start: any thread may describe texts and domains.
 */
#include "collector/capture/trigger_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/grow.h"
#include "collector/base/now.h"
#include "collector/capture/trigger_hang.h"
#include "collector/capture/trigger_late.h"
#include "collector/decode/gpu/gpu.h"
#include "preload/wire/gpu_wire.h"
#include "collector/model/strings.h"
#include "preload/wire/nvtx_wire.h"

#define DATA_BYTES  ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define BUCKETS     4096u
#define OPEN_MAX    65536u
#define DOMAIN_MAX  65536u
#define STRING_MAX  (1u << 22)
#define TEXT_MAX    256u /* longer ones are no trigger's */
#define RANK_MAX    8192u
#define KNOWN       (1u << 31)
#define PROCESS_KEY (UINT64_C(1) << 63) /* of start and end: of a process, not of a thread */
_Static_assert(TRIGGER_MAX <= 16, "a bit for each");

/* A range that has begun, or an end that was seen before its start. */
struct open_range {
	struct open_range *next;
	uint64_t who, which;
	uint64_t ticks;
	uint32_t domain, string; /* string 0: by_text has them */
	uint32_t by_text;
	bool is_end;
};

/* Names of an arena: the triggers that mean a text or a domain, with KNOWN. */
struct names {
	struct names *next;
	uint32_t arena;
	uint32_t *string, *domain;
	uint32_t strings, domains;
};

struct trigger_watch {
	struct triggers *ts;
	trigger_fire_fn *fire;
	void *to;
	struct trigger_gpu *gpu;
	struct trigger_late *late;
	struct trigger_hang *hang;
	struct open_range *open[BUCKETS];
	uint32_t open_cnt;
	struct names *names;
	bool has_nvtx;
	uint32_t came; /* triggers of whose ranges one has come, by bits */
	uint16_t by_hook[SL_HOOK_CNT];
	uint16_t by_function[SL_GPU_FUNCTION_CNT];
};

/* Where a record was found. */
struct at {
	struct trigger_watch *w;
	struct arenas *as;
	struct arena *arena;
	const struct thread *thread;
	struct names *names;
	struct rank_pace *pace; /* of the thread; NULL: it makes no steps */
};

struct trigger_watch *trigger_watch_new(struct triggers *ts, trigger_fire_fn *fire, void *to)
{
	struct trigger_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->ts = ts;
	w->fire = fire;
	w->to = to;
	w->has_nvtx = triggers_have(ts, TRIGGER_NVTX) || triggers_have(ts, TRIGGER_RANK_LATE);
	if (triggers_have(ts, TRIGGER_RANK_LATE))
		w->late = trigger_late_new();
	if (triggers_have(ts, TRIGGER_HANG))
		w->hang = trigger_hang_new(ts, fire, to);
	for (uint32_t i = 0; i < ts->cnt; i++) {
		const struct trigger *t = &ts->at[i];

		for (unsigned k = 0; t->kind == TRIGGER_OSRT && k < SL_HOOK_CNT; k++)
			if (trigger_matches(t->name, sl_hook_name(k)))
				w->by_hook[k] |= (uint16_t)(1u << i);
		for (unsigned k = 0; t->kind == TRIGGER_CUDA && k < SL_GPU_FUNCTION_CNT; k++)
			if (trigger_matches(t->name, gpu_function(k)->name))
				w->by_function[k] |= (uint16_t)(1u << i);
	}
	if (triggers_have(ts, TRIGGER_GPU_IDLE))
		w->gpu = trigger_gpu_new(ts, fire, to);
	return w;
}

static void names_free(struct names *n)
{
	free(n->string);
	free(n->domain);
	free(n);
}

static void forget_ranges(struct trigger_watch *w)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		while (w->open[i]) {
			struct open_range *r = w->open[i];

			w->open[i] = r->next;
			free(r);
		}
	w->open_cnt = 0;
}

void trigger_watch_free(struct trigger_watch *w)
{
	if (!w)
		return;
	forget_ranges(w);
	while (w->names) {
		struct names *n = w->names;

		w->names = n->next;
		names_free(n);
	}
	trigger_gpu_free(w->gpu);
	trigger_late_free(w->late);
	trigger_hang_free(w->hang);
	free(w);
}

/* Some range has come that is a step, by whichever of the triggers. */
static bool has_steps(const struct trigger_watch *w)
{
	for (uint32_t i = 0; i < w->ts->cnt; i++)
		if (w->ts->at[i].kind == TRIGGER_RANK_LATE && (w->came >> i & 1))
			return true;
	return false;
}

const struct trigger *trigger_watch_in_vain(const struct trigger_watch *w, uint32_t *i)
{
	for (; *i < w->ts->cnt; ++*i) {
		const struct trigger *t = &w->ts->at[*i];

		if ((t->kind == TRIGGER_NVTX && !(w->came >> *i & 1)) ||
		    (t->kind == TRIGGER_RANK_LATE && !t->late.is_added && !has_steps(w)))
			return &w->ts->at[(*i)++];
	}
	return NULL;
}

void trigger_watch_late_to(struct trigger_watch *w, int fd)
{
	bool is_asked = false;

	for (uint32_t i = 0; i < w->ts->cnt; i++)
		is_asked |= w->ts->at[i].kind == TRIGGER_RANK_LATE && !w->ts->at[i].late.is_added;
	if (w->late)
		trigger_late_to(w->late, fd, is_asked);
}

/* ---- something took its time ---- */

static int64_t ns_of(const struct arenas *as, uint64_t ticks)
{
	return (int64_t)((unsigned __int128)ticks * as->clock->slope >> CLOCK_SLOPE_BITS);
}

static void took(const struct at *at, uint32_t which, const char *name, uint64_t start,
		 uint64_t ticks)
{
	char why[400], text[480];

	for (uint32_t i = 0; which; i++, which >>= 1) {
		struct trigger *t = &at->w->ts->at[i];

		if (!(which & 1))
			continue;
		if (t->kind == TRIGGER_RANK_LATE) {
			if (at->w->late)
				trigger_late_step(at->w->late, at->as, at->arena, at->thread, start,
						  ticks);
			continue;
		}
		if (!trigger_duration(t, name, ns_of(at->as, ticks), why, sizeof(why)))
			continue;
		snprintf(text, sizeof(text), "%s (process %u, thread %u)", why,
			 at->thread->image->proc->pid, at->thread->id.tid);
		at->w->fire(at->w->to, text, start);
	}
}

/* ---- names ---- */

static uint32_t matching(const struct triggers *ts, const char *text, bool is_domain)
{
	uint32_t which = 0;

	for (uint32_t i = 0; i < ts->cnt; i++)
		if ((ts->at[i].kind == TRIGGER_NVTX || ts->at[i].kind == TRIGGER_RANK_LATE) &&
		    (is_domain ? trigger_in_domain(&ts->at[i], text)
			       : trigger_matches(ts->at[i].name, text)))
			which |= 1u << i;
	return which;
}

static struct names *names_of(struct trigger_watch *w, uint32_t arena)
{
	struct names *n = w->names;

	while (n && n->arena != arena)
		n = n->next;
	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->arena = arena;
	n->next = w->names;
	w->names = n;
	return n;
}

static uint32_t *entry(uint32_t **list, uint32_t *cnt, uint32_t i, uint32_t max)
{
	if (i >= max)
		return NULL;
	if (!grow_to(list, i, cnt, sizeof(**list)))
		return NULL;
	return *list + i;
}

/* With KNOWN, as far as it is. */
static uint32_t by_string(const struct at *at, uint32_t id)
{
	uint32_t *e = entry(&at->names->string, &at->names->strings, id, STRING_MAX);
	const char *text;

	if (!e || *e)
		return e ? *e : KNOWN;
	text = string_find(at->arena, id);
	if (text)
		*e = KNOWN | matching(at->w->ts, text, false);
	return *e;
}

static uint32_t by_domain(const struct at *at, uint32_t domain)
{
	const uint32_t *e;

	if (!domain)
		return KNOWN | matching(at->w->ts, "", true);
	e = entry(&at->names->domain, &at->names->domains, domain, DOMAIN_MAX);
	return e ? *e : KNOWN;
}

/* Copies the texts of strings and names of domains out of shared memory. */
static bool copy_text(char *to, const char *bytes, size_t len)
{
	if (len >= TEXT_MAX)
		return false;
	memcpy(to, bytes, len);
	to[len] = 0;
	return true;
}

/* The variables by which a launcher names a rank. */
static void on_rank(const struct at *at, const struct call *c)
{
	static char text[RANK_MAX];
	struct meta m;

	if (!at->w->late || !decode_meta(c, &m) || m.len >= RANK_MAX)
		return;
	memcpy(text, m.bytes, m.len);
	text[m.len] = 0;
	trigger_late_rank(at->w->late, at->arena, at->thread, text, m.len);
}

static void on_meta(const struct at *at, const struct call *c)
{
	char text[TEXT_MAX];
	struct meta m;

	if (c->hook == SL_META_RANK)
		on_rank(at, c);

	if (c->hook == SL_META_STRING && decode_meta(c, &m) && copy_text(text, m.bytes, m.len))
		string_known(at->arena, (uint32_t)m.kind, text, m.len);
}

/* ---- ranges ---- */

static struct open_range **range_at(struct trigger_watch *w, uint64_t who, uint64_t which)
{
	uint64_t h = (who * 0x9e3779b97f4a7c15u) ^ (which * 0xbf58476d1ce4e5b9u);
	struct open_range **at = &w->open[(h >> 40) % BUCKETS];

	while (*at && ((*at)->who != who || (*at)->which != which))
		at = &(*at)->next;
	return at;
}

static void keep(struct trigger_watch *w, const struct open_range *range)
{
	struct open_range **slot = range_at(w, range->who, range->which), *r = *slot, *next;

	if (!r) {
		/* Open ranges are mostly of threads that ended inside of them. */
		if (w->open_cnt == OPEN_MAX) {
			forget_ranges(w);
			slot = range_at(w, range->who, range->which);
		}
		r = calloc(1, sizeof(*r));
		if (!r)
			return;
		*slot = r;
		w->open_cnt++;
	}
	next = r->next;
	*r = *range;
	r->next = next;
}

static void drop(struct trigger_watch *w, struct open_range **slot)
{
	struct open_range *r = *slot;

	*slot = r->next;
	w->open_cnt--;
	free(r);
}

/* The range @r has come to its end. */
static void ended(const struct at *at, const struct open_range *r, uint64_t ticks)
{
	uint32_t which = (r->string ? by_string(at, r->string) : r->by_text) &
			 by_domain(at, r->domain) & ~KNOWN;
	const char *text = r->string ? string_find(at->arena, r->string) : NULL;

	at->w->came |= which;
	for (uint32_t i = 0; i < at->w->ts->cnt; i++)
		if (which >> i & 1)
			took(at, 1u << i, text ? text : at->w->ts->at[i].name, r->ticks, ticks);
}

static void on_begin(const struct at *at, const struct call *c)
{
	const uint64_t *p = c->data.payload, *end = p + c->data.words;
	struct open_range r = {.ticks = c->start}, **early;
	char text[TEXT_MAX];
	uint64_t second;
	unsigned flags;

	if (c->data.words < 2)
		return;
	r.domain = (uint32_t)*p++;
	second = *p++;
	flags = second >> 32 & 0xffff;
	p += (flags >> SL_NVTX_PAYLOAD_SHIFT & 7) != 0;
	r.who = (uint64_t)at->thread->id.use;
	r.which = (uint64_t)r.domain << 16 | second >> 48;
	if (c->hook == SL_NVTX_START && p < end) {
		r.who = PROCESS_KEY | (uint64_t)at->arena->id << 32 | at->thread->image->number;
		r.which = *p++;
	}
	if (p >= end || (by_domain(at, r.domain) == KNOWN))
		return;
	if (flags & SL_NVTX_HAS_STRING) {
		r.string = (uint32_t)*p;
		if (by_string(at, r.string) == KNOWN)
			return;
	} else if (flags & SL_NVTX_HAS_TEXT) {
		size_t len = *p++ & 0xffff;

		if (len > (size_t)(end - p) * 8 || !copy_text(text, (const char *)p, len))
			return;
		r.by_text = matching(at->w->ts, text, false);
	}
	if (!r.string && !r.by_text)
		return;
	early = range_at(at->w, r.who, r.which);
	if (*early && (*early)->is_end) {
		ended(at, &r, (*early)->ticks - r.ticks);
		drop(at->w, early);
		return;
	}
	keep(at->w, &r);
}

static void on_end(const struct at *at, const struct call *c)
{
	bool is_pop = c->hook == SL_NVTX_POP;
	struct open_range r = {.ticks = c->start, .is_end = true}, **slot;

	if (c->data.words < 2)
		return;
	if (is_pop) {
		r.who = (uint64_t)at->thread->id.use;
		r.which = (uint64_t)(uint32_t)c->data.payload[0] << 16 |
			  (c->data.payload[0] >> 32 & 0xffff);
	} else {
		r.who = PROCESS_KEY | (uint64_t)at->arena->id << 32 | at->thread->image->number;
		r.which = c->data.payload[1];
	}
	slot = range_at(at->w, r.who, r.which);
	if (*slot && !(*slot)->is_end) {
		ended(at, *slot, r.ticks - (*slot)->ticks);
		drop(at->w, slot);
	} else if (!is_pop && by_domain(at, (uint32_t)c->data.payload[0]) != KNOWN) {
		/* The range's start may lie in a ring that is read later. */
		keep(at->w, &r);
	}
}

static void on_nvtx(const struct at *at, const struct call *c)
{
	char text[TEXT_MAX];
	uint32_t *e;

	switch (c->hook) {
	case SL_NVTX_PUSH:
	case SL_NVTX_START:
		on_begin(at, c);
		break;
	case SL_NVTX_POP:
	case SL_NVTX_END:
		on_end(at, c);
		break;
	case SL_NVTX_DOMAIN:
		if (c->data.words < 2 || (c->data.payload[1] & 0xffff) > (c->data.words - 2) * 8u ||
		    !copy_text(text, (const char *)(c->data.payload + 2),
			       c->data.payload[1] & 0xffff))
			break;
		e = entry(&at->names->domain, &at->names->domains, (uint32_t)c->data.payload[0],
			  DOMAIN_MAX);
		if (e)
			*e = KNOWN | matching(at->w->ts, text, true);
		break;
	}
}

/* ---- records ---- */

/* Calls, the most frequent records: two words decide whether a trigger wants one. */
static void on_call(const struct at *at, const uint64_t *w, uint32_t head, unsigned shape)
{
	unsigned hook = sl_head_hook(head);
	uint64_t ticks = sl_head_flags(head) & SL_REC_LONG ? w[2] : (uint32_t)w[1];
	uint32_t which;
	const char *name;

	if (ticks == SL_NEVER_RETURNED)
		return;
	if (shape == SL_SHAPE_API) {
		if (at->pace)
			rank_pace_gpu_call(at->pace, w[0]);
		which = hook < SL_GPU_FUNCTION_CNT ? at->w->by_function[hook] : 0;
		name = which ? gpu_function(hook)->name : NULL;
	} else {
		if (at->pace)
			rank_pace_call(at->pace, hook, w[0], ns_of(at->as, ticks));
		which = hook < SL_HOOK_CNT ? at->w->by_hook[hook] : 0;
		name = which ? sl_hook_name(hook) : NULL;
	}
	if (which)
		took(at, which, name, w[0], ticks);
}

static void on_other(const struct at *at, const struct call *c)
{
	if (c->shape == SL_SHAPE_META)
		on_meta(at, c);
	else if (c->shape == SL_SHAPE_NVTX && at->w->has_nvtx && at->names)
		on_nvtx(at, c);
	else if (c->shape == SL_SHAPE_GPU && at->w->gpu)
		trigger_gpu_record(at->w->gpu, at->arena->id, at->thread->image->number,
				   at->thread->image->proc->pid, c);
	if (c->shape == SL_SHAPE_GPU && at->w->late)
		trigger_late_gpu(at->w->late, at->arena, at->thread, c);
}

static void look_at_chunk(const struct at *at, const struct sl_chunk *chunk, uint32_t committed,
			  uint32_t *pos)
{
	while (*pos + 16 <= committed) {
		const uint64_t *w = chunk->data + *pos / 8;
		uint32_t head = (uint32_t)(w[1] >> 32), words = sl_head_words(head);
		unsigned shape = sl_head_shape(head);
		struct call c;

		if (words < 2 || words > (committed - *pos) / 8)
			break; /* none: drain.c reads them */
		if (at->w->hang &&
		    !(shape < SL_SHAPE_META && words > 2 && sl_head_flags(head) & SL_REC_LONG &&
		      w[2] == SL_NEVER_RETURNED))
			trigger_hang_record(at->w->hang, shape, sl_head_hook(head));
		if (shape < SL_SHAPE_META || shape == SL_SHAPE_API) {
			if (words > 2)
				on_call(at, w, head, shape);
		} else if (decode_record(w, words, &c)) {
			on_other(at, &c);
		}
		*pos += words * 8;
	}
	*pos = committed;
}

static void look_at_thread(const struct at *at, struct thread *t, unsigned *hops)
{
	struct place *p = &t->at.watched;

	/* Read already: nothing is left to check. */
	if (!p->chunk || p->seq < t->at.seq || (p->seq == t->at.seq && p->pos < t->at.pos))
		*p = (struct place){t->at.chunk, t->at.pos, t->at.seq};
	for (; p->chunk && *hops < arena_hops(at->arena); ++*hops) {
		struct sl_chunk *chunk = arena_chunk(at->arena, p->chunk);
		sl_ref next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
		uint32_t committed = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);

		if (committed > DATA_BYTES || committed % 8)
			return;
		if (p->pos < committed)
			look_at_chunk(at, chunk, committed, &p->pos);
		if (!arena_leads(at->arena, p->chunk, next))
			return;
		*p = (struct place){next, 0, p->seq + 1};
	}
}

static void forget_names(struct trigger_watch *w, const struct arenas *as)
{
	struct names **n = &w->names;

	while (*n) {
		const struct arena *a = as->first;
		struct names *gone = *n;

		while (a && a->id != gone->arena)
			a = a->next;
		if (a) {
			n = &gone->next;
			continue;
		}
		*n = gone->next;
		names_free(gone);
	}
}

static void write_steps(struct trigger_watch *w)
{
	trigger_late_round(w->late, mono_ns());
}

static void look_at_one(struct trigger_watch *w, struct arenas *as, struct arena *a,
			struct thread *t)
{
	const struct at at = {.w = w,
			      .as = as,
			      .arena = a,
			      .thread = t,
			      .names = w->has_nvtx ? names_of(w, a->id) : NULL,
			      .pace = w->late ? trigger_late_pace(w->late, a, t) : NULL};
	unsigned hops = 0;

	look_at_thread(&at, t, &hops);
}

/* Everything that the drain may take from the thread's chunk has been seen. */
static bool is_ahead(const struct arena *a, const struct thread *t)
{
	const struct place *p = &t->at.watched;

	return p->chunk && (p->seq > t->at.seq ||
			    (p->seq == t->at.seq &&
			     p->pos >= __atomic_load_n(&arena_chunk(a, t->at.chunk)->committed,
						       __ATOMIC_ACQUIRE)));
}

void trigger_watch_thread(struct trigger_watch *w, struct arenas *as, struct arena *a,
			  struct thread *t)
{
	if (!is_ahead(a, t))
		look_at_one(w, as, a, t);
}

void trigger_watch_round(struct trigger_watch *w, struct arenas *as)
{
	struct at at = {.w = w, .as = as};

	for (struct arena *a = as->first; a; a = a->next) {
		unsigned hops = 0;

		at.arena = a;
		at.names = w->has_nvtx ? names_of(w, a->id) : NULL;
		for (uint32_t i = 0; i < a->threads.cnt && !a->flags.is_bad; i++) {
			if (!a->threads.at[i] || a->threads.at[i]->flags.is_over)
				continue;
			at.thread = a->threads.at[i];
			at.pace = w->late ? trigger_late_pace(w->late, a, at.thread) : NULL;
			look_at_thread(&at, a->threads.at[i], &hops);
		}
	}
	if (w->names)
		forget_names(w, as);
	if (w->late)
		write_steps(w);
	if (w->hang)
		trigger_hang_round(w->hang, as->model);
}
