/* wait_reasons.c - /v1/why: the time of a thread in a span by the causes of sightline why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/where.h"
#include "exporters/why/answer/why.h"

#define PARTS_MAX 50

/* Read once, kept with the report. */
struct view_why {
	sqlite3 *db;
	uint32_t generation; /* of the store when it was read */
	struct why y;
};

static int by_ns(const void *a, const void *b)
{
	const struct why_leaf *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* Leaves with the same cause in the same thread are one, reached by any way. */
static size_t join_leaves(struct why_leaf *l, size_t cnt)
{
	size_t left = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t k = 0;

		while (k < left && (l[k].thread != l[i].thread ||
				    memcmp(&l[k].cause, &l[i].cause, sizeof(l[k].cause)) != 0))
			k++;
		if (k == left) {
			l[left++] = l[i];
			continue;
		}
		l[k].sure = (l[k].sure * (double)l[k].ns + l[i].sure * (double)l[i].ns) /
			    (double)(l[k].ns + l[i].ns);
		l[k].ns += l[i].ns;
	}
	return left;
}

static void put_what(struct writer *b, const struct why *y, const struct why_cause *c)
{
	const struct place *p = &y->walk.places.list[c->place];
	char *name = why_string(y, &y->model.names, c->name);
	char *object = why_string(y, &y->model.objects, c->object);
	char what[1024];

	snprintf(what, sizeof(what), "%.300s%s%.300s%s%.300s", name ? name : "",
		 name && object ? " " : "", object ? object : "",
		 (name || object) && p->text ? " at " : "", p->text ? p->text : "");
	js_text(b, "what", what);
	free(name);
	free(object);
}

static void put_parts(struct writer *b, const struct why *y, int64_t ns)
{
	const struct walk *w = &y->walk;
	size_t cnt = w->leaves_cnt;
	struct why_leaf *l = malloc((cnt + 1) * sizeof(*l));
	char thread[96];

	if (l && cnt)
		memcpy(l, w->leaves, cnt * sizeof(*l));
	cnt = l ? join_leaves(l, cnt < 2000 ? cnt : 2000) : 0;
	if (cnt)
		qsort(l, cnt, sizeof(*l), by_ns);
	json_open(b, "parts", '[');
	for (size_t i = 0; i < cnt && i < PARTS_MAX; i++) {
		json_open(b, NULL, '{');
		js_int(b, "ns", l[i].ns);
		json_real(b, "share", ns > 0 ? (double)l[i].ns / (double)ns : 0);
		js_text(b, "reason", why_reason_name(l[i].cause.reason));
		js_text(b, "text", why_reason_text(l[i].cause.reason));
		put_what(b, y, &l[i].cause);
		js_text(b, "thread", why_thread_text(y, l[i].thread, thread, sizeof(thread)));
		json_real(b, "sure", l[i].sure);
		json_close(b, '}');
	}
	json_close(b, ']');
	if (cnt) {
		char text[256];

		snprintf(text, sizeof(text), "%.0f %%: %s (%s)",
			 ns > 0 ? 100 * (double)l[0].ns / (double)ns : 0,
			 why_reason_text(l[0].cause.reason),
			 why_thread_text(y, l[0].thread, thread, sizeof(thread)));
		js_text(b, "text", text);
	} else {
		js_text(b, "text", "nothing is known of this time");
	}
	free(l);
}

/* The requested span, and its thread. */
static bool span_of(struct view_request *q, int64_t *thread, int64_t *from, int64_t *to)
{
	struct view_store *v = q->store;
	int64_t lane = 0, row = 0, t;
	struct view_place place;

	if (view_param_int(q, "lane", &lane)) {
		if (!view_param_int(q, "t", &t) || lane < 1 || lane > UINT32_MAX)
			return false;
		if (view_find_at(v, (uint32_t)lane, t, 0, &place)) {
			*from = place.e.start;
			*to = place.e.end;
			row = place.row;
		} else { /* a gap counts as an event, too */
			struct view_place before, after;
			bool has_before = view_find_next(v, (uint32_t)lane, t, -1, &before);

			if (!view_find_next(v, (uint32_t)lane, t, 1, &after))
				return false;
			*from = has_before ? before.e.end : v->first;
			*to = after.e.start;
			row = after.row;
		}
	} else if (!view_param_int(q, "row", &row) || !view_param_int(q, "from", from) ||
		   !view_param_int(q, "to", to)) {
		return false;
	}
	pthread_rwlock_rdlock(&v->lock);
	*thread = row >= 1 && row <= v->row_cnt ? v->rows[row - 1]->thread : -1;
	*to = *to > v->last ? v->last : *to;
	*from = *from < v->first ? v->first : *from;
	pthread_rwlock_unlock(&v->lock);
	return *thread >= 0 && *from < *to;
}

static void answer(struct view_request *q, struct view_reply *a, struct why *y, int64_t thread,
		   int64_t from, int64_t to)
{
	struct writer *b = &a->body;
	int64_t origin;
	char name[96];

	y->focus = why_model_find(&y->model, thread);
	if (y->focus == WHY_NONE) {
		view_refuse(a, 404, "nothing is known of what this thread waited for");
		return;
	}
	pthread_rwlock_rdlock(&q->store->lock);
	origin = q->store->origin;
	pthread_rwlock_unlock(&q->store->lock);
	if (walk_open(&y->walk, &y->model) == SQLITE_OK)
		walk_cover(&y->walk, y->focus, from + origin, to + origin);
	json_open(b, NULL, '{');
	js_text(b, "thread", why_thread_text(y, y->focus, name, sizeof(name)));
	js_int(b, "from", from);
	js_int(b, "to", to);
	put_parts(b, y, to - from);
	json_close(b, '}');
	walk_free(&y->walk);
	memset(&y->walk, 0, sizeof(y->walk));
}

void view_why_free(struct view_why *w)
{
	if (!w)
		return;
	why_model_free(&w->y.model);
	sqlite3_close(w->db);
	free(w);
}

/* The model of the whole report, at the first question. */
static struct view_why *model_of(struct view_request *q, struct view_reply *a)
{
	struct view_report *r = q->report;
	struct view_why *w = r->why;
	uint32_t generation;

	pthread_rwlock_rdlock(&q->store->lock);
	generation = q->store->generation;
	pthread_rwlock_unlock(&q->store->lock);
	if (w && w->generation == generation)
		return w;
	view_why_free(w);
	r->why = NULL;
	w = calloc(1, sizeof(*w));
	if (!w || !(w->db = view_db_take(q, a))) {
		free(w);
		return NULL;
	}
	w->generation = generation;
	w->y.time.thread = WHY_NONE;
	if (why_model_read(&w->y.model, w->db, &(struct why_scope){.is_all = true}) != SQLITE_OK ||
	    !w->y.model.has_switches) {
		view_refuse(a, 404, "the report has no context switches, which this needs");
		view_why_free(w);
		return NULL;
	}
	r->why = w;
	return w;
}

void view_answer_why(struct view_request *q, struct view_reply *a)
{
	int64_t thread = -1, from = 0, to = 0;
	struct view_why *w;

	if (!span_of(q, &thread, &from, &to)) {
		view_refuse(a, 404, "there is no thread's time to explain");
		return;
	}
	/* A walk changes the model: one walk at a time. */
	pthread_mutex_lock(&q->report->why_lock);
	w = model_of(q, a);
	if (w)
		answer(q, a, &w->y, thread, from, to);
	pthread_mutex_unlock(&q->report->why_lock);
}
