/* rank_labels.c - names of processes with their ranks. */
#include "exporters/ranks/rank_labels.h"

#include <stdio.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/sql_rows.h"

#define CPUS_MAX (1 << 20) /* of a host: a report may have anything */

char *label_table(const char *name)
{
	char mark[96];

	snprintf(mark, sizeof(mark), "CREATE TABLE %s (", name);
	for (const struct embedded *e = sl_embedded; e->name; e++) {
		const char *at = strcmp(e->name, "schema.sql") == 0 ? strstr(e->text, mark) : NULL;
		const char *end = at ? strstr(at, "\n);") : NULL;

		if (end)
			return sqlite3_mprintf("%.*s", (int)(end - at + 3), at);
	}
	return NULL;
}

static int exec(sqlite3 *db, char *sql)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
}

static int64_t cpus_of(sqlite3 *db)
{
	static const char *const most[] = {"SELECT max(cpu) + 1 FROM SCHED_EVENTS",
					   "SELECT max(cpu) + 1 FROM COMPOSITE_EVENTS",
					   "SELECT max(cpu) + 1 FROM PMU_EVENTS"};
	int64_t cpus = 0;

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		int64_t n = sql_number(db, most[i], 0);

		cpus = n > cpus ? n : cpus;
	}
	return cpus < CPUS_MAX ? cpus : CPUS_MAX;
}

/* Exports of nsys may lack the table; names there are paths, of which the last part is shown. */
static int label(sqlite3 *db, const struct rollup_processes *p)
{
	const char *host = *p->host ? p->host : NULL;
	int rc = SQLITE_OK;

	if (!sql_number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'PROCESSES'", 0)) {
		rc = exec(db, label_table("PROCESSES"));
		if (rc == SQLITE_OK)
			rc = exec(db, sqlite3_mprintf("INSERT INTO PROCESSES SELECT column1 << 24, "
						      "column1 & 16777215, NULL FROM (VALUES %s)",
						      p->pairs));
	}
	if (rc == SQLITE_OK)
		rc = exec(db, label_table("SL_RANK_PROCESSES"));
	if (rc == SQLITE_OK)
		rc = exec(db,
			  sqlite3_mprintf(
				  "INSERT INTO SL_RANK_PROCESSES SELECT column1 << 24, column2, %Q "
				  "FROM (VALUES %s) WHERE column1 << 24 IN (SELECT globalPid FROM "
				  "PROCESSES)",
				  host, p->pairs));
	if (rc == SQLITE_OK)
		rc = exec(
			db,
			sqlite3_mprintf(
				"UPDATE PROCESSES SET name = printf('rank %%d%%s', r.rank, "
				"coalesce(', ' || r.host, '')) || coalesce(': ' || "
				"replace(name, rtrim(name, replace(name, '/', '')), ''), '') FROM "
				"SL_RANK_PROCESSES AS r WHERE r.globalPid = PROCESSES.globalPid"));
	return rc;
}

int label_report(const char *path, const struct rollup_processes *p, int64_t *cpus, char *why,
		 size_t why_len)
{
	sqlite3 *db;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN",
				  NULL, NULL, NULL);
	/* A report cut from a labelled report has its labels already. */
	if (rc == SQLITE_OK &&
	    !sql_number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'SL_RANK_PROCESSES'",
			0))
		rc = label(db, p);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		snprintf(why, why_len, "%s: %s", path, sqlite3_errmsg(db));
	*cpus = rc == SQLITE_OK ? cpus_of(db) : 0;
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : -1;
}
