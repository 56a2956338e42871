/* gpu.c - the partition of each GPU. */
#include "exporters/why/walk/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/why/model/gpu_sweep.h"
#include "exporters/why/walk/walk_parts.h"

/* The thread that made another: it woke it for the first time. */
static uint32_t maker(const struct why_model *m, uint32_t thread)
{
	const struct why_thread *t = &m->threads[thread];
	uint32_t waker = t->switches_cnt ? t->switches[0].waker : WHY_NONE;

	if (waker != WHY_NONE && waker != thread && m->threads[waker].birth < t->birth)
		return waker;
	return m->processes[t->process].main_thread;
}

/* The walk over a thread, and before its birth over the thread that made it. */
static void host(struct walk *w, struct at at, uint32_t thread, int64_t from, int64_t to)
{
	const struct why_model *m = w->m;
	int64_t birth = earlier(later(m->threads[thread].birth, from), to);
	uint32_t before = birth > from ? maker(m, thread) : WHY_NONE;

	if (before == WHY_NONE || before == thread)
		birth = from;
	at.thread = before;
	if (birth > from)
		walk_at(w, at, from, birth);
	at.thread = thread;
	if (to > birth)
		walk_at(w, at, birth, to);
}

static void leaf(struct walk *w, struct at at, const struct why_op *o, uint32_t reason, int64_t ns)
{
	struct why_cause cause = {reason, PLACE_NONE, WHY_NONE, WHY_NONE};

	if (o && o->launch != WHY_NONE) {
		at.thread = w->m->launches[o->launch].thread;
		cause = walk_cause_of_op(w, o);
		if (reason == WHY_GPU_LAUNCH)
			cause.name =
				why_what(w->m, why_launch_call(w->m, &w->m->launches[o->launch]))
					->name;
	}
	cause.reason = reason;
	walk_leaf(w, &at, &cause, ns, reason == WHY_UNKNOWN ? 0 : SURE);
}

/* The idle time [@from, @to) before operation @o. */
static void idle(struct walk *w, struct at at, const struct why_op *o, int64_t from, int64_t to)
{
	const struct why_launch *l;
	const struct why_call *c;
	int64_t called, back;

	if (!o) {
		host(w, at, at.thread, from, to);
		return;
	}
	if (o->launch == WHY_NONE) {
		leaf(w, at, NULL, WHY_UNKNOWN, to - from);
		return;
	}
	l = &w->m->launches[o->launch];
	c = why_launch_call(w->m, l);
	called = earlier(later(c->start, from), to);
	back = earlier(later(c->end, called), to);
	host(w, at, l->thread, from, called);
	leaf(w, at, o, WHY_GPU_LAUNCH, back - called);
	leaf(w, at, o, WHY_GPU_LATENCY, to - back);
}

void walk_device(struct walk *w, struct at at, uint32_t process, uint32_t device, int64_t from,
		 int64_t to)
{
	/* The requested GPU, or a GPU that another one waits for. */
	uint32_t kernel = process == WHY_NONE ? WHY_GPU_KERNEL : WHY_GPU;
	uint32_t copy = process == WHY_NONE ? WHY_GPU_ONLY : WHY_GPU_COPY;
	struct gpu_sweep s;
	int64_t until;

	gpu_sweep_begin(&s, w->m, process, device, from);
	for (int64_t x = from; x < to; x = until) {
		const struct why_op *o = gpu_sweep_at(&s, x, &until);

		until = earlier(until, to);
		if (!o)
			idle(w, at, gpu_sweep_next(&s), x, until);
		else
			leaf(w, at, o, o == s.kernel ? kernel : copy, until - x);
	}
}

void why_gpu_cover(struct walk *w, const struct why_gpu *g, int64_t from, int64_t to)
{
	struct at at = {.thread = g->thread, .sure = SURE};

	if (g->thread != WHY_NONE)
		walk_device(w, at, WHY_NONE, g->device, from, to);
}

/* ---- all GPUs of a report ---- */

static struct why_gpu *gpu_of(struct why_gpus *g, uint32_t device)
{
	size_t at = 0;

	while (at < g->list_cnt && g->list[at].device < device)
		at++;
	if (at < g->list_cnt && g->list[at].device == device)
		return &g->list[at];
	if (!grow(&g->list, g->list_cnt, &g->list_room, sizeof(*g->list)))
		return NULL;
	memmove(&g->list[at + 1], &g->list[at], (g->list_cnt++ - at) * sizeof(*g->list));
	g->list[at] = (struct why_gpu){
		.device = device, .thread = WHY_NONE, .from = INT64_MAX, .to = INT64_MIN};
	return &g->list[at];
}

/* The thread of most launches: by majority vote, which is exact where one has more than half. */
static void vote(struct why_gpu *gpu, uint32_t thread)
{
	if (thread == gpu->thread)
		gpu->votes++;
	else if (gpu->votes)
		gpu->votes--;
	else
		gpu->thread = thread, gpu->votes = 1;
}

static bool list_gpus(struct why_gpus *g, const struct why_model *m)
{
	struct why_gpu *gpu = NULL;

	for (size_t i = 0; i < m->ops_cnt; i++) {
		const struct why_op *o = &m->ops[i];
		const struct why_launch *l = o->launch == WHY_NONE ? NULL : &m->launches[o->launch];
		uint32_t device = why_kind(m, o)->device;

		if (!gpu || gpu->device != device)
			gpu = gpu_of(g, device);
		if (!gpu)
			return false;
		gpu->ops += o->end > m->wall.start && o->start < m->wall.end;
		gpu->from = earlier(gpu->from, o->start);
		gpu->to = later(gpu->to, o->end);
		if (!l)
			continue;
		gpu->from = earlier(gpu->from, why_launch_call(m, l)->start);
		vote(gpu, l->thread);
	}
	return true;
}

static void sum_up(struct why_gpu *gpu)
{
	for (size_t i = 0; i < gpu->walk.leaves_cnt; i++) {
		const struct why_leaf *l = &gpu->walk.leaves[i];

		if (l->cause.reason == WHY_GPU_LAUNCH)
			gpu->launch += l->ns;
		else if (l->cause.reason == WHY_GPU_LATENCY)
			gpu->latency += l->ns;
		else if (l->cause.reason == WHY_GPU_KERNEL)
			gpu->kernel += l->ns;
		else if (l->cause.reason == WHY_GPU_ONLY)
			gpu->copy += l->ns;
		else if (l->cause.reason == WHY_UNKNOWN)
			gpu->unknown += l->ns;
		else
			gpu->host += l->ns;
	}
}

/* Limits each GPU to the wall time, and drops GPUs that were idle throughout. */
static void clip(struct why_gpus *g, const struct why_model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->list_cnt; i++) {
		struct why_gpu *gpu = &g->list[i];

		gpu->from = later(gpu->from, m->wall.start);
		gpu->to = earlier(gpu->to, m->wall.end);
		if (gpu->thread == WHY_NONE)
			gpu->thread = why_model_root(m);
		if (gpu->to > gpu->from)
			g->list[kept++] = *gpu;
	}
	g->list_cnt = kept;
}

int why_list_gpus(struct why_gpus *g, const struct why_model *m)
{
	int rc = list_gpus(g, m) ? SQLITE_OK : SQLITE_NOMEM;

	clip(g, m);
	return rc;
}

int why_find_gpus(struct why_gpus *g, const struct why_model *m)
{
	int rc = why_list_gpus(g, m);

	for (size_t i = 0; rc == SQLITE_OK && i < g->list_cnt; i++) {
		struct why_gpu *gpu = &g->list[i];

		rc = walk_open(&gpu->walk, m);
		if (rc == SQLITE_OK)
			why_gpu_cover(&gpu->walk, gpu, gpu->from, gpu->to);
		if (rc == SQLITE_OK)
			rc = walk_end(&gpu->walk);
		sum_up(gpu);
	}
	return rc;
}

void why_gpus_free(struct why_gpus *g)
{
	for (size_t i = 0; i < g->list_cnt; i++)
		walk_free(&g->list[i].walk);
	free(g->list);
}
