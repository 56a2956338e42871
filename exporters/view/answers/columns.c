/* columns.c - schema.sql, as it is part of the binary, read for its comments. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/sql_rows.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"
#include "exporters/view/answers/columns.h"

static const char *schema_of(const char *table)
{
	char head[128];
	const char *at = NULL;

	snprintf(head, sizeof(head), "CREATE TABLE %.100s (", table);
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			at = strstr(e->text, head);
	return at ? at + strlen(head) : NULL;
}

/* "StringIds", "ENUM_...": where the text of a value is; "" when the number is all there is. */
static void view_column_refers(const char *table, const char *column, char *to, size_t len)
{
	const char *p = schema_of(table);
	size_t want = strlen(column);

	*to = '\0';
	while (p && *p && *p != ')') {
		const char *end = strchr(p, '\n'), *arrow;

		if (!end)
			return;
		while (p < end && isspace((unsigned char)*p))
			p++;
		arrow = strstr(p, "-> ");
		if (strncmp(p, column, want) == 0 && isspace((unsigned char)p[want])) {
			if (arrow && arrow < end)
				snprintf(to, len, "%.*s", (int)strcspn(arrow + 3, ".\n"),
					 arrow + 3);
			return;
		}
		if (*p == ')')
			return;
		p = end + 1;
	}
}

static char *query_text(sqlite3 *db, const char *sql, int64_t id)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (sql && (stmt = sql_first_of(db, sql, id)) != NULL && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}

char *view_string(sqlite3 *db, int64_t id)
{
	return query_text(db, "SELECT value FROM StringIds WHERE id = ?1", id);
}

char *view_column_text(sqlite3 *db, const char *table, const char *column, sqlite3_value *value)
{
	int64_t number = sqlite3_value_int64(value);
	char to[64], *sql, *text = NULL;

	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return NULL;
	if (strcmp(column, "globalTid") == 0 || strcmp(column, "globalPid") == 0 ||
	    strcmp(column, "endGlobalTid") == 0) {
		if (asprintf(&text, "pid %lld, tid %lld", (long long)TL_PID(number),
			     (long long)TL_TID(number)) < 0)
			return NULL;
		return text;
	}
	view_column_refers(table, column, to, sizeof(to));
	if (strcmp(to, "StringIds") == 0)
		return view_string(db, number);
	if (strncmp(to, "ENUM_", 5) != 0)
		return NULL;
	sql = sqlite3_mprintf("SELECT label FROM \"%w\" WHERE id = ?1", to);
	text = query_text(db, sql, number);
	sqlite3_free(sql);
	return text;
}

bool view_has_own_stacks(sqlite3 *db)
{
	return sqlite3_table_column_metadata(db, "main", "SL_STACKS", "id", NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

int view_stack_kind(const char *table)
{
	return strcmp(table, "COMPOSITE_EVENTS") == 0 ? 0
	       : strcmp(table, "OSRT_API") == 0       ? 1
	       : strcmp(table, "SYSCALL") == 0        ? 3
						      : 2;
}

sqlite3_stmt *view_frames_open(sqlite3 *db, int kind)
{
	static const char own[] = "SELECT symbol, module, file, line, kind = 2, kind = 1, inlined "
				  "FROM SL_STACKS AS s JOIN SL_FRAMES AS f ON f.id = s.frameId "
				  "WHERE s.id = ?1 ORDER BY s.depth";
	static const char *const theirs[] = {"SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS",
					     "CUDA_CALLCHAINS", "SYSCALL_CALLCHAINS"};
	sqlite3_stmt *stmt = NULL;
	char *sql = view_has_own_stacks(db)
			    ? sqlite3_mprintf("%s", own)
			    : sqlite3_mprintf("SELECT symbol, module, file, line, kernelMode, 0, 0 "
					      "FROM %s WHERE id = ?1 ORDER BY stackDepth",
					      theirs[kind & 3]);

	if (!sql || sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		stmt = NULL;
	sqlite3_free(sql);
	return stmt;
}
