/* pack.c - the files of a pack, by DuckDB, and its manifest. */
#include "exporters/ranks/pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/new_file.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/pack/pack_internal.h"
#include "exporters/ranks/store/part_lock.h"
#include "exporters/ranks/store/shared_folder.h"

#define WHY_TEXT 2048
/* Sorting and grouping beyond it go to the disk. */
#define LIMITS "SET memory_limit = '2GB';\nSET temp_directory = '/proc/self/fd/%d';\n"

struct packing {
	const char *command;
	struct ask a;          /* of the whole run; engine DuckDB */
	sqlite3 *db;           /* manifests */
	int top, files, nodes; /* the dataset, the new generation's folder, "_nodes/run=RUN" */
	char generation[64];
	sqlite3_str *list; /* of files, for the manifest */
	int64_t bytes;
};

static int fail(const struct packing *p, const char *what)
{
	sl_warn("%s: %s: %s", p->command, what, strerror(errno));
	return SL_EXIT_FAIL;
}

/* ---- files ---- */

/* Lines "table,rows,rows in the pack". An exit status. */
static int run_script(const struct packing *p, const struct ask *a, size_t *equal)
{
	char *script = ask_script(a), line[256], table[64];
	int from = -1, status = SL_EXIT_FAIL;
	pid_t pid = script ? ask_start(p->command, a, script, &from) : -1;
	FILE *f = pid > 0 ? fdopen(from, "r") : NULL;
	bool is_equal = true;

	while (f && fgets(line, sizeof(line), f)) {
		long long here, there;

		if (sscanf(line, "%63[A-Z_],%lld,%lld", table, &here, &there) != 3)
			continue;
		*equal += here == there;
		is_equal = is_equal && here == there;
	}
	if (f)
		fclose(f);
	else if (from >= 0)
		close(from);
	if (pid > 0 && ask_wait(p->command, pid) == 0)
		status = 0;
	if (status == 0 && !is_equal) {
		sl_warn("%s: run %s was changed meanwhile, and stays as it is", p->command, a->run);
		status = SL_EXIT_FAIL;
	}
	free(script);
	return status;
}

/* All rows, also those that newer ones have replaced: what is older is known when a question is asked. */
static int copy_tables(const struct packing *p)
{
	struct ask a = p->a;
	char *sql = NULL;
	size_t len, wanted = 0, equal = 0;
	FILE *out = open_memstream(&sql, &len);
	int status;

	if (!out)
		return fail(p, p->a.folder);
	fprintf(out, LIMITS, p->files);
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		const char *t = dataset_tables[n].name;

		if (!ask_has_table(&p->a, n))
			continue;
		wanted++;
		fprintf(out,
			"COPY (SELECT * EXCLUDE (run) FROM %s WHERE run = :run) TO "
			"'/proc/self/fd/%d/%s.parquet' (FORMAT parquet, COMPRESSION zstd);\n"
			"SELECT '%s' AS name, (SELECT count(*) FROM %s WHERE run = :run) AS here, "
			"(SELECT count(*) FROM read_parquet('/proc/self/fd/%d/%s.parquet')) AS "
			"there;\n",
			t, p->files, t, t, t, p->files, t);
	}
	fclose(out);
	a.sql = sql;
	a.older = NULL;
	a.format = "csv";
	status = run_script(p, &a, &equal);
	if (status == 0 && (equal != wanted || !wanted)) {
		sl_warn("%s: %s copied %zu of %zu tables", p->command, a.engine, equal, wanted);
		status = SL_EXIT_FAIL;
	}
	free(sql);
	return status;
}

/* The parts of questions that take long, of the rows that count. */
static int make_rollups(const struct packing *p)
{
	struct ask a = p->a;
	char *sql = NULL, *made, name[64], table[64];
	size_t len, equal = 0;
	FILE *out = open_memstream(&sql, &len);
	int status;

	if (!out)
		return fail(p, p->a.folder);
	fprintf(out, LIMITS, p->files);
	for (size_t q = 0; ask_name(q, name); q++)
		for (size_t i = 0; (made = ask_rollup(ask_question(name), i, table)); i++) {
			fprintf(out,
				"COPY (%s) TO '/proc/self/fd/%d/%s.parquet' (FORMAT parquet, "
				"COMPRESSION zstd);\n",
				made, p->files, table);
			free(made);
		}
	fclose(out);
	a.sql = sql;
	a.format = "csv";
	status = ask_has_table(&p->a, DATASET_SL_COLLECTIVES) ? run_script(p, &a, &equal) : 0;
	free(sql);
	return status;
}

/* Brings a file to the disk, and puts it on the list. 0, or an exit status. */
static int list_file(struct packing *p, const char *table)
{
	char name[80];
	struct stat st;
	int fd, err;

	snprintf(name, sizeof(name), "%s.parquet", table);
	fd = openat(p->files, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail(p, name);
	err = fsync(fd) < 0 || fstat(fd, &st) < 0 ? fail(p, name) : 0;
	close(fd);
	if (err)
		return err;
	p->bytes += st.st_size;
	sqlite3_str_appendf(p->list, "%s{\"table\": \"%w\", \"rows\": null, \"bytes\": %lld}",
			    sqlite3_str_length(p->list) ? ", " : "", table, (long long)st.st_size);
	return 0;
}

static int list_files(struct packing *p)
{
	char name[64], table[64], *made;
	int err = 0;

	for (unsigned n = 0; !err && n < DATASET_TABLES; n++)
		err = list_file(p, dataset_tables[n].name);
	for (size_t q = 0; !err && ask_name(q, name); q++)
		for (size_t i = 0; !err && (made = ask_rollup(ask_question(name), i, table)); i++) {
			free(made);
			err = list_file(p, table);
		}
	return err;
}

/* ---- manifest ---- */

/* Its rename is the commit. */
static int put_manifest(struct packing *p)
{
	static const char sql[] =
		"SELECT json_object('dataset', ?1, 'version', ?2, 'run', ?3, 'generation', ?4, "
		"'parts', (SELECT json_group_array(json(json)) FROM (SELECT coalesce(p.json, "
		"t.json) AS json FROM text AS t LEFT JOIN packed AS p ON p.run = t.run AND p.node "
		"= t.node AND state < 2 WHERE t.run = ?3 ORDER BY t.node)), 'files', json('[' || "
		"?5 || ']'))";
	char *files = sqlite3_str_finish(p->list);
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(p->db, sql, -1, &stmt, NULL), err = 0;

	p->list = NULL;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int(stmt, 1, DATASET_VERSION);
		sqlite3_bind_text(stmt, 2, SL_VERSION, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, p->a.run, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 4, p->generation, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 5, files, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
	}
	if (rc == SQLITE_ROW)
		err = -new_file_text(p->nodes, PACKS_MANIFEST, "." PACKS_MANIFEST ".tmp",
				     (const char *)sqlite3_column_text(stmt, 0), 0666);
	else
		sl_warn("%s: %s", p->command, sqlite3_errmsg(p->db));
	sqlite3_finalize(stmt);
	sqlite3_free(files);
	if (rc != SQLITE_ROW)
		return SL_EXIT_FAIL;
	errno = err;
	return err ? fail(p, PACKS_MANIFEST) : 0;
}

/* ---- a run ---- */

static int64_t count(sqlite3 *db, const char *sql, const char *run)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, run, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			n = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return n;
}

/* The folder of the new generation; a descriptor that the engine inherits. */
static int make_folder(struct packing *p)
{
	char below[512];
	int fd, kept;

	snprintf(p->generation, sizeof(p->generation), "%lld-%d", (long long)time(NULL),
		 (int)getpid());
	snprintf(below, sizeof(below), "_packed/run=%s/%s", p->a.run, p->generation);
	fd = shared_folder_at(p->top, below, true);
	kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD, 3);
	if (fd >= 0)
		close(fd);
	return kept;
}

static int write_pack(struct packing *p)
{
	int status;

	p->files = make_folder(p);
	if (p->files < 0)
		return fail(p, "_packed");
	p->list = sqlite3_str_new(p->db);
	status = copy_tables(p);
	if (status == 0)
		status = make_rollups(p);
	if (status == 0)
		status = list_files(p);
	if (status == 0)
		status = put_manifest(p);
	sqlite3_free(sqlite3_str_finish(p->list));
	p->list = NULL;
	close(p->files);
	return status;
}

/* The generation that the dataset has; "" none. */
static void read_generation(struct packing *p)
{
	sqlite3_stmt *stmt = NULL;

	*p->generation = 0;
	if (sqlite3_prepare_v2(p->db, "SELECT generation FROM pack", -1, &stmt, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(p->generation, sizeof(p->generation), "%s",
			 (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

/* Under the lock, with what the dataset has then. */
static int pack_locked(struct packing *p, struct packed *done)
{
	struct older older = {0};
	struct packs packs = {0};
	int64_t parts, fresh;
	int status = 0;

	parts = count(p->db, "SELECT count(*) FROM text WHERE run = ?1", p->a.run);
	fresh = count(p->db,
		      "SELECT count(*) FROM text WHERE run = ?1 AND node NOT IN (SELECT node FROM "
		      "packed WHERE state < 2)",
		      p->a.run);
	if (parts < 0 || fresh < 0 || older_find(p->db, &older) != SQLITE_OK ||
	    packs_find(p->db, &packs) != SQLITE_OK) {
		sl_warn("%s: %s", p->command, sqlite3_errmsg(p->db));
		status = SL_EXIT_FAIL;
	}
	p->a.older = &older;
	p->a.packs = &packs;
	read_generation(p);
	if (status == 0 && fresh)
		status = write_pack(p);
	if (status == 0) {
		done->parts = (size_t)parts;
		done->fresh = (size_t)fresh;
		done->bytes = p->bytes;
	}
	/* Also what a process that was killed has left. */
	if (status == 0 || !*p->generation)
		done->removed = pack_clean(p->db, p->top, &p->a, p->generation);
	older_free(&older);
	packs_free(&packs);
	return status;
}

int pack_run(const char *command, const struct ask *a, struct packed *done)
{
	struct packing p = {.command = command, .a = *a, .files = -1};
	char why[WHY_TEXT], below[300];
	int lock, status = SL_EXIT_FAIL;

	memset(done, 0, sizeof(*done));
	p.top = shared_folder_top(a->folder, false);
	snprintf(below, sizeof(below), "_nodes/run=%s", a->run);
	p.nodes = p.top < 0 ? -1 : shared_folder_at(p.top, below, false);
	if (p.nodes < 0) {
		fail(&p, a->folder);
		if (p.top >= 0)
			close(p.top);
		return status;
	}
	/* No node has this name. */
	lock = part_lock_in(p.nodes, "_all", PART_WRITE);
	p.db = manifests_read(a->folder, a->run, why, sizeof(why));
	if (p.db)
		status = pack_locked(&p, done);
	else
		sl_warn("%s: %s", command, why);
	sqlite3_close(p.db);
	part_unlock(lock);
	close(p.nodes);
	close(p.top);
	return status;
}
