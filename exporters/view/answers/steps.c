/* steps.c - /v1/steps: the steps of the program, each with the reason that takes most of it. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/answers/causes.h"
#include "exporters/view/build/build.h"

#define STEPS_MAX 50000

struct step {
	int64_t start, end;
	uint32_t reason; /* WHY_REASON_CNT: not known */
};

struct steps {
	int64_t tid;
	char stem[256];
	struct step *list;
	size_t cnt, room;
	int64_t of_reason[WHY_REASON_CNT]; /* of the step that is walked now */
};

/* The steps of the thread whose steps take most time; of one stem. */
static int choose(sqlite3 *db, struct steps *s)
{
	static const char sql[] =
		"WITH all_steps AS MATERIALIZED (SELECT tid, start, \"end\", stem FROM "
		"sl_steps(NULL)), best AS (SELECT tid, stem FROM all_steps GROUP BY tid, stem "
		"ORDER BY sum(\"end\" - start) DESC, tid LIMIT 1) "
		"SELECT start, \"end\", tid, stem FROM all_steps JOIN best USING (tid, stem) "
		"ORDER BY start LIMIT ?1";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_int(stmt, 1, STEPS_MAX);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *stem = (const char *)sqlite3_column_text(stmt, 3);

		rc = SQLITE_OK;
		if (s->cnt == 0) {
			s->tid = sqlite3_column_int64(stmt, 2);
			snprintf(s->stem, sizeof(s->stem), "%s", stem ? stem : "");
		}
		if (!grow(&s->list, s->cnt, &s->room, sizeof(*s->list)))
			rc = SQLITE_NOMEM;
		else
			s->list[s->cnt++] = (struct step){.start = sqlite3_column_int64(stmt, 0),
							  .end = sqlite3_column_int64(stmt, 1),
							  .reason = WHY_REASON_CNT};
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void on_leaf(void *ctx, uint32_t thread, const struct why_cause *cause, int64_t ns)
{
	struct steps *s = ctx;

	(void)thread;
	s->of_reason[cause->reason] += ns;
}

/* The largest reason of each step. */
static void explain(struct why *y, struct steps *s)
{
	uint32_t thread = why_model_find(&y->model, s->tid);

	if (thread == WHY_NONE || walk_open(&y->walk, &y->model) != SQLITE_OK)
		return;
	y->walk.seen = on_leaf;
	y->walk.seen_ctx = s;
	for (size_t i = 0; i < s->cnt; i++) {
		uint32_t most = 0;

		memset(s->of_reason, 0, sizeof(s->of_reason));
		walk_cover(&y->walk, thread, s->list[i].start, s->list[i].end);
		for (uint32_t r = 1; r < WHY_REASON_CNT; r++)
			most = s->of_reason[r] > s->of_reason[most] ? r : most;
		s->list[i].reason = s->of_reason[most] > 0 ? most : WHY_REASON_CNT;
	}
	walk_free(&y->walk);
	memset(&y->walk, 0, sizeof(y->walk));
}

static void put_steps(struct writer *b, struct view_store *v, const struct steps *s)
{
	static const char *const colours[WHY_REASON_CNT] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = #colour,
#include "exporters/why/walk/reasons.def"
	};

	json_open(b, NULL, '{');
	js_text(b, "name", s->stem);
	js_int(b, "row", s->cnt ? view_row_of_thread(v, s->tid) : 0);
	/* By threes: start, end, number of the reason, -1: none. */
	json_open(b, "steps", '[');
	for (size_t i = 0; i < s->cnt; i++) {
		js_int(b, NULL, view_time(v, s->list[i].start));
		js_int(b, NULL, view_time(v, s->list[i].end));
		js_int(b, NULL,
		       s->list[i].reason == WHY_REASON_CNT ? -1 : (int64_t)s->list[i].reason);
	}
	json_close(b, ']');
	json_open(b, "reasons", '[');
	for (uint32_t r = 0; r < WHY_REASON_CNT; r++) {
		json_open(b, NULL, '{');
		js_text(b, "reason", why_reason_name(r));
		js_text(b, "colour", colours[r]);
		js_text(b, "text", why_reason_text(r));
		json_close(b, '}');
	}
	json_close(b, ']');
	json_close(b, '}');
}

void view_answer_steps(struct view_request *q, struct view_reply *a)
{
	struct steps s = {0};
	struct view_why *w;

	/* A walk changes the model: one walk at a time. */
	pthread_mutex_lock(&q->report->why_lock);
	w = view_why_take(q, a);
	if (w && choose(w->db, &s) != SQLITE_OK) {
		view_refuse(a, 503, sqlite3_errmsg(w->db));
	} else if (w) {
		explain(&w->y, &s);
		put_steps(&a->body, q->store, &s);
	}
	pthread_mutex_unlock(&q->report->why_lock);
	free(s.list);
}
