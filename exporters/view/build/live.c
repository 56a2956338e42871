/*
 * live.c - new events into existing lanes.
 *
 * Tables are appended to, mostly in the order of ends. So the new events of a row are merged with the events of its lanes that
 * begin at the first new one or later; these are taken back (cut.c) and written again. They are few, but where a long call or
 * range ended, which happens once to each of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/index/lane.h"
#include "exporters/view/build/live.h"

#define ROUNDS 16 /* runs to read again, of tables whose values depend on earlier ones */

/* Tables read in addition to the tables of the timeline. */
static const char *const more_tables[] = {"SL_COUNTER_SAMPLES", "PMU_EVENTS",
					  "PMU_EVENT_COUNTERS", "SL_GPU_METRIC_GAPS",
					  "SL_SCHED_DETAIL",    NULL};

struct table {
	const char *name;
	int64_t upto[ROUNDS]; /* the last rows as of now, and of the rounds before */
	bool is_again;
};

struct events {
	struct view_event *e;
	size_t cnt, room;
};

/* The new events of a row in a run. */
struct batch {
	struct events events;
	enum view_how how;
};

struct view_live {
	struct table *tables;
	size_t table_cnt;
	struct batch *batches; /* by id of the row */
	uint32_t batch_cnt;
	uint64_t moved;
	int64_t first_rows; /* of the report when the index was made */
};

/* ---- new rows ---- */

struct view_live *view_live_new(sqlite3 *db)
{
	struct view_live *l = calloc(1, sizeof(*l));
	size_t cnt = sizeof(more_tables) / sizeof(more_tables[0]);

	for (const struct tl_source_def *d = tl_source_defs; d->table; d++)
		cnt++;
	if (l)
		l->tables = calloc(cnt, sizeof(*l->tables));
	if (!l || !l->tables) {
		free(l);
		return NULL;
	}
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++)
		l->tables[l->table_cnt++].name = d->table;
	for (size_t i = 0; more_tables[i]; i++)
		l->tables[l->table_cnt++] =
			(struct table){.name = more_tables[i], .is_again = i < 3};
	if (view_live_next(l, db) == 0) {
		l->first_rows = view_live_new_rows(l);
		return l;
	}
	view_live_free(l);
	return NULL;
}

static void events_free(struct events *e)
{
	free(e->e);
	*e = (struct events){0};
}

void view_live_free(struct view_live *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->batch_cnt; i++)
		events_free(&l->batches[i].events);
	free(l->batches);
	free(l->tables);
	free(l);
}

int view_live_next(struct view_live *l, sqlite3 *db)
{
	/* As of one moment. */
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	for (size_t i = 0; rc == SQLITE_OK && i < l->table_cnt; i++) {
		struct table *t = &l->tables[i];

		memmove(t->upto + 1, t->upto, sizeof(t->upto) - sizeof(t->upto[0]));
		t->upto[0] = (int64_t)tl_rows_cnt(db, t->name);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : -1;
}

bool view_live_rows(void *live, const char *table, int64_t *after, int64_t *upto)
{
	const struct view_live *l = live;

	for (size_t i = 0; i < l->table_cnt; i++) {
		const struct table *t = &l->tables[i];

		if (strcmp(t->name, table) != 0)
			continue;
		*after = t->upto[t->is_again ? ROUNDS - 1 : 1];
		*upto = t->upto[0];
		return true;
	}
	return false;
}

int64_t view_live_new_rows(const struct view_live *l)
{
	int64_t rows = 0;

	for (size_t i = 0; i < l->table_cnt; i++)
		rows += l->tables[i].upto[0] - l->tables[i].upto[1];
	return rows;
}

bool view_live_has_doubled(const struct view_live *l)
{
	int64_t rows = 0;

	for (size_t i = 0; i < l->table_cnt; i++)
		rows += l->tables[i].upto[0];
	return rows >= 2 * l->first_rows && rows > 0;
}

uint64_t view_live_moved(const struct view_live *l)
{
	return l->moved;
}

/* ---- new events of a run ---- */

static int events_add(struct events *to, const struct view_event *e)
{
	if (!grow(&to->e, to->cnt, &to->room, sizeof(*to->e)))
		return -1;
	to->e[to->cnt++] = *e;
	return 0;
}

int view_live_put(struct view_live *l, const struct view_row *row, enum view_how how,
		  const struct view_event *e)
{
	if (!grow_to(&l->batches, row->id, &l->batch_cnt, sizeof(*l->batches)))
		return -1;
	l->batches[row->id].how = how;
	return events_add(&l->batches[row->id].events, e);
}

/* ---- into the lanes of a row ---- */

/* A lane, from the block on that is written again. */
struct end {
	struct view_lane *lane;
	uint32_t block;
	int64_t end; /* of the events in front of that block */
	struct events events;
	bool is_touched;
};

struct merge {
	struct view_store *v;
	struct view_row *row;
	struct end *ends;
	uint32_t cnt, room;
	struct events moved;
};

/* The number of blocks that begin before @t. */
static uint32_t blocks_before(struct view_reader *r, int64_t t)
{
	uint32_t low = 0, high = r->lane->seen.cnt[0];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct view_node *n = view_reader_node(r, 0, mid);

		if (!n)
			return high;
		if (n->start < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Moves the events that begin at @from or later; earlier events of the same block stay, and are written again. */
static int open_end(struct merge *m, struct view_lane *lane, int64_t from)
{
	struct view_reader r;
	struct view_event e[VIEW_BLOCK];
	struct end *end;
	size_t moved = m->moved.cnt;
	int rc = 0;

	if (!grow(&m->ends, m->cnt, &m->room, sizeof(*m->ends)))
		return -1;
	end = &m->ends[m->cnt++];
	*end = (struct end){.lane = lane, .end = INT64_MIN};
	if (!view_reader_begin(&r, m->v, lane->id))
		return -1;
	end->block = blocks_before(&r, from);
	end->block -= end->block > 0;
	if (end->block > 0) {
		const struct view_node *n = view_reader_node(&r, 0, end->block - 1);

		end->end = n ? n->end : INT64_MIN;
	}
	for (uint32_t i = end->block; rc == 0 && i < lane->seen.cnt[0]; i++) {
		unsigned cnt = view_reader_block(&r, i, e);

		for (unsigned k = 0; rc == 0 && k < cnt; k++) {
			rc = events_add(e[k].start < from ? &end->events : &m->moved, &e[k]);
			if (e[k].start < from)
				end->end = e[k].end;
		}
	}
	rc |= r.is_damaged ? -1 : 0;
	view_reader_end(&r);
	end->is_touched = m->moved.cnt > moved;
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct view_event *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Puts an event into the first free lane: a nested event as many lanes further in as events around it are open. */
static int place(struct merge *m, const struct view_event *e)
{
	uint32_t at = 0;
	struct view_lane *lane;

	while (at < m->cnt && m->ends[at].end > e->start)
		at++;
	if (at == VIEW_DEPTH_MAX)
		return 0;
	if (at == m->cnt) {
		lane = view_lane_add(m->v, m->row);
		if (!lane || open_end(m, lane, e->start) < 0)
			return -1;
	}
	m->ends[at].end = e->end;
	m->ends[at].is_touched = true;
	return events_add(&m->ends[at].events, e);
}

/* ---- counters ---- */

static void set_value(struct view_event *e, const struct view_event *a, const struct view_event *b)
{
	double sum;

	if (!(e->flags & VIEW_REAL)) {
		e->row = (int64_t)((a ? (uint64_t)a->row : 0) + (b ? (uint64_t)b->row : 0));
		return;
	}
	sum = (a ? view_event_value(a) : 0) + (b ? view_event_value(b) : 0);
	memcpy(&e->row, &sum, sizeof(sum));
}

/* Two step lines become their sum. */
static int sum_up(struct end *end, const struct events *there, const struct events *more)
{
	const struct view_event *a = end->events.cnt ? &end->events.e[end->events.cnt - 1] : NULL;
	const struct view_event *b = NULL;
	struct view_event before = a ? *a : (struct view_event){0};
	size_t i = 0, k = 0;

	a = a ? &before : NULL;
	while (i < there->cnt || k < more->cnt) {
		bool takes_a =
			i < there->cnt && (k == more->cnt || there->e[i].start <= more->e[k].start);
		bool takes_b =
			k < more->cnt && (i == there->cnt || more->e[k].start <= there->e[i].start);
		struct view_event e = takes_a ? there->e[i] : more->e[k];

		a = takes_a ? &there->e[i++] : a;
		b = takes_b ? &more->e[k++] : b;
		set_value(&e, a, b);
		if (events_add(&end->events, &e) < 0)
			return -1;
	}
	end->is_touched = true;
	return 0;
}

/* ---- writing ---- */

static int write_end(struct view_store *v, const struct end *end)
{
	struct view_lane *lane = end->lane;
	uint32_t sources = 0;
	int rc;

	for (size_t i = 0; i < end->events.cnt; i++)
		sources |= 1u << end->events.e[i].source;
	pthread_rwlock_wrlock(&v->lock);
	lane->sources |= sources;
	rc = view_lane_cut(v, lane, end->block);
	for (size_t i = 0; rc == 0 && i < end->events.cnt; i++) {
		struct view_event *e = &end->events.e[i];

		rc = lane->is_counter ? view_lane_value(v, lane, e->start, e->flags & VIEW_REAL,
							e->row, e->source)
				      : view_lane_put(v, lane, e);
	}
	rc |= lane->w ? view_lane_publish(v, lane) : -1;
	pthread_rwlock_unlock(&v->lock);
	return rc;
}

static int merge_row(struct merge *m, struct batch *x)
{
	int64_t from = x->events.e[0].start;
	uint32_t lanes = m->row->lane_cnt;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < lanes; i++)
		rc = open_end(m, m->v->lanes[m->row->lanes[i] - 1], from);
	if (rc == 0 && x->how == VIEW_ON_TOP && m->cnt > 0)
		return sum_up(&m->ends[0], &m->moved, &x->events);
	for (size_t i = 0; rc == 0 && x->how != VIEW_INSTEAD && i < m->moved.cnt; i++)
		rc = events_add(&x->events, &m->moved.e[i]);
	if (rc == 0 && x->how != VIEW_INSTEAD && m->moved.cnt > 0)
		qsort(x->events.e, x->events.cnt, sizeof(*x->events.e), by_time);
	for (size_t i = 0; rc == 0 && i < x->events.cnt; i++)
		rc = place(m, &x->events.e[i]);
	return rc;
}

static int take_row(struct view_live *l, struct view_store *v, uint32_t id)
{
	struct merge m = {.v = v, .row = v->rows[id - 1]};
	int rc = merge_row(&m, &l->batches[id]);

	l->moved += m.moved.cnt;
	for (uint32_t i = 0; i < m.cnt; i++) {
		if (rc == 0 && m.ends[i].is_touched)
			rc = write_end(v, &m.ends[i]);
		events_free(&m.ends[i].events);
	}
	free(m.ends);
	events_free(&m.moved);
	return rc;
}

int view_live_take(struct view_live *l, struct view_store *v)
{
	int rc = 0;

	for (uint32_t id = 1; id < l->batch_cnt; id++) {
		struct batch *x = &l->batches[id];

		if (rc == 0 && x->events.cnt > 0 && id <= v->row_cnt)
			rc = take_row(l, v, id);
		/* The room is kept for the next run. */
		x->events.cnt = 0;
	}
	return rc;
}
