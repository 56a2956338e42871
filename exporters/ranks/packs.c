/* packs.c - manifests of packs: what counts of them. */
#include "exporters/ranks/packs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/store/shared_folder.h"

/* state: 0 it counts, 1 likewise, and its files are there still, 2 another part has taken its place. */
const char packs_tables[] = "CREATE TABLE pack(run, generation, json);"
			    "CREATE TABLE packed(run, node, json, state);"
			    "CREATE INDEX packed_of ON packed(run, node);"
			    "CREATE INDEX text_of ON text(run, node);";

static int run_with(sqlite3 *db, const char *sql, const char *const *texts, size_t cnt, bool *any)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	for (size_t i = 0; rc == SQLITE_OK && i < cnt; i++)
		rc = sqlite3_bind_text(stmt, (int)i + 1, texts[i], -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (any)
		*any = rc == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Folders and statements have names of it: that of the generation and of each node. False: one is none. */
static bool has_names(sqlite3 *db, const char *json)
{
	static const char sql[] =
		"SELECT ?1 ->> 'generation' UNION ALL SELECT CASE type WHEN 'object' THEN "
		"coalesce(value ->> 'node', '') ELSE '' END FROM json_each(?1, '$.parts')";
	sqlite3_stmt *stmt = NULL;
	bool ok = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK;

	if (ok)
		sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
	while (ok && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		ok = name && dataset_word(name);
	}
	sqlite3_finalize(stmt);
	return ok;
}

int packs_read(sqlite3 *db, const char *folder, const char *run)
{
	char path[4096];
	char *json;
	const char *texts[] = {run, NULL};
	bool is_json = false;
	int rc;

	snprintf(path, sizeof(path), "%s/_nodes/run=%s/" PACKS_MANIFEST, folder, run);
	json = access(path, F_OK) == 0 ? shared_file_read(path, DATASET_MANIFEST_MAX) : NULL;
	if (!json)
		return SQLITE_OK;
	texts[1] = json;
	rc = run_with(db, "SELECT 1 WHERE json_valid(?2) AND ?1 IS NOT NULL", texts, 2, &is_json);
	if (rc == SQLITE_OK && (!is_json || !has_names(db, json)))
		rc = run_with(db, "INSERT INTO bad VALUES(?1, '(packed)', 'its manifest is none')",
			      texts, 1, NULL);
	else if (rc == SQLITE_OK)
		rc = run_with(db, "INSERT INTO pack SELECT ?1, ?2 ->> 'generation', json(?2)",
			      texts, 2, NULL);
	if (rc == SQLITE_OK && is_json)
		rc = run_with(db,
			      "INSERT INTO packed SELECT p.run, value ->> 'node', value, 0 FROM "
			      "pack AS p, json_each(p.json, '$.parts') WHERE p.run = ?1",
			      texts, 1, NULL);
	if (rc == SQLITE_OK && is_json)
		rc = run_with(db,
			      "INSERT INTO text SELECT run, node, json_remove(json, '$.files') "
			      "FROM packed WHERE run = ?1",
			      texts, 1, NULL);
	free(json);
	return rc;
}

bool packs_has(sqlite3 *db, const char *run, const char *node, const char *json)
{
	const char *texts[] = {run, node, json};
	bool is_packed = false;

	if (run_with(db, "SELECT 1 FROM packed WHERE run = ?1 AND node = ?2", texts, 2,
		     &is_packed) != SQLITE_OK ||
	    !is_packed)
		return false;
	if (run_with(db,
		     "UPDATE packed SET state = 1 WHERE run = ?1 AND node = ?2 AND json_valid(?3) "
		     "AND json = json(?3)",
		     texts, 3, NULL) == SQLITE_OK &&
	    sqlite3_changes(db))
		return true;
	run_with(db, "UPDATE packed SET state = 2 WHERE run = ?1 AND node = ?2", texts, 2, NULL);
	run_with(db, "DELETE FROM text WHERE run = ?1 AND node = ?2", texts, 2, NULL);
	return false;
}

/* A column of a row as a copy; NULL: NULL, or no memory. */
static char *copy(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return text ? strdup(text) : NULL;
}

/* run, folder, tables, nodes, replaced, whether all of it counts from there */
static const char packs_sql[] =
	"SELECT p.run, '_packed/run=' || p.run || '/' || p.generation, ' ' || coalesce((SELECT "
	"group_concat(value ->> 'table', ' ') FROM json_each(p.json, '$.files') WHERE type = "
	"'object'), '') || ' ', coalesce((SELECT group_concat('''' || node || '''', ', ') FROM "
	"packed AS k WHERE k.run = p.run AND state < 2), 'NULL'), (SELECT group_concat('''' || "
	"node || '''', ', ') FROM packed AS k WHERE k.run = p.run AND state = 2), NOT EXISTS "
	"(SELECT 1 FROM text AS t WHERE t.run = p.run AND t.node NOT IN (SELECT node FROM packed "
	"AS k WHERE k.run = p.run)) FROM pack AS p";

int packs_find(sqlite3 *db, struct packs *p)
{
	sqlite3_stmt *stmt = NULL;
	size_t room = 0;
	int rc = sqlite3_prepare_v2(db, packs_sql, -1, &stmt, NULL);

	memset(p, 0, sizeof(*p));
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct pack *k;

		if (!grow(&p->list, p->cnt, &room, sizeof(*p->list))) {
			rc = SQLITE_NOMEM;
			break;
		}
		k = &p->list[p->cnt++];
		*k = (struct pack){copy(stmt, 0), copy(stmt, 1), copy(stmt, 2),
				   copy(stmt, 3), copy(stmt, 4), false};
		k->is_whole = !k->replaced && sqlite3_column_int(stmt, 5);
		rc = k->run && k->folder && k->tables && k->nodes ? SQLITE_OK : SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void packs_free(struct packs *p)
{
	for (size_t i = 0; i < p->cnt; i++) {
		free(p->list[i].run);
		free(p->list[i].folder);
		free(p->list[i].tables);
		free(p->list[i].nodes);
		free(p->list[i].replaced);
	}
	free(p->list);
	memset(p, 0, sizeof(*p));
}

bool pack_has_table(const struct pack *p, const char *table)
{
	char word[128];

	snprintf(word, sizeof(word), " %s ", table);
	return strstr(p->tables, word) != NULL;
}
