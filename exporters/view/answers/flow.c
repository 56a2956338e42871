/* flow.c - /v1/flow: from a call to the work that it started on a GPU and back; from a waking thread to the thread it woke. */
#include <stdlib.h>
#include <string.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/launch_search.h"
#include "exporters/view/build/build.h"
#include "exporters/view/answers/columns.h"
#include "exporters/view/answers/where.h"

#define ARROWS_MAX 256

struct flow {
	struct view_request *q;
	struct writer *b;
	sqlite3 *db;
	unsigned cnt;
	bool more;
};

static bool place_of(struct flow *f, const struct launch_row *e, struct view_place *p)
{
	return view_find_row(f->q->store, e->table, e->row, e->start, p);
}

static void put_arrow(struct flow *f, const char *kind, const struct view_place *from,
		      const struct view_place *to)
{
	if (f->cnt == ARROWS_MAX) {
		f->more = true;
		return;
	}
	f->cnt++;
	json_open(f->b, NULL, '{');
	js_text(f->b, "kind", kind);
	view_put_place(f->b, "from", f->q->store, from);
	view_put_place(f->b, "to", f->q->store, to);
	json_close(f->b, '}');
}

static int64_t number_of(sqlite3 *db, const char *sql, const char *table, int64_t a)
{
	char *text = sqlite3_mprintf(sql, table);
	sqlite3_stmt *stmt = NULL;
	int64_t number = INT64_MIN;

	if (text && sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, a);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			number = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(text);
	return number;
}

/* ---- launches ---- */

static void launches(struct flow *f, const struct launch_row *self, bool is_call)
{
	struct launch_row ends[ARROWS_MAX + 1];
	struct view_place here, there;
	unsigned cnt;

	if (!place_of(f, self, &here))
		return;
	cnt = is_call ? launch_search_work(f->db, self->row, ends, ARROWS_MAX + 1)
		      : launch_search_call(f->db, self->table, self->row, ends);
	for (unsigned i = 0; i < cnt; i++)
		if (place_of(f, &ends[i], &there))
			put_arrow(f, "launch", is_call ? &here : &there, is_call ? &there : &here);
}

/* ---- wake-ups ---- */

/* An arrow from the waker's state at the wake-up to the state of the woken thread once it runs. */
static void put_wakeup(struct flow *f, int64_t waker, int64_t woken, int64_t wakeup, int64_t in)
{
	struct view_store *v = f->q->store;
	uint32_t from_lane = view_state_lane(v, waker), to_lane = view_state_lane(v, woken);
	struct view_place from, to;
	int64_t at, ran;

	pthread_rwlock_rdlock(&v->lock);
	at = view_time(v, wakeup);
	ran = view_time(v, in);
	pthread_rwlock_unlock(&v->lock);
	if (!from_lane || !to_lane || !view_find_at(v, from_lane, at, 1000000, &from) ||
	    !view_find_at(v, to_lane, ran, 0, &to))
		return;
	from.e.start = at;
	from.e.end = at;
	put_arrow(f, "wakeup", &from, &to);
}

/* Wake-ups between two times, from a window of rows that lacks only rows far out of order. */
static void details(struct flow *f, const char *which, int64_t thread, int64_t from, int64_t to)
{
	char *sql = sqlite3_mprintf(
		"SELECT wakerTid, globalTid, wakeupTime, start FROM main.SL_SCHED_DETAIL "
		"WHERE rowid BETWEEN ?1 AND ?2 AND wakerTid IS NOT NULL AND wakeupTime IS NOT NULL "
		"AND %s LIMIT %d",
		which, ARROWS_MAX + 1);
	sqlite3_stmt *stmt = NULL;

	if (sql && sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1,
				   table_row_near(f->db, "SL_SCHED_DETAIL", "start", from) -
					   TABLE_ROWS_NEAR);
		sqlite3_bind_int64(stmt, 2,
				   table_row_near(f->db, "SL_SCHED_DETAIL", "start", to) +
					   TABLE_ROWS_NEAR);
		sqlite3_bind_int64(stmt, 3, thread);
		sqlite3_bind_int64(stmt, 4, from);
		sqlite3_bind_int64(stmt, 5, to);
		while (sqlite3_step(stmt) == SQLITE_ROW)
			put_wakeup(f, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
				   sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3));
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

/* When the thread got a CPU again after the switch at @here. */
static int64_t in_after(struct flow *f, const struct view_place *here)
{
	struct view_place next = *here;

	while (view_find_next(f->q->store, here->lane, next.e.start, 1, &next))
		if (next.e.row != here->e.row)
			return next.e.start;
	return INT64_MIN;
}

static void wakeups(struct flow *f, const struct launch_row *self)
{
	static const char woken[] = "globalTid = ?3 AND start BETWEEN ?4 AND ?5";
	static const char woke[] = "wakerTid = ?3 AND wakeupTime >= ?4 AND wakeupTime < ?5";
	int64_t thread = number_of(f->db, "SELECT globalTid FROM main.\"%w\" WHERE rowid = ?1",
				   self->table, self->row);
	bool is_in = number_of(f->db, "SELECT isSchedIn FROM main.\"%w\" WHERE rowid = ?1",
			       self->table, self->row) == 1;
	struct view_place here;
	int64_t origin, in;

	if (!place_of(f, self, &here))
		return;
	pthread_rwlock_rdlock(&f->q->store->lock);
	origin = f->q->store->origin;
	pthread_rwlock_unlock(&f->q->store->lock);
	in = is_in ? here.e.start : in_after(f, &here);
	if (in != INT64_MIN)
		details(f, woken, thread, in + origin, in + origin);
	if (is_in && !(here.e.flags & VIEW_OPEN))
		details(f, woke, thread, here.e.start + origin, here.e.end + origin);
}

/* ---- locks ---- */

/* An arrow from the state of the thread that has the lock to the call that waits for it. */
static void locks(struct flow *f, const struct launch_row *self)
{
	struct view_store *v = f->q->store;
	sqlite3_stmt *stmt = view_lock_open(f->db, self->row);
	struct view_place owner, here;
	uint32_t lane;
	int64_t at;

	if (!stmt)
		return;
	lane = sqlite3_column_type(stmt, 1) != SQLITE_NULL
		       ? view_state_lane(v, sqlite3_column_int64(stmt, 1))
		       : 0;
	sqlite3_finalize(stmt);
	pthread_rwlock_rdlock(&v->lock);
	at = view_time(v, self->start);
	pthread_rwlock_unlock(&v->lock);
	if (lane && place_of(f, self, &here) && view_find_at(v, lane, at, 0, &owner)) {
		owner.e.start = at;
		owner.e.end = at;
		put_arrow(f, "lock", &owner, &here);
	}
}

void view_answer_flow(struct view_request *q, struct view_reply *a)
{
	char *table = view_param_text(q, "table");
	struct flow f = {.q = q, .b = &a->body};
	struct launch_row self = {.table = table};
	bool is_gpu = false, is_call = table && strcmp(table, LAUNCH_CALLS) == 0;
	bool is_libc = table && strcmp(table, "OSRT_API") == 0;

	for (size_t i = 0; table && i < GPU_WORK_KINDS; i++)
		is_gpu |= strcmp(table, gpu_work_tables[i].name) == 0;
	if (!table || !view_param_int(q, "rowid", &self.row)) {
		free(table);
		view_refuse(a, 400, "a table and a rowid are needed");
		return;
	}
	f.db = view_db_take(q, a);
	if (!f.db) {
		free(table);
		return;
	}
	json_open(f.b, NULL, '{');
	json_open(f.b, "arrows", '[');
	if (is_gpu || is_call || is_libc || strcmp(table, "SCHED_EVENTS") == 0) {
		self.start = number_of(f.db, "SELECT start FROM main.\"%w\" WHERE rowid = ?1",
				       table, self.row);
		if (is_gpu || is_call)
			launches(&f, &self, is_call);
		else if (is_libc)
			locks(&f, &self);
		else
			wakeups(&f, &self);
	}
	json_close(f.b, ']');
	json_bool(f.b, "more", f.more);
	json_close(f.b, '}');
	view_db_put(q, f.db);
	free(table);
}
