/*
 * json_rows.c - the tables as JSON: one object with a list of rows per table, or (jsonlines) an object on a
 * line for each row, whose first member is the name of its table.
 *
 * Rows are as in the database: names are ids of StringIds, whose rows come first in the file as they do there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exporters/formats/json_out.h"
#include "exporters/formats/rows.h"

struct json {
	struct out *out;
	bool lines;
	bool any_table, any_row;
	char **head; /* per column: the text before its value, "name": */
	size_t *head_len;
	int cols;
};

static void free_heads(struct json *j)
{
	for (int i = 0; i < j->cols; i++)
		free(j->head[i]);
	free(j->head);
	free(j->head_len);
	j->head = NULL;
	j->head_len = NULL;
	j->cols = 0;
}

/* The first head of a line has the table in it. */
static char *first_head(struct json *j, const char *table, const char *column)
{
	char *text = NULL, *name;

	if (!j->lines)
		return json_quoted("{", column, strlen(column), ":");
	name = json_quoted("", table, strlen(table), ":"); /* "T": */
	if (name && asprintf(&text, "{\"table\":%.*s,", (int)strlen(name) - 1, name) < 0)
		text = NULL;
	free(name);
	name = text ? json_quoted(text, column, strlen(column), ":") : NULL;
	free(text);
	return name;
}

static int begin(void *self, const char *table, sqlite3_stmt *stmt, int cols)
{
	struct json *j = self;

	free_heads(j);
	j->head = calloc((size_t)cols, sizeof(*j->head));
	j->head_len = calloc((size_t)cols, sizeof(*j->head_len));
	if (!j->head || !j->head_len)
		return -1;
	j->cols = cols;
	for (int i = 0; i < cols; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		j->head[i] = i == 0 ? first_head(j, table, name)
				    : json_quoted(",", name, strlen(name), ":");
		if (!j->head[i])
			return -1;
		j->head_len[i] = strlen(j->head[i]);
	}
	j->any_row = false;
	if (j->lines)
		return 0;
	if (j->any_table)
		out_literal(j->out, ",\n");
	json_out_text(j->out, table, strlen(table));
	out_literal(j->out, ":[");
	j->any_table = true;
	return 0;
}

static void cell(struct out *o, sqlite3_stmt *stmt, int col)
{
	const char *text;

	switch (sqlite3_column_type(stmt, col)) {
	case SQLITE_INTEGER:
		json_out_int(o, sqlite3_column_int64(stmt, col));
		break;
	case SQLITE_FLOAT:
		json_out_real(o, sqlite3_column_double(stmt, col));
		break;
	case SQLITE_NULL:
		out_literal(o, "null");
		break;
	default:
		text = (const char *)sqlite3_column_blob(stmt, col);
		json_out_text(o, text ? text : "", (size_t)sqlite3_column_bytes(stmt, col));
	}
}

static int row(void *self, sqlite3_stmt *stmt, int cols)
{
	struct json *j = self;
	struct out *o = j->out;

	if (o->err)
		return -1;
	if (!j->lines)
		out_text(o, j->any_row ? ",\n" : "\n");
	j->any_row = true;
	for (int i = 0; i < cols; i++) {
		out_write(o, j->head[i], j->head_len[i]);
		cell(o, stmt, i);
	}
	if (j->lines)
		out_literal(o, "}\n");
	else
		out_literal(o, "}");
	return 0;
}

static int end(void *self)
{
	struct json *j = self;

	if (!j->lines)
		out_literal(j->out, "]");
	return 0;
}

static int run_as(struct export_job *job, bool lines, char *why, size_t why_len)
{
	static const struct rows_sink sink = {begin, row, end};
	struct json j = {.out = job->out, .lines = lines};
	int rc;

	if (!lines)
		out_literal(job->out, "{\n");
	rc = rows_run(job, &sink, &j, why, why_len);
	if (!lines)
		out_literal(job->out, "\n}\n");
	free_heads(&j);
	return rc;
}

static int run_json(struct export_job *job, char *why, size_t why_len)
{
	return run_as(job, false, why, why_len);
}

static int run_lines(struct export_job *job, char *why, size_t why_len)
{
	return run_as(job, true, why, why_len);
}

const struct exporter exporter_json = {
	.name = "json",
	.extension = "json",
	.about = "the tables: one object with a list of rows for each",
	.shape = EXPORT_STREAM,
	.run = run_json,
};

const struct exporter exporter_jsonlines = {
	.name = "jsonlines",
	.extension = "jsonl",
	.about = "the tables: a line with an object for each row",
	.shape = EXPORT_STREAM,
	.run = run_lines,
};
