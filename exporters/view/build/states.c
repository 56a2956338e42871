/*
 * states.c - context switches as intervals: the state of a thread, and the thread that a CPU ran.
 *
 * The time at which a thread became runnable before it got a CPU is in SL_SCHED_DETAIL, read in parallel by time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/events/thread_switches.h"
#include "exporters/view/build/live.h"
#include "exporters/view/index/lod.h"

static const char *const texts[THREAD_STATE_CNT] = {
	[THREAD_RUNNING] = "running",   [THREAD_RUNNABLE] = "runnable",
	[THREAD_SLEEPING] = "sleeping", [THREAD_BLOCKED] = "blocked (uninterruptible)",
	[THREAD_STOPPED] = "stopped",   [THREAD_ENDED] = "ended",
	[THREAD_OFF_CPU] = "off CPU",
};

struct view_states {
	uint32_t names[THREAD_STATE_CNT];
	struct thread_details *details; /* NULL: not of this part */
};

struct view_states *view_states_new(const struct view_builder *b, bool has_details)
{
	struct view_states *s = calloc(1, sizeof(*s));
	int64_t after = INT64_MIN, upto;
	bool is_sorted;

	if (!s)
		return NULL;
	for (int i = 0; i < THREAD_STATE_CNT; i++)
		s->names[i] = view_name_of(b->v, &(struct tl_text){0, texts[i], strlen(texts[i])});
	if (!has_details)
		return s;
	if (b->live)
		view_live_rows(b->live, "SL_SCHED_DETAIL", &after, &upto);
	is_sorted = !b->live && tl_in_order(b->db, "SL_SCHED_DETAIL", "start", NULL) == 1;
	s->details = thread_details_open(b->db, after, is_sorted);
	return s;
}

void view_states_free(struct view_states *s)
{
	if (s)
		thread_details_free(s->details);
	free(s);
}

static int put(struct view_builder *b, struct view_lane *lane, int64_t from, int64_t to,
	       uint32_t name, int64_t row, int source)
{
	struct view_event e = {.start = from,
			       .end = to,
			       .row = row,
			       .name = name,
			       .source = (uint8_t)source,
			       .flags = to == VIEW_TIME_MAX ? VIEW_OPEN : 0};

	if (!lane || to <= from)
		return lane ? 0 : -1;
	return b->live ? view_live_put(b->live, b->v->rows[lane->row - 1], VIEW_INSTEAD, &e)
		       : view_lane_put(b->v, lane, &e);
}

/* Resumes the open interval at the end of a lane; the interval that replaces it has the same start. */
static void resume(struct view_builder *b, struct view_track *t, const struct view_lane *lane)
{
	struct view_event e[VIEW_BLOCK];
	struct view_reader r;
	unsigned cnt = 0;

	if (!b->live || t->is_resumed || !lane)
		return;
	t->is_resumed = true;
	if (!view_reader_begin(&r, b->v, lane->id))
		return;
	if (lane->seen.cnt[0] > 0)
		cnt = view_reader_block(&r, lane->seen.cnt[0] - 1, e);
	view_reader_end(&r);
	if (cnt == 0 || !(e[cnt - 1].flags & VIEW_OPEN))
		return;
	t->since = e[cnt - 1].start;
	t->row = e[cnt - 1].row;
	t->is_known = true;
	t->runs = e[cnt - 1].name;
	for (int i = 0; i < THREAD_STATE_CNT; i++)
		if (b->states->names[i] == e[cnt - 1].name)
			t->state = (uint32_t)i;
}

/* A thread's interval up to @to; the part after a wake-up at @wakeup, THREAD_NONE: none, is a wait for a CPU. */
static int close_state(struct view_builder *b, struct view_track *t, int64_t to, int64_t wakeup,
		       int source)
{
	const struct view_states *s = b->states;
	struct view_lane *lane = view_track_state_lane(b, t);
	int rc = 0;

	if (!t->is_known)
		return 0;
	if (t->state != THREAD_RUNNING && t->state != THREAD_RUNNABLE && wakeup != THREAD_NONE &&
	    wakeup < to) {
		/* The waker may be faster than the switch off the CPU. */
		if (wakeup < t->since)
			wakeup = t->since;
		rc = put(b, lane, t->since, wakeup, s->names[t->state], t->row, source);
		t->since = wakeup;
		t->state = THREAD_RUNNABLE;
	}
	return rc | put(b, lane, t->since, to, s->names[t->state], t->row, source);
}

static uint32_t thread_name(struct view_builder *b, struct view_track *t)
{
	char text[300];

	if (t->name == 0 && t->track->parent) {
		snprintf(text, sizeof(text), "%.240s", t->group->name);
		if (!*t->track->name)
			snprintf(text, sizeof(text), "%.200s (%lld)",
				 *t->track->parent->name ? t->track->parent->name : "thread",
				 (long long)TL_TID(t->track->global));
		t->name = view_name_of(b->v, &(struct tl_text){0, text, strlen(text)});
	}
	return t->name;
}

/* The interval of the CPU's thread up to @ts. */
static int close_cpu(struct view_builder *b, struct view_track *cpu, int64_t ts, int source)
{
	int rc = 0;

	if (cpu->is_known && cpu->runs)
		rc = put(b, cpu->lane, cpu->since, ts, cpu->runs, cpu->row, source);
	cpu->runs = 0;
	return rc;
}

int view_states_switch(struct view_builder *b, const struct tl_event *e, int source)
{
	struct view_track *t = e->track->of_sink, *cpu = e->cpu_track->of_sink;
	const struct thread_detail *d =
		thread_details_at(b->states->details, e->ts, e->track->global, e->sched_in);
	struct thread_switch w = {
		.wakeup = THREAD_NONE,
		.state = e->sched_in ? THREAD_RUNNING : thread_state_of(e->state),
		.is_in = e->sched_in,
	};
	int64_t ts = view_time(b->v, e->ts), wakeup = THREAD_NONE;
	int rc;

	if (d)
		thread_switch_complete(&w, d);
	if (w.wakeup != THREAD_NONE)
		wakeup = view_time(b->v, w.wakeup);
	resume(b, t, view_track_state_lane(b, t));
	resume(b, cpu, cpu->lane);
	rc = close_state(b, t, ts, wakeup, source);
	t->state = w.state;
	t->since = ts;
	t->row = e->row;
	t->is_known = w.state != THREAD_ENDED;
	if (!e->sched_in && cpu->runs != thread_name(b, t))
		return rc;
	rc |= close_cpu(b, cpu, ts, source);
	if (e->sched_in) {
		cpu->runs = thread_name(b, t);
		cpu->since = ts;
		cpu->row = e->row;
		cpu->is_known = true;
	}
	return rc;
}

int view_states_end(struct view_builder *b)
{
	int64_t until = b->until < INT64_MAX ? view_time(b->v, b->until) : VIEW_TIME_MAX;
	int source = view_source_of(b->v, "SCHED_EVENTS"), rc = 0;

	for (struct view_track *t = b->tracks; t; t = t->next) {
		if (!t->is_known)
			continue;
		if (t->track->kind == TL_CPU)
			rc |= close_cpu(b, t, until, source);
		else
			rc |= close_state(b, t, until, THREAD_NONE, source);
	}
	return rc;
}
