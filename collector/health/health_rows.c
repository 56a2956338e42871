/*
 * health_rows.c - from the queues to rows, in the order of time.
 *
 * Each stream's samples are in order; streams are merged. A sample waits until no stream can bring an older one: until
 * all have come as far, or are silent for too long. Names of a stream become rows with its first sample: a report
 * without samples has none of the tables.
 */
#include "collector/health/health_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/capture_window.h"
#include "collector/base/now.h"
#include "collector/report/db_counters.h"

#define SILENT_NS \
	INT64_C(2500000000) /* a stream that brings nothing for so long is not waited for */
#define GAP_PERIODS 3       /* between samples of a counter: from here on nothing is known */

struct writer {
	struct health *h;
	struct db *db;
	const struct windows *windows;
	int64_t zero, hold, keep_from;
	bool all;
	struct event_rows rows;
};

static const char *const why_text[PROBE_WHY_CNT] = {
	[PROBE_WHY_NONE] = "late", [PROBE_OVERFLOW] = "overflow", [PROBE_RESTART] = "restart",
	[PROBE_PAUSED] = "paused", [PROBE_LOST] = "lost",         [PROBE_LATE] = "late",
};

static void counted(struct writer *w, int64_t ns)
{
	if (!w->rows.cnt++)
		w->rows.first = ns;
	w->rows.last = ns;
}

/* TARGET_INFO_GPU.id of a GPU that a row is about; -1: the table has no room for it. */
static int64_t target_of(struct health *h, struct health_gpu *g)
{
	if (g->target >= 0 && !g->has_row)
		h->ask.gpu(h->ask.ctx, g->target, &g->info);
	g->has_row = true;
	return g->target;
}

/* ---- hardware metrics ---- */

static int64_t metric_id(struct writer *w, const char *name)
{
	struct health *h = w->h;

	if (!h->metric)
		h->metric = calloc(HEALTH_METRICS, sizeof(*h->metric));
	for (unsigned i = 0; h->metric && i < h->metrics; i++)
		if (!strcmp(h->metric[i].name, name))
			return h->metric[i].id;
	if (!h->metric || h->metrics == HEALTH_METRICS)
		return 0;
	snprintf(h->metric[h->metrics].name, sizeof(h->metric->name), "%s", name);
	h->metric[h->metrics].id = db_metric_id(w->db);
	return h->metric[h->metrics++].id;
}

static bool is_named_before(const struct health_stream *s, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(s->name[k].name, s->name[i].name))
			return true;
	return false;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void tell_metrics(struct writer *w, struct health_stream *s, int64_t type, int64_t start)
{
	const struct health_gpu *g = &w->h->gpu[s->about.gpu];
	const char *uuid = strchr(g->info.uuid, '-');
	char type_name[128];
	struct db_metric_set set = {
		.type_id = type,
		.start = start,
		.uuid = uuid && !strncmp(g->info.uuid, "GPU-", 4) ? uuid + 1 : g->info.uuid,
		.source = s->about.source,
		.chip = or_null(*s->about.chip ? s->about.chip : g->info.chip),
		.set = s->about.set,
		.reason = or_null(s->about.reason),
		.asked_mhz = s->about.asked_mhz,
		.real_mhz = s->about.real_mhz,
		.clocks_locked = s->about.clocks_locked < 0 ? DB_NULL : s->about.clocks_locked};

	snprintf(type_name, sizeof(type_name), "GPU Metrics [%s]", g->info.name);
	db_metric_set(w->db, &set);
	for (unsigned i = 0; i < s->about.names; i++) {
		/* 0: not written, since another one has the name, or there are too many. */
		s->id[i] = is_named_before(s, i) ? 0 : metric_id(w, s->name[i].name);
		if (s->id[i])
			db_metric_name(w->db, type, type_name, s->id[i], s->name[i].name);
	}
	s->is_told = true;
}

static void mark_gap(struct writer *w, const struct health_gpu *g, int64_t type, int64_t to,
		     unsigned why)
{
	db_metric_gap(w->db, type, g->written_to - w->zero, to - w->zero, why_text[why]);
}

static void write_metrics(struct writer *w, struct health_stream *s, const struct health_sample *f,
			  const struct window *window)
{
	struct health_gpu *g = &w->h->gpu[s->about.gpu];
	int64_t target = target_of(w->h, g), type = db_metric_type((unsigned)target, 0);
	bool any = false;

	if (target < 0 || target > 0xff)
		return;
	if (!s->is_told)
		tell_metrics(w, s, type, f->t0 - w->zero);
	if (g->window != window->from_mono)
		g->written_to = 0;
	g->window = window->from_mono;
	if (g->written_to && f->t0 - g->written_to > s->period / 2 && s->period)
		mark_gap(w, g, type, f->t0, (unsigned)f->why);
	for (unsigned i = 0; i < s->about.names; i++) {
		if (!s->id[i] || !isfinite(f->value[i]))
			continue;
		db_metric(w->db, f->raw, f->t0 - w->zero, type, s->id[i], f->value[i]);
		any = true;
	}
	if (!any)
		return;
	counted(w, f->t0 - w->zero);
	g->written_to = f->t1;
	g->period = s->period;
}

/* Writes the end of a GPU's samples in a window, where it differs from the window's end. */
static void write_last_gaps(struct writer *w)
{
	for (unsigned i = 0; i < HEALTH_GPUS; i++) {
		struct health_gpu *g = &w->h->gpu[i];
		int64_t end = mono_ns();

		if (!g->is_there || !g->written_to || !g->period || g->target < 0)
			continue;
		for (size_t k = 0; k < w->windows->cnt; k++)
			if (w->windows->list[k].from_mono == g->window &&
			    w->windows->list[k].to_mono < end)
				end = w->windows->list[k].to_mono;
		if (w->h->asked_at && end > w->h->asked_at)
			end = w->h->asked_at;
		if (end - g->written_to > g->period + g->period / 2)
			mark_gap(w, g, db_metric_type((unsigned)g->target, 0), end, PROBE_LOST);
		g->written_to = 0;
	}
}

/* The last window has no row of a GPU that is sampled: none came in time. */
static void write_whole_gaps(struct writer *w)
{
	const struct window *last = w->windows->cnt ? &w->windows->list[w->windows->cnt - 1] : NULL;

	for (unsigned i = 0; last && i < w->h->streams; i++) {
		struct health_stream *s = w->h->stream[i];
		struct health_gpu *g = s ? &w->h->gpu[s->about.gpu] : NULL;
		int64_t end = mono_ns(), target = g ? target_of(w->h, g) : -1;

		if (!s || s->about.what != PROBE_METRICS || s->is_over || target < 0 ||
		    target > 0xff || g->window == last->from_mono)
			continue;
		end = last->to_mono < end ? last->to_mono : end;
		if (w->h->asked_at && end > w->h->asked_at)
			end = w->h->asked_at;
		if (end - last->from_mono <= s->period + s->period / 2)
			continue;
		if (!s->is_told)
			tell_metrics(w, s, db_metric_type((unsigned)target, 0),
				     last->from_mono - w->zero);
		g->written_to = last->from_mono;
		mark_gap(w, g, db_metric_type((unsigned)target, 0), end, PROBE_LOST);
		g->written_to = 0;
	}
}

/* ---- counters ---- */

static void tell_counters(struct writer *w, struct health_stream *s, int64_t target)
{
	for (unsigned i = 0; i < s->about.names; i++) {
		struct db_counter c = {
			.scope = s->about.pid ? "process" : "gpu",
			.scope_id = s->about.pid ? INT64_C(1) << 48 | (int64_t)s->about.pid << 24
						 : target,
			.gpu = target,
			.name = s->name[i].name,
			.unit = s->name[i].unit,
			.is_sum = s->name[i].is_sum != 0};

		s->id[i] = db_counter(w->db, &c);
	}
	s->is_told = true;
}

/* A window begins: increments before it do not belong to the window. */
static void begin_counters(struct health_stream *s, const struct window *window)
{
	s->window = window->from_mono;
	s->written_to = 0;
	for (unsigned i = 0; i < s->about.names; i++)
		s->is_unknown[i] = true;
}

static void write_counter(struct writer *w, struct health_stream *s, unsigned i, int64_t ns,
			  double value)
{
	if (s->name[i].is_sum) {
		/* NULL is the base of the next one. */
		db_counter_sample(w->db, s->id[i], ns, s->is_unknown[i] ? (double)NAN : value);
		s->is_unknown[i] = false;
	} else if (isfinite(value) || !s->is_unknown[i]) {
		db_counter_sample(w->db, s->id[i], ns, value);
		s->is_unknown[i] = !isfinite(value);
	}
}

/* After missing samples: the last known level ends when the first missing sample was due. */
static void end_levels(struct writer *w, struct health_stream *s, int64_t ns)
{
	for (unsigned i = 0; i < s->about.names; i++)
		if (!s->name[i].is_sum && !s->is_unknown[i])
			write_counter(w, s, i, ns, NAN);
}

static void write_counters(struct writer *w, struct health_stream *s, const struct health_sample *f,
			   const struct window *window)
{
	int64_t target = target_of(w->h, &w->h->gpu[s->about.gpu]);

	if (target < 0)
		return;
	if (!s->is_told)
		tell_counters(w, s, target);
	if (s->window != window->from_mono)
		begin_counters(s, window);
	if (s->written_to && s->period && f->t1 - s->written_to > GAP_PERIODS * s->period)
		end_levels(w, s, s->written_to + s->period - w->zero);
	for (unsigned i = 0; i < s->about.names; i++)
		write_counter(w, s, i, f->t1 - w->zero, f->value[i]);
	counted(w, f->t1 - w->zero);
	s->written_to = f->t1;
}

/* sl-gpu has ended before the recording: levels are not known from there on. */
static void end_counters(struct writer *w)
{
	for (unsigned i = 0; i < w->h->streams; i++) {
		struct health_stream *s = w->h->stream[i];

		if (s && s->about.what == PROBE_COUNTERS && s->is_told && s->written_to &&
		    s->period)
			end_levels(w, s, s->written_to + s->period - w->zero);
	}
}

/* ---- merging ---- */

static const struct window *window_of(const struct windows *w, int64_t mono)
{
	for (size_t i = w->cnt; i > 0; i--)
		if (mono >= w->list[i - 1].from_mono)
			return mono < w->list[i - 1].to_mono ? &w->list[i - 1] : NULL;
	return NULL;
}

static int64_t time_of(const struct health_stream *s, const struct health_sample *f)
{
	return s->about.what == PROBE_METRICS ? f->t0 : f->t1;
}

static bool has_mapped(const struct health_stream *s)
{
	return s->queue.cnt > s->queue.unmapped;
}

/* CLOCK_MONOTONIC up to which no older sample can come. */
static int64_t complete_to(const struct writer *w, unsigned what)
{
	int64_t to = INT64_MAX, late = mono_ns() - SILENT_NS;

	if (w->all)
		return INT64_MAX;
	for (unsigned i = 0; i < w->h->streams; i++) {
		const struct health_stream *s = w->h->stream[i];

		if (s && s->about.what == what && !s->is_over && s->came_to && s->came_to < to)
			to = s->came_to;
	}
	return to < late ? late : to;
}

/* Samples outside of all windows are kept only where a later window may reach back to them. */
static void take_head(struct writer *w, struct health_stream *s)
{
	const struct health_sample *f = health_queue_at(&s->queue, 0);
	const struct window *window = window_of(w->windows, time_of(s, f));

	if (window && s->about.what == PROBE_METRICS)
		write_metrics(w, s, f, window);
	else if (window)
		write_counters(w, s, f, window);
	health_queue_drop(w->h, &s->queue);
}

static bool is_due(const struct health_stream *s, int64_t limit)
{
	return has_mapped(s) && time_of(s, health_queue_at(&s->queue, 0)) < limit;
}

static void merge(struct writer *w, unsigned what)
{
	struct health_stream *list[PROBE_STREAMS];
	unsigned cnt = 0;
	int64_t limit = complete_to(w, what);

	if (w->hold < limit)
		limit = w->hold;
	/* For a window in the past: samples of no window stay, unless they are too old. */
	if (w->keep_from && !w->windows->cnt && w->keep_from < limit)
		limit = w->keep_from;
	if (w->keep_from && w->windows->cnt &&
	    w->windows->list[w->windows->cnt - 1].to_mono < limit)
		limit = w->windows->list[w->windows->cnt - 1].to_mono;
	for (unsigned i = 0; i < w->h->streams; i++) {
		struct health_stream *s = w->h->stream[i];

		if (s && s->about.what == what && is_due(s, limit))
			list[cnt++] = s;
	}
	while (cnt) {
		unsigned first = 0;
		int64_t second = INT64_MAX;

		for (unsigned i = 1; i < cnt; i++) {
			int64_t a = time_of(list[first], health_queue_at(&list[first]->queue, 0)),
				b = time_of(list[i], health_queue_at(&list[i]->queue, 0));

			if (b < a)
				first = i;
			second = b < a ? a : b < second ? b : second;
		}
		do
			take_head(w, list[first]);
		while (is_due(list[first], limit) &&
		       time_of(list[first], health_queue_at(&list[first]->queue, 0)) <= second);
		if (!is_due(list[first], limit))
			list[first] = list[--cnt];
	}
}

/* ---- events ---- */

static int64_t or_db_null(int32_t v)
{
	return v < 0 ? DB_NULL : v;
}

static void write_event(struct writer *w, const struct probe_event *e)
{
	int64_t target = target_of(w->h, &w->h->gpu[e->gpu]);

	if (target < 0)
		return;
	db_gpu_event(w->db, e->mono - w->zero, target, e->what, e->code, or_db_null(e->instance),
		     or_db_null(e->sub_instance));
	counted(w, e->mono - w->zero);
}

static void write_events(struct writer *w)
{
	struct health *h = w->h;
	size_t kept = 0;

	for (size_t i = 0; i < h->events; i++) {
		const struct probe_event *e = &h->event[i].about;
		bool has_window = window_of(w->windows, e->mono) != NULL;

		if (e->mono < w->hold && has_window)
			write_event(w, e);
		else if (e->mono >= w->hold || (w->keep_from && e->mono >= w->keep_from))
			h->event[kept++] = h->event[i];
	}
	h->events = kept;
}

struct event_rows health_write(struct health *h, struct db *db, const struct windows *windows,
			       int64_t zero, int64_t hold, bool all)
{
	struct writer w = {.h = h,
			   .db = db,
			   .windows = windows,
			   .zero = zero,
			   .hold = hold,
			   .all = all,
			   .keep_from = h->ask.keep_ns ? mono_ns() - h->ask.keep_ns : 0};

	health_frames(h);
	merge(&w, PROBE_METRICS);
	merge(&w, PROBE_COUNTERS);
	write_events(&w);
	if (all) {
		write_last_gaps(&w);
		write_whole_gaps(&w);
		if (h->ended_at && !h->process.is_ending)
			end_counters(&w);
	}
	return w.rows;
}

int64_t health_is_read_to(const struct health *h)
{
	int64_t to = INT64_MAX;

	for (unsigned i = 0; i < h->streams && !h->ended_at; i++) {
		const struct health_stream *s = h->stream[i];

		if (s && s->about.what == PROBE_METRICS && !s->is_over && s->came_to &&
		    s->came_to < to)
			to = s->came_to;
	}
	return to;
}

/* The next report is made with the names of streams in it (db_rotate.c). */
void health_renew(struct health *h)
{
	for (unsigned i = 0; i < HEALTH_GPUS; i++)
		h->gpu[i].written_to = 0;
}
