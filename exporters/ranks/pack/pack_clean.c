/* pack_clean.c - removes what a pack has taken the place of. */
#include "exporters/ranks/pack/pack_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/ranks/dataset.h"
#include "exporters/ranks/store/part_lock.h"
#include "exporters/ranks/store/shared_folder.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct cleaning {
	sqlite3 *db;
	const struct ask *a;
	int nodes; /* "_nodes/run=RUN" */
	int tables[DATASET_TABLES];
	size_t removed;
};

/* Is the manifest that of the part which was packed? */
static bool is_packed(const struct cleaning *c, const char *node, const char *json)
{
	static const char sql[] = "SELECT json_valid(?1) AND json(?1) = json(?2)";
	char *path = dataset_manifest(c->a->folder, c->a->run, node);
	char *now = path ? shared_file_read(path, DATASET_MANIFEST_MAX) : NULL;
	sqlite3_stmt *stmt = NULL;
	bool is = now && sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) == SQLITE_OK;

	if (is) {
		sqlite3_bind_text(stmt, 1, now, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, json, -1, SQLITE_STATIC);
		is = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0);
	}
	sqlite3_finalize(stmt);
	free(now);
	free(path);
	return is;
}

/* The manifest goes last: while it is there, a reader knows the files for a remainder. */
static void remove_part(struct cleaning *c, const char *node)
{
	char name[300];

	snprintf(name, sizeof(name), "node=%s", node);
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		int fd = c->tables[n] < 0 ? -1 : openat(c->tables[n], name, FOLDER);

		if (fd < 0)
			continue;
		c->removed += unlinkat(fd, "part-0.parquet", 0) == 0;
		(void)unlinkat(fd, ".part-0.parquet.tmp", 0);
		close(fd);
		(void)unlinkat(c->tables[n], name, AT_REMOVEDIR);
	}
	snprintf(name, sizeof(name), "node=%s.json", node);
	c->removed += unlinkat(c->nodes, name, 0) == 0;
	snprintf(name, sizeof(name), ".node=%s.lock", node);
	(void)unlinkat(c->nodes, name, 0);
}

/* The file or folder of files; what else is in it stays. */
static void remove_generation(struct cleaning *c, int at, const char *name)
{
	int fd = openat(at, name, FOLDER);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			c->removed += unlinkat(fd, e->d_name, 0) == 0;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

static void remove_generations(struct cleaning *c, int packed, const char *but)
{
	DIR *dir = packed < 0 ? NULL : fdopendir(packed);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (dataset_word(e->d_name) && strcmp(e->d_name, but) != 0)
			remove_generation(c, packed, e->d_name);
	if (dir)
		closedir(dir);
	else if (packed >= 0)
		close(packed);
}

size_t pack_clean(sqlite3 *db, int top, const struct ask *a, const char *generation)
{
	static const char sql[] =
		"SELECT t.node, coalesce(p.json, t.json) FROM text AS t LEFT JOIN packed AS p ON "
		"p.run = t.run AND p.node = t.node AND state < 2 WHERE t.run = ?1";
	struct cleaning c = {.db = db, .a = a};
	sqlite3_stmt *stmt = NULL;
	char below[300];

	snprintf(below, sizeof(below), "_nodes/run=%s", a->run);
	c.nodes = shared_folder_at(top, below, false);
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		snprintf(below, sizeof(below), "%s/run=%s", dataset_tables[n].name, a->run);
		c.tables[n] = shared_folder_at(top, below, false);
	}
	if (c.nodes >= 0 && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_text(stmt, 1, a->run, -1, SQLITE_STATIC);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *node = (const char *)sqlite3_column_text(stmt, 0);
		char own[300];
		int lock;

		snprintf(own, sizeof(own), "node=%s.json", node);
		if (faccessat(c.nodes, own, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		lock = part_lock_in(c.nodes, node, PART_WRITE);
		if (is_packed(&c, node, (const char *)sqlite3_column_text(stmt, 1)))
			remove_part(&c, node);
		part_unlock(lock);
	}
	sqlite3_finalize(stmt);
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		if (c.tables[n] >= 0) {
			close(c.tables[n]);
			snprintf(below, sizeof(below), "%s/run=%s", dataset_tables[n].name, a->run);
			(void)unlinkat(top, below, AT_REMOVEDIR);
		}
	if (c.nodes >= 0)
		close(c.nodes);
	snprintf(below, sizeof(below), "_packed/run=%s", a->run);
	remove_generations(&c, shared_folder_at(top, below, false), generation);
	return c.removed;
}
