/*
 * db_schema.c - tables of the report, made by name from the embedded schema.sql.
 *
 * Event tables come into being with their first row, as in reports of nsys: readers take "no table"
 * for "nothing of that kind was recorded". A rollback drops new tables again, so
 * db->schema.exists is put back by db_fail().
 */
#include "collector/report/db_internal.h"
#include "collector/base/embed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *schema_text(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (!strcmp(e->name, "schema.sql"))
			return e->text;
	return NULL;
}

int db_schema_init(struct db *db)
{
	static const char mark[] = "-- @table ";
	struct db_schema *s = &db->schema;
	const char *at = schema_text();

	at = at ? strstr(at, mark) : NULL;
	while (at) {
		const char *next = strstr(at + 1, mark);
		struct db_section *sec = &s->section[s->cnt];
		char when[16];

		if (s->cnt == DB_TABLES_MAX ||
		    sscanf(at + strlen(mark), "%63s %15s", sec->name, when) != 2)
			return -EINVAL;
		sec->when = !strcmp(when, "lazy")      ? DB_LAZY
			    : !strcmp(when, "live")    ? DB_LIVE
			    : !strcmp(when, "raw")     ? DB_RAW
			    : !strcmp(when, "private") ? DB_PRIVATE
						       : DB_ALWAYS;
		sec->sql = at;
		sec->len = next ? (int)(next - at) : (int)strlen(at);
		s->cnt++;
		at = next;
	}
	return s->cnt ? 0 : -EINVAL;
}

static int find(const struct db_schema *s, const char *name)
{
	for (int i = 0; i < s->cnt; i++)
		if (!strcmp(s->section[i].name, name))
			return i;
	return -1;
}

const char *db_schema_sql(const struct db *db, const char *name)
{
	int i = find(&db->schema, name);

	return i < 0 ? NULL : db->schema.section[i].sql;
}

static bool is_view(const struct db_section *sec)
{
	static const char create[] = "CREATE VIEW ";

	return memmem(sec->sql, (size_t)sec->len, create, sizeof(create) - 1);
}

/* A section may hold several statements (CREATE, then the rows of an enumeration). */
static int run(sqlite3 *sql_db, const struct db_section *sec)
{
	const char *sql = sec->sql, *end = sec->sql + sec->len;
	int rc = SQLITE_OK;

	while (sql < end && rc == SQLITE_OK) {
		sqlite3_stmt *stmt;

		rc = sqlite3_prepare_v2(sql_db, sql, (int)(end - sql), &stmt, &sql);
		if (rc == SQLITE_OK && stmt) {
			sqlite3_step(stmt);
			rc = sqlite3_finalize(stmt);
		}
	}
	return rc;
}

static int create(struct db *db, int i)
{
	int err = db_fail(db, run(db->sql, &db->schema.section[i]));

	if (!err)
		db->schema.exists.section[i] = true;
	return err;
}

int db_schema_write(struct db *db)
{
	size_t at = 0;

	while (at < sl_new_report_size) {
		ssize_t n = pwrite(db->file.lock, sl_new_report + at, sl_new_report_size - at,
				   (off_t)at);

		if (n <= 0)
			return n && errno != EFBIG ? -errno : -ENOSPC;
		at += (size_t)n;
	}
	for (int i = 0; i < db->schema.cnt; i++)
		db->schema.exists.section[i] = db->schema.section[i].when == DB_ALWAYS ||
					       db->schema.section[i].when == DB_PRIVATE;
	db->schema.committed = db->schema.exists;
	db->schema.is_made = true;
	return 0;
}

int db_schema_drop_live(struct db *db, bool empty)
{
	struct db_schema *s = &db->schema;
	char sql[128];
	int err = 0;

	for (int i = 0; i < s->cnt && !err; i++) {
		bool is_raw = s->section[i].when == DB_RAW && !empty && !db->stacks.keeps_raw;

		if ((s->section[i].when != DB_LIVE && !is_raw) || !s->exists.section[i])
			continue;
		snprintf(sql, sizeof(sql), "%s main.%s", empty ? "DELETE FROM" : "DROP TABLE",
			 s->section[i].name);
		err = db_fail(db, sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
	}
	return err;
}

bool db_table_exists(const struct db *db, const char *name)
{
	int i = find(&db->schema, name);

	return i >= 0 && db->schema.exists.section[i];
}

int db_table_need(struct db *db, const char *name)
{
	int i = find(&db->schema, name);

	if (i < 0)
		return -EINVAL;
	return db->schema.exists.section[i] ? 0 : create(db, i);
}

int db_table_drop(struct db *db, const char *name)
{
	int i = find(&db->schema, name), err;
	char sql[128];

	if (i < 0 || !db->schema.exists.section[i])
		return 0;
	snprintf(sql, sizeof(sql), "DROP %s main.%s",
		 is_view(&db->schema.section[i]) ? "VIEW" : "TABLE", name);
	err = db_fail(db, sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
	if (!err)
		db->schema.exists.section[i] = false;
	return err;
}

int db_schema_scan(struct db *db)
{
	sqlite3_stmt *stmt;
	int err = db_prepare(db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
			     &stmt);
	int rc;

	if (err)
		return err;
	db->schema.exists = (struct db_there){0};
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int i = find(&db->schema, (const char *)sqlite3_column_text(stmt, 0));

		if (i >= 0)
			db->schema.exists.section[i] = true;
	}
	sqlite3_finalize(stmt);
	db->schema.committed = db->schema.exists;
	db->schema.is_made = true;
	return rc == SQLITE_DONE ? 0 : db_errno(rc);
}
