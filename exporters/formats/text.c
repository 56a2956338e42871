/*
 * text.c - a timeline to be read, and to be searched with grep: one line per event, in the order of time.
 *
 *   start [s]  duration [us]  where  what  name  arguments
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporters/events/thread_switches.h"
#include "exporters/text/cell.h"
#include "exporters/formats/export.h"
#include "exporters/formats/json_out.h"

static bool printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7E)
			return false;
	return true;
}

/* Nothing that could upset a terminal, and no line breaks. */
static void put(struct out *o, const char *text, size_t len)
{
	size_t width;
	char *safe;

	if (printable(text, len)) {
		out_write(o, text, len);
		return;
	}
	safe = text_people(text, len, 0, &width);
	if (safe)
		out_text(o, safe);
	free(safe);
}

static void pad(struct out *o, size_t from, size_t width)
{
	size_t done = o->bytes + (size_t)(o->p - o->buf) - from;

	for (; done < width; done++)
		out_literal(o, " ");
	out_literal(o, "  ");
}

static size_t at(const struct out *o)
{
	return o->bytes + (size_t)(o->p - o->buf);
}

static void right(struct out *o, const char *text, size_t len, size_t width)
{
	for (; len < width; width--)
		out_literal(o, " ");
	out_write(o, text, len);
	out_literal(o, "  ");
}

static void time_of(struct out *o, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char buf[48];
	int len = snprintf(buf, sizeof(buf), "%s%llu.%09llu", ns < 0 ? "-" : "",
			   (unsigned long long)(size / 1000000000),
			   (unsigned long long)(size % 1000000000));

	right(o, buf, (size_t)len, 16);
}

static void duration_of(struct out *o, const struct tl_event *e)
{
	char buf[32];

	if (e->kind != TL_SLICE)
		right(o, "-", 1, 14);
	else if (e->dur == TL_OPEN)
		right(o, "open", 4, 14);
	else
		right(o, buf, (size_t)(us_at(buf, e->dur) - buf), 14);
}

static void where(struct out *o, const struct tl_track *t)
{
	size_t from = at(o);
	char buf[64];

	if (t->kind == TL_MACHINE || t->kind == TL_CPU) {
		put(o, t->name, strlen(t->name));
	} else if (t->device >= 0) {
		snprintf(buf, sizeof(buf), "%lld GPU %lld", (long long)t->process_pid,
			 (long long)t->gpu);
		out_text(o, buf);
		if (t->kind == TL_STREAM || t->kind == TL_NVTX_GPU) {
			snprintf(buf, sizeof(buf), " stream %lld", (long long)t->stream);
			out_text(o, t->stream < 0 ? "" : buf);
		}
	} else if (t->kind == TL_THREAD) {
		snprintf(buf, sizeof(buf), "%lld/%lld ", (long long)t->process_pid,
			 (long long)(t->global & 0xFFFFFF));
		out_text(o, buf);
		put(o, t->name, strlen(t->name));
	} else {
		const struct tl_track *p = t->parent ? t->parent : t;

		snprintf(buf, sizeof(buf), "%lld ", (long long)t->process_pid);
		out_text(o, buf);
		put(o, p->name, strlen(p->name));
	}
	pad(o, from, 24);
}

static void put_real(struct out *o, double real)
{
	struct cell c = {.kind = CELL_REAL, .real = real};
	char buf[CELL_NUMBER_MAX];
	size_t len = cell_number(&c, buf);

	if (len == 0) /* infinite, or no number */
		len = (size_t)snprintf(buf, sizeof(buf), "%g", real);
	out_write(o, buf, len);
}

static void arg(struct out *o, const struct tl_arg *a)
{
	char buf[64];

	out_literal(o, "  ");
	out_text(o, a->key);
	out_literal(o, "=");
	switch (a->kind) {
	case TL_INT:
		json_out_int(o, a->num);
		break;
	case TL_REAL:
		put_real(o, a->real);
		break;
	case TL_HEX:
		snprintf(buf, sizeof(buf), "0x%llx", (unsigned long long)a->num);
		out_text(o, buf);
		break;
	case TL_BOOL:
		out_text(o, a->num ? "true" : "false");
		break;
	case TL_VECTOR:
		snprintf(buf, sizeof(buf), "%lldx%lldx%lld", (long long)a->vector[0],
			 (long long)a->vector[1], (long long)a->vector[2]);
		out_text(o, buf);
		break;
	case TL_TEXT:
	case TL_JSON:
		put(o, a->text.text, a->text.len);
	}
}

static void value(struct out *o, const struct tl_event *e)
{
	put(o, e->track->name, strlen(e->track->name));
	out_literal(o, " = ");
	if (e->is_real && isnan(e->real)) {
		out_literal(o, "not known");
		return;
	}
	if (e->is_real)
		put_real(o, e->real);
	else
		json_out_int(o, e->value);
	if (e->track->unit[0])
		out_literal(o, " ");
	out_text(o, e->track->unit);
}

static void what(struct out *o, const struct tl_event *e)
{
	switch (e->kind) {
	case TL_SLICE:
	case TL_INSTANT:
		put(o, e->name.text, e->name.len);
		break;
	case TL_VALUE:
		value(o, e);
		break;
	case TL_SCHED:
		out_text(o, e->sched_in ? "on CPU " : "off CPU ");
		json_out_int(o, e->cpu);
		if (thread_label_text(e->state)) {
			out_literal(o, ", ");
			out_text(o, thread_label_text(e->state));
		}
		break;
	case TL_SAMPLE:
		for (uint32_t i = 0; i < e->frame_cnt; i++) {
			if (i > 0)
				out_literal(o, " < ");
			put(o, e->frames[i].symbol.text, e->frames[i].symbol.len);
		}
	}
}

static int on_track(void *self, struct tl_track *track)
{
	(void)self;
	(void)track;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct out *o = self;
	size_t from;

	if (o->err)
		return -1;
	time_of(o, e->ts);
	duration_of(o, e);
	where(o, e->track);
	from = at(o);
	out_text(o, e->category);
	pad(o, from, 15);
	what(o, e);
	for (uint32_t i = 0; i < e->arg_cnt; i++)
		arg(o, &e->args[i]);
	out_literal(o, "\n");
	return 0;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	int64_t events;

	out_literal(job->out, "#      start [s]   duration [us]  where                     what    "
			      "         name\n");
	events = timeline_run(job->db, &job->timeline, &sink, job->out, why, why_len);
	job->events = events < 0 ? 0 : (uint64_t)events;
	return events < 0 ? -1 : 0;
}

const struct exporter exporter_text = {
	.name = "text",
	.extension = "txt",
	.about = "a line per event, in the order of time",
	.shape = EXPORT_STREAM,
	.activities = TL_ACT_DEFAULT,
	.run = run,
};
