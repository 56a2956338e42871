/*
 * parquet.c - a folder with a Parquet file per table.
 *
 * A column has one type there, in SQLite each value has its own. So a column begins with the table's declared type; a value
 * that does not fit into that without loss makes the column wider, and the table is begun anew: numbers that are no whole
 * ones make DOUBLE, other texts String, and invalid UTF-8 makes it bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporters/text/cell.h"
#include "exporters/formats/parquet_file.h"
#include "exporters/formats/rows.h"

struct parquet {
	struct export_job *job;
	struct out out;
	struct pq_file file;
	struct pq_column *col;
	int cols;
	char *table;
	const char *report; /* its name without folders */
	char *schema;       /* version of it; NULL: unknown */
	char *why;
	size_t why_len;
};

static int failed(struct parquet *p, int err)
{
	snprintf(p->why, p->why_len, "cannot write %s/%s.parquet: %s", p->job->output, p->table,
		 strerror(err));
	return -1;
}

static int no_memory(struct parquet *p)
{
	snprintf(p->why, p->why_len, "out of memory");
	return -1;
}

/* ---- types ---- */

/* The kind of a declared type, by SQLite's rules. */
static enum pq_kind kind_of(const char *type)
{
	if (strcasestr(type, "INT"))
		return PQ_INT;
	if (strcasestr(type, "CHAR") || strcasestr(type, "CLOB") || strcasestr(type, "TEXT"))
		return PQ_TEXT;
	if (strcasestr(type, "BLOB"))
		return PQ_BYTES;
	return *type ? PQ_REAL : PQ_TEXT;
}

/* False: no memory. */
static bool declared(struct pq_column *c, sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT type, \"notnull\" FROM pragma_table_info(%Q, 'main') "
				    "WHERE name = %Q",
				    table, c->name);
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

	*c = (struct pq_column){.name = c->name, .kind = PQ_TEXT, .optional = true};
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(stmt, 0);

		c->kind = kind_of(type ? type : "");
		c->optional = sqlite3_column_int(stmt, 1) == 0;
		if (!type && sqlite3_errcode(db) == SQLITE_NOMEM)
			rc = SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static bool is_utf8(const char *text, size_t len)
{
	int32_t cp = 0;

	for (size_t i = 0; i < len;) {
		if ((unsigned char)text[i] < 0x80) {
			i++;
			continue;
		}
		i += utf8_next(text + i, len - i, &cp);
		if (cp < 0)
			return false;
	}
	return true;
}

/* Some integers are no doubles. */
static bool is_exact(int64_t v)
{
	return v >= -((int64_t)1 << 53) && v <= (int64_t)1 << 53;
}

/* The narrowest kind, @kind or wider, that takes the value as it is. */
static enum pq_kind wide_enough(enum pq_kind kind, sqlite3_stmt *stmt, int i)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		return kind == PQ_REAL && !is_exact(sqlite3_column_int64(stmt, i)) ? PQ_TEXT : kind;
	case SQLITE_FLOAT:
		return kind == PQ_INT ? PQ_REAL : kind;
	case SQLITE_TEXT:
		if (kind == PQ_BYTES ||
		    !is_utf8(sqlite3_column_blob(stmt, i), (size_t)sqlite3_column_bytes(stmt, i)))
			return PQ_BYTES;
		return PQ_TEXT;
	case SQLITE_BLOB:
		return PQ_BYTES;
	default:
		return kind;
	}
}

/* ---- values ---- */

static void put_number_text(struct pq_column *c, sqlite3_stmt *stmt, int i)
{
	struct cell cell = {.kind = CELL_INT};
	char text[CELL_NUMBER_MAX];
	size_t len;

	if (sqlite3_column_type(stmt, i) == SQLITE_FLOAT) {
		cell.kind = CELL_REAL;
		cell.real = sqlite3_column_double(stmt, i);
	} else {
		cell.num = sqlite3_column_int64(stmt, i);
	}
	len = cell_number(&cell, text);
	if (len == 0) /* infinite */
		len = (size_t)snprintf(text, sizeof(text), "%g", cell.real);
	pq_bytes(c, text, len);
}

static void put(struct pq_column *c, sqlite3_stmt *stmt, int i)
{
	int type = sqlite3_column_type(stmt, i);
	const void *data;

	if (type == SQLITE_NULL) {
		pq_null(c);
	} else if (c->kind == PQ_INT) {
		pq_int(c, sqlite3_column_int64(stmt, i));
	} else if (c->kind == PQ_REAL) {
		pq_real(c, sqlite3_column_double(stmt, i));
	} else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
		put_number_text(c, stmt, i);
	} else {
		data = sqlite3_column_blob(stmt, i);
		pq_bytes(c, data, (size_t)sqlite3_column_bytes(stmt, i));
	}
}

/* ---- files ---- */

static void close_file(struct parquet *p)
{
	pq_end(&p->file);
	for (int i = 0; i < p->cols; i++)
		free((char *)(uintptr_t)p->col[i].name);
	free(p->col);
	free(p->table);
	p->col = NULL;
	p->table = NULL;
	p->cols = 0;
}

static int open_file(struct parquet *p)
{
	char path[4096 + 256];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s.parquet", p->job->path, p->table);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(p, errno);
	rc = out_open(&p->out, fd, OUT_PLAIN);
	if (rc < 0) {
		close(fd);
		return failed(p, -rc);
	}
	return 0;
}

static int begin(void *self, const char *table, sqlite3_stmt *stmt, int cols)
{
	struct parquet *p = self;

	/* Names of tables come from the file: nothing may lead out of the folder. */
	if (strchr(table, '/') || table[0] == '.') {
		snprintf(p->why, p->why_len, "table '%s' cannot be the name of a file", table);
		return -1;
	}
	close_file(p);
	p->table = strdup(table);
	p->col = calloc((size_t)cols, sizeof(*p->col));
	if (!p->table || !p->col)
		return no_memory(p);
	for (p->cols = 0; p->cols < cols; p->cols++) {
		struct pq_column *c = &p->col[p->cols];

		c->name = strdup(sqlite3_column_name(stmt, p->cols));
		if (!c->name)
			return no_memory(p);
		if (!declared(c, sqlite3_db_handle(stmt), table)) {
			p->cols++; /* it has a name, which is to be freed */
			return failed(p, ENOMEM);
		}
	}
	if (open_file(p) < 0)
		return -1;
	return pq_begin(&p->file, &p->out, p->col, p->cols) ? 0 : failed(p, ENOMEM);
}

/* The table from its first row on, with the kinds of columns found so far. */
static int begin_anew(struct parquet *p, sqlite3_stmt *stmt)
{
	p->job->events -= p->file.rows + 1; /* the caller counts this row */
	pq_end(&p->file);
	out_flush(&p->out);
	if (p->out.err)
		return failed(p, p->out.err);
	if (ftruncate(p->out.fd, 0) < 0 || lseek(p->out.fd, 0, SEEK_SET) < 0)
		return failed(p, errno);
	p->out.bytes = 0;
	sqlite3_reset(stmt);
	return pq_begin(&p->file, &p->out, p->col, p->cols) ? 0 : failed(p, ENOMEM);
}

static int row(void *self, sqlite3_stmt *stmt, int cols)
{
	struct parquet *p = self;
	bool fits = true;

	if (p->out.err || p->file.failed)
		return failed(p, p->out.err ? p->out.err : ENOMEM);
	for (int i = 0; i < cols; i++) {
		struct pq_column *c = &p->col[i];
		enum pq_kind kind = wide_enough(c->kind, stmt, i);
		bool optional = c->optional || sqlite3_column_type(stmt, i) == SQLITE_NULL;

		fits = fits && kind == c->kind && optional == c->optional;
		c->kind = kind;
		c->optional = optional;
	}
	if (!fits)
		return begin_anew(p, stmt);
	for (int i = 0; i < cols; i++)
		put(&p->col[i], stmt, i);
	pq_row(&p->file);
	return 0;
}

static int end(void *self)
{
	struct parquet *p = self;
	const struct pq_note notes[] = {
		{"sightline.report", p->report},
		{"sightline.table", p->table},
		{p->schema ? "sightline.schema_version" : NULL, p->schema},
		{NULL, NULL},
	};
	bool good = pq_finish(&p->file, notes);
	int rc = out_close(&p->out);

	if (rc < 0 || !good)
		return failed(p, rc < 0 ? -rc : ENOMEM);
	close_file(p);
	return 0;
}

/* *version: NULL where the report lacks it. False: no memory. */
static bool schema_of(sqlite3 *db, char **version)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(
		db, "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'", -1,
		&stmt, NULL);
	const char *text = NULL;

	*version = NULL;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(stmt, 0);
	if (text)
		*version = strdup(text);
	if (rc == SQLITE_NOMEM || (rc == SQLITE_ROW && sqlite3_errcode(db) == SQLITE_NOMEM))
		text = "";
	sqlite3_finalize(stmt);
	return !text || *version;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	static const struct rows_sink sink = {begin, row, end};
	const char *slash = strrchr(job->input, '/');
	struct parquet p = {
		.job = job,
		.report = slash ? slash + 1 : job->input,
		.why = why,
		.why_len = why_len,
	};
	int rc = schema_of(job->db, &p.schema) ? rows_run(job, &sink, &p, why, why_len)
					       : no_memory(&p);

	if (p.out.buf)
		out_close(&p.out);
	close_file(&p);
	free(p.schema);
	return rc;
}

const struct exporter exporter_parquetdir = {
	.name = "parquetdir",
	.extension = "_pqtdir",
	.part = ".parquet",
	.about = "the tables: a folder with a Parquet file for each",
	.shape = EXPORT_FOLDER,
	.run = run,
};
