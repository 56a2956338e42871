/* replay_gpu.c - GPU work: an operation begins after its launch and after the operation before it in its stream. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/replay_internal.h"
#include "exporters/why/walk/walk_parts.h"

#define DROPPED 20000 /* ns that remain of a call that has nothing to wait for */
#define LATENCY \
	10000 /* ns from the end of a call to the begin of its work: longer, and the stream was not free before */

/* Thread and call of an operation, as a key; operations without a known call come last. */
static uint64_t call_of(const struct why_model *m, uint32_t op)
{
	const struct why_launch *l;

	if (m->ops[op].launch == WHY_NONE)
		return UINT64_MAX;
	l = &m->launches[m->ops[op].launch];
	return (uint64_t)l->thread << 32 | l->call;
}

static int by_call(const void *a, const void *b, void *ctx)
{
	const struct why_model *m = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t i = call_of(m, x), k = call_of(m, y);

	return i != k ? (i > k) - (i < k) : (x > y) - (x < y);
}

bool replay_prepare_gpu(struct run *r)
{
	struct why_model *m = &r->y->model;

	r->of_call = calloc(m->ops_cnt + 1, sizeof(*r->of_call));
	if (!r->of_call)
		return false;
	for (uint32_t i = 0; i < m->ops_cnt; i++)
		r->of_call[i] = i;
	qsort_r(r->of_call, m->ops_cnt, sizeof(*r->of_call), by_call, m);
	return true;
}

/* The first operation of a call in of_call; SIZE_MAX: it has none. */
static size_t first_op(const struct run *r, uint32_t thread, const struct why_call *c)
{
	const struct why_model *m = &r->y->model;
	uint64_t key = (uint64_t)thread << 32 | (uint32_t)(c - m->threads[thread].gpu);
	size_t low = search_first(i, 0, m->ops_cnt, call_of(m, r->of_call[i]) < key);

	return low < m->ops_cnt && call_of(m, r->of_call[low]) == key ? low : SIZE_MAX;
}

bool replay_is_gpu_call(struct run *r, uint32_t thread, const struct why_call *c)
{
	return reason_is_gpu_wait(&r->y->walk, c) || first_op(r, thread, c) != SIZE_MAX;
}

static struct stream *stream_of(struct run *r, const struct why_kind *o)
{
	struct stream *s;

	for (size_t i = 0; i < r->streams_cnt; i++) {
		s = &r->streams[i];
		if (s->process == o->process && s->device == o->device && s->stream == o->stream)
			return s;
	}
	if (!grow(&r->streams, r->streams_cnt, &r->streams_room, sizeof(*r->streams))) {
		r->is_short = true;
		return NULL;
	}
	s = &r->streams[r->streams_cnt++];
	*s = (struct stream){
		.process = o->process, .device = o->device, .stream = o->stream, .end = r->y->from};
	for (size_t v = 0; v < r->cnt; v++)
		s->now[v] = r->y->from;
	return s;
}

/* The share of an operation of a culprit that is left. */
static double kept_of_op(const struct run *r, size_t v, uint32_t culprit)
{
	const struct replay_edit *e = &r->edits[v];

	if (culprit == REPLAY_ANY || !(e->culprits >> culprit & 1) || e->of_thread ||
	    (e->only_lines && r->is_joined))
		return 1;
	return e->keep;
}

/* Kernels of NCCL that wait for @o: all of these and @o go on when the last one has begun, at @begin or later. */
static void join_ranks(struct run *r, const struct why_op *o, int64_t begin[REPLAY_EDITS])
{
	for (size_t i = 0; i < r->streams_cnt; i++) {
		struct stream *s = &r->streams[i];

		for (size_t v = 0; v < r->cnt && s->waits_for == o; v++) {
			begin[v] = later(begin[v], s->begin[v]);
			s->now[v] = begin[v] + s->rest;
		}
	}
}

/*
 * The stream that an operation in @s waited for when the launch was over at @at: its own, or another one of the GPU's that was
 * done when it began (an event, the default stream). NULL: none.
 */
static const struct stream *waited_for(const struct run *r, const struct why_op *o,
				       const struct stream *s, int64_t at)
{
	const struct stream *last = s->end > at ? s : NULL;

	for (size_t i = 0; i < r->streams_cnt && o->start - at > LATENCY; i++) {
		const struct stream *x = &r->streams[i];

		if (x->process == s->process && x->device == s->device && x->end > at &&
		    x->end <= o->start && o->start - x->end <= LATENCY &&
		    (!last || x->end > last->end))
			last = x;
	}
	return o->start - at > LATENCY ? last : NULL;
}

/* Queues an operation of a call; its thread is at @at in the recording, and at @now in each edit. */
static void queue_op(struct run *r, const struct why_op *o, int64_t at, const int64_t *now)
{
	struct why_cause cause = walk_cause_of_op(&r->y->walk, o);
	const struct why_kind *k = why_kind(&r->y->model, o);
	uint32_t culprit = replay_culprit(r, k->process, &cause);
	struct stream *s = stream_of(r, k);
	int64_t begin[REPLAY_EDITS] = {0}, lag;
	const struct stream *before;

	if (!s)
		return;
	/* An operation may begin before its call has returned. Lags of several launches pass at the same time. */
	before = waited_for(r, o, s, at);
	lag = before ? 0 : o->start - at;
	for (size_t v = 0; v < r->cnt; v++) {
		begin[v] = later(now[v] + lag, s->now[v]);
		if (before)
			begin[v] =
				later(begin[v], before->now[v] + later(0, o->start - before->end));
	}
	s->waits_for = walk_late_op(&r->y->walk, o);
	if (s->waits_for) {
		memcpy(s->begin, begin, sizeof(begin));
		s->rest = later(0, o->end - later(o->start, s->waits_for->start));
	} else {
		join_ranks(r, o, begin);
	}
	for (size_t v = 0; v < r->cnt; v++) {
		bool is_whole = why_computes(&r->y->model, o);
		double share = is_whole ? 1 : kept_of_op(r, v, culprit);

		s->now[v] = begin[v] + (int64_t)(share * (double)(o->end - o->start));
	}
	s->end = later(s->end, o->end);
	s->brings_back |= k->work == WORK_TO_HOST;
}

static void queue_ops(struct run *r, uint32_t thread, const struct why_call *c, int64_t at)
{
	const struct why_model *m = &r->y->model;
	size_t i = first_op(r, thread, c);
	uint64_t call = i == SIZE_MAX ? UINT64_MAX : call_of(m, r->of_call[i]);

	for (; i < m->ops_cnt && call_of(m, r->of_call[i]) == call; i++)
		queue_op(r, &m->ops[r->of_call[i]], at, &r->now[(size_t)thread * r->cnt]);
}

void replay_launch(struct run *r, uint32_t thread)
{
	const struct why_thread *t = &r->y->model.threads[thread];
	const struct track *k = &r->tracks[thread];

	if (k->gpu < t->gpu_cnt && t->gpu[k->gpu].end == k->at &&
	    !reason_is_gpu_wait(&r->y->walk, &t->gpu[k->gpu]))
		queue_ops(r, thread, &t->gpu[k->gpu], k->at);
}

/* May a call of the process that returned at @end have waited for the stream? */
static bool is_awaited(const struct stream *s, uint32_t process, int64_t end)
{
	return s->process == process && s->end <= end + WALK_CLOCKS;
}

/* When the host saw by edit @v that the stream was done; by the host's clock it was done by @end. */
static int64_t seen_at(const struct stream *s, size_t v, int64_t end)
{
	return s->now[v] - later(0, s->end - end);
}

int64_t replay_gpu_end(const struct run *r, size_t v)
{
	uint32_t process = r->y->model.threads[r->y->focus].process;
	int64_t end = r->y->from;

	for (size_t i = 0; i < r->streams_cnt; i++)
		if (is_awaited(&r->streams[i], process, r->y->to))
			end = later(end, seen_at(&r->streams[i], v, r->y->to));
	return end;
}

/* @ns of a wait of the focus thread's at @place. */
static void add_sync(struct run *r, uint32_t place, int64_t ns)
{
	struct replay *out = r->out;
	size_t i = 0;

	while (i < out->syncs_cnt && out->syncs[i].place != place)
		i++;
	if (i == out->syncs_cnt) {
		if (!grow(&out->syncs, i, &out->syncs_room, sizeof(*out->syncs))) {
			r->is_short = true;
			return;
		}
		out->syncs[out->syncs_cnt++] = (struct replay_sync){.place = place};
	}
	out->syncs[i].ns += ns;
}

/* When, by the recording, the last stream that the call waited for was done; a time before the call: it waited for none. */
static int64_t done_at(const struct run *r, uint32_t process, int64_t end)
{
	int64_t done = r->y->from;

	for (size_t i = 0; i < r->streams_cnt; i++)
		if (is_awaited(&r->streams[i], process, end))
			done = later(done, earlier(end, r->streams[i].end));
	return done;
}

/* Was one of the streams that the call waited for to bring a result to the host? */
static bool waits_for_result(struct run *r, uint32_t process, int64_t end)
{
	bool is_result = false;

	for (size_t i = 0; i < r->streams_cnt; i++) {
		if (!is_awaited(&r->streams[i], process, end))
			continue;
		is_result |= r->streams[i].brings_back;
		r->streams[i].brings_back = false;
	}
	return is_result;
}

/* The parts of the end of a call. */
struct rest {
	int64_t ns, no_cpu, tracer;
};

static void add_rest(void *ctx, const struct why_cause *cause, int64_t ns)
{
	struct rest *sum = ctx;

	sum->ns += ns;
	if (cause->reason == WHY_NO_CPU)
		sum->no_cpu += ns;
	else if (cause->reason == WHY_TRACER)
		sum->tracer += ns;
}

/* The length of @rest in an edit: the tracer and waits for a CPU where they stay, and @keep of the call itself. */
static int64_t rest_of(const struct rest *rest, const struct replay_edit *e, double keep,
		       bool is_dropped)
{
	int64_t call = rest->ns - rest->tracer, stays = e->without_tracer ? 0 : rest->tracer;

	if (!e->without_cpu_waits)
		call -= rest->no_cpu, stays += rest->no_cpu;
	else if (is_dropped)
		keep *= (double)earlier(call, DROPPED) / (double)later(call, 1);
	return stays + (int64_t)(keep * (double)call);
}

void replay_end_gpu_wait(struct run *r, uint32_t thread)
{
	const struct why_model *m = &r->y->model;
	const struct why_thread *t = &m->threads[thread];
	struct track *k = &r->tracks[thread];
	const struct why_call *c = &t->gpu[k->gpu];
	bool is_copy = first_op(r, thread, c) != SIZE_MAX, is_needed;
	int64_t *now = &r->now[(size_t)thread * r->cnt], done;
	struct rest rest = {0};
	uint32_t place = PLACE_NONE, culprit = REPLAY_ANY, stack = why_what(m, c)->stack;
	uint16_t flags;

	queue_ops(r, thread, c, k->at);
	if (stack != WHY_NONE)
		place = places_of(&r->y->walk.places, stack, m->stacks.ids[stack], &flags);
	if (place != PLACE_NONE)
		culprit = replay_of_line(r, &(struct why_cause){.place = place});
	done = done_at(r, t->process, k->end);
	is_needed = waits_for_result(r, t->process, k->end);
	walk_own(&r->y->walk, thread, later(k->at, done), k->end, add_rest, &rest);
	if (thread == r->y->focus && place != PLACE_NONE && !is_copy && !is_needed && done > k->at)
		add_sync(r, place, done - k->at);
	for (size_t v = 0; v < r->cnt; v++) {
		double keep = kept_of_op(r, v, culprit);
		bool is_dropped =
			!is_needed &&
			((place != PLACE_NONE && r->edits[v].sync == place) || keep < 0.5);
		int64_t then = now[v];

		for (size_t i = 0; i < r->streams_cnt && !is_dropped && done > k->at; i++)
			if (is_awaited(&r->streams[i], t->process, k->end))
				then = later(then, seen_at(&r->streams[i], v, k->end));
		now[v] = then + rest_of(&rest, &r->edits[v], keep, is_dropped);
	}
	k->at = k->end;
}
