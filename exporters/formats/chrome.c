/*
 * chrome.c - Chrome's trace event format, as PyTorch's profiler writes it: chrome://tracing, ui.perfetto.dev,
 * speedscope and HolisticTraceAnalysis read it.
 *
 * Times are microseconds with three decimals, so nothing is rounded. Readers drop times below 0: where events come before
 * the session (of processes that ran already), the first one is at 0, and session time 0 is otherData.sessionStartNs. A slice
 * that had not ended is a "B" without an "E".
 * Ranges that may overlap (start/end of NVTX) are "b" and "e", one id per lane; an "e" waits until the ranges inside have
 * ended, so that they nest in the order of the file too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/saturate.h"
#include "exporters/read/sql_rows.h"
#include "exporters/text/cell.h"
#include "exporters/events/thread_switches.h"
#include "exporters/formats/export.h"
#include "exporters/formats/json_out.h"

/* An async slice whose end is to come. */
struct pending {
	int64_t end;
	uint64_t id;
	char *name; /* escaped */
};

/* State of the sink, per track. */
struct place {
	struct place *next;
	const struct tl_track *track;
	char ids[64]; /* "pid":1,"tid":2 */
	unsigned ids_len;
	/* async lanes */
	struct pending *pending;
	size_t pending_cnt, pending_max;
	/* CPUs: the running thread */
	const struct tl_track *running;
	int64_t since;
	int64_t base; /* as that of struct chrome */
};

struct chrome {
	struct out *out;
	struct export_job *job;
	int64_t base; /* added to times; known from the first event on */
	bool begun;
	struct place *places;
	struct stack_costs stacks;
	bool *used; /* by node of stacks; NULL: there are none */
};

/* ---- beginnings ---- */

/* {"ph":"X","pid":1,"tid":2,"ts":3.000 */
static char *begin_at(char *p, char phase, const struct place *place, int64_t ts)
{
	p = literal_at(p, "{\"ph\":\"X\",");
	p[-3] = phase;
	memcpy(p, place->ids, sizeof(place->ids));
	p += place->ids_len;
	p = literal_at(p, ",\"ts\":");
	return us_at(p, ts + place->base);
}

static void cat_and_name(struct out *o, const char *category, const struct tl_text *name)
{
	out_literal(o, ",\"cat\":\"");
	out_text(o, category);
	out_literal(o, "\",\"name\":");
	json_out_text(o, name->text, name->len);
}

static void number_member(struct out *o, const char *key, int64_t value)
{
	out_text(o, key);
	json_out_int(o, value);
}

/* Metadata: the name or the place of a process or thread. */
static void meta(struct chrome *c, const struct place *p, const char *what, const char *key)
{
	struct out *o = c->out;

	out_literal(o, "{\"ph\":\"M\",");
	out_write(o, p->ids, p->ids_len);
	out_literal(o, ",\"name\":\"");
	out_text(o, what);
	out_literal(o, "\",\"args\":{\"");
	out_text(o, key);
	out_literal(o, "\":");
}

static void end_meta(struct chrome *c)
{
	out_literal(c->out, "}},\n");
}

static void meta_number(struct chrome *c, const struct place *p, const char *what, int64_t value)
{
	meta(c, p, what, "sort_index");
	json_out_int(c->out, value);
	end_meta(c);
}

/* ---- tracks ---- */

static void name_process(struct chrome *c, const struct place *p)
{
	const struct tl_track *t = p->track, *process = t->parent ? t->parent : t;
	int64_t order = process->rank >= 0 ? process->rank : t->process_pid;
	struct out *o = c->out;
	char pid[64];

	meta(c, p, "process_name", "name");
	*out_room(o, 1) = '"';
	o->p++;
	json_out_inside(o, t->name, strlen(t->name));
	if (t->kind == TL_DEVICE) {
		out_literal(o, " (");
		json_out_inside(o, process->name, strlen(process->name));
		snprintf(pid, sizeof(pid), "%s%lld)", process->name[0] ? " " : "",
			 (long long)t->process_pid);
		out_text(o, pid);
	} else if (!t->name[0]) {
		snprintf(pid, sizeof(pid), "process %lld", (long long)t->process_pid);
		out_text(o, pid);
	}
	out_literal(o, "\"");
	end_meta(c);
	if (t->kind == TL_DEVICE)
		meta_number(c, p, "process_sort_index",
			    order * 64 + 1 + (t->gpu < 62 ? t->gpu : 62));
	else
		meta_number(c, p, "process_sort_index", t->kind == TL_MACHINE ? -1 : order * 64);
}

static void name_thread(struct chrome *c, const struct place *p)
{
	const struct tl_track *t = p->track;
	struct out *o = c->out;
	char lane[32];

	if (t->name[0] || t->lane > 0) {
		meta(c, p, "thread_name", "name");
		*out_room(o, 1) = '"';
		o->p++;
		json_out_inside(o, t->name, strlen(t->name));
		if (t->lane > 0) {
			snprintf(lane, sizeof(lane), "%slane %u", t->name[0] ? ", " : "",
				 t->lane + 1);
			out_text(o, lane);
		}
		out_literal(o, "\"");
		end_meta(c);
	}
	meta_number(c, p, "thread_sort_index", t->sort);
}

static void name_track(struct chrome *c, const struct place *p)
{
	const struct tl_track *t = p->track;

	if (t->kind == TL_PROCESS || t->kind == TL_DEVICE || t->kind == TL_MACHINE)
		name_process(c, p);
	else if (t->kind != TL_COUNTER && t->kind != TL_ASYNC)
		name_thread(c, p);
}

static int on_track(void *self, struct tl_track *t)
{
	struct chrome *c = self;
	struct place *p = calloc(1, sizeof(*p));
	char *at;

	if (!p)
		return -1;
	p->next = c->places;
	c->places = p;
	p->track = t;
	t->of_sink = p;
	at = literal_at(p->ids, "\"pid\":");
	at = int_at(at, t->pid);
	if (t->kind != TL_COUNTER) {
		at = literal_at(at, ",\"tid\":");
		at = int_at(at, t->tid);
	}
	p->ids_len = (unsigned)(at - p->ids);
	p->base = c->base;
	if (c->begun)
		name_track(c, p);
	return 0;
}

/* ---- arguments ---- */

static void hex_value(struct out *o, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "\"0x%llx\"", (unsigned long long)value);
	out_text(o, buf);
}

static void arg_value(struct out *o, const struct tl_arg *a)
{
	switch (a->kind) {
	case TL_INT:
		json_out_int(o, a->num);
		break;
	case TL_REAL:
		json_out_real(o, a->real);
		break;
	case TL_HEX:
		hex_value(o, (uint64_t)a->num);
		break;
	case TL_BOOL:
		out_text(o, a->num ? "true" : "false");
		break;
	case TL_VECTOR:
		for (int i = 0; i < 3; i++) {
			*out_room(o, 1) = i == 0 ? '[' : ',';
			o->p++;
			json_out_int(o, a->vector[i]);
		}
		out_literal(o, "]");
		break;
	case TL_TEXT:
	case TL_JSON: /* it may not be valid */
		json_out_text(o, a->text.text, a->text.len);
		break;
	}
}

/* ,"args":{...}; keys are ours and need no escaping */
static void args(struct out *o, const struct tl_event *e)
{
	if (e->arg_cnt == 0)
		return;
	out_literal(o, ",\"args\":{");
	for (uint32_t i = 0; i < e->arg_cnt; i++) {
		const struct tl_arg *a = &e->args[i];
		size_t len = strlen(a->key);
		char *p = out_room(o, len + 4);

		if (i > 0)
			*p++ = ',';
		*p++ = '"';
		memcpy(p, a->key, len);
		p += len;
		*p++ = '"';
		*p++ = ':';
		o->p = p;
		arg_value(o, a);
	}
	out_literal(o, "}");
}

static void end_event(struct out *o)
{
	out_literal(o, "},\n");
}

/* ---- events ---- */

static void flow(struct out *o, char phase, const struct place *place, int64_t ts, uint64_t id)
{
	char *p = begin_at(out_room(o, 256), phase, place, ts);

	p = literal_at(p, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
	p = digits_of(p, id);
	if (phase == 'f')
		p = literal_at(p, ",\"bp\":\"e\"");
	o->p = p;
	end_event(o);
}

static void async_end(struct out *o, const struct place *place, const struct pending *n)
{
	o->p = begin_at(out_room(o, 256), 'e', place, n->end);
	out_literal(o, ",\"cat\":\"user_annotation\",\"name\":");
	out_text(o, n->name);
	out_literal(o, ",\"id\":");
	json_out_int(o, (int64_t)place->track->id);
	end_event(o);
}

static void async_ends(struct out *o, struct place *place, int64_t until)
{
	while (place->pending_cnt > 0 && place->pending[place->pending_cnt - 1].end <= until) {
		struct pending *n = &place->pending[--place->pending_cnt];

		async_end(o, place, n);
		free(n->name);
	}
}

static int async_begin(struct chrome *c, struct place *place, const struct tl_event *e)
{
	struct out *o = c->out;

	async_ends(o, place, e->ts);
	o->p = begin_at(out_room(o, 256), 'b', place, e->ts);
	cat_and_name(o, e->category, &e->name);
	out_literal(o, ",\"id\":");
	json_out_int(o, (int64_t)place->track->id);
	args(o, e);
	end_event(o);
	if (e->dur == TL_OPEN)
		return 0;
	if (!grow(&place->pending, place->pending_cnt, &place->pending_max,
		  sizeof(*place->pending)))
		return -1;
	place->pending[place->pending_cnt] = (struct pending){
		.end = e->ts + e->dur, .name = json_quoted("", e->name.text, e->name.len, "")};
	return place->pending[place->pending_cnt++].name ? 0 : -1;
}

/* Writes the stack's number in stackFrames, which stand at the end, once each. */
static void put_stack(struct chrome *c, const struct tl_event *e)
{
	uint32_t node = e->stack && c->used ? stack_node(&c->stacks, e->stack) : 0;

	if (!node)
		return;
	out_literal(c->out, ",\"sf\":");
	json_out_int(c->out, node);
	for (; node && !c->used[node]; node = c->stacks.node[node].parent)
		c->used[node] = true;
}

static void put_frames(struct chrome *c)
{
	const struct stack_costs *w = &c->stacks;
	const char *comma = "";

	if (!c->used)
		return;
	out_literal(c->out, ",\"stackFrames\":{");
	for (uint32_t i = 1; i < w->node_cnt; i++) {
		const struct stack_frame *f = &w->frame[w->node[i].frame];

		if (!c->used[i])
			continue;
		out_text(c->out, comma);
		comma = ",";
		out_literal(c->out, "\n\"");
		json_out_int(c->out, i);
		out_literal(c->out, "\":{\"name\":");
		json_out_text(c->out, f->text, strlen(f->text));
		out_literal(c->out, ",\"category\":");
		json_out_text(c->out, f->module, strlen(f->module));
		if (w->node[i].parent)
			number_member(c->out, ",\"parent\":", w->node[i].parent);
		out_literal(c->out, "}");
	}
	out_literal(c->out, "}");
}

static int slice(struct chrome *c, const struct tl_event *e)
{
	struct place *place = e->track->of_sink;
	struct out *o = c->out;
	char *p;

	if (e->track->kind == TL_ASYNC)
		return async_begin(c, place, e);
	p = begin_at(out_room(o, 256), e->dur == TL_OPEN ? 'B' : 'X', place, e->ts);
	if (e->dur != TL_OPEN) {
		p = literal_at(p, ",\"dur\":");
		p = us_at(p, e->dur);
	}
	o->p = p;
	cat_and_name(o, e->category, &e->name);
	put_stack(c, e);
	args(o, e);
	end_event(o);
	if (e->flow_out)
		flow(o, 's', place, e->ts, e->flow_out);
	if (e->flow_in)
		flow(o, 'f', place, e->ts, e->flow_in);
	return 0;
}

static int instant(struct chrome *c, const struct tl_event *e)
{
	enum tl_track_kind kind = e->track->kind;
	struct out *o = c->out;

	o->p = begin_at(out_room(o, 256), 'i', e->track->of_sink, e->ts);
	cat_and_name(o, e->category, &e->name);
	out_text(o, kind == TL_MACHINE   ? ",\"s\":\"g\""
		    : kind == TL_PROCESS ? ",\"s\":\"p\""
					 : ",\"s\":\"t\"");
	args(o, e);
	end_event(o);
	return 0;
}

static int value(struct chrome *c, const struct tl_event *e)
{
	const struct tl_track *t = e->track;
	struct out *o = c->out;

	o->p = begin_at(out_room(o, 256), 'C', t->of_sink, e->ts);
	out_literal(o, ",\"name\":");
	json_out_text(o, t->name, strlen(t->name));
	out_literal(o, ",\"args\":{\"");
	out_text(o, t->unit[0] ? t->unit : "value");
	out_literal(o, "\":");
	/* There are no gaps in this format. */
	if (e->is_real)
		json_out_real(o, isnan(e->real) ? 0 : e->real);
	else
		json_out_int(o, e->value);
	out_literal(o, "}");
	end_event(o);
	return 0;
}

/* A sample is an instant with the innermost function's name; the stack is among its arguments. */
static int sample(struct chrome *c, const struct tl_event *e)
{
	struct tl_text name = e->frame_cnt > 0 ? e->frames[0].symbol : (struct tl_text){0, "?", 1};
	struct out *o = c->out;

	o->p = begin_at(out_room(o, 256), 'i', e->track->of_sink, e->ts);
	cat_and_name(o, "sample", &name);
	out_literal(o, ",\"s\":\"t\",\"args\":{");
	if (e->cpu >= 0)
		number_member(o, "\"cpu\":", e->cpu);
	out_text(o, e->cpu >= 0 ? ",\"stack\":[" : "\"stack\":[");
	for (uint32_t i = 0; i < e->frame_cnt; i++) {
		if (i > 0)
			out_literal(o, ",");
		json_out_text(o, e->frames[i].symbol.text, e->frames[i].symbol.len);
	}
	out_literal(o, "]}");
	end_event(o);
	return 0;
}

/* The thread that ran on a CPU until @ts. @state: why it stopped, -1 not known; @open: it still runs at the end. */
static void ran(struct chrome *c, struct place *cpu, int64_t ts, int state, bool open)
{
	const struct tl_track *t = cpu->running;
	struct out *o = c->out;
	char *p = begin_at(out_room(o, 256), open ? 'B' : 'X', cpu, cpu->since);
	char name[64];

	if (!open) {
		p = literal_at(p, ",\"dur\":");
		p = us_at(p, ts > cpu->since ? ts - cpu->since : 0);
	}
	o->p = p;
	out_literal(o, ",\"cat\":\"sched\",\"name\":\"");
	json_out_inside(o, t->name, strlen(t->name));
	snprintf(name, sizeof(name), "%s%lld\",\"args\":{", t->name[0] ? " " : "thread ",
		 (long long)(t->global & 0xFFFFFF));
	out_text(o, name);
	number_member(o, "\"pid\":", t->process_pid);
	number_member(o, ",\"tid\":", t->global & 0xFFFFFF);
	if (thread_label_text(state)) {
		out_literal(o, ",\"end state\":\"");
		out_text(o, thread_label_text(state));
		out_literal(o, "\"");
	}
	out_literal(o, "}");
	end_event(o);
	cpu->running = NULL;
}

static int sched(struct chrome *c, const struct tl_event *e)
{
	struct place *cpu = e->cpu_track->of_sink;

	/* A thread whose switch out is missing (lost, or cut off) left when the next came. */
	if (cpu->running && (e->sched_in || cpu->running == e->track))
		ran(c, cpu, e->ts, e->sched_in ? -1 : e->state, false);
	if (e->sched_in) {
		cpu->running = e->track;
		cpu->since = e->ts;
	}
	return 0;
}

/* ---- the whole ---- */

static void head(struct chrome *c)
{
	const struct export_job *job = c->job;
	struct out *o = c->out;
	sqlite3_stmt *stmt = NULL;
	const char *name = strrchr(job->input, '/');

	out_literal(o, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",");
	/* Unix time at 0, as PyTorch's profiler writes it. */
	if (!job->opt.normalize &&
	    (stmt = sql_first(job->db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")) !=
		    NULL &&
	    sqlite3_column_type(stmt, 0) == SQLITE_INTEGER) {
		number_member(o, "\"baseTimeNanoseconds\":",
			      sat_sub(sqlite3_column_int64(stmt, 0),
				      sat_add(job->timeline.shift, c->base)));
		out_literal(o, ",");
	}
	sqlite3_finalize(stmt);
	out_literal(o, "\"otherData\":{\"tool\":\"sightline " SL_VERSION "\",\"report\":");
	name = name ? name + 1 : job->input;
	json_out_text(o, name, strlen(name));
	if (c->base)
		number_member(o, ",\"sessionStartNs\":", sat_add(job->timeline.shift, c->base));
	out_literal(o, "},\"traceEvents\":[\n");
}

/* Names of the tracks that were announced so far, in their order. */
static void name_early(struct chrome *c, struct place *p)
{
	struct place *last = NULL, *next;

	for (; p; p = next) {
		next = p->next;
		p->next = last;
		last = p;
	}
	for (p = last, last = NULL; p; p = next) {
		p->base = c->base;
		name_track(c, p);
		next = p->next;
		p->next = last;
		last = p;
	}
}

/* The first event, whose time is the least, is at @ts. */
static void begin(struct chrome *c, int64_t ts)
{
	c->begun = true;
	c->base = ts < 0 ? -ts : 0;
	head(c);
	name_early(c, c->places);
}

static int on_event(void *self, const struct tl_event *e)
{
	struct chrome *c = self;

	if (!c->begun)
		begin(c, e->ts);
	/* The rest has no reader. */
	if (c->out->err)
		return -1;
	switch (e->kind) {
	case TL_SLICE:
		return slice(c, e);
	case TL_INSTANT:
		return instant(c, e);
	case TL_VALUE:
		return value(c, e);
	case TL_SCHED:
		return sched(c, e);
	case TL_SAMPLE:
		return sample(c, e);
	}
	return 0;
}

static int on_end(void *self)
{
	struct chrome *c = self;

	for (struct place *p = c->places; p; p = p->next) {
		async_ends(c->out, p, INT64_MAX);
		if (p->running)
			ran(c, p, 0, -1, true);
	}
	return 0;
}

static void tail(struct chrome *c)
{
	struct out *o = c->out;
	struct place *next;

	for (struct place *p = c->places; p; p = next) {
		next = p->next;
		free(p->pending);
		free(p);
	}
	/* No comma follows the last event, which is still in the buffer. */
	if (o->p - o->buf >= 2 && o->p[-2] == ',')
		o->p -= 2;
	out_literal(o, "\n]");
	put_frames(c);
	out_literal(o, "}\n");
	free(c->used);
	stack_costs_free(&c->stacks);
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	static const struct tl_sink sink = {on_track, on_event, on_end};
	struct chrome c = {
		.out = job->out, .job = job, .stacks = {.db = job->db, .frames = FRAMES_BY_LINE}};
	int64_t events = -1;

	if (stack_costs_load(&c.stacks, job->timeline.activities, why, why_len) == 0) {
		if (c.stacks.node_cnt > 1)
			c.used = calloc(c.stacks.node_cnt, sizeof(*c.used));
		events = timeline_run(job->db, &job->timeline, &sink, &c, why, why_len);
	}
	if (!c.begun)
		begin(&c, 0);
	tail(&c);
	job->events = events < 0 ? 0 : (uint64_t)events;
	return events < 0 ? -1 : 0;
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.extension = "json",
	.about = "trace events for chrome://tracing, ui.perfetto.dev and programs that read "
		 "PyTorch's traces",
	.shape = EXPORT_STREAM,
	.activities = TL_ACT_DEFAULT,
	.explains = true,
	.run = run,
};
