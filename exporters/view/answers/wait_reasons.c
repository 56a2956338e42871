/* wait_reasons.c - /v1/why: the time of a thread or a GPU in a span by the lines that sightline why finds; /v1/track: the same in the order of time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/answers/causes.h"
#include "exporters/view/build/build.h"
#include "exporters/view/answers/where.h"

#define PARTS_MAX  50
#define LEAVES_MAX 4000
#define HOPS_MAX   16
#define SLICES_MAX 20000

/* ---- /v1/why ---- */

/* Leaves of one line, or without a line of one reason, call and thread. */
struct part {
	uint32_t line, thread;
	struct why_leaf most; /* the leaf with most time */
	int64_t ns;
	double sure;      /* times ns */
	uint32_t objects; /* different files and peers */
};

static bool belongs(const struct part *p, const struct why_leaf *l, uint32_t line)
{
	if (line != PLACE_NONE || p->line != PLACE_NONE)
		return p->line == line && p->most.cause.reason == l->cause.reason;
	return p->thread == l->thread && p->most.cause.reason == l->cause.reason &&
	       p->most.cause.name == l->cause.name;
}

static int by_ns(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* The parts, most time first. NULL: no memory. */
static struct part *parts_of(const struct why *y, size_t *cnt)
{
	const struct walk *w = &y->walk;
	size_t leaves = w->leaves_cnt < LEAVES_MAX ? w->leaves_cnt : LEAVES_MAX;
	struct part *parts = calloc(leaves + 1, sizeof(*parts));

	*cnt = 0;
	for (size_t i = 0; parts && i < leaves; i++) {
		const struct why_leaf *l = &w->leaves[i];
		uint32_t process, line = why_line_of(y, l, &process);
		size_t k = 0;

		while (k < *cnt && !belongs(&parts[k], l, line))
			k++;
		if (k == *cnt)
			parts[(*cnt)++] =
				(struct part){.line = line, .thread = l->thread, .most = *l};
		parts[k].objects += l->cause.object != WHY_NONE;
		parts[k].ns += l->ns;
		parts[k].sure += l->sure * (double)l->ns;
		if (l->ns > parts[k].most.ns)
			parts[k].most = *l;
	}
	if (*cnt)
		qsort(parts, *cnt, sizeof(*parts), by_ns);
	return parts;
}

/* The waits on the way, the nearest first. */
static void put_way(struct writer *b, struct view_store *v, const struct why *y, uint32_t hop)
{
	const struct why_hop *last = NULL;

	json_open(b, "way", '[');
	for (unsigned n = 0; hop && n < HOPS_MAX; hop = y->walk.hops[hop].parent) {
		const struct why_hop *h = &y->walk.hops[hop];

		/* A thread that waits again and again for the same. */
		if (last && last->thread == h->thread &&
		    memcmp(&last->cause, &h->cause, sizeof(h->cause)) == 0)
			continue;
		json_open(b, NULL, '{');
		view_put_cause(b, v, y, &h->cause, h->thread);
		json_close(b, '}');
		last = h;
		n++;
	}
	json_close(b, ']');
}

static void put_part(struct writer *b, struct view_store *v, const struct why *y,
		     const struct part *p, const struct why_pieces *pieces, int64_t ns)
{
	const struct why_leaf *l = &p->most;
	const struct why_piece_kind *k = why_pieces_longest(pieces, &l->cause);
	uint32_t thread = k ? k->thread : l->thread;

	json_open(b, NULL, '{');
	js_int(b, "ns", p->ns);
	json_real(b, "share", ns > 0 ? (double)p->ns / (double)ns : 0);
	view_put_cause(b, v, y, &l->cause, thread);
	js_text(b, "line", y->walk.places.list[p->line].text);
	js_int(b, "more", p->objects > 1 ? p->objects - 1 : 0);
	json_real(b, "sure", p->ns > 0 ? p->sure / (double)p->ns : 0);
	if (k && k->end > k->start) {
		js_int(b, "start", view_time(v, k->start));
		js_int(b, "end", view_time(v, k->end));
	}
	put_way(b, v, y, l->hop);
	json_close(b, '}');
}

static void put_parts(struct writer *b, struct view_store *v, const struct why *y,
		      const struct why_pieces *pieces, int64_t ns)
{
	size_t cnt = 0;
	struct part *parts = parts_of(y, &cnt);
	char thread[96], text[512];

	json_open(b, "parts", '[');
	for (size_t i = 0; parts && i < cnt && i < PARTS_MAX; i++)
		put_part(b, v, y, &parts[i], pieces, ns);
	json_close(b, ']');
	snprintf(text, sizeof(text), "nothing is known of this time");
	if (parts && cnt) {
		const char *line = y->walk.places.list[parts[0].line].text;

		snprintf(text, sizeof(text), "%.0f %%: %s%s%.200s (%s)",
			 ns > 0 ? 100 * (double)parts[0].ns / (double)ns : 0,
			 why_reason_text(parts[0].most.cause.reason), line ? " at " : "",
			 line ? line : "",
			 why_thread_text(y, parts[0].most.thread, thread, sizeof(thread)));
	}
	js_text(b, "text", text);
	b->failed |= !parts;
	free(parts);
}

/* The requested span, and its row. */
static bool span_of(struct view_request *q, int64_t *row, int64_t *from, int64_t *to)
{
	struct view_store *v = q->store;
	int64_t lane = 0, t;
	struct view_place place;

	if (view_param_int(q, "lane", &lane)) {
		if (!view_param_int(q, "t", &t) || lane < 1 || lane > UINT32_MAX)
			return false;
		if (view_find_at(v, (uint32_t)lane, t, 0, &place)) {
			*from = place.e.start;
			*to = place.e.end;
			*row = place.row;
		} else { /* a gap counts as an event, too */
			struct view_place before, after;
			bool has_before = view_find_next(v, (uint32_t)lane, t, -1, &before);

			if (!view_find_next(v, (uint32_t)lane, t, 1, &after))
				return false;
			*from = has_before ? before.e.end : v->first;
			*to = after.e.start;
			*row = after.row;
		}
	} else if (!view_param_int(q, "row", row) || !view_param_int(q, "from", from) ||
		   !view_param_int(q, "to", to)) {
		return false;
	}
	return *from < *to;
}

/* Covers a span of @who, by times of the store. */
static void cover(struct why *y, const struct view_whose *who, struct why_pieces *p, int64_t from,
		  int64_t to)
{
	if (walk_open(&y->walk, &y->model) != SQLITE_OK)
		return;
	if (who->gpu)
		why_pieces_cover_gpu(p, &y->walk, who->gpu, from, to);
	else
		why_pieces_cover(p, &y->walk, who->thread, from, to);
}

typedef void put_answer(struct view_request *q, struct view_reply *a, struct why *y,
			const struct view_whose *who, int64_t from, int64_t to);

static int64_t origin_of(struct view_store *v)
{
	int64_t origin;

	pthread_rwlock_rdlock(&v->lock);
	origin = v->origin;
	pthread_rwlock_unlock(&v->lock);
	return origin;
}

/* Cuts a span to the time of the program and of its events. */
static void cut(const struct why *y, struct view_store *v, int64_t *from, int64_t *to)
{
	int64_t start, end;

	pthread_rwlock_rdlock(&v->lock);
	start = view_time(v, y->model.wall.start);
	end = view_time(v, y->model.wall.end);
	start = start < v->first ? start : v->first;
	end = end > v->last ? end : v->last;
	pthread_rwlock_unlock(&v->lock);
	*from = *from < start ? start : *from;
	*to = *to > end ? end : *to;
}

/* A span of time and whose time it is, for both messages. */
static void with_span(struct view_request *q, struct view_reply *a, put_answer *put)
{
	int64_t row = -1, from = 0, to = 0;
	struct view_whose who;
	struct view_why *w;

	if (!span_of(q, &row, &from, &to)) {
		view_refuse(a, 404, "there is no thread's time to explain");
		return;
	}
	/* A walk changes the model: one walk at a time. */
	pthread_mutex_lock(&q->report->why_lock);
	w = view_why_take(q, a);
	if (w) {
		who = view_whose_row(&w->y, q->store, row);
		w->y.focus = who.thread;
		cut(&w->y, q->store, &from, &to);
		if (who.thread == WHY_NONE || from >= to) {
			view_refuse(a, 404, "nothing is known of what this thread waited for");
		} else {
			put(q, a, &w->y, &who, from, to);
			walk_free(&w->y.walk);
			memset(&w->y.walk, 0, sizeof(w->y.walk));
		}
	}
	pthread_mutex_unlock(&q->report->why_lock);
}

static void put_why(struct view_request *q, struct view_reply *a, struct why *y,
		    const struct view_whose *who, int64_t from, int64_t to)
{
	struct writer *b = &a->body;
	struct why_pieces pieces = {0};
	int64_t origin = origin_of(q->store);
	char name[96];

	cover(y, who, &pieces, from + origin, to + origin);
	json_open(b, NULL, '{');
	js_text(b, "thread", view_whose_text(y, who, name, sizeof(name)));
	js_int(b, "from", from);
	js_int(b, "to", to);
	put_parts(b, q->store, y, &pieces, to - from);
	json_close(b, '}');
	why_pieces_free(&pieces);
}

void view_answer_why(struct view_request *q, struct view_reply *a)
{
	with_span(q, a, put_why);
}

/* ---- /v1/track ---- */

/* Of more slices than a screen has room for, each pixel of @px ns keeps the one with most of it. */
static size_t thin(struct why_slice *s, size_t cnt, int64_t from, int64_t to)
{
	int64_t px = (to - from) / SLICES_MAX + 1;
	size_t kept = 0;

	if (cnt <= SLICES_MAX)
		return cnt;
	for (size_t i = 0; i + 1 < cnt;) {
		int64_t until = from + ((s[i].start - from) / px + 1) * px;
		size_t longest = i, k = i;

		for (; k + 1 < cnt && s[k].start < until; k++)
			if (s[k + 1].start - s[k].start > s[longest + 1].start - s[longest].start)
				longest = k;
		if (kept == 0 || s[kept - 1].kind != s[longest].kind)
			s[kept++] = (struct why_slice){s[i].start, s[longest].kind};
		i = k;
	}
	s[kept++] = s[cnt - 1];
	return kept;
}

static void put_slices(struct writer *b, struct view_store *v, const struct why_slice *s,
		       size_t cnt)
{
	json_open(b, "slices", '[');
	for (size_t i = 0; i < cnt; i++) {
		js_int(b, NULL, view_time(v, s[i].start));
		js_int(b, NULL, s[i].kind == WHY_NONE ? -1 : (int64_t)s[i].kind);
	}
	json_close(b, ']');
}

static void put_track(struct view_request *q, struct view_reply *a, struct why *y,
		      const struct view_whose *who, int64_t from, int64_t to)
{
	struct writer *b = &a->body;
	struct why_pieces p = {.keeps_slices = true};
	int64_t origin = origin_of(q->store);
	bool *used = NULL;
	size_t cnt;

	cover(y, who, &p, from + origin, to + origin);
	used = calloc(p.kinds_cnt + 1, sizeof(*used));
	cnt = thin(p.slices, p.slices_cnt, from + origin, to + origin);
	for (size_t i = 0; used && i < cnt; i++)
		if (p.slices[i].kind != WHY_NONE)
			used[p.slices[i].kind] = true;
	json_open(b, NULL, '{');
	js_int(b, "from", from);
	js_int(b, "to", to);
	json_bool(b, "thinned", cnt < p.slices_cnt);
	put_slices(b, q->store, p.slices, cnt);
	json_open(b, "kinds", '[');
	for (size_t i = 0; used && i < p.kinds_cnt; i++) {
		json_open(b, NULL, '{');
		if (!used[i]) { /* a place in the list alone */
			json_close(b, '}');
			continue;
		}
		js_int(b, "ns", p.kinds[i].ns);
		view_put_cause(b, q->store, y, &p.kinds[i].cause, p.kinds[i].thread);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_close(b, '}');
	b->failed |= p.is_short || !used;
	free(used);
	why_pieces_free(&p);
}

void view_answer_track(struct view_request *q, struct view_reply *a)
{
	with_span(q, a, put_track);
}
