/* rows.c - /v1/report and /v1/live: the rows of a report as a tree, and its state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"
#include "exporters/view/answers/answer.h"

#define WAIT_MS    25000
#define STEP_MS    50
#define LOST_SPANS 1000

/* ---- the tree ---- */

struct tree {
	const struct view_store *v;
	uint32_t *parent;   /* by number of a row, 0: top */
	uint32_t *order;    /* rows, the children of a parent side by side */
	uint32_t *first;    /* by parent: where its children begin; one more */
	sqlite3_stmt *rank; /* of process ?1; NULL: the report has none */
};

/* A process stands below the one that started it. */
static void nest_processes(struct tree *t, sqlite3 *db)
{
	static const char sql[] = "SELECT globalPid, parentGlobalPid FROM SL_PROCESS_TREE "
				  "WHERE parentGlobalPid IS NOT NULL ORDER BY start DESC";
	struct view_store *v = (struct view_store *)t->v;
	sqlite3_stmt *stmt = NULL;
	char key[40];

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const struct view_row *child, *parent;
		uint32_t up, steps = 0;

		snprintf(key, sizeof(key), "p:%lld", (long long)sqlite3_column_int64(stmt, 0));
		child = view_row_find(v, key);
		snprintf(key, sizeof(key), "p:%lld", (long long)sqlite3_column_int64(stmt, 1));
		parent = view_row_find(v, key);
		if (!child || !parent)
			continue;
		/* A forged report may have a circle. */
		for (up = parent->id; up && up != child->id && steps < 1000; steps++)
			up = t->parent[up];
		if (up == 0)
			t->parent[child->id] = parent->id;
	}
	sqlite3_finalize(stmt);
}

static int rank_of(enum view_kind kind)
{
	return kind == VIEW_STREAM ? VIEW_NVTX_GPU : kind;
}

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	const struct view_row *x = t->v->rows[*(const uint32_t *)a - 1];
	const struct view_row *y = t->v->rows[*(const uint32_t *)b - 1];

	if (t->parent[x->id] != t->parent[y->id])
		return t->parent[x->id] < t->parent[y->id] ? -1 : 1;
	if (rank_of(x->kind) != rank_of(y->kind))
		return rank_of(x->kind) - rank_of(y->kind);
	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static bool tree_make(struct tree *t, sqlite3 *db)
{
	uint32_t cnt = t->v->row_cnt, at = 0;

	t->parent = calloc(cnt + 2, sizeof(uint32_t));
	t->order = calloc(cnt + 1, sizeof(uint32_t));
	t->first = calloc(cnt + 2, sizeof(uint32_t));
	if (!t->parent || !t->order || !t->first)
		return false;
	for (uint32_t i = 0; i < cnt; i++) {
		t->parent[i + 1] = t->v->rows[i]->parent;
		t->order[i] = i + 1;
	}
	if (db)
		nest_processes(t, db);
	if (db && db_read_has(db, "SL_RANK_PROCESSES"))
		sqlite3_prepare_v2(db, "SELECT rank FROM SL_RANK_PROCESSES WHERE globalPid = ?1",
				   -1, &t->rank, NULL);
	qsort_r(t->order, cnt, sizeof(uint32_t), by_place, t);
	for (uint32_t p = 0; p <= cnt; p++) {
		t->first[p] = at;
		while (at < cnt && t->parent[t->order[at]] == p)
			at++;
	}
	t->first[cnt + 1] = at;
	return true;
}

static void tree_free(struct tree *t)
{
	free(t->parent);
	free(t->order);
	free(t->first);
	sqlite3_finalize(t->rank);
}

/* ---- rows ---- */

static void number(struct writer *b, const char *key, int64_t value)
{
	if (value >= 0)
		js_int(b, key, value);
}

/* The rank of a process, in a report that has ranks. */
static void put_rank(struct writer *b, sqlite3_stmt *rank, const struct view_row *r)
{
	if (!rank || r->process < 0 || (r->kind != VIEW_PROCESS && r->kind != VIEW_GPU))
		return;
	sqlite3_bind_int64(rank, 1, r->process);
	if (sqlite3_step(rank) == SQLITE_ROW)
		js_int(b, "rank", sqlite3_column_int64(rank, 0));
	sqlite3_reset(rank);
}

static void put_row(struct writer *b, const struct tree *t, const struct view_row *r)
{
	uint64_t events = 0;
	int64_t first = INT64_MAX, last = INT64_MIN;
	const struct view_lane *outer = r->lane_cnt ? t->v->lanes[r->lanes[0] - 1] : NULL;

	json_open(b, NULL, '{');
	js_int(b, "id", r->id);
	js_int(b, "parent", t->parent[r->id]);
	js_text(b, "kind", view_kind_names[r->kind]);
	js_text(b, "name", r->name);
	js_text(b, "key", r->key);
	js_int(b, "sort", r->sort);
	number(b, "pid", r->pid);
	number(b, "tid", r->tid);
	put_rank(b, t->rank, r);
	number(b, "cpu", r->cpu);
	number(b, "device", r->device);
	number(b, "context", r->context);
	number(b, "stream", r->stream);
	if (r->unit)
		js_text(b, "unit", r->unit);
	json_open(b, "lanes", '[');
	for (uint32_t i = 0; i < r->lane_cnt; i++) {
		const struct view_seen *s = &t->v->lanes[r->lanes[i] - 1]->seen;

		js_int(b, NULL, r->lanes[i]);
		events += s->events;
		first = s->events && s->first < first ? s->first : first;
		last = s->events && s->last > last ? s->last : last;
	}
	json_close(b, ']');
	if (outer) {
		js_int(b, "events", (int64_t)events);
		js_int(b, "busy", outer->seen.busy);
	}
	if (events) {
		json_open(b, "span", '[');
		js_int(b, NULL, first);
		js_int(b, NULL, last);
		json_close(b, ']');
	}
	if (outer && r->kind == VIEW_COUNTER && events) {
		json_real(b, "min", outer->seen.least);
		json_real(b, "max", outer->seen.most);
	}
	js_int(b, "color", r->kind);
	json_close(b, '}');
}

static void put_rows(struct writer *b, const struct tree *t, uint32_t parent)
{
	/* A path from the top, for reports may nest as they like. */
	uint32_t room = 64, depth = 0, *at = malloc(room * sizeof(*at)), *end = NULL;

	end = malloc(room * sizeof(*end));
	if (at && end) {
		at[0] = t->first[parent];
		end[0] = t->first[parent + 1];
	}
	for (bool ok = at && end; ok;) {
		uint32_t id;

		if (at[depth] == end[depth]) {
			if (depth-- == 0)
				break;
			continue;
		}
		id = t->order[at[depth]++];
		put_row(b, t, t->v->rows[id - 1]);
		if (++depth == room) {
			uint32_t *more = reallocarray(at, room *= 2, sizeof(*at));
			uint32_t *more_end = more ? reallocarray(end, room, sizeof(*end)) : NULL;

			at = more ? more : at;
			end = more_end ? more_end : end;
			ok = more && more_end;
		}
		if (ok) {
			at[depth] = t->first[id];
			end[depth] = t->first[id + 1];
		}
	}
	free(at);
	free(end);
}

/* ---- losses, state ---- */

static int64_t first_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t number = 0;

	if (db && (stmt = sql_first(db, sql)) != NULL)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return number;
}

static void put_lost(struct writer *b, sqlite3 *db, const struct view_store *v)
{
	static const char sql[] = "SELECT start, \"end\", count, what FROM SL_LOST_EVENTS LIMIT ?1";
	sqlite3_stmt *stmt = NULL;

	js_int(b, "lost", first_number(db, "SELECT total(count) FROM SL_LOST_EVENTS"));
	json_open(b, "lost_spans", '[');
	if (db && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_int(stmt, 1, LOST_SPANS);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		json_open(b, NULL, '[');
		for (int i = 0; i < 2; i++)
			js_int(b, NULL,
			       (int64_t)((uint64_t)sqlite3_column_int64(stmt, i) -
					 (uint64_t)v->origin));
		js_int(b, NULL, sqlite3_column_int64(stmt, 2));
		js_text(b, NULL, (const char *)sqlite3_column_text(stmt, 3));
		json_close(b, ']');
	}
	sqlite3_finalize(stmt);
	json_close(b, ']');
}

static const char *state_of(const struct view_store *v)
{
	static const char *const names[] = {[VIEW_BUILDING] = "building",
					    [VIEW_LIVE] = "live",
					    [VIEW_READY] = "ready",
					    [VIEW_FAILED] = "failed"};

	return names[v->state];
}

static void put_state(struct writer *b, const struct view_store *v)
{
	json_open(b, "span", '[');
	js_int(b, NULL, v->first);
	js_int(b, NULL, v->last);
	json_close(b, ']');
	js_int(b, "indexed_to", v->indexed);
	js_text(b, "state", state_of(v));
	json_real(b, "progress", v->progress);
	js_text(b, "message", v->message);
	js_int(b, "generation", v->generation);
	json_bool(b, "live", v->state == VIEW_LIVE);
	/* A call is written when it has ended: as long as the report grows, no tile is final. */
	js_int(b, "stable_to", v->state == VIEW_LIVE ? v->first : v->indexed);
	js_int(b, "events", (int64_t)v->events);
}

static void put_capabilities(struct writer *b, const struct view_store *v)
{
	bool has[VIEW_KINDS] = {false};

	for (uint32_t i = 0; i < v->row_cnt; i++)
		has[v->rows[i]->kind] = true;
	json_open(b, "capabilities", '[');
	for (int k = 0; k < VIEW_KINDS; k++)
		if (has[k])
			js_text(b, NULL, view_kind_names[k]);
	if (has[VIEW_STATE])
		js_text(b, NULL, "sched");
	if (has[VIEW_THREAD] || has[VIEW_GPU])
		js_text(b, NULL, "why");
	json_close(b, ']');
}

static void put_title(struct writer *b, sqlite3 *db, const char *path)
{
	static const char sql[] = "SELECT commandLine FROM SL_PROCESS_TREE WHERE traced AND "
				  "commandLine IS NOT NULL ORDER BY kind = 0, rowid LIMIT 1";
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	sqlite3_stmt *stmt = NULL;

	if (db && (stmt = sql_first(db, sql)) != NULL)
		js_text(b, "title", (const char *)sqlite3_column_text(stmt, 0));
	else
		js_text(b, "title", base);
	sqlite3_finalize(stmt);
}

static void put_reports(struct view_request *q, struct writer *b)
{
	json_open(b, "reports", '[');
	for (int i = 0; i < q->server->report_cnt; i++) {
		struct view_store *v = q->server->reports[i].store;

		json_open(b, NULL, '{');
		js_text(b, "path", v->path);
		js_text(b, "state", state_of(v));
		json_close(b, '}');
	}
	json_close(b, ']');
}

static void put_all(struct view_request *q, struct writer *b, sqlite3 *db)
{
	struct view_store *v = q->store;
	struct tree t = {.v = v};
	char origin[32];
	struct stat st;

	js_int(b, "r", q->report - q->server->reports);
	js_text(b, "path", v->path);
	put_title(b, db, v->path);
	json_bool(b, "nsys",
		  db && !db_read_has(db, "SL_CLOCK_SNAPSHOTS") &&
			  !db_read_has(db, "SL_PROCESS_TREE"));
	js_int(b, "size", stat(v->path, &st) == 0 ? st.st_size : 0);
	snprintf(origin, sizeof(origin), "%lld", (long long)v->origin);
	js_text(b, "t0", origin);
	put_lost(b, db, v);
	put_capabilities(b, v);
	json_open(b, "rows", '[');
	if (tree_make(&t, db))
		put_rows(b, &t, 0);
	else
		b->failed = true;
	json_close(b, ']');
	tree_free(&t);
}

void view_answer_report(struct view_request *q, struct view_reply *a)
{
	struct view_store *v = q->store;
	struct writer *b = &a->body;
	int64_t generation = -1;
	sqlite3 *db;

	view_param_int(q, "gen", &generation);
	/* A report that cannot be opened has a reply, too: why is in its message. */
	db = view_db_take(q, a);
	if (!db)
		*a = view_reply_begin();
	json_open(b, NULL, '{');
	pthread_rwlock_rdlock(&v->lock);
	json_bool(b, "unchanged", generation == v->generation);
	put_state(b, v);
	if (generation != v->generation) {
		put_reports(q, b);
		put_all(q, b, db);
	}
	pthread_rwlock_unlock(&v->lock);
	json_close(b, '}');
	if (db)
		view_db_put(q, db);
}

void view_answer_live(struct view_request *q, struct view_reply *a)
{
	struct view_store *v = q->store;
	struct writer *b = &a->body;
	int64_t generation = -1;
	bool is_same = true;

	view_param_int(q, "gen", &generation);
	for (int waited = 0; is_same && waited < WAIT_MS; waited += STEP_MS) {
		pthread_rwlock_rdlock(&v->lock);
		is_same = v->generation == generation;
		pthread_rwlock_unlock(&v->lock);
		if (__atomic_load_n(&q->server->stop, __ATOMIC_RELAXED))
			break;
		if (is_same)
			nanosleep(&(struct timespec){0, STEP_MS * 1000000L}, NULL);
	}
	pthread_rwlock_rdlock(&v->lock);
	json_open(b, NULL, '{');
	json_bool(b, "unchanged", v->generation == generation);
	put_state(b, v);
	json_close(b, '}');
	pthread_rwlock_unlock(&v->lock);
}
