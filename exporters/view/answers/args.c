/* args.c - further values of an event, by their names in the timelines of exports. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exporters/events/launch_search.h"
#include "exporters/read/sql_rows.h"
#include "exporters/timeline/tl_tables.h"
#include "exporters/view/answers/columns.h"

struct args {
	struct writer *b;
	bool is_done; /* more than one event there should not be */
};

static void put(struct writer *b, const struct tl_arg *a)
{
	char text[96];

	json_open(b, NULL, '[');
	js_text(b, NULL, a->key);
	switch (a->kind) {
	case TL_TEXT:
	case TL_JSON:
		json_bytes(b, NULL, a->text.text, a->text.len);
		json_close(b, ']');
		return;
	case TL_REAL:
		snprintf(text, sizeof(text), "%.6g", a->real);
		break;
	case TL_HEX:
		snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)a->num);
		break;
	case TL_BOOL:
		snprintf(text, sizeof(text), "%s", a->num ? "true" : "false");
		break;
	case TL_VECTOR:
		snprintf(text, sizeof(text), "%" PRId64 " x %" PRId64 " x %" PRId64, a->vector[0],
			 a->vector[1], a->vector[2]);
		break;
	default:
		snprintf(text, sizeof(text), "%" PRId64, a->num);
	}
	js_text(b, NULL, text);
	json_close(b, ']');
}

static int on_track(void *self, struct tl_track *track)
{
	(void)self;
	(void)track;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct args *args = self;

	for (uint32_t i = 0; i < e->arg_cnt && !args->is_done; i++)
		put(args->b, &e->args[i]);
	args->is_done = true;
	return 0;
}

sqlite3_stmt *view_lock_open(sqlite3 *db, int64_t row)
{
	static const char sql[] =
		"SELECT l.object, l.ownerTid, c.start, c.globalTid FROM main.OSRT_API AS c, "
		"main.SL_OSRT_LOCKS AS l WHERE c.rowid = ?1 AND l.rowid BETWEEN ?2 AND ?3 AND "
		"l.start = c.start AND l.globalTid = c.globalTid";
	sqlite3_stmt *stmt = NULL, *start;
	int64_t near;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	start = sql_first_of(db, "SELECT start FROM main.OSRT_API WHERE rowid = ?1", row);
	near = start ? table_row_near(db, "SL_OSRT_LOCKS", "start", sqlite3_column_int64(start, 0))
		     : 0;
	sqlite3_finalize(start);
	sqlite3_bind_int64(stmt, 1, row);
	sqlite3_bind_int64(stmt, 2, near - TABLE_ROWS_NEAR);
	sqlite3_bind_int64(stmt, 3, near + TABLE_ROWS_NEAR);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		return stmt;
	sqlite3_finalize(stmt);
	return NULL;
}

static void put_pair(struct writer *b, const char *key, const char *text)
{
	json_open(b, NULL, '[');
	js_text(b, NULL, key);
	js_text(b, NULL, text);
	json_close(b, ']');
}

/* The lock that a call waited for, and the thread that had it. */
static void put_lock(struct writer *b, sqlite3 *db, int64_t row)
{
	sqlite3_stmt *stmt = view_lock_open(db, row);
	char text[128];
	int64_t owner;

	if (!stmt)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)sqlite3_column_int64(stmt, 0));
	put_pair(b, "object", text);
	owner = sqlite3_column_int64(stmt, 1);
	if (sqlite3_column_type(stmt, 1) == SQLITE_NULL)
		snprintf(text, sizeof(text), "not recorded");
	else
		snprintf(text, sizeof(text), "pid %" PRId64 ", tid %" PRId64, TL_PID(owner),
			 TL_TID(owner));
	put_pair(b, "held by", text);
	sqlite3_finalize(stmt);
}

void view_put_args(struct writer *b, sqlite3 *db, const char *table, int64_t row)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	struct tl_options options = {.only_table = table, .only_row = row};
	struct args args = {.b = b};
	char why[256];

	json_open(b, "args", '[');
	for (const struct tl_source_def *d = tl_source_defs; d->table && row > 0; d++) {
		if (strcmp(d->table, table) != 0 || !*d->args)
			continue;
		options.activities = d->activity;
		timeline_run(db, &options, &sink, &args, why, sizeof(why));
		break;
	}
	if (strcmp(table, "OSRT_API") == 0 && row > 0)
		put_lock(b, db, row);
	json_close(b, ']');
}
