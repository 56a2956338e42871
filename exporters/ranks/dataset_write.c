/*
 * dataset_write.c - the scratch database as files.
 *
 * Each file is written aside; then the manifest, which is renamed to "ready": from there on only renames are left, which a
 * later reader does where this process was stopped (dataset_finish). So a part is the old one, or the new one.
 */
#include "collector/base/new_file.h"
#include "exporters/ranks/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/formats/parquet_file.h"
#include "exporters/ranks/store/part_lock.h"
#include "exporters/ranks/store/shared_folder.h"

/* A file of the dataset: its folder, open; its name; the name aside (".part-0.parquet.tmp"), under which no reader looks for it. */
struct target {
	int folder; /* -1: with errno */
	const char *name;
	char aside[300];
};

struct job {
	int top;   /* the dataset, open */
	int nodes; /* "_nodes/run=RUN", open; below 0: not needed */
	struct dataset *d;
	const struct dataset_part *part;
	sqlite3_str *files; /* of the manifest */
	char *why;
	size_t why_len;
	struct target
		*at; /* of each table: open until its file is in its place; NULL: closed at once */
};

static int failed(const struct job *j, const char *what, int err)
{
	bool is_foreign = err == EPERM || err == ELOOP || err == ENOTDIR;

	snprintf(j->why, j->why_len, "cannot write %s: %s", what,
		 is_foreign ? "a folder on its path is a link or can be changed by another user"
			    : strerror(err));
	return -1;
}

static int no_memory(const struct job *j)
{
	snprintf(j->why, j->why_len, "out of memory");
	return -1;
}

static bool find_target(struct target *t, int at, const char *top, const char *path, bool make)
{
	int len;

	t->folder = path && at >= 0 ? shared_folder_of_at(at, top, path, make, &t->name) : -1;
	if (t->folder < 0)
		return false;
	len = snprintf(t->aside, sizeof(t->aside), ".%s.tmp", t->name);
	return len < (int)sizeof(t->aside);
}

static void leave_target(const struct target *t)
{
	int err = errno;

	if (t->folder >= 0)
		close(t->folder);
	errno = err;
}

static void put_row(struct pq_file *f, struct pq_column *col, int cols, sqlite3_stmt *stmt)
{
	for (int i = 0; i < cols; i++)
		if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
			pq_null(&col[i]);
		else if (col[i].kind == PQ_INT)
			pq_int(&col[i], sqlite3_column_int64(stmt, i));
		else
			pq_bytes(&col[i], sqlite3_column_text(stmt, i),
				 (size_t)sqlite3_column_bytes(stmt, i));
	pq_row(f);
}

static int write_rows(const struct job *j, const struct dataset_table *t, struct out *out,
		      int64_t *rows)
{
	const struct pq_note notes[] = {
		{"sightline.dataset", "1"}, {"sightline.version", SL_VERSION}, {0}};
	struct pq_column *col = calloc(t->cnt, sizeof(*col));
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY %s", t->name, t->order);
	sqlite3_stmt *stmt = NULL;
	struct pq_file f = {0};
	int rc = sql && col ? sqlite3_prepare_v2(j->d->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	bool ok = rc == SQLITE_OK;

	for (size_t i = 0; ok && i < t->cnt; i++)
		col[i] = (struct pq_column){.name = t->columns[i].name,
					    .kind = t->columns[i].kind == DATASET_INT ? PQ_INT
										      : PQ_TEXT,
					    .optional = true};
	ok = ok && pq_begin(&f, out, col, (int)t->cnt);
	while (ok && (rc = sqlite3_step(stmt)) == SQLITE_ROW && !out->err && !f.failed)
		put_row(&f, col, (int)t->cnt, stmt);
	*rows = (int64_t)f.rows;
	ok = ok && rc == SQLITE_DONE && !f.failed && pq_finish(&f, notes);
	pq_end(&f);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	free(col);
	return ok ? 0 : no_memory(j);
}

/* ".../.node=N.json.ready". malloc'd. */
static char *ready(const char *manifest)
{
	const char *name = strrchr(manifest, '/') + 1;
	char *path;

	return asprintf(&path, "%.*s.%s.ready", (int)(name - manifest), manifest, name) < 0 ? NULL
											    : path;
}

/* Is it written by 'ranks clock', later than the manifest? */
static bool is_derived(const struct dataset_table *t)
{
	return t == &dataset_tables[DATASET_SL_CLOCK_FIT];
}

static int write_aside(struct job *j, const struct dataset_table *t, const struct target *to)
{
	int64_t rows = 0;
	struct out out;
	struct stat st = {0};
	int fd = shared_file_create(to->folder, to->aside), err, rc;

	if (fd < 0)
		return failed(j, t->name, errno);
	if (out_open(&out, fd, OUT_PLAIN) < 0) {
		close(fd);
		return no_memory(j);
	}
	err = write_rows(j, t, &out, &rows);
	if (!err && out.err)
		err = failed(j, t->name, out.err);
	rc = out_close(&out);
	if (!err && rc < 0)
		err = failed(j, t->name, -rc);
	if (!err && fstatat(to->folder, to->aside, &st, AT_SYMLINK_NOFOLLOW) < 0)
		err = failed(j, t->name, errno);
	if (j->files)
		sqlite3_str_appendf(j->files, "%s{\"table\": \"%w\", \"rows\": %lld, \"bytes\": ",
				    sqlite3_str_length(j->files) ? ", " : "", t->name,
				    (long long)rows);
	if (j->files && is_derived(t))
		sqlite3_str_appendall(j->files, "null}");
	else if (j->files)
		sqlite3_str_appendf(j->files, "%lld}", (long long)st.st_size);
	return err;
}

static int write_table(struct job *j, const struct dataset_table *t)
{
	char *path = dataset_file(j->part->folder, t->name, j->part->run, j->part->node);
	struct target to = {.folder = -1};
	int err = -1;

	if (!path)
		return no_memory(j);
	if (find_target(&to, j->top, j->part->folder, path, true)) {
		err = write_aside(j, t, &to);
		if (err)
			unlinkat(to.folder, to.aside, 0);
	} else {
		failed(j, path, errno);
	}
	if (j->at && !err) {
		j->at[t - dataset_tables] = to;
		j->at[t - dataset_tables].name = NULL; /* was a part of the path */
	} else {
		leave_target(&to);
	}
	free(path);
	return err;
}

/* The JSON object, malloc'd by SQLite; NULL after one sentence in why. */
static char *manifest_of(const struct job *j, const char *files)
{
	static const char sql[] =
		"SELECT json_object('dataset', ?1, 'version', ?2, 'run', ?3, 'node', ?4, 'job', "
		"?5, "
		"'start', (SELECT min(start) FROM SL_RANKS), 'end', (SELECT max(\"end\") FROM "
		"SL_RANKS), "
		"'unnamed', (SELECT count(*) FROM SL_COLLECTIVES WHERE commHash IS NULL), "
		"'misfits', ?6, 'lost', (SELECT coalesce(sum(n), 0) FROM SL_LOST), "
		"'synchronized', (SELECT min(isSynchronized) FROM SL_CLOCK), "
		"'maxErrorNs', (SELECT max(maxErrorNs) FROM SL_CLOCK), "
		"'ranks', (SELECT json_group_array(json_object('rank', rank, 'restart', restart, "
		"'worldSize', worldSize, 'host', host, 'source', source, 'complete', complete, "
		"'lost', lost, "
		"'steps', steps, 'collectives', collectives, 'gpu', gpuName, 'report', report, "
		"'version', version, 'ncclRank', ncclRank)) FROM SL_RANKS), "
		"'files', json('[' || ?7 || ']'))";
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;
	int rc = sqlite3_prepare_v2(j->d->db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int(stmt, 1, DATASET_VERSION);
		sqlite3_bind_text(stmt, 2, SL_VERSION, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, j->part->run, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 4, j->part->node, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 5, j->part->job, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 6, j->d->misfits);
		sqlite3_bind_text(stmt, 7, files, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			text = sqlite3_mprintf("%s\n", sqlite3_column_text(stmt, 0));
	}
	if (!text)
		snprintf(j->why, j->why_len, "%s", sqlite3_errmsg(j->d->db));
	sqlite3_finalize(stmt);
	return text;
}

int dataset_write_text(const char *folder, const char *path, const char *text, char *why,
		       size_t why_len)
{
	const struct job j = {.why = why, .why_len = why_len};
	int top = shared_folder_top(folder, true), err = -1;
	struct target to = {.folder = -1};

	if (!find_target(&to, top, folder, path, true)) {
		failed(&j, path, errno);
	} else {
		err = new_file_text(to.folder, to.name, to.aside, text, 0666);
		if (err)
			failed(&j, path, -err);
	}
	leave_target(&to);
	if (top >= 0)
		close(top);
	return err ? -1 : 0;
}

/* Renames a file of the dataset from its name aside, or from @from; true, too, where that was done before. False with errno. */
static bool put_path_in_place(int top, const char *folder, const char *path, const char *from)
{
	struct target to;
	bool ok = find_target(&to, top, folder, path, false);

	if (ok && renameat(to.folder, from ? from : to.aside, to.folder, to.name) < 0)
		/* Another process may do the same; or the stop came behind it. */
		ok = errno == ENOENT &&
		     faccessat(to.folder, to.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	leave_target(&to);
	return ok;
}

static bool put_in_place(int top, const char *folder, const char *table, const char *run,
			 const char *node)
{
	char *path = dataset_file(folder, table, run, node);
	bool ok = path && put_path_in_place(top, folder, path, NULL);

	free(path);
	return ok;
}

/* Has the part of the manifest a file of the table? Another without rows may have none. */
static bool has_file(const char *manifest, unsigned table)
{
	char word[128];

	snprintf(word, sizeof(word), "\"table\":\"%s\"", dataset_tables[table].name);
	return table == DATASET_SL_RANKS || strstr(manifest, word) != NULL;
}

int dataset_finish(const char *folder, const char *run, const char *node)
{
	char *path = dataset_manifest(folder, run, node), *from = path ? ready(path) : NULL;
	int top = shared_folder_top(folder, false);
	char *text = from ? shared_file_read(from, DATASET_MANIFEST_MAX) : NULL;
	bool ok;

	if (!text && from) /* another process was faster */
		text = shared_file_read(path, DATASET_MANIFEST_MAX);
	ok = text && top >= 0;
	for (unsigned n = 0; ok && n < DATASET_TABLES; n++)
		ok = put_in_place(top, folder, dataset_tables[n].name, run, node) ||
		     !has_file(text, n);
	ok = ok && put_path_in_place(top, folder, path, strrchr(from, '/') + 1);
	if (top >= 0)
		close(top);
	free(text);
	free(from);
	free(path);
	return ok ? 0 : -1;
}

/* The same for the files that this process has just written, whose folders are open. */
static int put_all_in_place(const struct job *j)
{
	static const char name[] = "part-0.parquet";

	for (unsigned n = 0; n < DATASET_TABLES; n++)
		if (j->at[n].folder >= 0 &&
		    renameat(j->at[n].folder, j->at[n].aside, j->at[n].folder, name) < 0)
			/* A reader may take this writer for one that was stopped. */
			if (errno != ENOENT ||
			    faccessat(j->at[n].folder, name, F_OK, AT_SYMLINK_NOFOLLOW))
				return -1;
	return 0;
}

static int finish_own(const struct job *j, const char *path, const char *commit)
{
	if (put_all_in_place(j) < 0)
		return -1;
	return renameat(j->nodes, strrchr(commit, '/') + 1, j->nodes, strrchr(path, '/') + 1);
}

/* Removes a file of the dataset, or its temporary file. */
static void remove_file(const struct job *j, const char *path, bool is_aside)
{
	struct target to;

	if (find_target(&to, j->top, j->part->folder, path, false))
		unlinkat(to.folder, is_aside ? to.aside : to.name, 0);
	leave_target(&to);
}

static void remove_aside(const struct job *j)
{
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		char *path = dataset_file(j->part->folder, dataset_tables[n].name, j->part->run,
					  j->part->node);

		remove_file(j, path, true);
		free(path);
	}
}

/* Is the file there, or a link of the name? @path begins with the dataset. */
static bool is_there(const struct job *j, const char *path)
{
	path += strlen(j->part->folder);
	path += strspn(path, "/");
	return faccessat(j->top, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Drops the comparison of clocks: the clock of this part may be another one now. */
static void forget_clocks(const struct job *j)
{
	char *path = dataset_clocks(j->part->folder, j->part->run);

	if (path && is_there(j, path))
		remove_file(j, path, false);
	free(path);
}

/* ---- tables without rows ---- */

/* Has the run another part? That one, or one before it, has a file of each table. */
static bool has_other_part(const struct job *j)
{
	int fd = fcntl(j->nodes, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char own[300];
	bool found = false;

	snprintf(own, sizeof(own), "node=%s.json", j->part->node);
	while (dir && !found && (e = readdir(dir)))
		found = strncmp(e->d_name, "node=", 5) == 0 && strcmp(e->d_name, own) != 0;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return found;
}

/*
 * May the table be left out? An engine needs one file of a table in a run, and for each node without rows in it a job of a
 * thousand ranks would make another. A file that is there is replaced.
 */
static bool is_left_out(const struct job *j, const struct dataset_table *t)
{
	char *path, *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", t->name);
	sqlite3_stmt *stmt = NULL;
	bool is_empty = sql && sqlite3_prepare_v2(j->d->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
			sqlite3_step(stmt) == SQLITE_DONE;

	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	path = is_empty ? dataset_file(j->part->folder, t->name, j->part->run, j->part->node)
			: NULL;
	is_empty = path && !is_there(j, path);
	free(path);
	return is_empty;
}

/* ---- writers ---- */

int dataset_write_table(struct dataset *d, const struct dataset_part *part,
			enum dataset_number table, char *why, size_t why_len)
{
	struct job j = {.top = shared_folder_top(part->folder, true),
			.nodes = -1,
			.d = d,
			.part = part,
			.why = why,
			.why_len = why_len};
	const char *name = dataset_tables[table].name;
	int err = write_table(&j, &dataset_tables[table]);

	if (!err && !put_in_place(j.top, part->folder, name, part->run, part->node))
		err = failed(&j, name, errno);
	if (j.top >= 0)
		close(j.top);
	return err;
}

/* All files aside, and the manifest as @commit. 0, or -1 after one sentence in why. */
static int prepare(struct job *j, const char *commit)
{
	bool has_other = has_other_part(j);
	char *files, *text = NULL, aside[300];
	int err = 0;

	for (unsigned n = 0; !err && n < DATASET_TABLES; n++)
		if (!has_other || n == DATASET_SL_RANKS || !is_left_out(j, &dataset_tables[n]))
			err = write_table(j, &dataset_tables[n]);
	files = sqlite3_str_finish(j->files);
	j->files = NULL;
	if (!err)
		text = manifest_of(j, files ? files : "");
	if (!err && !text)
		err = -1;
	snprintf(aside, sizeof(aside), ".%s.tmp", commit);
	if (!err) {
		err = new_file_text(j->nodes, commit, aside, text, 0666);
		if (err)
			err = failed(j, commit, -err);
	}
	sqlite3_free(files);
	sqlite3_free(text);
	return err;
}

static int write_locked(struct job *j, const char *path, const char *commit)
{
	const struct dataset_part *part = j->part;
	int err = 0;

	/* Finishes the commit of a writer that was stopped: its files would be taken for those of this process. */
	if (is_there(j, commit) && dataset_finish(part->folder, part->run, part->node) < 0)
		return failed(j, path, errno);
	err = prepare(j, strrchr(commit, '/') + 1);
	if (err)
		remove_aside(j);
	else if (finish_own(j, path, commit) < 0)
		err = failed(j, path, errno);
	else
		forget_clocks(j);
	return err;
}

int dataset_write(struct dataset *d, const struct dataset_part *part, char *why, size_t why_len)
{
	struct target at[DATASET_TABLES];
	struct job j = {.top = shared_folder_top(part->folder, true),
			.nodes = -1,
			.d = d,
			.part = part,
			.files = sqlite3_str_new(d->db),
			.why = why,
			.why_len = why_len,
			.at = at};
	char *path = dataset_manifest(part->folder, part->run, part->node);
	char *commit = path ? ready(path) : NULL;
	int err = commit ? 0 : no_memory(&j), lock;
	const char *name;

	for (unsigned n = 0; n < DATASET_TABLES; n++)
		at[n].folder = -1;
	if (!err && j.top >= 0)
		j.nodes = shared_folder_of_at(j.top, part->folder, path, true, &name);
	if (!err && j.nodes < 0)
		err = failed(&j, path, errno);
	/* Of two writers of one part the second waits: their files have the same names. */
	lock = part_lock_in(j.nodes, part->node, PART_WRITE);
	if (!err)
		err = write_locked(&j, path, commit);
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		leave_target(&at[n]);
	part_unlock(lock);
	if (j.nodes >= 0)
		close(j.nodes);
	if (j.top >= 0)
		close(j.top);
	sqlite3_free(sqlite3_str_finish(j.files));
	free(commit);
	free(path);
	return err;
}
