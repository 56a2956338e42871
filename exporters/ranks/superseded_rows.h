/*
 * superseded_rows.h - rows that newer ones have replaced: of a rank that is in the reports of several nodes (a node was replaced while the
 * job went on), the newest count, and of a rank that was started again in place, the last start.
 */
#pragma once

#include <stdio.h>

#include "exporters/read/db_read.h"

struct older {
	char *sql;      /* condition for tables with ranks; NULL: nothing is older */
	char *restarts; /* likewise, for those with restarts too */
};

/* Finds older rows by the manifests (manifests_read). SQLite's result code. */
int older_find(sqlite3 *manifests, struct older *o);
void older_free(struct older *o);
