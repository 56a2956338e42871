/* dataset_write.c - the scratch database as files: each aside, all of them renamed at the end, the manifest last. */
#include "exporters/ranks/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/formats/parquet_file.h"

struct job {
	struct dataset *d;
	const struct dataset_part *part;
	sqlite3_str *files; /* of the manifest */
	char *why;
	size_t why_len;
};

static int failed(const struct job *j, const char *what, int err)
{
	snprintf(j->why, j->why_len, "cannot write %s: %s", what, strerror(err));
	return -1;
}

static int no_memory(const struct job *j)
{
	snprintf(j->why, j->why_len, "out of memory");
	return -1;
}

/* "a/b/part-0.parquet" -> "a/b/.part-0.parquet.tmp": no reader takes it for a file of the dataset. malloc'd. */
static char *aside(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char *tmp;

	return asprintf(&tmp, "%.*s.%s.tmp", (int)(name - path), path, name) < 0 ? NULL : tmp;
}

/* Makes the folders that @path lies in. */
static int make_folders(const struct job *j, char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		if (mkdir(path, 0777) < 0 && errno != EEXIST) {
			int err = errno;

			failed(j, path, err);
			*at = '/';
			return -1;
		}
		*at = '/';
	}
	return 0;
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

static int write_table(struct job *j, const struct dataset_table *t)
{
	char *path = dataset_file(j->part->folder, t->name, j->part->run, j->part->node);
	char *tmp = path ? aside(path) : NULL;
	int64_t rows = 0;
	struct out out;
	struct stat st = {0};
	int fd = -1, err = 0;

	if (!tmp) {
		free(path);
		return no_memory(j);
	}
	if (make_folders(j, tmp) < 0) {
		err = -1;
	} else {
		fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		err = fd < 0 ? failed(j, tmp, errno) : 0;
	}
	if (!err && out_open(&out, fd, OUT_PLAIN) < 0) {
		close(fd);
		err = no_memory(j);
	} else if (!err) {
		int rc;

		err = write_rows(j, t, &out, &rows);
		if (!err && out.err)
			err = failed(j, tmp, out.err);
		rc = out_close(&out);
		if (!err && rc < 0)
			err = failed(j, tmp, -rc);
	}
	if (!err && stat(tmp, &st) < 0)
		err = failed(j, tmp, errno);
	sqlite3_str_appendf(j->files, "%s{\"table\": \"%w\", \"rows\": %lld, \"bytes\": %lld}",
			    sqlite3_str_length(j->files) ? ", " : "", t->name, (long long)rows,
			    (long long)st.st_size);
	if (err)
		unlink(tmp);
	free(tmp);
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
		"'misfits', ?6, 'lost', (SELECT coalesce(sum(n), 0) FROM SL_LOST), "
		"'synchronized', (SELECT min(isSynchronized) FROM SL_CLOCK), "
		"'maxErrorNs', (SELECT max(maxErrorNs) FROM SL_CLOCK), "
		"'ranks', (SELECT json_group_array(json_object('rank', rank, 'restart', restart, "
		"'worldSize', worldSize, 'host', host, 'source', source, 'complete', complete, "
		"'lost', lost, "
		"'steps', steps, 'collectives', collectives, 'gpu', gpuName, 'report', report, "
		"'version', version)) FROM SL_RANKS), "
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

static int write_manifest(const struct job *j, const char *path, const char *text)
{
	size_t len = strlen(text);
	char *tmp = aside(path);
	int fd, err = 0;

	if (!tmp)
		return no_memory(j);
	if (make_folders(j, tmp) < 0) {
		free(tmp);
		return -1;
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		err = errno ? errno : EIO;
	if (fd >= 0 && close(fd) < 0 && !err)
		err = errno;
	if (!err && rename(tmp, path) < 0)
		err = errno;
	if (err) {
		unlink(tmp);
		failed(j, path, err);
	}
	free(tmp);
	return err ? -1 : 0;
}

static int rename_tables(const struct job *j)
{
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		char *path = dataset_file(j->part->folder, dataset_tables[n].name, j->part->run,
					  j->part->node);
		char *tmp = path ? aside(path) : NULL;
		int err = !tmp ? no_memory(j) : rename(tmp, path) < 0 ? failed(j, path, errno) : 0;

		free(tmp);
		free(path);
		if (err)
			return err;
	}
	return 0;
}

static void remove_aside(const struct job *j)
{
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		char *path = dataset_file(j->part->folder, dataset_tables[n].name, j->part->run,
					  j->part->node);
		char *tmp = path ? aside(path) : NULL;

		if (tmp)
			unlink(tmp);
		free(tmp);
		free(path);
	}
}

int dataset_write(struct dataset *d, const struct dataset_part *part, char *why, size_t why_len)
{
	struct job j = {d, part, sqlite3_str_new(d->db), why, why_len};
	char *path = dataset_manifest(part->folder, part->run, part->node), *text = NULL, *files;
	int err = path ? 0 : no_memory(&j);

	for (unsigned n = 0; !err && n < DATASET_TABLES; n++)
		err = write_table(&j, &dataset_tables[n]);
	files = sqlite3_str_finish(j.files);
	if (!err)
		text = files ? manifest_of(&j, files) : NULL;
	if (!err && !text)
		err = -1;
	if (!err)
		err = rename_tables(&j);
	else
		remove_aside(&j);
	if (!err)
		err = write_manifest(&j, path, text);
	sqlite3_free(files);
	sqlite3_free(text);
	free(path);
	return err;
}
