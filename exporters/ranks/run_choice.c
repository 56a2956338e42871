/* run_choice.c - the newest run, the engine that is there. */
#include "exporters/ranks/run_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"

#define WHY_TEXT 2048

static int run_of(sqlite3 *db, const char *asked, char *run, size_t len)
{
	static const char sql[] =
		"SELECT run FROM manifest WHERE ?1 IS NULL OR run = ?1 ORDER BY start DESC";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, asked, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			snprintf(run, len, "%s", (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return rc;
}

int choose_run(const char *command, struct ask *a, struct chosen *to)
{
	char why[WHY_TEXT];
	/* Those of other runs are as many files for nothing. */
	bool is_one = a->run && !a->base && !a->all_views;
	sqlite3 *db = manifests_read(a->folder, is_one ? a->run : NULL, why, sizeof(why));
	int rc;

	memset(to, 0, sizeof(*to));
	if (!db) {
		sl_warn("%s: %s", command, why);
		return SL_EXIT_FAIL;
	}
	rc = run_of(db, a->run, to->run, sizeof(to->run));
	if (rc == SQLITE_OK)
		rc = older_find(db, &to->older);
	if (rc == SQLITE_OK)
		rc = packs_find(db, &to->packs);
	if (rc == SQLITE_OK && *to->run)
		rc = coverage_find(db, to->run, &to->coverage);
	if (rc != SQLITE_OK)
		sl_warn("%s: %s", command, sqlite3_errmsg(db));
	sqlite3_close(db);
	if (rc == SQLITE_OK && !*to->run) {
		if (a->run)
			sl_warn("%s: %s has no run %s ('sightline ranks check' shows them)",
				command, a->folder, a->run);
		else
			sl_warn("%s: %s has no run: 'sightline ranks add' puts reports into it",
				command, a->folder);
	}
	if (rc != SQLITE_OK || !*to->run)
		return SL_EXIT_FAIL;
	a->run = to->run;
	a->older = &to->older;
	a->packs = &to->packs;
	if (realpath(a->folder, to->folder))
		a->folder = to->folder;
	return 0;
}

int choose_engine(const char *command, struct ask *a)
{
	if (!a->engine)
		a->engine = ask_engine();
	if (a->engine)
		return 0;
	sl_warn("%s: no engine is in PATH: 'pip install duckdb-cli' installs one; 'sightline ranks "
		"sql' prints what it would run",
		command);
	return SL_EXIT_FAIL;
}

void choose_free(struct chosen *c)
{
	older_free(&c->older);
	packs_free(&c->packs);
}
