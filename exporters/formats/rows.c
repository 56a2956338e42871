/* rows.c - which tables, which columns, and the rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/db_views.h"
#include "exporters/read/sql_rows.h"
#include "exporters/formats/rows.h"
#include "exporters/formats/table_list.h"

#define PROGRESS_EVERY 16384

struct rows {
	struct export_job *job;
	const struct rows_sink *sink;
	void *self;
	struct table_list wanted;
	char **table;
	size_t table_cnt;
	uint64_t total;
	sqlite3 *schema; /* empty, with every table there is; NULL when lazy */
	char *why;
	size_t why_len;
};

/* ---- which tables ---- */

static bool listed(struct rows *r, const char *table)
{
	for (size_t i = 0; i < r->table_cnt; i++)
		if (strcmp(r->table[i], table) == 0)
			return true;
	return false;
}

static int list_tables(struct rows *r, sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(
		db,
		"SELECT name FROM main.sqlite_master WHERE type = 'table' OR name = "
		"'SAMPLING_CALLCHAINS' ORDER BY rowid",
		-1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		char **more;

		rc = SQLITE_OK;
		if (!name || strncmp(name, "sqlite_", 7) == 0 || listed(r, name) ||
		    !table_list_has(&r->wanted, name))
			continue;
		more = reallocarray(r->table, r->table_cnt + 1, sizeof(*more));
		if (!more)
			break;
		r->table = more;
		more[r->table_cnt] = strdup(name);
		if (!more[r->table_cnt])
			break;
		r->table_cnt++;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE && !r->wanted.failed ? 0 : -1;
}

/* Every table that our schema knows, in an empty database. */
static int open_schema(struct rows *r)
{
	const char *sql = NULL;

	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, "schema.sql") == 0)
			sql = sl_embedded[i].text;
	if (!sql || sqlite3_open(":memory:", &r->schema) != SQLITE_OK ||
	    sqlite3_exec(r->schema, sql, NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	return list_tables(r, r->schema);
}

/* ---- which columns ---- */

static bool is_time(const char *table, const char *column)
{
	static const char *const times[] = {"start",   "end",      "timestamp", "startedAt",
					    "endedAt", "openedAt", "closedAt",  "wakeupTime"};

	if (strcmp(table, "SL_MODULES") == 0) /* start and end are addresses */
		return strcmp(column, "since") == 0;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(times[i], column) == 0)
			return true;
	return false;
}

/* SELECT of the file's columns, without the columns that db_read_open() adds to old files. */
static char *select_of(struct rows *r, sqlite3 *db, const char *table)
{
	const struct export_options *o = &r->job->opt;
	sqlite3_str *sql = sqlite3_str_new(r->job->db);
	sqlite3_stmt *stmt = NULL;
	char *info = sqlite3_mprintf("PRAGMA main.table_info(\"%w\")", table);
	const char *comma = "SELECT ";
	int rc = info ? sqlite3_prepare_v2(db, info, -1, &stmt, NULL) : SQLITE_NOMEM;

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1);
		bool json, blob;

		rc = name ? SQLITE_OK : SQLITE_NOMEM;
		if (!name)
			break;
		json = strcmp(name, "jsonText") == 0 || strcmp(name, "jsonTextId") == 0;
		blob = strcmp(name, "binaryData") == 0;
		sqlite3_str_appendall(sql, comma);
		comma = ", ";
		if ((json && !o->include_json) || (blob && !o->include_blobs))
			sqlite3_str_appendf(sql, "NULL AS \"%w\"", name);
		else if (o->shift != 0 && is_time(table, name) && strncmp(table, "ENUM_", 5) != 0)
			/* 0 stands for "not known" where files were opened and closed. */
			sqlite3_str_appendf(sql,
					    strstr(name, "edAt") && name[0] != 's' && name[0] != 'e'
						    ? "nullif(\"%w\", 0) + %lld AS \"%w\""
						    : "\"%w\" + %lld AS \"%w\"",
					    name, (long long)o->shift, name);
		else
			sqlite3_str_appendf(sql, "\"%w\"", name);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(info);
	sqlite3_str_appendf(sql, " FROM \"%w\"", table);
	info = sqlite3_str_finish(sql);
	if (rc == SQLITE_DONE)
		return info;
	sqlite3_free(info);
	return NULL;
}

/* ---- rows ---- */

static int feed(struct rows *r, const char *table, sqlite3_stmt *stmt, bool lazy)
{
	struct tl_options *t = &r->job->timeline;
	int cols = sqlite3_column_count(stmt);
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_DONE && lazy)
		return 0;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		if (r->sink->begin(r->self, table, stmt, cols) < 0)
			return -1;
	}
	while (rc == SQLITE_ROW) {
		if (r->sink->row(r->self, stmt, cols) < 0)
			return -1;
		if (++r->job->events % PROGRESS_EVERY == 0 && t->progress &&
		    t->progress(t->of_progress, r->job->events, r->total) < 0)
			return -1;
		rc = sqlite3_step(stmt);
	}
	if (rc != SQLITE_DONE) {
		snprintf(r->why, r->why_len, "%s: %s%s", table, sqlite3_errmsg(r->job->db),
			 (rc & 0xFF) == SQLITE_CORRUPT ? " (the file is damaged)" : "");
		return -1;
	}
	return r->sink->end(r->self);
}

static int run_table(struct rows *r, const char *table)
{
	sqlite3 *db = r->job->db;
	sqlite3_stmt *stmt = NULL;
	char *sql;
	int rc;

	if (!db_read_has_column(db, table, NULL))
		db = r->schema;
	sql = select_of(r, db, table);
	rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	if (rc != SQLITE_OK)
		snprintf(r->why, r->why_len, "%s: %s", table,
			 sqlite3_errcode(db) ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	sqlite3_free(sql);
	rc = rc == SQLITE_OK ? feed(r, table, stmt, r->job->opt.lazy) : -1;
	sqlite3_finalize(stmt);
	return rc;
}

static void count_rows(struct rows *r)
{
	for (size_t i = 0; i < r->table_cnt; i++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", r->table[i]);
		sqlite3_stmt *stmt = NULL;

		if (sql && (stmt = sql_first(r->job->db, sql)) != NULL &&
		    strcmp(r->table[i], "StringIds") != 0)
			r->total += (uint64_t)sqlite3_column_int64(stmt, 0);
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
}

int rows_run(struct export_job *job, const struct rows_sink *sink, void *self, char *why,
	     size_t why_len)
{
	struct rows r = {.job = job, .sink = sink, .self = self, .why = why, .why_len = why_len};
	int rc = table_list_parse(&r.wanted, job->opt.tables, why, why_len);

	*why = rc < 0 ? *why : '\0';
	if (rc == 0 && (list_tables(&r, job->db) < 0 || (!job->opt.lazy && open_schema(&r) < 0))) {
		rc = sqlite3_errcode(job->db);
		snprintf(why, why_len, "%s",
			 rc == SQLITE_OK || rc == SQLITE_DONE ? "out of memory"
							      : sqlite3_errmsg(job->db));
		rc = -1;
	}
	if (rc == 0 && r.table_cnt == 0) {
		snprintf(why, why_len, "no table fits --tables=%s",
			 job->opt.tables ? job->opt.tables : "");
		rc = -1;
	}
	count_rows(&r);
	for (size_t i = 0; i < r.table_cnt && rc == 0; i++)
		rc = run_table(&r, r.table[i]);
	for (size_t i = 0; i < r.table_cnt; i++)
		free(r.table[i]);
	table_list_free(&r.wanted);
	free(r.table);
	sqlite3_close(r.schema);
	return rc;
}
