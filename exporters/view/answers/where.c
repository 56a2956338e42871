/* where.c - finding events by time, and by their row of the report. */
#include <stdio.h>
#include <string.h>

#include "exporters/view/build/build.h"
#include "exporters/view/answers/where.h"

#define LOOKED_MAX 65536 /* events that are looked at for the nearest one */

struct nearest {
	int64_t t, best;
	unsigned looked;
	struct view_event e;
};

static int on_near(void *ctx, const struct view_event *e)
{
	struct nearest *n = ctx;
	int64_t off = n->t < e->start ? e->start - n->t : n->t >= e->end ? n->t - e->end : 0;

	/* An event around @t is nearer than one that ends at @t. */
	if (e->start <= n->t && n->t < e->end)
		off = -1;
	if (off < n->best) {
		n->best = off;
		n->e = *e;
	}
	return ++n->looked >= LOOKED_MAX || off == -1;
}

static bool done(struct view_reader *r, struct view_place *place, const struct view_event *e)
{
	bool found = e != NULL;

	if (found) {
		place->lane = r->lane->id;
		place->row = r->lane->row;
		place->e = *e;
	}
	view_reader_end(r);
	return found;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

bool view_find_at(struct view_store *v, uint32_t lane, int64_t t, int64_t far,
		  struct view_place *place)
{
	struct nearest n = {.t = t, .best = INT64_MAX};
	struct view_reader r;

	if (far < 0 || !view_reader_begin(&r, v, lane))
		return false;
	view_reader_each(&r, add(t, -far), add(add(t, far), 1), on_near, &n);
	return done(&r, place, n.best <= far ? &n.e : NULL);
}

/* The last event that starts before @t. */
static bool last_before(struct view_reader *r, int64_t t, struct view_event *found)
{
	struct view_event e[VIEW_BLOCK];
	uint32_t i = view_reader_find(r, t), cnt = r->lane->seen.cnt[0];

	if (i == cnt && i > 0)
		i--;
	for (; cnt > 0; i--) {
		unsigned n = view_reader_block(r, i, e);

		while (n > 0 && e[n - 1].start >= t)
			n--;
		if (n > 0) {
			*found = e[n - 1];
			return true;
		}
		if (i == 0)
			return false;
	}
	return false;
}

static bool first_after(struct view_reader *r, int64_t t, struct view_event *found)
{
	struct view_event e[VIEW_BLOCK];

	for (uint32_t i = view_reader_find(r, t); i < r->lane->seen.cnt[0]; i++) {
		unsigned n = view_reader_block(r, i, e);

		for (unsigned k = 0; k < n; k++)
			if (e[k].start > t) {
				*found = e[k];
				return true;
			}
		if (n == 0)
			return false;
	}
	return false;
}

bool view_find_next(struct view_store *v, uint32_t lane, int64_t t, int dir,
		    struct view_place *place)
{
	struct view_reader r;
	struct view_event e;

	if (!view_reader_begin(&r, v, lane))
		return false;
	if (dir > 0 ? first_after(&r, t, &e) : last_before(&r, t, &e))
		return done(&r, place, &e);
	return done(&r, place, NULL);
}

struct by_row {
	int64_t row;
	uint32_t name;
	uint8_t source;
	bool found;
	struct view_event e;
};

static int on_row(void *ctx, const struct view_event *e)
{
	struct by_row *b = ctx;

	if (e->row != b->row || e->source != b->source)
		return 0;
	b->e = *e;
	b->found = true;
	return 1;
}

static int on_name(void *ctx, const struct view_event *e)
{
	struct by_row *b = ctx;

	if (e->name != b->name || e->start != b->row)
		return 0;
	b->e = *e;
	b->found = true;
	return 1;
}

bool view_find_named(struct view_store *v, uint32_t lane, int64_t t, uint32_t name,
		     struct view_place *place)
{
	struct by_row b = {.row = t, .name = name};
	struct view_reader r;

	if (!view_reader_begin(&r, v, lane))
		return false;
	view_reader_each(&r, t, add(t, 1), on_name, &b);
	return done(&r, place, b.found ? &b.e : NULL);
}

bool view_find_row(struct view_store *v, const char *table, int64_t rowid, int64_t t,
		   struct view_place *place)
{
	struct by_row b = {.row = rowid};
	struct view_reader r = {.v = v};
	uint32_t source;

	pthread_rwlock_rdlock(&v->lock);
	for (source = 0; source < v->source_cnt && strcmp(v->sources[source], table) != 0;)
		source++;
	b.source = (uint8_t)source;
	t = view_time(v, t);
	for (uint32_t lane = 1; source < v->source_cnt && lane <= v->lane_cnt; lane++) {
		const struct view_lane *l = v->lanes[lane - 1];

		if (!(l->sources >> source & 1) || l->is_counter || !view_reader_lane(&r, lane) ||
		    v->rows[l->row - 1]->kind == VIEW_CPU ||
		    view_kind_repeats(v->rows[l->row - 1]->kind))
			continue;
		view_reader_each(&r, t, add(t, 1), on_row, &b);
		if (b.found)
			return done(&r, place, &b.e);
	}
	return done(&r, place, NULL);
}

uint32_t view_state_lane(struct view_store *v, int64_t global_tid)
{
	const struct view_row *r;
	uint32_t lane = 0;
	char key[64];

	snprintf(key, sizeof(key), "t:%lld/%s", (long long)global_tid, view_kind_names[VIEW_STATE]);
	pthread_rwlock_rdlock(&v->lock);
	r = view_row_find(v, key);
	if (r && r->lane_cnt > 0)
		lane = r->lanes[0];
	pthread_rwlock_unlock(&v->lock);
	return lane;
}

void view_put_place(struct writer *b, const char *key, struct view_store *v,
		    const struct view_place *p)
{
	json_open(b, key, '{');
	view_put_fields(b, v, p);
	json_close(b, '}');
}

void view_put_fields(struct writer *b, struct view_store *v, const struct view_place *p)
{
	pthread_rwlock_rdlock(&v->lock);
	js_int(b, "lane", p->lane);
	js_int(b, "row", p->row);
	js_int(b, "start", p->e.start);
	js_int(b, "dur", p->e.flags & VIEW_OPEN ? -1 : p->e.end - p->e.start);
	json_bytes(b, "name", v->names[p->e.name].text, v->names[p->e.name].len);
	js_int(b, "name_id", p->e.name);
	json_bool(b, "instant", p->e.flags & VIEW_INSTANT);
	js_text(b, "table", p->e.source < v->source_cnt ? v->sources[p->e.source] : "");
	js_int(b, "rowid", p->e.row);
	pthread_rwlock_unlock(&v->lock);
}
