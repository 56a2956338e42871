/*
 * db_views.c - one schema for all: views for the tables and columns that a database lacks.
 *
 * A view in the temp schema hides the table of the same name, so views are made only where the
 * table is absent or lacks a column: reports on a complete database read its tables directly.
 */
#include <stdio.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/db_read.h"
#include "exporters/read/db_views.h"

static const struct table {
	const char *name;
	const char *columns; /* separated by spaces */
} tables[] = {
#define TABLE(name, columns) {#name, columns},
#include "exporters/read/compat.def"
#undef TABLE
};

#define TABLE_CNT (sizeof(tables) / sizeof(tables[0]))

/* Views count as tables; SQLite's function for it knows only these. */
static bool view_has_column(sqlite3 *db, const char *view, const char *column)
{
	sqlite3_stmt *stmt = NULL;
	bool has = false;

	if (sqlite3_prepare_v2(
		    db,
		    "SELECT 1 FROM pragma_table_info(?1, 'main') WHERE ?2 IS NULL OR name "
		    "= ?2 COLLATE NOCASE LIMIT 1",
		    -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(stmt, 1, view, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC) == SQLITE_OK)
		has = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return has;
}

/* Whether the file has any view: most have none, and view_has_column() is slow. */
static bool has_views(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	bool has = sqlite3_prepare_v2(db, "SELECT 1 FROM main.sqlite_master WHERE type = 'view'",
				      -1, &stmt, NULL) != SQLITE_OK ||
		   sqlite3_step(stmt) != SQLITE_DONE;

	sqlite3_finalize(stmt);
	return has;
}

/* As db_read_has_column(); without @views only among the tables. */
static bool has_column(sqlite3 *db, bool views, const char *table, const char *column)
{
	if (sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
					  NULL) == SQLITE_OK)
		return true;
	return views &&
	       (!column || sqlite3_table_column_metadata(db, "main", table, NULL, NULL, NULL, NULL,
							 NULL, NULL) != SQLITE_OK) &&
	       view_has_column(db, table, column);
}

bool db_read_has_column(sqlite3 *db, const char *table, const char *column)
{
	return has_column(db, true, table, column);
}

static const struct table *known_table(const char *name)
{
	for (size_t i = 0; i < TABLE_CNT; i++)
		if (sqlite3_stricmp(tables[i].name, name) == 0)
			return &tables[i];
	return NULL;
}

/* Tables that had another name once, or other columns: new=old, or one word where nothing changed. */
static const struct former {
	const char *name, *was, *columns;
} formers[] = {
	{"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU",
	 "id=deviceId name cuDevice=deviceId smCount=numMultiprocessors clockRate=coreClockRate "
	 "maxIPC threadsPerWarp=numThreadsPerWarp maxWarpsPerSm=maxWarpsPerMultiprocessor "
	 "computeMajor=computeCapabilityMajor computeMinor=computeCapabilityMinor"},
	{"TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM",
	 "nullStreamId=streamId hwId vmId processId deviceId contextId"},
};

static const struct former *former_of(const struct table *t)
{
	for (size_t i = 0; i < sizeof(formers) / sizeof(formers[0]); i++)
		if (strcmp(formers[i].name, t->name) == 0)
			return &formers[i];
	return NULL;
}

/* The former name of a column; "" where it is not known. */
static void old_name(const struct former *f, const char *column, char old[64])
{
	old[0] = '\0';
	for (const char *c = f ? f->columns : ""; *c;) {
		int word = (int)strcspn(c, " "), name = (int)strcspn(c, "= ");

		if ((int)strlen(column) == name && memcmp(column, c, (size_t)name) == 0)
			snprintf(old, 64, "%.*s", name < word ? word - name - 1 : word,
				 name < word ? c + name + 1 : c);
		c += word + (c[word] == ' ');
	}
}

/*
 * Columns of compat.def that the table of the file lacks: under its former name, where it has that, else as NULL. True
 * when there are any.
 */
static bool add_missing(sqlite3_str *sql, sqlite3 *db, bool views, const struct table *t,
			const char *comma)
{
	bool there = has_column(db, views, t->name, NULL), any = false;

	for (const char *p = t->columns; *p;) {
		int len = (int)strcspn(p, " ");
		char column[64], old[64];

		snprintf(column, sizeof(column), "%.*s", len, p);
		p += len + (p[len] == ' ');
		if (there && has_column(db, views, t->name, column))
			continue;
		old_name(former_of(t), column, old);
		if (there && *old && has_column(db, views, t->name, old))
			sqlite3_str_appendf(sql, "%s\"%w\" AS \"%w\"", comma, old, column);
		else
			sqlite3_str_appendf(sql, "%sNULL AS \"%w\"", comma, column);
		comma = ", ";
		any = true;
	}
	return any;
}

static int exec_built(sqlite3 *db, sqlite3_str *sql, bool wanted)
{
	char *text = sqlite3_str_finish(sql);
	int rc = SQLITE_OK;

	if (!text)
		return SQLITE_NOMEM;
	if (wanted)
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return rc;
}

/* Adds "SELECT ... FROM" of the table's former name, if the file has that. */
static bool add_former(sqlite3_str *sql, sqlite3 *db, bool views, const struct table *t)
{
	const struct former *f = former_of(t);

	if (!f || !has_column(db, views, f->was, NULL))
		return false;
	for (const char *p = t->columns, *comma = ""; *p; comma = ", ") {
		int len = (int)strcspn(p, " ");
		char column[64], old[64];

		snprintf(column, sizeof(column), "%.*s", len, p);
		p += len + (p[len] == ' ');
		old_name(f, column, old);
		if (*old && has_column(db, views, f->was, old))
			sqlite3_str_appendf(sql, "%s\"%w\" AS \"%w\"", comma, old, column);
		else
			sqlite3_str_appendf(sql, "%sNULL AS \"%w\"", comma, column);
	}
	sqlite3_str_appendf(sql, " FROM main.\"%w\"", f->was);
	return true;
}

/*
 * Enumerations that the file lacks (all, before 2022) have the values of our schema: their numbers do not
 * change. Adds "id, name, label FROM (VALUES ...)".
 */
static bool add_enum(sqlite3_str *sql, const struct table *t)
{
	const struct embedded *e = sl_embedded;
	const char *at, *end;
	char head[96];

	if (strncmp(t->name, "ENUM_", 5) != 0)
		return false;
	while (e->name && strcmp(e->name, "schema.sql") != 0)
		e++;
	snprintf(head, sizeof(head), "INSERT INTO %s VALUES", t->name);
	at = e->name ? strstr(e->text, head) : NULL;
	end = at ? strstr(at, ";\n") : NULL;
	if (!end)
		return false;
	at += strlen(head);
	sqlite3_str_appendf(sql,
			    "column1 AS id, column2 AS name, column3 AS label FROM (VALUES%.*s)",
			    (int)(end - at), at);
	return true;
}

static int add_view(sqlite3 *db, bool views, const struct table *t)
{
	bool there = has_column(db, views, t->name, NULL);
	sqlite3_str *sql = sqlite3_str_new(db);
	bool needed = !there;

	sqlite3_str_appendf(sql, "CREATE TEMP VIEW \"%w\" AS SELECT %s", t->name, there ? "*" : "");
	if (there) {
		needed = add_missing(sql, db, views, t, ", ");
		sqlite3_str_appendf(sql, " FROM main.\"%w\"", t->name);
	} else if (!add_former(sql, db, views, t) && !add_enum(sql, t)) {
		add_missing(sql, db, views, t, "");
		sqlite3_str_appendf(sql, " WHERE 0");
	}
	return exec_built(db, sql, needed);
}

int db_read_narrow(sqlite3 *db, const char *table, const char *from, const char *where)
{
	const struct table *known = known_table(table);
	sqlite3_str *sql = sqlite3_str_new(db);
	sqlite3_stmt *stmt = NULL;
	const char *comma = "";
	int rc = sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1, 'main')", -1, &stmt,
				    NULL);

	sqlite3_str_appendf(sql,
			    "DROP VIEW IF EXISTS temp.\"%w\"; CREATE TEMP VIEW \"%w\" AS SELECT ",
			    table, table);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		sqlite3_str_appendf(sql, "%s\"%w\"", comma,
				    (const char *)sqlite3_column_text(stmt, 0));
		comma = ", ";
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (known)
		add_missing(sql, db, true, known, comma);
	if (from)
		sqlite3_str_appendf(sql, " FROM %s WHERE %s", from, where);
	else
		sqlite3_str_appendf(sql, " FROM main.\"%w\" WHERE %s", table, where);
	if (rc == SQLITE_DONE)
		return exec_built(db, sql, true);
	sqlite3_free(sqlite3_str_finish(sql));
	return rc;
}

int db_read_add_views(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	bool views = has_views(db);

	for (size_t i = 0; i < TABLE_CNT && rc == SQLITE_OK; i++)
		rc = add_view(db, views, &tables[i]);
	if (rc == SQLITE_OK)
		rc = db_read_add_stack_views(db);
	return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

bool db_read_is_unfinished(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	bool is;

	sqlite3_prepare_v2(
		db, "SELECT 1 FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE' AND value = '0'", -1,
		&stmt, NULL);
	is = stmt && sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return is;
}

/* As db_read_has(), of SL_GPU_WORK, or SL_GPU_WORK.kind=KIND. */
static bool has_gpu_work(sqlite3 *db, const char *what)
{
	static const struct {
		const char *kind, *table;
	} kinds[] = {
#define GPU_WORK(kind, name, table, columns) {name, #table},
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
	};
	const char *kind = strchr(what, '=');

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((!kind || strcmp(kind + 1, kinds[i].kind) == 0) &&
		    db_read_has(db, kinds[i].table))
			return true;
	return false;
}

bool db_read_has(sqlite3 *db, const char *what)
{
	size_t len = strcspn(what, ".");
	const char *column = what[len] ? what + len + 1 : NULL, *value = strchr(what, '=');
	char table[128], name[128];
	sqlite3_stmt *stmt = NULL;
	bool has = false;
	char *sql;

	snprintf(table, sizeof(table), "%.*s", (int)len, what);
	if (strcmp(table, "SL_GPU_WORK") == 0)
		return has_gpu_work(db, what);
	if (column && value) {
		snprintf(name, sizeof(name), "%.*s", (int)(value - column), column);
		column = name;
	}
	if (!db_read_has_column(db, table, column))
		return false;
	sql = column && value
		      ? sqlite3_mprintf("SELECT 1 FROM main.\"%w\" WHERE \"%w\" = %Q LIMIT 1",
					table, column, value + 1)
	      : column ? sqlite3_mprintf(
				 "SELECT 1 FROM main.\"%w\" WHERE \"%w\" IS NOT NULL LIMIT 1",
				 table, column)
		       : sqlite3_mprintf("SELECT 1 FROM main.\"%w\" LIMIT 1", table);
	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		has = sqlite3_step(stmt) !=
		      SQLITE_DONE; /* an error shows again in the report itself */
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return has;
}
