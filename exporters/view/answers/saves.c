/* saves.c - /v1/save: the events of a span as Chrome's JSON, which other viewers read. */
#include <stdio.h>

#include "exporters/view/answers/body.h"
#include "exporters/view/index/lod.h"
#include "exporters/view/answers/answer.h"

#define EVENTS_MAX 2000000

struct save {
	struct writer *b;
	struct view_store *v;
	const struct view_row *row;
	uint32_t lane;
	uint64_t cnt;
};

static void put_us(struct writer *b, const char *key, int64_t ns)
{
	int64_t us = ns / 1000, rest = ns % 1000;

	json_real(b, key, (double)us + (double)rest / 1000);
}

static int on_event(void *ctx, const struct view_event *e)
{
	struct save *s = ctx;
	struct writer *b = s->b;
	int64_t end = e->flags & VIEW_OPEN ? s->v->last : e->end;

	json_open(b, NULL, '{');
	js_text(b, "ph", e->flags & VIEW_INSTANT ? "i" : "X");
	json_bytes(b, "name", s->v->names[e->name].text, s->v->names[e->name].len);
	js_text(b, "cat", view_kind_names[s->row->kind]);
	js_int(b, "pid", s->row->pid >= 0 ? s->row->pid : 0);
	js_int(b, "tid", s->lane);
	put_us(b, "ts", e->start);
	if (e->flags & VIEW_INSTANT)
		js_text(b, "s", "t");
	else
		put_us(b, "dur", end > e->start ? end - e->start : 0);
	json_close(b, '}');
	return ++s->cnt >= EVENTS_MAX || b->failed;
}

static void put_lane(struct save *s, uint32_t lane, int64_t from, int64_t to)
{
	struct view_reader r = {.v = s->v};
	char name[512];

	pthread_rwlock_rdlock(&s->v->lock);
	if (view_reader_lane(&r, lane) && !r.lane->is_counter) {
		const struct view_row *above;

		s->row = s->v->rows[r.lane->row - 1];
		above = s->row->parent ? s->v->rows[s->row->parent - 1] : NULL;
		s->lane = lane;
		snprintf(name, sizeof(name), "%.200s%s%.200s", above ? above->name : "",
			 above ? ": " : "", s->row->name);
		json_open(s->b, NULL, '{');
		js_text(s->b, "ph", "M");
		js_text(s->b, "name", "thread_name");
		js_int(s->b, "pid", s->row->pid >= 0 ? s->row->pid : 0);
		js_int(s->b, "tid", lane);
		json_open(s->b, "args", '{');
		js_text(s->b, "name", name);
		json_close(s->b, '}');
		json_close(s->b, '}');
		view_reader_each(&r, from, to, on_event, s);
	}
	view_reader_end(&r);
}

void view_answer_save(struct view_request *q, struct view_reply *a)
{
	struct save s = {.b = &a->body, .v = q->store};
	struct view_span span;
	uint32_t cnt;

	if (!view_body_span(q->body, q->len, &span)) {
		view_refuse(a, 400,
			    "the body must be {\"from\": ns, \"to\": ns, \"lanes\": [...]}");
		return;
	}
	pthread_rwlock_rdlock(&s.v->lock);
	cnt = span.lane_cnt ? span.lane_cnt : s.v->lane_cnt;
	pthread_rwlock_unlock(&s.v->lock);
	s.b->is_marked = false; /* a file, whose reader has rules of its own */
	json_open(s.b, NULL, '{');
	json_open(s.b, "traceEvents", '[');
	for (uint32_t i = 0; i < cnt && s.cnt < EVENTS_MAX; i++)
		put_lane(&s, span.lane_cnt ? span.lanes[i] : i + 1, span.from, span.to);
	json_close(s.b, ']');
	js_text(s.b, "displayTimeUnit", "ns");
	json_close(s.b, '}');
	view_span_free(&span);
	if (s.cnt >= EVENTS_MAX)
		view_refuse(a, 400,
			    "more than 2,000,000 events: choose a shorter span, or use sightline "
			    "export");
}
