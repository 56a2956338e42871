/*
 * csv.c - a folder with a file per table, RFC 4180: a line of names, then the rows. NULL is an empty field, an
 * empty text is "".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporters/text/cell.h"
#include "exporters/formats/json_out.h"
#include "exporters/formats/rows.h"

struct csv {
	struct export_job *job;
	struct out out;
	char *why;
	size_t why_len;
};

static void text_field(struct out *o, const char *text, size_t len)
{
	bool quote = len == 0;

	for (size_t i = 0; i < len && !quote; i++)
		quote = text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r';
	if (!quote) {
		out_write(o, text, len);
		return;
	}
	out_literal(o, "\"");
	while (len > 0) {
		const char *mark = memchr(text, '"', len);
		size_t part = mark ? (size_t)(mark - text) + 1 : len;

		out_write(o, text, part);
		if (mark)
			out_literal(o, "\"");
		text += part;
		len -= part;
	}
	out_literal(o, "\"");
}

static void field(struct out *o, sqlite3_stmt *stmt, int col)
{
	struct cell c = {.kind = CELL_REAL};
	char number[CELL_NUMBER_MAX];
	const char *text;

	switch (sqlite3_column_type(stmt, col)) {
	case SQLITE_INTEGER:
		json_out_int(o, sqlite3_column_int64(stmt, col));
		break;
	case SQLITE_FLOAT:
		c.real = sqlite3_column_double(stmt, col);
		out_write(o, number, cell_number(&c, number));
		break;
	case SQLITE_NULL:
		break;
	default:
		text = (const char *)sqlite3_column_blob(stmt, col);
		text_field(o, text ? text : "", (size_t)sqlite3_column_bytes(stmt, col));
	}
}

static int failed(struct csv *c, const char *table, int err)
{
	snprintf(c->why, c->why_len, "cannot write %s/%s.csv: %s", c->job->output, table,
		 strerror(err));
	return -1;
}

static int begin(void *self, const char *table, sqlite3_stmt *stmt, int cols)
{
	struct csv *c = self;
	char path[4096 + 256];
	int fd, rc;

	/* Names of tables come from the file: nothing may lead out of the folder. */
	if (strchr(table, '/') || table[0] == '.') {
		snprintf(c->why, c->why_len, "table '%s' cannot be the name of a file", table);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/%s.csv", c->job->path, table);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(c, table, errno);
	rc = out_open(&c->out, fd, OUT_PLAIN);
	if (rc < 0)
		return failed(c, table, -rc);
	for (int i = 0; i < cols; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (i > 0)
			out_literal(&c->out, ",");
		text_field(&c->out, name, strlen(name));
	}
	out_literal(&c->out, "\r\n");
	return 0;
}

static int row(void *self, sqlite3_stmt *stmt, int cols)
{
	struct csv *c = self;

	if (c->out.err)
		return failed(c, "*", c->out.err);
	for (int i = 0; i < cols; i++) {
		if (i > 0)
			out_literal(&c->out, ",");
		field(&c->out, stmt, i);
	}
	out_literal(&c->out, "\r\n");
	return 0;
}

static int end(void *self)
{
	struct csv *c = self;
	int rc = out_close(&c->out);

	return rc < 0 ? failed(c, "*", -rc) : 0;
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	static const struct rows_sink sink = {begin, row, end};
	struct csv c = {.job = job, .why = why, .why_len = why_len};
	int rc = rows_run(job, &sink, &c, why, why_len);

	if (rc < 0 && c.out.buf)
		out_close(&c.out);
	return rc;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.extension = "csv.d",
	.part = ".csv",
	.about = "the tables: a folder with a file for each",
	.shape = EXPORT_FOLDER,
	.run = run,
};
