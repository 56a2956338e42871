/* functions.c - adds the SQL functions to a connection. */
#include "exporters/sql/functions.h"
#include "exporters/read/functions.h"
#include "exporters/read/gpu_numbers.h"
#include "exporters/read/nvtx_domains.h"
#include "exporters/sql/tables/hist.h"
#include "exporters/sql/modules.h"
#include "exporters/sql/projection.h"
#include "exporters/sql/sweeps.h"

int sql_functions(sqlite3 *db, const struct percentiles *p)
{
	struct hist_of_db *tables;
	int rc = hist_register(db, p, &tables);

	if (rc == SQLITE_OK)
		rc = projection_register(db, tables);
	if (rc == SQLITE_OK)
		rc = functions_register(db);
	if (rc == SQLITE_OK)
		rc = gpu_numbers_register(db);
	if (rc == SQLITE_OK)
		rc = nvtx_domains_register(db);
	if (rc == SQLITE_OK)
		rc = modules_register(db);
	return rc == SQLITE_OK ? sweeps_register(db) : rc;
}
