/*
 * db_stacks.c - stacks as they come: rows of SL_SPACES, SL_MODULES, SL_CODES and SL_RAW_STACKS.
 *
 * Many calls name one stack, so the stacks of this report are kept, with their numbers: sources count stacks each by
 * itself, and readers hold callchainId as a signed 32-bit integer. When rows are given up (db_ops_failed()) they
 * are to be written again, and stacks keep their numbers: a row written twice replaces the first, or equals it.
 */
#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"
#include "collector/report/db_stack_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_there(const struct db_map *m, int64_t key)
{
	return m->cnt && *db_map_peek(m, key);
}

/* Values of the map of stacks: the number, and whether the report has the stack. */
#define WRITTEN      1
#define NUMBER(mark) ((mark) >> 1)

bool db_has_stack(const struct db *db, int64_t id)
{
	const struct db_map *m = &db->stacks.known.stack;

	return m->cnt && *db_map_peek(m, id) & WRITTEN;
}

int64_t db_stack_number(struct db *db, int64_t id)
{
	int64_t *mark = id ? db_map_get(&db->stacks.known.stack, id) : NULL;

	if (!mark)
		return 0;
	if (!*mark)
		*mark = ++db->stacks.known.last << 1;
	return NUMBER(*mark);
}

bool db_has_space(const struct db *db, int64_t space)
{
	return is_there(&db->stacks.known.space, space);
}

/* A pid as the value of a map, where 0 is nothing. */
static int64_t mark_of(int64_t global_pid)
{
	return global_pid ? global_pid : 1;
}

uint32_t db_space_pid(const struct db *db, int64_t space)
{
	return db->stacks.known.space.cnt
		       ? (uint32_t)(*db_map_peek(&db->stacks.known.space, space) >> 24 & 0xffffff)
		       : 0;
}

int db_space(struct db *db, int64_t space, int64_t parent, int64_t global_pid)
{
	int64_t *there = db_map_get(&db->stacks.known.space, space);

	if (!there)
		return -ENOMEM;
	if (*there == mark_of(global_pid))
		return 0;
	*there = mark_of(global_pid);
	db_prefetch_space(db, space, parent);
	return db_put_SL_SPACES(
		db, &(struct db_row_SL_SPACES){.id = space,
					       .parent = parent ? parent : DB_NULL,
					       .globalPid = global_pid ? global_pid : DB_NULL});
}

int db_module(struct db *db, const struct db_module *m)
{
	char id[2 * 64 + 1];
	size_t len = m->build_id_len <= 64 ? m->build_id_len : 64;

	db_prefetch_module(db, m);
	for (size_t i = 0; i < len; i++)
		snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
	return db_put_SL_MODULES(
		db, &(struct db_row_SL_MODULES){.space = m->space,
						.start = (int64_t)m->start,
						.end = (int64_t)m->end,
						.bias = (int64_t)m->bias,
						.since = m->since,
						.path = db_string(db, m->path, strlen(m->path)),
						.buildId = len ? id : NULL});
}

int db_code(struct db *db, const struct db_code *c)
{
	int64_t *there = db_map_get(&db->stacks.known.code, c->id);

	if (!there)
		return -ENOMEM;
	/* Recorded again, with more of its lines. */
	if (*there > (int64_t)c->lines_len)
		return 0;
	*there = (int64_t)c->lines_len + 1;
	return db_put_SL_CODES(
		db,
		&(struct db_row_SL_CODES){.id = c->id,
					  .file = c->file,
					  .name = c->name,
					  .firstLine = c->first_line,
					  .version = c->version,
					  .lines = {c->lines_len ? c->lines : NULL, c->lines_len}});
}

int db_stack(struct db *db, int64_t id, int64_t space, int64_t since, const uint64_t *frames,
	     size_t cnt)
{
	int64_t number = db_stack_number(db, id);

	if (!number)
		return -ENOMEM;
	if (db_has_stack(db, id))
		return 0;
	*db_map_get(&db->stacks.known.stack, id) |= WRITTEN;
	db_prefetch_stack(db, space, frames, cnt);
	return db_put_SL_RAW_STACKS(
		db, &(struct db_row_SL_RAW_STACKS){.id = number,
						   .space = space,
						   .since = since,
						   .source = id,
						   .frames = {frames, cnt * sizeof(*frames)}});
}

static void empty(struct db_map *m)
{
	db_map_free(m);
	*m = (struct db_map){0};
}

void db_stacks_forget_chains(struct db *db)
{
	struct db_map *m = &db->stacks.known.stack;

	for (uint32_t i = 0; i < m->cap; i++)
		m->val[i] &= ~(int64_t)WRITTEN;
}

void db_stacks_forget(struct db *db)
{
	db_stacks_forget_chains(db);
	empty(&db->stacks.known.code);
	empty(&db->stacks.known.space);
}

void db_stacks_free(struct db *db)
{
	empty(&db->stacks.known.stack);
	empty(&db->stacks.known.code);
	empty(&db->stacks.known.space);
}

/* ---- resume ---- */

static int load_ids(struct db *db, const char *table, const char *sql, struct db_map *m)
{
	sqlite3_stmt *stmt;
	int rc, err = db_table_exists(db, table) ? db_prepare(db, sql, &stmt) : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t *there = db_map_get(m, sqlite3_column_int64(stmt, 0));

		if (!there)
			break;
		*there = mark_of(sqlite3_column_int64(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? -ENOMEM : db_errno(rc);
}

/* The largest number that rows have: also of stacks that the report does not have, as their records are still to come. */
static int load_last(struct db *db)
{
	const char *table;
	sqlite3_stmt *stmt;
	char sql[128];
	int err = 0;

	for (unsigned kind = 0; kind < DB_STACK_KIND_CNT; kind++)
		for (unsigned i = 0; !err && (table = naming_table(kind, i)); i++) {
			int64_t last = 0;

			if (!db_table_exists(db, table))
				continue;
			snprintf(sql, sizeof(sql), "SELECT max(%s) FROM main.%s",
				 naming_column(kind), table);
			err = db_prepare(db, sql, &stmt);
			if (err)
				break;
			if (sqlite3_step(stmt) == SQLITE_ROW)
				last = sqlite3_column_int64(stmt, 0);
			sqlite3_finalize(stmt);
			if (last > db->stacks.known.last)
				db->stacks.known.last = last;
		}
	return err;
}

static int load_stacks(struct db *db)
{
	struct db_stacks_there *s = &db->stacks.known;
	int err = load_ids(db, "SL_RAW_STACKS", "SELECT source, id FROM main.SL_RAW_STACKS",
			   &s->stack);

	for (uint32_t i = 0; !err && i < s->stack.cap; i++) {
		if (s->stack.val[i] > s->last)
			s->last = s->stack.val[i];
		if (s->stack.val[i])
			s->stack.val[i] = s->stack.val[i] << 1 | WRITTEN;
	}
	/* For db_stacks_read(), once per arena; without it the reading only takes longer. */
	if (!err && s->stack.cnt)
		db_exec(db, "CREATE INDEX IF NOT EXISTS main.SL_RAW_STACKS_source ON "
			    "SL_RAW_STACKS(source)");
	return err ? err : load_last(db);
}

int db_stacks_load(struct db *db)
{
	struct db_stacks_there *s = &db->stacks.known;
	int err = load_ids(db, "SL_SPACES", "SELECT id, globalPid FROM main.SL_SPACES", &s->space);

	if (!err)
		err = load_ids(db, "SL_CODES",
			       "SELECT id, ifnull(length(lines), 0) + 1 FROM main.SL_CODES",
			       &s->code);
	return err ? err : load_stacks(db);
}

/* One table's rows, of ids from @first up to @last in the column named in @sql; @take gets each. */
static int each(struct db *db, const char *table, const char *sql, int64_t first, int64_t last,
		void (*take)(sqlite3_stmt *, const struct db_stacks_reader *),
		const struct db_stacks_reader *r)
{
	sqlite3_stmt *stmt;
	int rc, err = db_table_exists(db, table) ? db_prepare(db, sql, &stmt) : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		take(stmt, r);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : db_errno(rc);
}

static void take_space(sqlite3_stmt *s, const struct db_stacks_reader *r)
{
	r->space(r->to, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		 sqlite3_column_int64(s, 2));
}

static void take_module(sqlite3_stmt *s, const struct db_stacks_reader *r)
{
	const char *path = (const char *)sqlite3_column_text(s, 5);
	uint8_t id[64];
	struct db_module m = {.space = sqlite3_column_int64(s, 0),
			      .start = (uint64_t)sqlite3_column_int64(s, 1),
			      .end = (uint64_t)sqlite3_column_int64(s, 2),
			      .bias = (uint64_t)sqlite3_column_int64(s, 3),
			      .since = sqlite3_column_int64(s, 4),
			      .path = path ? path : "",
			      .build_id = id};

	m.build_id_len = db_unhex((const char *)sqlite3_column_text(s, 6), id, sizeof(id));
	r->module(r->to, &m);
}

static void take_code(sqlite3_stmt *s, const struct db_stacks_reader *r)
{
	const char *file = (const char *)sqlite3_column_text(s, 1);
	const char *name = (const char *)sqlite3_column_text(s, 2);
	struct db_code c = {.id = sqlite3_column_int64(s, 0),
			    .file = file ? file : "",
			    .name = name ? name : "",
			    .first_line = sqlite3_column_int(s, 3),
			    .version = sqlite3_column_int(s, 4),
			    .lines = sqlite3_column_blob(s, 5),
			    .lines_len = (size_t)sqlite3_column_bytes(s, 5)};

	r->code(r->to, &c);
}

static void take_stack(sqlite3_stmt *s, const struct db_stacks_reader *r)
{
	r->stack(r->to, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		 sqlite3_column_int64(s, 2), sqlite3_column_blob(s, 3),
		 (size_t)sqlite3_column_bytes(s, 3) / 8);
}

int db_stacks_read(struct db *db, int64_t first, int64_t last, const struct db_stacks_reader *r)
{
	int err = each(db, "SL_SPACES",
		       "SELECT id, parent, globalPid FROM main.SL_SPACES WHERE id BETWEEN ? AND ?",
		       first, last, take_space, r);

	if (!err)
		err = each(db, "SL_MODULES",
			   "SELECT space, start, end, bias, since, s.value, buildId FROM "
			   "main.SL_MODULES m JOIN main.StringIds s ON s.id = m.path"
			   " WHERE space BETWEEN ? AND ?",
			   first, last, take_module, r);
	if (!err)
		err = each(db, "SL_CODES",
			   "SELECT id, file, name, firstLine, version, lines FROM main.SL_CODES"
			   " WHERE id BETWEEN ? AND ?",
			   first, last, take_code, r);
	if (!err)
		err = each(db, "SL_RAW_STACKS",
			   "SELECT source, space, since, frames FROM main.SL_RAW_STACKS"
			   " WHERE source BETWEEN ? AND ?",
			   first, last, take_stack, r);
	return err;
}
