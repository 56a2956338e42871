/*
 * perfetto.c - a timeline as a trace of Perfetto (ui.perfetto.dev, trace_processor): protobuf.
 *
 * Slices are written as two packets, and the ends wait in a heap until a slice begins that is not before them: so the file is
 * in order of time, which readers that stream need, and the size of the heap is the number of open slices. Ends stand before
 * slices that begin at the same time; the timeline sees to it that slices of a track nest, so an end needs no name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporters/formats/perfetto.h"
#include "collector/base/grow.h"

enum { /* TrackEvent */
	TE_CATEGORY = 3,
	TE_ARGS = 4,
	TE_TYPE = 9,
	TE_NAME = 10,
	TE_TRACK = 11,
	TE_COUNTER = 30,
	TE_COUNTER_DOUBLE = 44,
	TE_FLOW = 47,
	TE_CALLSTACK = 56,

	SLICE_BEGIN = 1,
	SLICE_END,
	INSTANT,
	COUNTER,
};

enum { /* DebugAnnotation */
	DA_NAME = 1,
	DA_BOOL = 2,
	DA_INT = 4,
	DA_DOUBLE = 5,
	DA_POINTER = 7,
	DA_JSON = 9,
	DA_ARRAY = 12,
	DA_STRING = 17,
};

enum { /* all kinds of InternedData that we use but frames and mappings */
	IN_IID = 1,
	IN_TEXT = 2
};

void pf_send(struct perfetto *pf)
{
	size_t len = proto_len(&pf->packet), interned = proto_len(&pf->interned);
	char head[32], *p;

	if (pf->packet.failed || pf->interned.failed) {
		pf->failed = true;
		return;
	}
	/* A packet may carry its own definitions: so the definitions need no packet of their own. */
	if (interned > 0) {
		proto_bytes(&pf->packet, PF_INTERNED, pf->interned.buf, interned);
		len = proto_len(&pf->packet);
	}
	p = proto_put(proto_put(head, PROTO_TAG(PF_PACKET, PROTO_LEN)), len);
	out_write(pf->out, head, (size_t)(p - head));
	out_write(pf->out, pf->packet.buf, len);
}

/* ---- names ---- */

static void define(struct perfetto *pf, unsigned kind, uint64_t iid, const char *text, size_t len)
{
	size_t at = proto_open(&pf->interned, kind);

	proto_uint(&pf->interned, IN_IID, iid);
	proto_text(&pf->interned, IN_TEXT, text, len);
	proto_close(&pf->interned, at);
}

static inline uint64_t text_iid(struct perfetto *pf, struct intern *in, unsigned kind,
				const struct tl_text *t)
{
	bool fresh;
	uint64_t iid = intern_text(in, t->id, t->text, t->len, &fresh);

	if (fresh)
		define(pf, kind, iid, t->text, t->len);
	return iid;
}

/* Perfetto's own keys are words with underscores, which need no quotes in SQL. */
static void define_key(struct perfetto *pf, unsigned kind, uint64_t iid, const char *text)
{
	char key[128];
	size_t len = 0;

	for (; text[len] && len < sizeof(key); len++)
		key[len] = text[len] == ' ' ? '_' : text[len];
	define(pf, kind, iid, key, len);
}

static uint64_t constant_iid(struct perfetto *pf, struct pf_constants *c, unsigned kind,
			     const char *text)
{
	uint64_t *iid = map_at(&c->iid_of, (uintptr_t)text, true);

	if (!iid) {
		pf->failed = true;
		return 1;
	}
	if (!*iid) {
		*iid = ++c->cnt;
		define_key(pf, kind, *iid, text);
	}
	return *iid;
}

/* ---- arguments ---- */

static void put_value(struct perfetto *pf, const struct tl_arg *a)
{
	struct proto *m = &pf->packet;
	size_t at;

	switch (a->kind) {
	case TL_INT:
		proto_uint(m, DA_INT, (uint64_t)a->num);
		return;
	case TL_REAL:
		proto_double(m, DA_DOUBLE, a->real);
		return;
	case TL_TEXT:
		proto_uint(m, DA_STRING, text_iid(pf, &pf->strings, PF_ARG_STRINGS, &a->text));
		return;
	case TL_HEX:
		proto_uint(m, DA_POINTER, (uint64_t)a->num);
		return;
	case TL_BOOL:
		proto_uint(m, DA_BOOL, a->num != 0);
		return;
	case TL_VECTOR:
		for (int i = 0; i < 3; i++) {
			at = proto_open(m, DA_ARRAY);
			proto_uint(m, DA_INT, (uint64_t)a->vector[i]);
			proto_close(m, at);
		}
		return;
	case TL_JSON:
		proto_text(m, DA_JSON, a->text.text, a->text.len);
		return;
	}
}

static void put_args(struct perfetto *pf, const struct tl_event *e)
{
	struct proto *m = &pf->packet;

	for (uint32_t i = 0; i < e->arg_cnt; i++) {
		size_t at = proto_open(m, TE_ARGS);

		proto_uint(m, DA_NAME,
			   constant_iid(pf, &pf->arg_names, PF_ARG_NAMES, e->args[i].key));
		put_value(pf, &e->args[i]);
		proto_close(m, at);
	}
}

/* ---- ends ---- */

/* False: no memory. */
static bool add_end(struct perfetto *pf, int64_t ts, uint32_t track)
{
	size_t at = pf->end_cnt;

	if (!grow(&pf->ends, at, &pf->end_max, sizeof(*pf->ends)))
		return false;
	for (; at > 0 && pf->ends[(at - 1) / 2].ts > ts; at = (at - 1) / 2)
		pf->ends[at] = pf->ends[(at - 1) / 2];
	pf->ends[at] = (struct pf_end){ts, track};
	pf->end_cnt++;
	return true;
}

static struct pf_end take_end(struct perfetto *pf)
{
	struct pf_end first = pf->ends[0], last = pf->ends[--pf->end_cnt];
	size_t at = 0;

	for (size_t below; (below = 2 * at + 1) < pf->end_cnt; at = below) {
		if (below + 1 < pf->end_cnt && pf->ends[below + 1].ts < pf->ends[below].ts)
			below++;
		if (pf->ends[below].ts >= last.ts)
			break;
		pf->ends[at] = pf->ends[below];
	}
	pf->ends[at] = last;
	return first;
}

/* Every slice has one, and it is short: so it goes straight into the output. */
static void put_end(struct perfetto *pf, struct pf_end end)
{
	char *start = out_room(pf->out, 128), *p = start, *packet, *event;

	p = proto_put(p, PROTO_TAG(PF_PACKET, PROTO_LEN)) + 1;
	packet = p;
	p = pf_put_head(p, end.ts + pf->base);
	p = proto_put(p, PROTO_TAG(PF_TRACK_EVENT, PROTO_LEN)) + 1;
	event = p;
	p = proto_put(proto_put(p, PROTO_TAG(TE_TYPE, PROTO_VARINT)), SLICE_END);
	p = proto_put(proto_put(p, PROTO_TAG(TE_TRACK, PROTO_VARINT)), end.track);
	event[-1] = (char)(p - event);
	packet[-1] = (char)(p - packet);
	pf->out->p = p;
}

static void put_ends(struct perfetto *pf, int64_t until)
{
	while (pf->end_cnt > 0 && pf->ends[0].ts <= until)
		put_end(pf, take_end(pf));
}

/* ---- the sink ---- */

static void put_event(struct perfetto *pf, const struct tl_event *e, int type)
{
	struct proto *m = &pf->packet;
	uint64_t stack;
	size_t at;

	pf_begin_at(pf, e->ts);
	at = proto_open(m, PF_TRACK_EVENT);
	proto_uint(m, TE_TYPE, (uint64_t)type);
	proto_uint(m, TE_TRACK, e->track->id);
	if (type == COUNTER) {
		if (e->is_real)
			proto_double(m, TE_COUNTER_DOUBLE,
				     isnan(e->real) ? 0 : e->real); /* it has no gaps */
		else
			proto_uint(m, TE_COUNTER, (uint64_t)e->value);
	} else {
		if (e->category)
			proto_uint(m, TE_CATEGORY,
				   constant_iid(pf, &pf->categories, PF_CATEGORIES, e->category));
		proto_uint(m, TE_NAME, text_iid(pf, &pf->names, PF_NAMES, &e->name));
		put_args(pf, e);
		/* Not "terminating": a launch of a graph leads to many kernels. */
		if (e->flow_out)
			proto_fixed64(m, TE_FLOW, e->flow_out);
		if (e->flow_in && e->flow_in != e->flow_out)
			proto_fixed64(m, TE_FLOW, e->flow_in);
		if (e->stack && (stack = pf_callstack(pf, e)) != 0)
			proto_uint(m, TE_CALLSTACK, stack);
	}
	proto_close(m, at);
	pf_send(pf);
}

static int on_event(void *self, const struct tl_event *e)
{
	struct perfetto *pf = self;

	if (!pf->begun)
		pf_clocks(pf, e->ts);
	put_ends(pf, e->ts);
	switch (e->kind) {
	case TL_SLICE:
		put_event(pf, e, SLICE_BEGIN);
		if (e->dur != TL_OPEN && !add_end(pf, e->ts + e->dur, e->track->id))
			pf->failed = true;
		break;
	case TL_INSTANT:
		put_event(pf, e, INSTANT);
		break;
	case TL_VALUE:
		put_event(pf, e, COUNTER);
		break;
	case TL_SCHED:
		pf_sched_event(pf, e);
		break;
	case TL_SAMPLE:
		pf_sample(pf, e);
		break;
	}
	return pf->failed || pf->out->err ? -1 : 0;
}

static int on_track(void *self, struct tl_track *track)
{
	struct perfetto *pf = self;

	pf_track(pf, track);
	return pf->failed || pf->out->err ? -1 : 0;
}

static void perfetto_free(struct perfetto *pf)
{
	proto_free(&pf->packet);
	proto_free(&pf->interned);
	intern_free(&pf->names);
	intern_free(&pf->strings);
	intern_free(&pf->functions);
	intern_free(&pf->modules);
	intern_free(&pf->frames);
	intern_free(&pf->stacks);
	pf_sched_free(pf->sched);
	free(pf->stack_iid);
	map_free(&pf->sample_iid);
	map_free(&pf->categories.iid_of);
	map_free(&pf->arg_names.iid_of);
	stack_costs_free(&pf->calls);
	sqlite3_finalize(pf->tree);
	free(pf->threads);
	free(pf->ends);
	free(pf);
}

/* The packet that starts a sequence: nothing is defined yet. */
static void put_first(struct perfetto *pf)
{
	pf_begin(pf);
	proto_uint(&pf->packet, PF_SEQUENCE_ID, PF_SEQUENCE);
	proto_uint(&pf->packet, PF_SEQUENCE_FLAGS, 1); /* forget earlier definitions */
	proto_uint(&pf->packet, PF_FIRST_PACKET, 1);
	pf_send(pf);
}

static int load_stacks(struct perfetto *pf, char *why, size_t why_len)
{
	pf->calls.db = pf->job->db;
	pf->calls.frames = FRAMES_BY_LINE; /* frames have no place for lines */
	if (stack_costs_load(&pf->calls, pf->job->timeline.activities, why, why_len) < 0)
		return -1;
	if (pf->calls.node_cnt > 1) {
		pf->stack_iid = calloc(pf->calls.node_cnt, sizeof(*pf->stack_iid));
		pf->failed |= !pf->stack_iid;
	}
	return 0;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	static const struct tl_sink sink = {.track = on_track, .event = on_event};
	struct perfetto *pf = calloc(1, sizeof(*pf));
	int64_t events = -1;

	if (pf) {
		pf->job = job;
		pf->out = job->out;
		pf->failed = !proto_init(&pf->packet);
		pf->failed |= !proto_init(&pf->interned);
		pf->sched = pf_sched_new(pf);
	}
	if (pf && pf->sched && !pf->failed) {
		put_first(pf);
		if (load_stacks(pf, why, why_len) == 0)
			events = timeline_run(job->db, &job->timeline, &sink, pf, why, why_len);
	}
	if (events >= 0) {
		put_ends(pf, INT64_MAX);
		job->events = (uint64_t)events;
		if (pf_sched_end(pf) < 0) {
			snprintf(why, why_len, "SL_SCHED_DETAIL cannot be read");
			events = -1;
		}
		if (!pf->begun)
			pf_clocks(pf, 0);
	}
	if (!pf || !pf->sched || pf->failed) {
		snprintf(why, why_len, "out of memory");
		events = -1;
	}
	if (pf)
		perfetto_free(pf);
	return events < 0 ? -1 : 0;
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.extension = "perfetto-trace",
	.about =
		"trace of Perfetto (protobuf), with CPU tracks and thread states; ui.perfetto.dev, "
		"trace_processor",
	.shape = EXPORT_STREAM,
	.activities = TL_ACT_DEFAULT,
	.explains = true,
	.run = run,
};
