/* superseded_rows.c - which rows newer ones have replaced, as conditions of SQL that DuckDB and Spark both know. */
#include "exporters/ranks/superseded_rows.h"

#include <string.h>

/* run, node, ranks: of which another node has newer rows. */
static const char nodes_sql[] =
	"SELECT run, node, group_concat(DISTINCT rank) FROM (SELECT r.run, r.node, r.rank, "
	"first_value(r.node) OVER (PARTITION BY r.run, r.rank ORDER BY r.restart DESC, m.start "
	"DESC, r.node) AS best FROM rank AS r JOIN manifest AS m USING (run, node) WHERE "
	"typeof(r.rank) = 'integer') WHERE node <> best GROUP BY run, node";

/* run, rank, restart: the last start of ranks that were started again. */
static const char restarts_sql[] =
	"SELECT run, rank, max(restart) FROM rank WHERE typeof(rank) = 'integer' AND "
	"typeof(restart) = 'integer' GROUP BY run, rank HAVING min(restart) < max(restart)";

/* A condition for each row, after @before. SQLite's result code; *to NULL: there are none. */
static int conditions(sqlite3 *db, const char *sql, const char *form, const char *before, char **to)
{
	sqlite3_str *text = sqlite3_str_new(db);
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (before)
		sqlite3_str_appendall(text, before);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		sqlite3_str_appendall(text, sqlite3_str_length(text) ? " AND " : "");
		sqlite3_str_appendf(text, form, sqlite3_column_text(stmt, 0),
				    sqlite3_column_text(stmt, 1), sqlite3_column_text(stmt, 2));
		rc = sqlite3_str_errcode(text);
	}
	sqlite3_finalize(stmt);
	*to = sqlite3_str_finish(text);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int older_find(sqlite3 *manifests, struct older *o)
{
	int rc;

	memset(o, 0, sizeof(*o));
	rc = conditions(manifests, nodes_sql,
			"NOT (run = '%q' AND node = '%q' AND coalesce(\"rank\", -1) IN (%s))", NULL,
			&o->sql);
	if (rc == SQLITE_OK)
		rc = conditions(manifests, restarts_sql,
				"NOT (run = '%q' AND \"rank\" = %s AND coalesce(\"restart\", 0) < "
				"%s)",
				o->sql, &o->restarts);
	return rc;
}

void older_free(struct older *o)
{
	sqlite3_free(o->sql);
	sqlite3_free(o->restarts);
	memset(o, 0, sizeof(*o));
}
