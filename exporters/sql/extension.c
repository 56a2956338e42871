/* extension.c - entry point of libsightline_sql.so, the SQL functions as an extension: ".load libsightline_sql". */
#include <stddef.h>

#include "exporters/sql/extension.h"
#include "exporters/sql/functions.h"

SQLITE_EXTENSION_INIT1

/* SQLite makes the name from that of the file. */
__attribute__((visibility("default"))) int sqlite3_sightlinesql_init(
	sqlite3 *db, char **why, const sqlite3_api_routines *api);

int sqlite3_sightlinesql_init(sqlite3 *db, char **why, const sqlite3_api_routines *api)
{
	(void)why;
	SQLITE_EXTENSION_INIT2(api);
	return sql_functions(db, NULL);
}
