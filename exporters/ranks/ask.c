/* ask.c - the text of a question for an engine. */
#include "exporters/ranks/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/ranks/dataset.h"

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

/* As SQL text. */
static void put_quoted(FILE *out, const char *text)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', out);
		putc(*text, out);
	}
	putc('\'', out);
}

static void put_view(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	char path[4200];

	if (strcmp(a->engine, "duckdb") == 0) {
		snprintf(path, sizeof(path), "%s/%s/run=*/node=*/part-0.parquet", a->folder,
			 t->name);
		fprintf(out, "CREATE TEMP VIEW %s AS SELECT * FROM read_parquet(", t->name);
		put_quoted(out, path);
		fputs(", hive_partitioning = true, hive_types_autocast = false, union_by_name = "
		      "true);\n",
		      out);
	} else {
		snprintf(path, sizeof(path), "%s/%s", a->folder, t->name);
		fprintf(out, "CREATE OR REPLACE TEMPORARY VIEW %s USING parquet OPTIONS (path ",
			t->name);
		put_quoted(out, path);
		fputs(", mergeSchema 'true');\n", out);
	}
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
			put_quoted(out, a->run);
			sql += 3;
		} else if (is_word(sql, ":base")) {
			put_quoted(out, a->base ? a->base : "");
			sql += 4;
		} else if (is_word(sql, ":top")) {
			fprintf(out, "%lld", a->top);
			sql += 3;
		} else {
			putc(*sql, out);
		}
}

char *ask_script(const struct ask *a)
{
	const char *sql = ask_question(a->question);
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
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		put_view(out, a, &dataset_tables[n]);
	if (sql)
		put_statement(out, a, sql);
	if (ferror(out)) {
		fclose(out);
		free(text);
		return NULL;
	}
	return fclose(out) == 0 ? text : NULL;
}
