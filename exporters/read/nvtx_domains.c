/* nvtx_domains.c - the view of names of NVTX domains. */
#include "exporters/read/nvtx_domains.h"

#include <stddef.h>

int nvtx_domains_register(sqlite3 *db)
{
	return sqlite3_exec(db,
			    "CREATE TEMP VIEW IF NOT EXISTS SL_NVTX_DOMAINS AS SELECT globalTid >> "
			    "24 AS process, domainId AS domain, min(coalesce(text, value)) AS name "
			    "FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId WHERE "
			    "eventType = 75 GROUP BY 1, 2",
			    NULL, NULL, NULL);
}
