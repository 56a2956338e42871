/* vtab.c - tables that are computed. */
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/vtab.h"

int vtab_connect(sqlite3 *db, void *of, const char *columns, sqlite3_vtab **out)
{
	struct vtab *v = sqlite3_malloc(sizeof(*v));
	int rc = sqlite3_declare_vtab(db, columns);

	if (!v)
		return SQLITE_NOMEM;
	memset(v, 0, sizeof(*v));
	v->db = db;
	v->of = of;
	*out = &v->base;
	return rc;
}

int vtab_disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

int vtab_open(size_t size, sqlite3_vtab_cursor **out)
{
	*out = calloc(1, size); /* aligned to 16, as sqlite3_malloc() is not */
	return *out ? SQLITE_OK : SQLITE_NOMEM;
}

int vtab_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}
