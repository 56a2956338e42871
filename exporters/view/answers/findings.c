/* findings.c - /v1/findings: what takes most time, each with its worst place, and whose time it is that has tracks of causes. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/causes.h"
#include "exporters/view/build/build.h"

#define FINDINGS_MAX 10
#define LEAST        0.01 /* of the time looked at */

/* The row of a GPU, by its number in the report; 0: none. */
static uint32_t row_of_gpu(const struct why *y, struct view_store *v, const struct why_gpu *g)
{
	uint32_t cnt, found = 0;

	pthread_rwlock_rdlock(&v->lock);
	cnt = v->row_cnt;
	pthread_rwlock_unlock(&v->lock);
	for (uint32_t row = 1; row <= cnt && !found; row++)
		if (view_whose_row(y, v, row).gpu == g)
			found = row;
	return found;
}

static void put_track(struct writer *b, struct view_store *v, uint32_t row, int64_t device,
		      int64_t from, int64_t to)
{
	if (!row || from >= to)
		return;
	json_open(b, NULL, '{');
	js_int(b, "row", row);
	js_int(b, "device", device);
	js_int(b, "from", view_time(v, from));
	js_int(b, "to", view_time(v, to));
	json_close(b, '}');
}

static void put_tracks(struct writer *b, struct view_store *v, const struct why *y)
{
	json_open(b, "tracks", '[');
	if (y->focus != WHY_NONE)
		put_track(b, v, view_row_of_thread(v, y->model.threads[y->focus].tid), -1, y->from,
			  y->to);
	for (size_t i = 0; i < y->gpus.list_cnt; i++) {
		const struct why_gpu *g = &y->gpus.list[i];

		if (g->thread != WHY_NONE)
			put_track(b, v, row_of_gpu(y, v, g), g->device, g->from, g->to);
	}
	json_close(b, ']');
}

static const struct why_gain *gain_of(const struct why *y, size_t culprit)
{
	for (size_t i = 0; i < y->gains_cnt; i++)
		if (y->gains[i].culprit == culprit)
			return &y->gains[i];
	return NULL;
}

static void put_finding(struct writer *b, struct view_store *v, const struct why *y, size_t i)
{
	const struct why_culprit *c = &y->culprits[i];
	const struct why_gain *g = gain_of(y, i);
	struct why_cause cause = c->part.cause;

	json_open(b, NULL, '{');
	js_int(b, "ns", why_weight(c));
	json_real(b, "share", y->ns > 0 ? (double)why_weight(c) / (double)y->ns : 0);
	json_real(b, "sure", c->sure);
	cause.reason = why_cost_of(c);
	view_put_cause(b, v, y, &cause, c->worst_thread);
	js_text(b, "line", y->walk.places.list[c->place].text);
	if (c->worst_to > c->worst_from) {
		js_int(b, "start", view_time(v, c->worst_from));
		js_int(b, "end", view_time(v, c->worst_to));
	}
	if (g) {
		js_int(b, "lower", g->is_up_to ? 0 : g->lower);
		js_int(b, "upper", g->upper);
		js_text(b, "severity", gain_severity_names[g->severity]);
	}
	json_close(b, '}');
}

/* The causes of why's text: the same figures in the same order. */
static void put_findings(struct writer *b, struct view_store *v, const struct why *y)
{
	unsigned nr = 0;

	json_open(b, "findings", '[');
	for (size_t i = 0; i < y->culprits_cnt && nr < FINDINGS_MAX; i++)
		if ((double)why_weight(&y->culprits[i]) >= LEAST * (double)y->ns) {
			put_finding(b, v, y, i);
			nr++;
		}
	json_close(b, ']');
}

static void put_all(struct view_request *q, struct view_reply *a, sqlite3 *db)
{
	struct writer *b = &a->body;
	struct why y;
	char why[512] = "";

	if (why_run(&y, db, NULL, &(struct why_ask){0}, why, sizeof(why)) < 0) {
		why_free(&y);
		view_refuse(a, 404, why);
		return;
	}
	json_open(b, NULL, '{');
	js_int(b, "ns", y.ns);
	put_tracks(b, q->store, &y);
	put_findings(b, q->store, &y);
	json_close(b, '}');
	why_free(&y);
	/* What a large report took goes back to the system. */
	malloc_trim(0);
}

/* Found once, kept with the report. */
void view_answer_findings(struct view_request *q, struct view_reply *a)
{
	struct view_kept *k = &q->report->findings;
	uint32_t generation;
	sqlite3 *db;

	pthread_rwlock_rdlock(&q->store->lock);
	generation = q->store->generation;
	pthread_rwlock_unlock(&q->store->lock);
	pthread_mutex_lock(&q->report->why_lock);
	if (k->text && k->generation == generation) {
		writer_add(&a->body, k->text, k->len);
	} else if ((db = view_db_take(q, a)) != NULL) {
		put_all(q, a, db);
		view_db_put(q, db);
		free(k->text);
		k->text = a->status == 200 ? strndup(a->body.data, a->body.len) : NULL;
		k->len = k->text ? a->body.len : 0;
		k->generation = generation;
	}
	pthread_mutex_unlock(&q->report->why_lock);
}
