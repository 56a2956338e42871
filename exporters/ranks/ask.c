/* ask.c - the text of a question for an engine. */
#include "exporters/ranks/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/superseded_rows.h"

#define FOLDER "ranks/questions/"

const char *ask_question(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "%.60s.sql", name);
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, path) == 0)
			return e->text;
	return NULL;
}

const char *ask_name(size_t idx, char name[64])
{
	for (const struct embedded *e = sl_embedded; e->name; e++) {
		size_t len = strlen(e->name);

		if (strncmp(e->name, FOLDER, sizeof(FOLDER) - 1) != 0 || idx-- > 0)
			continue;
		snprintf(name, 64, "%.*s", (int)(len - sizeof(FOLDER) + 1 - 4),
			 e->name + sizeof(FOLDER) - 1);
		return name;
	}
	return NULL;
}

/* Writes a text literal of the engine's SQL. In Spark's SQL a backslash quotes the next character. */
static void put_quoted(FILE *out, const struct ask *a, const char *text)
{
	bool is_spark = strcmp(a->engine, "spark") == 0;

	putc('\'', out);
	for (; *text; text++) {
		if (is_spark && (*text == '\'' || *text == '\\'))
			putc('\\', out);
		else if (*text == '\'')
			putc('\'', out);
		putc(*text, out);
	}
	putc('\'', out);
}

static bool has_column(const struct dataset_table *t, const char *name)
{
	for (size_t i = 0; i < t->cnt; i++)
		if (strcmp(t->columns[i].name, name) == 0)
			return true;
	return false;
}

/* Condition for the rows of the table that count; NULL: all. */
static const char *condition(const struct ask *a, const struct dataset_table *t)
{
	if (!a->older || !has_column(t, "rank"))
		return NULL;
	return a->older->restarts && has_column(t, "restart") ? a->older->restarts : a->older->sql;
}

/* Does the script ask one run alone? Views for people have all. */
static bool is_of_one_run(const struct ask *a)
{
	return a->sql && a->run && dataset_word(a->run) && !a->base && !a->all_views;
}

static void put_view(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	const char *where = condition(a, t);
	char path[4200];

	if (strcmp(a->engine, "duckdb") == 0) {
		/* All files of a view are opened before the engine looks at a condition. */
		snprintf(path, sizeof(path), "%s/%s/run=%s/node=*/part-0.parquet", a->folder,
			 t->name, is_of_one_run(a) ? a->run : "*");
		fprintf(out, "CREATE TEMP VIEW %s AS SELECT * FROM read_parquet(", t->name);
		put_quoted(out, a, path);
		fprintf(out,
			", hive_partitioning = true, hive_types_autocast = false, union_by_name = "
			"true)%s%s;\n",
			where ? " WHERE " : "", where ? where : "");
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", a->folder, t->name);
	fprintf(out, "CREATE OR REPLACE TEMPORARY VIEW %s%s USING parquet OPTIONS (path ", t->name,
		where ? "_all" : "");
	put_quoted(out, a, path);
	fputs(", mergeSchema 'true');\n", out);
	if (where)
		fprintf(out,
			"CREATE OR REPLACE TEMPORARY VIEW %s AS SELECT * FROM %s_all WHERE %s;\n",
			t->name, t->name, where);
}

static bool is_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 &&
	       !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
		       at[len] ? at[len] : ' ');
}

/* The statement, without its head. */
static void put_statement(FILE *out, const struct ask *a, const char *sql)
{
	while (strncmp(sql, "--", 2) == 0)
		sql += strcspn(sql, "\n") + 1;
	for (; *sql; sql++)
		if (is_word(sql, ":run")) {
			put_quoted(out, a, a->run);
			sql += 3;
		} else if (is_word(sql, ":base")) {
			put_quoted(out, a, a->base ? a->base : "");
			sql += 4;
		} else if (is_word(sql, ":top")) {
			fprintf(out, "%lld", a->top);
			sql += 3;
		} else {
			putc(*sql, out);
		}
}

/* Does the statement name the table? */
static bool names(const char *sql, const char *table)
{
	for (const char *at = strstr(sql, table); at; at = strstr(at + 1, table))
		if (is_word(at, table))
			return true;
	return false;
}

char *ask_script(const struct ask *a)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (strcmp(a->engine, "spark") == 0)
		fputs("SET spark.sql.ansi.enabled=true;\nSET "
		      "spark.sql.ansi.doubleQuotedIdentifiers=true;\n"
		      "SET spark.sql.sources.partitionColumnTypeInference.enabled=false;\n",
		      out);
	/* An engine opens the files of a view where it is made. */
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		if (a->all_views || !a->sql || names(a->sql, dataset_tables[n].name))
			put_view(out, a, &dataset_tables[n]);
	if (a->sql)
		put_statement(out, a, a->sql);
	if (ferror(out)) {
		fclose(out);
		free(text);
		return NULL;
	}
	return fclose(out) == 0 ? text : NULL;
}
