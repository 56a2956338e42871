/* manifests.c - reads the manifests of a dataset. */
#include "exporters/ranks/manifests.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/packs.h"
#include "exporters/ranks/store/part_lock.h"
#include "exporters/ranks/store/shared_folder.h"

/*
 * A manifest may hold anything: a value that is no object is no rank and no file. (A text that is no JSON would end the
 * query.)
 */
static const char tables_sql[] = "CREATE TABLE text(run, node, json);"
				 "CREATE TABLE bad(run, node, why);";
/* Once all are read: a view would go through the whole of a text for each of its ranks. */
static const char values_sql[] =
	"CREATE TABLE manifest AS SELECT run, node, json ->> 'job' AS job, "
	"json ->> 'start' AS start, json ->> 'end' "
	"AS \"end\", json ->> 'lost' AS lost, json ->> 'synchronized' AS "
	"synchronized, json ->> 'maxErrorNs' AS "
	"maxErrorNs, json ->> 'version' AS version, json ->> 'unnamed' AS unnamed FROM text;"
	"CREATE TABLE rank AS SELECT run, node, value ->> 'rank' AS rank, "
	"value ->> 'restart' AS restart, value ->> "
	"'worldSize' AS worldSize, value ->> 'host' AS host, value ->> "
	"'complete' AS complete, value ->> 'lost' AS "
	"lost, value ->> 'steps' AS steps, value ->> 'collectives' AS "
	"collectives, value ->> 'gpu' AS gpu, value "
	"->> 'report' AS report, value ->> 'version' AS version, value "
	"->> 'ncclRank' AS ncclRank, value ->> 'source' AS source FROM "
	"text, json_each(text.json, '$.ranks') AS e WHERE e.type = "
	"'object';"
	"CREATE TABLE file AS SELECT run, node, value ->> 'table' AS name, "
	"value ->> 'rows' AS rows, value ->> "
	"'bytes' AS bytes FROM text, json_each(text.json, '$.files') AS e "
	"WHERE e.type = 'object';"
	"INSERT INTO file SELECT run, '(packed)', value ->> 'table', value ->> 'rows', value ->> "
	"'bytes' FROM pack, json_each(pack.json, '$.files') AS e WHERE e.type = 'object';"
	"CREATE INDEX rank_of ON rank(run, rank, node); CREATE INDEX file_of ON file(run);";

static int make_tables(sqlite3 *db)
{
	int rc = sqlite3_exec(db, tables_sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? sqlite3_exec(db, packs_tables, NULL, NULL, NULL) : rc;
}

static int bad(sqlite3 *db, const char *run, const char *node, const char *why)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO bad VALUES(?, ?, ?)", -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(stmt, 1, run, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(stmt, 2, node, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(stmt, 3, why, -1, SQLITE_TRANSIENT);
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int add_one(sqlite3 *db, const char *run, const char *node, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	char *json = shared_file_read(path, DATASET_MANIFEST_MAX);
	int rc;

	if (!json)
		return bad(db, run, node, "its manifest cannot be read");
	if (packs_has(db, run, node, json)) {
		free(json);
		return SQLITE_OK;
	}
	rc = sqlite3_prepare_v2(db, "INSERT INTO text SELECT ?1, ?2, ?3 WHERE json_valid(?3)", -1,
				&stmt, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, run, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, node, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, json, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	sqlite3_finalize(stmt);
	free(json);
	if (rc == SQLITE_OK && !sqlite3_changes(db))
		rc = bad(db, run, node, "its manifest is no JSON");
	return rc;
}

/* ".node=NAME.json.ready": of a writer that was stopped; or that is not done yet, which does no harm. */
static int finish(sqlite3 *db, const char *folder, const char *run, const char *name)
{
	size_t len = strlen(name);
	char node[256];
	int lock, rc;

	if (strncmp(name, ".node=", 6) != 0 || len < 18 ||
	    strcmp(name + len - 11, ".json.ready") != 0)
		return SQLITE_OK;
	snprintf(node, sizeof(node), "%.*s", (int)(len - 17), name + 6);
	if (!dataset_word(run) || !dataset_word(node))
		return SQLITE_OK;
	/* The writer is at work: it puts its files in place itself. */
	lock = part_lock(folder, run, node, PART_READ);
	rc = lock == -EAGAIN ? 0 : dataset_finish(folder, run, node);
	part_unlock(lock);
	return rc == 0 ? SQLITE_OK
		       : bad(db, run, node,
			     "it was not added to the end, and its files cannot be put in place");
}

static int finish_run(sqlite3 *db, const char *folder, const char *run)
{
	char path[4096];
	DIR *dir;
	const struct dirent *e;
	int rc = SQLITE_OK;

	snprintf(path, sizeof(path), "%s/_nodes/run=%s", folder, run);
	dir = opendir(path);
	while (rc == SQLITE_OK && dir && (e = readdir(dir)))
		rc = finish(db, folder, run, e->d_name);
	if (dir)
		closedir(dir);
	return rc;
}

/* The node of "node=NAME.json"; false: the file is no manifest. */
static bool node_of(const char *name, char node[256])
{
	size_t len = strlen(name);

	if (strncmp(name, "node=", 5) != 0 || len < 11 || strcmp(name + len - 5, ".json") != 0)
		return false;
	snprintf(node, 256, "%.*s", (int)(len - 10), name + 5);
	return true;
}

static int add_run(sqlite3 *db, const char *folder, const char *run)
{
	char path[4096];
	DIR *dir;
	const struct dirent *e;
	int rc = SQLITE_OK;

	/* Names go into statements of DuckDB and Spark and to terminals. */
	if (!dataset_word(run))
		return bad(db, "?", "?", "there is a folder run=... whose name is none of a run");
	rc = packs_read(db, folder, run);
	snprintf(path, sizeof(path), "%s/_nodes/run=%s", folder, run);
	dir = opendir(path);
	while (rc == SQLITE_OK && dir && (e = readdir(dir))) {
		char node[256];

		if (!node_of(e->d_name, node))
			continue;
		snprintf(path, sizeof(path), "%s/_nodes/run=%s/%s", folder, run, e->d_name);
		rc = dataset_word(node) ? add_one(db, run, node, path)
					: bad(db, run, "?", "a manifest's name is none of a node");
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* One that cannot be read is none. @all: how many are there. */
static int count_all(sqlite3 *db, int64_t *all)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT count(*) FROM text", -1, &stmt, NULL);

	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		*all = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc;
}

static int add_near(sqlite3 *db, const char *folder, const char *run, const char *own)
{
	char *path = dataset_manifest(folder, run, own), *slash;
	int rc = path ? SQLITE_OK : SQLITE_NOMEM;
	int64_t had = 0, all = 0;
	const struct dirent *e;
	DIR *dir = NULL;

	if (rc == SQLITE_OK)
		rc = packs_read(db, folder, run);
	if (rc == SQLITE_OK && access(path, F_OK) == 0)
		rc = add_one(db, run, own, path);
	if (rc == SQLITE_OK)
		rc = count_all(db, &had);
	if (path && (slash = strrchr(path, '/'))) {
		*slash = 0;
		dir = opendir(path);
	}
	all = had;
	while (rc == SQLITE_OK && dir && all == had && (e = readdir(dir))) {
		char node[256], *other;

		if (!node_of(e->d_name, node) || !dataset_word(node) || strcmp(node, own) == 0)
			continue;
		other = dataset_manifest(folder, run, node);
		rc = other ? add_one(db, run, node, other) : SQLITE_NOMEM;
		free(other);
		if (rc == SQLITE_OK)
			rc = count_all(db, &all);
	}
	if (dir)
		closedir(dir);
	free(path);
	return rc;
}

sqlite3 *manifests_near(const char *folder, const char *run, const char *node, char *why,
			size_t why_len)
{
	sqlite3 *db;
	int rc = sqlite3_open(":memory:", &db);

	if (rc == SQLITE_OK)
		rc = make_tables(db);
	if (rc == SQLITE_OK && dataset_word(run) && dataset_word(node))
		rc = add_near(db, folder, run, node);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, values_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return db;
	snprintf(why, why_len, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return NULL;
}

sqlite3 *manifests_read(const char *folder, const char *run, char *why, size_t why_len)
{
	char path[4096];
	sqlite3 *db;
	DIR *dir;
	const struct dirent *e;
	int rc = sqlite3_open(":memory:", &db);

	if (rc == SQLITE_OK)
		rc = make_tables(db);
	if (access(folder, F_OK) < 0) {
		snprintf(why, why_len, "%s: %s", folder, strerror(errno));
		sqlite3_close(db);
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/_nodes", folder);
	dir = opendir(path);
	while (rc == SQLITE_OK && dir && (e = readdir(dir)))
		if (strncmp(e->d_name, "run=", 4) == 0 &&
		    (!run || strcmp(e->d_name + 4, run) == 0)) {
			if (dataset_word(e->d_name + 4))
				rc = finish_run(db, folder, e->d_name + 4);
			if (rc == SQLITE_OK)
				rc = add_run(db, folder, e->d_name + 4);
		}
	if (dir)
		closedir(dir);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, values_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return db;
	snprintf(why, why_len, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return NULL;
}

/* ---- files ---- */

/* The fault of a file of so many bytes, -1: any; NULL: none. */
static const char *wrong_with(const char *path, int64_t bytes)
{
	char marks[8] = "";
	struct stat st;
	int fd = plain_file_open(path, false, &st);
	bool ok;

	if (fd < 0)
		return access(path, F_OK) < 0 ? "is not there" : "is no plain file";
	ok = (bytes < 0 || st.st_size == bytes) && st.st_size >= 8 && pread(fd, marks, 4, 0) == 4 &&
	     pread(fd, marks + 4, 4, st.st_size - 4) == 4 && memcmp(marks, "PAR1PAR1", 8) == 0;
	close(fd);
	return ok ? NULL : "is cut off, or has been changed";
}

/* ".../SL_STEPS/run=R/node=N/part-0.parquet" -> "FOLDER/_bad/SL_STEPS-R-N.parquet". Whether that was done. */
static bool move_aside(const char *folder, const char *table, const char *run, const char *node,
		       const char *path)
{
	char to[4096];
	const char *name;
	int from = shared_folder_of(folder, path, false, &name),
	    aside = from < 0 ? -1 : shared_folder_open(folder, "_bad", true);
	bool done;

	snprintf(to, sizeof(to), "%s-%s-%s.parquet", table, run, node);
	done = aside >= 0 && renameat(from, name, aside, to) == 0;
	if (aside >= 0)
		close(aside);
	if (from >= 0)
		close(from);
	return done;
}

/* The size that the manifest, read anew, has for the table; -2: another part is there now, or the part is gone. */
static int64_t bytes_now(sqlite3 *db, const char *folder, const char *run, const char *node,
			 const char *table)
{
	static const char sql[] = "SELECT value ->> 'bytes' FROM json_each(?1, '$.files') WHERE "
				  "CAST(value ->> 'table' AS TEXT) = ?2 AND json_valid(?1)";
	char *path = dataset_manifest(folder, run, node);
	char *json = path ? shared_file_read(path, DATASET_MANIFEST_MAX) : NULL;
	sqlite3_stmt *stmt = NULL;
	int64_t bytes = -2;

	if (json && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, table, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			bytes = sqlite3_column_type(stmt, 0) == SQLITE_NULL
					? -1
					: sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	free(json);
	free(path);
	return bytes;
}

/*
 * A file that did not fit the manifest read before is looked at again, with the manifest of now and while no writer is at work: a part
 * may have been added meanwhile. The fault, or NULL; @moved: whether a file that no engine can read was moved to _bad.
 */
static const char *wrong_still(sqlite3 *db, const char *folder, const char *run, const char *node,
			       const char *table, const char *path, bool repair, bool *moved)
{
	int lock = part_lock(folder, run, node, repair ? PART_WRITE : PART_READ);
	const char *wrong = NULL;
	int64_t bytes;

	if (lock == -EAGAIN)
		return NULL;
	bytes = bytes_now(db, folder, run, node, table);
	if (bytes >= -1)
		wrong = wrong_with(path, bytes);
	*moved = wrong && repair && strcmp(wrong, "is not there") != 0 &&
		 move_aside(folder, table, run, node, path);
	part_unlock(lock);
	return wrong;
}

/* Files of packs are not moved: without one of them the whole run would lack its table. */
static int check_packs(sqlite3 *db, const char *folder)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT f.run, generation, name, bytes FROM file AS f JOIN "
				    "pack USING (run) WHERE node = '(packed)'",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *run = (const char *)sqlite3_column_text(stmt, 0);
		const char *table = (const char *)sqlite3_column_text(stmt, 2), *wrong;
		char path[4096], text[512];

		if (!table || !dataset_word(table))
			continue;
		snprintf(path, sizeof(path), "%s/_packed/run=%s/%s/%s.parquet", folder, run,
			 (const char *)sqlite3_column_text(stmt, 1), table);
		wrong = wrong_with(path, sqlite3_column_int64(stmt, 3));
		snprintf(text, sizeof(text), "%s %s", table, wrong ? wrong : "");
		if (wrong)
			rc = bad(db, run, "(packed)", text);
	}
	sqlite3_finalize(stmt);
	return rc;
}

int manifests_check_files(sqlite3 *db, const char *folder, bool repair)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT run, node, name, bytes FROM file", -1, &stmt, NULL);

	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *run = (const char *)sqlite3_column_text(stmt, 0);
		const char *node = (const char *)sqlite3_column_text(stmt, 1);
		const char *table = (const char *)sqlite3_column_text(stmt, 2);
		const char *wrong;
		char text[512], *path;
		bool moved = false;

		/* A manifest may hold anything. */
		if (!run || !node || !table || !dataset_word(table) || !dataset_word(run) ||
		    !dataset_word(node))
			continue;
		path = dataset_file(folder, table, run, node);
		wrong = path ? wrong_with(path, sqlite3_column_type(stmt, 3) == SQLITE_NULL
							? -1
							: sqlite3_column_int64(stmt, 3))
			     : "is not there";
		if (wrong && path)
			wrong = wrong_still(db, folder, run, node, table, path, repair, &moved);
		if (wrong) {
			snprintf(text, sizeof(text), "%s %s%s", table, wrong,
				 moved                                ? "; moved to _bad"
				 : strcmp(wrong, "is not there") == 0 ? ""
				 : repair                             ? "; left where it is"
								      : "");
			rc = bad(db, run, node, text);
		}
		free(path);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_OK ? check_packs(db, folder) : rc;
}
