/* locks.c - /v1/locks: the objects that threads wait for most, with each wait, its thread and the owner of the object then. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/read/db_read.h"
#include "exporters/timeline/tl_tables.h"
#include "exporters/view/answers/causes.h"
#include "exporters/view/build/build.h"
#include "exporters/view/answers/columns.h"

#define OBJECTS_MAX 12
#define WAITS_MAX   5000 /* of an object */

struct wait {
	int64_t row, start, end, thread, owner; /* owner -1: not known */
	int64_t process, object, name;
};

struct waits {
	struct wait *list;
	size_t cnt, room;
};

/* Waits of one object side by side, the longest first. */
static int by_object(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->end - x->start < y->end - y->start) - (x->end - x->start > y->end - y->start);
}

static int read_waits(sqlite3 *db, struct waits *w)
{
	/* The table of waits is the smaller one: it gets the index. */
	static const char sql[] =
		"SELECT c.rowid, c.start, c.\"end\", c.globalTid, l.ownerTid, l.object, c.nameId "
		"FROM main.OSRT_API AS c CROSS JOIN main.SL_OSRT_LOCKS AS l "
		"WHERE l.start = c.start AND l.globalTid = c.globalTid AND c.\"end\" > c.start";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (!grow(&w->list, w->cnt, &w->room, sizeof(*w->list))) {
			rc = SQLITE_NOMEM;
			break;
		}
		w->list[w->cnt++] = (struct wait){
			.row = sqlite3_column_int64(stmt, 0),
			.start = sqlite3_column_int64(stmt, 1),
			.end = sqlite3_column_int64(stmt, 2),
			.thread = sqlite3_column_int64(stmt, 3),
			.owner = sqlite3_column_type(stmt, 4) == SQLITE_NULL
					 ? -1
					 : sqlite3_column_int64(stmt, 4),
			.process = TL_PROCESS_OF(sqlite3_column_int64(stmt, 3)),
			.object = sqlite3_column_int64(stmt, 5),
			.name = sqlite3_column_int64(stmt, 6),
		};
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Waits of one object, in the list. */
struct object {
	size_t first, cnt;
	int64_t ns;
};

static int by_ns(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static size_t find_objects(const struct waits *w, struct object *objects)
{
	size_t cnt = 0;

	for (size_t i = 0; i < w->cnt; i++) {
		const struct wait *x = &w->list[i];

		if (i == 0 || x->process != x[-1].process || x->object != x[-1].object)
			objects[cnt++] = (struct object){.first = i};
		objects[cnt - 1].cnt++;
		objects[cnt - 1].ns += x->end - x->start;
	}
	if (cnt)
		qsort(objects, cnt, sizeof(*objects), by_ns);
	return cnt;
}

static void put_object(struct view_request *q, struct writer *b, sqlite3 *db, const struct waits *w,
		       const struct object *o)
{
	struct view_store *v = q->store;
	const struct wait *first = &w->list[o->first];
	char *name = view_string(db, first->name), text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)first->object);
	json_open(b, NULL, '{');
	js_text(b, "object", text);
	js_text(b, "call", name);
	js_int(b, "pid", TL_PID(first->thread));
	js_int(b, "ns", o->ns);
	js_int(b, "count", (int64_t)o->cnt);
	/* By fives: row of OSRT_API, start, end, row of the waiting thread, row of the owner, 0: not known. */
	json_open(b, "waits", '[');
	for (size_t i = 0; i < o->cnt && i < WAITS_MAX; i++) {
		js_int(b, NULL, first[i].row);
		js_int(b, NULL, view_time(v, first[i].start));
		js_int(b, NULL, view_time(v, first[i].end));
		js_int(b, NULL, view_row_of_thread(v, first[i].thread));
		js_int(b, NULL, first[i].owner >= 0 ? view_row_of_thread(v, first[i].owner) : 0);
	}
	json_close(b, ']');
	json_close(b, '}');
	free(name);
}

void view_answer_locks(struct view_request *q, struct view_reply *a)
{
	struct waits w = {0};
	struct object *objects = NULL;
	sqlite3 *db = view_db_take(q, a);
	size_t cnt = 0;
	int rc = SQLITE_OK;

	if (!db)
		return;
	if (db_read_has(db, "SL_OSRT_LOCKS"))
		rc = read_waits(db, &w);
	if (w.cnt) {
		qsort(w.list, w.cnt, sizeof(*w.list), by_object);
		objects = calloc(w.cnt, sizeof(*objects));
		cnt = objects ? find_objects(&w, objects) : 0;
	}
	if (rc != SQLITE_OK || (w.cnt && !objects)) {
		view_refuse(a, 503, sqlite3_errstr(rc != SQLITE_OK ? rc : SQLITE_NOMEM));
	} else {
		json_open(&a->body, NULL, '{');
		json_open(&a->body, "locks", '[');
		for (size_t i = 0; i < cnt && i < OBJECTS_MAX; i++)
			put_object(q, &a->body, db, &w, &objects[i]);
		json_close(&a->body, ']');
		js_int(&a->body, "more", cnt > OBJECTS_MAX ? (int64_t)(cnt - OBJECTS_MAX) : 0);
		json_close(&a->body, '}');
	}
	free(objects);
	free(w.list);
	view_db_put(q, db);
}
