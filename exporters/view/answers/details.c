/* details.c - /v1/event: one event with all its values in the report. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/columns.h"
#include "exporters/view/answers/where.h"

#define CELL_MAX   65536
#define FRAMES_MAX 512

/* A value as JSON; a blob in hexadecimal. */
void view_put_value(struct writer *b, sqlite3_value *value)
{
	size_t len = (size_t)sqlite3_value_bytes(value);
	const unsigned char *blob;
	struct writer hex = {0};
	char two[3];

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		js_int(b, NULL, sqlite3_value_int64(value));
		return;
	case SQLITE_FLOAT:
		json_real(b, NULL, sqlite3_value_double(value));
		return;
	case SQLITE_TEXT:
		json_bytes(b, NULL, (const char *)sqlite3_value_text(value),
			   len < CELL_MAX ? len : CELL_MAX);
		return;
	case SQLITE_BLOB:
		blob = sqlite3_value_blob(value);
		writer_add(&hex, "x'", 2);
		for (size_t i = 0; i < len && i < CELL_MAX / 2; i++) {
			snprintf(two, sizeof(two), "%02x", blob[i]);
			writer_add(&hex, two, 2);
		}
		writer_add(&hex, "'", 1);
		json_bytes(b, NULL, hex.data ? hex.data : "", hex.len);
		b->failed |= hex.failed;
		writer_free(&hex);
		return;
	default:
		json_null(b, NULL);
	}
}

static void put_stack(struct writer *b, sqlite3 *db, const char *table, sqlite3_stmt *row)
{
	bool own = view_has_own_stacks(db);
	const char *column = strcmp(table, "COMPOSITE_EVENTS") != 0 ? "callchainId"
			     : own                                  ? "stackId"
								    : "id";
	sqlite3_stmt *stmt = view_frames_open(db, own ? 0 : view_stack_kind(table));
	int64_t id = 0;

	for (int i = 0; i < sqlite3_column_count(row); i++)
		if (strcmp(sqlite3_column_name(row, i), column) == 0)
			id = sqlite3_column_int64(row, i);
	json_open(b, "stack", '[');
	if (stmt)
		sqlite3_bind_int64(stmt, 1, id);
	for (int n = 0; stmt && id > 0 && n < FRAMES_MAX && sqlite3_step(stmt) == SQLITE_ROW; n++) {
		char *symbol = view_string(db, sqlite3_column_int64(stmt, 0));
		char *module = view_string(db, sqlite3_column_int64(stmt, 1));
		char *file = view_string(db, sqlite3_column_int64(stmt, 2));

		json_open(b, NULL, '{');
		js_text(b, "symbol", symbol);
		js_text(b, "module", module);
		js_text(b, "file", file);
		js_int(b, "line", sqlite3_column_int64(stmt, 3));
		json_bool(b, "kernel", sqlite3_column_int(stmt, 4) == 1);
		json_bool(b, "python", sqlite3_column_int(stmt, 5) == 1);
		json_bool(b, "inlined", sqlite3_column_int(stmt, 6) == 1);
		json_close(b, '}');
		free(symbol);
		free(module);
		free(file);
	}
	sqlite3_finalize(stmt);
	json_close(b, ']');
}

static void put_columns(struct writer *b, sqlite3 *db, const char *table, sqlite3_stmt *row)
{
	json_open(b, "columns", '[');
	for (int i = 0; i < sqlite3_column_count(row); i++) {
		const char *column = sqlite3_column_name(row, i);
		char *text = view_column_text(db, table, column, sqlite3_column_value(row, i));

		json_open(b, NULL, '[');
		js_text(b, NULL, column);
		view_put_value(b, sqlite3_column_value(row, i));
		js_text(b, NULL, text);
		json_close(b, ']');
		free(text);
	}
	json_close(b, ']');
}

/* Rows' names from the row up: process and thread. */
static void put_owner(struct writer *b, struct view_store *v, uint32_t row)
{
	const char *process = "", *thread = "";

	pthread_rwlock_rdlock(&v->lock);
	for (; row; row = v->rows[row - 1]->parent) {
		const struct view_row *r = v->rows[row - 1];

		if (r->kind == VIEW_THREAD)
			thread = r->name;
		if (r->kind == VIEW_PROCESS || r->kind == VIEW_GPU)
			process = r->name;
	}
	js_text(b, "process", process);
	js_text(b, "thread", thread);
	pthread_rwlock_unlock(&v->lock);
}

static void put_event(struct view_request *q, struct writer *b, sqlite3 *db,
		      const struct view_place *place)
{
	struct view_store *v = q->store;
	char table[128];
	sqlite3_stmt *stmt = NULL;
	char *sql;

	pthread_rwlock_rdlock(&v->lock);
	snprintf(table, sizeof(table), "%s", v->sources[place->e.source]);
	pthread_rwlock_unlock(&v->lock);
	view_put_fields(b, v, place);
	put_owner(b, v, place->row);
	sql = sqlite3_mprintf("SELECT * FROM main.\"%w\" WHERE rowid = ?1", table);
	if (place->e.row > 0 && sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_int64(stmt, 1, place->e.row);
	sqlite3_free(sql);
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		put_columns(b, db, table, stmt);
		put_stack(b, db, table, stmt);
	} else {
		json_open(b, "columns", '[');
		json_close(b, ']');
		json_open(b, "stack", '[');
		json_close(b, ']');
	}
	sqlite3_finalize(stmt);
	view_put_args(b, db, table, place->e.row);
}

void view_answer_event(struct view_request *q, struct view_reply *a)
{
	int64_t lane = 0, t = 0, far = 0, dir = 0;
	struct view_place place;
	bool found;
	sqlite3 *db;

	if (!view_param_int(q, "lane", &lane) || !view_param_int(q, "t", &t) || lane < 1 ||
	    lane > UINT32_MAX) {
		view_refuse(a, 400, "a lane and a time are needed");
		return;
	}
	view_param_int(q, "dt", &far);
	view_param_int(q, "dir", &dir);
	found = dir ? view_find_next(q->store, (uint32_t)lane, t, dir > 0 ? 1 : -1, &place)
		    : view_find_at(q->store, (uint32_t)lane, t, far, &place);
	if (!found) {
		view_refuse(a, 404, "there is no event");
		return;
	}
	db = view_db_take(q, a);
	if (!db)
		return;
	json_open(&a->body, NULL, '{');
	put_event(q, &a->body, db, &place);
	json_close(&a->body, '}');
	view_db_put(q, db);
}
