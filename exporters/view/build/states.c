/*
 * states.c - context switches as intervals: the state of a thread, and the thread that a CPU ran.
 *
 * The time at which a thread became runnable before it got a CPU is in SL_SCHED_DETAIL, read in parallel by time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/build/live.h"
#include "exporters/view/index/lod.h"

enum state {
	RUNNING,
	RUNNABLE,
	SLEEPING,
	BLOCKED,
	STOPPED,
	ENDED,
	OFF_CPU,
	STATES
};
static const char *const texts[STATES] = {
	"running", "runnable", "sleeping", "blocked (uninterruptible)",
	"stopped", "ended",    "off CPU"};

struct detail {
	int64_t start, tid, wakeup;
	bool is_preempted;
};

struct view_states {
	uint32_t names[STATES];
	sqlite3_stmt *stmt;
	struct detail *now; /* the details of the current time */
	size_t now_cnt, now_room;
	struct detail ahead;
	bool has_ahead;
};

static void read_ahead(struct view_states *s)
{
	s->has_ahead = sqlite3_step(s->stmt) == SQLITE_ROW;
	if (!s->has_ahead)
		return;
	s->ahead.start = sqlite3_column_int64(s->stmt, 0);
	s->ahead.tid = sqlite3_column_int64(s->stmt, 1);
	s->ahead.is_preempted = sqlite3_column_int(s->stmt, 2) == 1;
	if (!tl_number(s->stmt, 3, &s->ahead.wakeup))
		s->ahead.wakeup = INT64_MIN;
}

struct view_states *view_states_new(const struct view_builder *b, bool has_details)
{
	static const char sql[] = "SELECT start, globalTid, preempted, wakeupTime FROM "
				  "SL_SCHED_DETAIL WHERE rowid > ?1%s";
	struct view_states *s = calloc(1, sizeof(*s));
	int64_t after = INT64_MIN, upto;
	char text[160];
	bool is_sorted;

	if (!s)
		return NULL;
	for (int i = 0; i < STATES; i++)
		s->names[i] = view_name_of(b->v, &(struct tl_text){0, texts[i], strlen(texts[i])});
	if (!has_details)
		return s;
	if (b->live)
		view_live_rows(b->live, "SL_SCHED_DETAIL", &after, &upto);
	is_sorted = !b->live && tl_in_order(b->db, "SL_SCHED_DETAIL", "start", NULL) == 1;
	snprintf(text, sizeof(text), sql, is_sorted ? "" : " ORDER BY start");
	if (sqlite3_prepare_v2(b->db, text, -1, &s->stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(s->stmt, 1, after) == SQLITE_OK)
		read_ahead(s);
	return s;
}

void view_states_free(struct view_states *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->stmt);
	free(s->now);
	free(s);
}

/* The row of SL_SCHED_DETAIL for the switch at @ts; NULL: none. */
static const struct detail *detail_of(struct view_states *s, int64_t ts, int64_t tid)
{
	if (s->now_cnt > 0 && s->now[0].start != ts)
		s->now_cnt = 0;
	for (; s->has_ahead && s->ahead.start <= ts; read_ahead(s)) {
		if (s->ahead.start < ts ||
		    !grow(&s->now, s->now_cnt, &s->now_room, sizeof(*s->now)))
			continue;
		s->now[s->now_cnt++] = s->ahead;
	}
	for (size_t i = 0; i < s->now_cnt; i++)
		if (s->now[i].tid == tid)
			return &s->now[i];
	return NULL;
}

static enum state state_of(int label)
{
	switch (label) { /* ENUM_SAMPLING_THREAD_STATE */
	case 1:
		return RUNNABLE; /* it left the CPU, and still could run */
	case 2:
	case 7:
		return SLEEPING;
	case 3:
		return BLOCKED;
	case 4:
		return STOPPED;
	case 5:
		return ENDED;
	default:
		return OFF_CPU;
	}
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
	for (int i = 0; i < STATES; i++)
		if (b->states->names[i] == e[cnt - 1].name)
			t->state = (uint32_t)i;
}

/* A thread's interval up to @to; the part after a wake-up at @wakeup is a wait for a CPU. */
static int close_state(struct view_builder *b, struct view_track *t, int64_t to, int64_t wakeup,
		       int source)
{
	const struct view_states *s = b->states;
	struct view_lane *lane = view_track_state_lane(b, t);
	int rc = 0;

	if (!t->is_known)
		return 0;
	if (t->state != RUNNING && t->state != RUNNABLE && wakeup > t->since && wakeup < to) {
		rc = put(b, lane, t->since, wakeup, s->names[t->state], t->row, source);
		t->since = wakeup;
		t->state = RUNNABLE;
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
	const struct detail *d = detail_of(b->states, e->ts, e->track->global);
	int64_t ts = view_time(b->v, e->ts);
	int64_t wakeup = d && d->wakeup != INT64_MIN ? view_time(b->v, d->wakeup) : INT64_MIN;
	int rc;

	resume(b, t, view_track_state_lane(b, t));
	resume(b, cpu, cpu->lane);
	rc = close_state(b, t, ts, e->sched_in ? wakeup : INT64_MIN, source);
	t->state = e->sched_in            ? RUNNING
		   : d && d->is_preempted ? RUNNABLE
					  : (uint32_t)state_of(e->state);
	t->since = ts;
	t->row = e->row;
	t->is_known = t->state != ENDED;
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
			rc |= close_state(b, t, until, INT64_MIN, source);
	}
	return rc;
}
