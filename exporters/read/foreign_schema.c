/*
 * foreign_schema.c - SQLite reads the first statement of a text in sqlite_master and keeps the text behind it: sqlite3_exec()
 * of such a text would run all of it, ATTACH of any file included.
 */
#include "exporters/read/foreign_schema.h"

#include <string.h>

/* The actions that CREATE TABLE, INDEX and VIEW need; by SQLite's documentation of sqlite3_set_authorizer(). */
static int authorize(void *self, int action, const char *a, const char *b, const char *database,
		     const char *trigger)
{
	(void)self;
	(void)b;
	(void)trigger;
	switch (action) {
	case SQLITE_CREATE_TABLE:
	case SQLITE_CREATE_INDEX:
	case SQLITE_CREATE_VIEW:
		return database && strcmp(database, "main") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_INSERT:
	case SQLITE_UPDATE: /* of the schema's own table, by the statement itself */
		return strncmp(a, "sqlite_", 7) == 0 && database && strcmp(database, "main") == 0
			       ? SQLITE_OK
			       : SQLITE_DENY;
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_REINDEX: /* an index is filled */
		return SQLITE_OK;
	default: /* SQLITE_SELECT, too: CREATE TABLE ... AS is never in a schema, and a view's is not asked for yet */
		return SQLITE_DENY;
	}
}

static const char *skip_blank(const char *p)
{
	return p + strspn(p, " \t\r\n\f;");
}

int foreign_schema_make(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	const char *rest = NULL;
	int rc;

	sqlite3_set_authorizer(db, authorize, NULL);
	rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &rest);
	if (rc == SQLITE_OK && (!stmt || *skip_blank(rest)))
		rc = SQLITE_AUTH;
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(stmt);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc == SQLITE_ROW ? SQLITE_AUTH : rc;
	}
	sqlite3_finalize(stmt);
	sqlite3_set_authorizer(db, NULL, NULL);
	return rc;
}
