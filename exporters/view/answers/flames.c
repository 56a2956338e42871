/* flames.c - samples, or calls, of a span added up by their frames. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/view/answers/columns.h"
#include "exporters/view/answers/flames.h"

#define NODES_MAX 200000
#define DEPTH_MAX 512

struct node {
	uint32_t parent;
	int64_t symbol, module; /* StringIds */
	int64_t total, self;
};

struct flame {
	sqlite3 *db;
	sqlite3_stmt *frames[4];
	bool own;
	struct node *nodes;
	size_t cnt, room;
	struct map children;
	bool failed;
};

static uint32_t child_of(struct flame *f, uint32_t parent, int64_t symbol, int64_t module)
{
	uint64_t key = hash_u64(hash_u64((uint64_t)symbol) ^ (uint64_t)module) ^ hash_u64(parent);
	uint64_t *slot;

	for (; (slot = map_at(&f->children, key, false)) != NULL; key++) {
		const struct node *n = &f->nodes[*slot];

		if (n->parent == parent && n->symbol == symbol && n->module == module)
			return (uint32_t)*slot;
	}
	slot = f->cnt < NODES_MAX && grow(&f->nodes, f->cnt, &f->room, sizeof(*f->nodes))
		       ? map_at(&f->children, key, true)
		       : NULL;
	if (!slot)
		return parent;
	f->nodes[f->cnt] = (struct node){parent, symbol, module, 0, 0};
	*slot = f->cnt;
	return (uint32_t)f->cnt++;
}

static void add_stack(struct flame *f, int64_t stack, int64_t weight)
{
	int64_t frames[DEPTH_MAX][2];
	int kind = f->own ? 0 : (int)(stack & 3), depth = 0;
	uint32_t at = 0;

	if (!f->frames[kind])
		f->frames[kind] = view_frames_open(f->db, kind);
	if (f->frames[kind]) {
		sqlite3_reset(f->frames[kind]);
		sqlite3_bind_int64(f->frames[kind], 1, f->own ? stack : stack >> 2);
		while (depth < DEPTH_MAX && sqlite3_step(f->frames[kind]) == SQLITE_ROW) {
			frames[depth][0] = sqlite3_column_int64(f->frames[kind], 0);
			frames[depth++][1] = sqlite3_column_int64(f->frames[kind], 1);
		}
	}
	f->nodes[0].total += weight;
	while (depth-- > 0) {
		at = child_of(f, at, frames[depth][0], frames[depth][1]);
		f->nodes[at].total += at ? weight : 0;
	}
	f->nodes[at].self += weight;
}

/* ", n, n" of the lanes' threads; "" when there are none. */
static char *threads_of(struct view_store *v, const struct view_span *span)
{
	sqlite3_str *list = sqlite3_str_new(NULL);
	int64_t last = -1;

	pthread_rwlock_rdlock(&v->lock);
	for (uint32_t i = 0; i < span->lane_cnt; i++) {
		uint32_t lane = span->lanes[i];
		const struct view_row *row = lane >= 1 && lane <= v->lane_cnt
						     ? v->rows[v->lanes[lane - 1]->row - 1]
						     : NULL;

		if (!row || row->thread < 0 || row->thread == last)
			continue;
		sqlite3_str_appendf(list, "%s%lld", sqlite3_str_length(list) ? ", " : "",
				    row->thread);
		last = row->thread;
	}
	pthread_rwlock_unlock(&v->lock);
	sqlite3_str_append(list, "", 0);
	return sqlite3_str_finish(list);
}

static void run(struct flame *f, const char *select, const char *group, const char *threads,
		int64_t from, int64_t to)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = threads && *threads
			    ? sqlite3_mprintf("%s AND globalTid IN (%s) %s", select, threads, group)
			    : sqlite3_mprintf("%s %s", select, group);

	if (sql && sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, from);
		sqlite3_bind_int64(stmt, 2, to);
	}
	sqlite3_free(sql);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		add_stack(f, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
	sqlite3_finalize(stmt);
}

static void put_nodes(struct flame *f, struct writer *b)
{
	json_open(b, "nodes", '[');
	for (size_t i = 0; i < f->cnt; i++) {
		const struct node *n = &f->nodes[i];
		char *symbol = i ? view_string(f->db, n->symbol) : NULL;
		char *module = i ? view_string(f->db, n->module) : NULL;

		json_open(b, NULL, '[');
		js_int(b, NULL, i ? (int64_t)n->parent : -1);
		js_text(b, NULL, i ? symbol : "all");
		js_text(b, NULL, module);
		js_int(b, NULL, n->total);
		js_int(b, NULL, n->self);
		json_close(b, ']');
		free(symbol);
		free(module);
	}
	json_close(b, ']');
}

static int64_t absolute(int64_t t, int64_t origin)
{
	int64_t sum;

	return __builtin_add_overflow(t, origin, &sum) ? (t < 0 ? INT64_MIN : INT64_MAX) : sum;
}

void view_put_flame(struct view_request *q, struct view_reply *a, const struct view_span *span)
{
	static const char samples[] = "SELECT stack, count(*) FROM SL_CHAIN_SAMPLES WHERE periodic "
				      "AND stack IS NOT NULL AND start >= ?1 AND start < ?2";
	static const char calls[] =
		"SELECT stack, sum(min(end, ?2) - max(start, ?1)) FROM SL_CHAIN_CALLS "
		"WHERE stack IS NOT NULL AND level = 0 AND start < ?2 AND end > ?1";
	struct view_store *v = q->store;
	struct flame f = {.db = view_db_take(q, a)};
	char *threads;
	int64_t origin, from, to;
	bool is_calls;

	if (!f.db)
		return;
	f.own = view_has_own_stacks(f.db);
	if (grow(&f.nodes, 0, &f.room, sizeof(*f.nodes)))
		f.nodes[f.cnt++] = (struct node){0};
	threads = threads_of(v, span);
	pthread_rwlock_rdlock(&v->lock);
	origin = v->origin;
	pthread_rwlock_unlock(&v->lock);
	from = absolute(span->from, origin);
	to = absolute(span->to, origin);
	is_calls = strcmp(span->table, "flame_calls") == 0;
	if (f.cnt && !is_calls)
		run(&f, samples, "GROUP BY stack", threads, from, to);
	is_calls |= f.cnt && f.nodes[0].total == 0;
	if (is_calls)
		run(&f, calls, "GROUP BY stack", threads, from, to);
	json_open(&a->body, NULL, '{');
	js_text(&a->body, "unit", is_calls ? "ns" : "samples");
	js_int(&a->body, "total", f.cnt ? f.nodes[0].total : 0);
	put_nodes(&f, &a->body);
	json_close(&a->body, '}');
	a->body.failed |= f.cnt == 0;
	for (int i = 0; i < 4; i++)
		sqlite3_finalize(f.frames[i]);
	map_free(&f.children);
	sqlite3_free(threads);
	free(f.nodes);
	view_db_put(q, f.db);
}
