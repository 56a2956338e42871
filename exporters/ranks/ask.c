/* ask.c - the text of a question for an engine. */
#include "exporters/ranks/ask.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/packs.h"
#include "exporters/ranks/superseded_rows.h"
#include "exporters/sql/report.h"

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

/* Rows that newer ones have replaced; NULL: none. */
static const char *not_older(const struct ask *a, const struct dataset_table *t)
{
	if (!a->older || !has_column(t, "rank"))
		return NULL;
	return a->older->restarts && has_column(t, "restart") ? a->older->restarts : a->older->sql;
}

/* Does a condition say which rows of the table count? */
static bool has_condition(const struct ask *a, const struct dataset_table *t)
{
	return not_older(a, t) || (a->steps && has_column(t, "step"));
}

static void put_condition(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	const char *older = not_older(a, t);

	if (older)
		fprintf(out, " WHERE %s", older);
	if (a->steps && has_column(t, "step"))
		fprintf(out, " %s step BETWEEN %lld AND %lld", older ? "AND" : "WHERE",
			(long long)a->steps[0], (long long)a->steps[1]);
}

/* Does the script ask one run alone? Views for people have all. */
static bool is_of_one_run(const struct ask *a)
{
	return a->sql && a->run && dataset_word(a->run) && !a->base && !a->all_views;
}

/* Columns that older files may lack, and that no table had at first: NULL there. */
static const char *const added[] = {"restart", "comm"};

static bool has_added_column(const struct dataset_table *t)
{
	bool has_any = false;

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		has_any = has_any || has_column(t, added[i]);
	return has_any;
}

static void put_added_columns(FILE *out, const struct dataset_table *t)
{
	const char *before = " UNION ALL BY NAME SELECT ";

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		for (size_t c = 0; c < t->cnt; c++)
			if (strcmp(t->columns[c].name, added[i]) == 0) {
				fprintf(out, "%sCAST(NULL AS %s) AS \"%s\"", before,
					t->columns[c].kind == DATASET_INT ? "BIGINT" : "VARCHAR",
					added[i]);
				before = ", ";
			}
	if (*before == ',')
		fputs(" WHERE false", out);
}

/* A path in which the engine takes nothing but the rest, which is ours, for a pattern. */
static void put_path(FILE *out, const struct ask *a, const char *rest)
{
	bool is_spark = strcmp(a->engine, "spark") == 0;
	char *text = NULL;
	size_t len;
	FILE *path = open_memstream(&text, &len);

	if (!path)
		return;
	for (const char *at = a->folder; *at; at++)
		if (!is_spark && strchr("*?[", *at))
			fprintf(path, "[%c]", *at);
		else if (is_spark && strchr("*?[]{}\\", *at))
			fprintf(path, "\\%c", *at);
		else
			putc(*at, path);
	fprintf(path, "/%s", rest);
	if (fclose(path) == 0)
		put_quoted(out, a, text);
	free(text);
}

/* Rows of the parts as they were added. @packed: of these the nodes in packs are left out. */
static void put_own(FILE *out, const struct ask *a, const struct dataset_table *t, bool packed)
{
	bool has_more = has_added_column(t);
	const char *before = " WHERE ";
	char rest[512];

	/* All files of a view are opened before the engine looks at a condition. */
	snprintf(rest, sizeof(rest), "%s/run=%s/node=*/part-0.parquet", t->name,
		 is_of_one_run(a) ? a->run : "*");
	fprintf(out, "SELECT * FROM %sread_parquet(", has_more ? "(SELECT * FROM " : "");
	put_path(out, a, rest);
	fputs(", hive_partitioning = true, hive_types_autocast = false, union_by_name = true)",
	      out);
	put_added_columns(out, t);
	if (has_more)
		putc(')', out);
	for (size_t i = 0; packed && i < a->packs->cnt; i++) {
		const struct pack *p = &a->packs->list[i];

		if (!pack_has_table(p, t->name) ||
		    (is_of_one_run(a) && strcmp(p->run, a->run) != 0))
			continue;
		fprintf(out, "%sNOT (run = '%s' AND node IN (%s))", before, p->run, p->nodes);
		before = " AND ";
	}
}

/* The files of a table in parts of the run, NULL: of all runs. False: none. */
static bool find_own(const struct ask *a, const char *table, const char *run, glob_t *found)
{
	char *path = NULL;
	FILE *out;
	size_t len;
	bool any;

	memset(found, 0, sizeof(*found));
	out = open_memstream(&path, &len);
	for (const char *at = a->folder; out && *at; at++)
		fprintf(out, strchr("*?[\\", *at) ? "\\%c" : "%c", *at);
	if (out)
		fprintf(out, "/%s/run=%s/node=*/part-0.parquet", table, run ? run : "*");
	any = out && fclose(out) == 0 && glob(path, GLOB_NOSORT, NULL, found) == 0;
	free(path);
	return any;
}

static bool has_own(const struct ask *a, const char *table, const char *run)
{
	glob_t found;
	bool any = find_own(a, table, run, &found);

	globfree(&found);
	return any;
}

static bool is_clocks(const struct dataset_table *t)
{
	return t == &dataset_tables[DATASET_SL_CLOCK_FIT];
}

/*
 * Which rows of a pack count. Clocks may have been compared after packing: a node's own file counts then, though its part is in the
 * pack.
 */
static void put_packed_condition(FILE *out, const struct ask *a, const struct pack *p,
				 const struct dataset_table *t)
{
	const char *before = " WHERE ";
	glob_t found;

	if (p->replaced) {
		fprintf(out, "%snode NOT IN (%s)", before, p->replaced);
		before = " AND ";
	}
	if (!is_clocks(t))
		return;
	find_own(a, t->name, p->run, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *at = strrchr(found.gl_pathv[i], '='),
			   *end = at ? strchr(at, '/') : NULL;
		char node[256];

		snprintf(node, sizeof(node), "%.*s", end ? (int)(end - at - 1) : 0,
			 at ? at + 1 : "");
		if (!dataset_word(node))
			continue;
		fprintf(out, "%snode <> '%s'", before, node);
		before = " AND ";
	}
	globfree(&found);
}

static bool counts(const struct ask *a, const struct pack *p, const struct dataset_table *t)
{
	return pack_has_table(p, t->name) && (!is_of_one_run(a) || strcmp(p->run, a->run) == 0);
}

bool ask_has_table(const struct ask *a, unsigned table)
{
	const struct dataset_table *t = &dataset_tables[table];

	for (size_t i = 0; a->packs && i < a->packs->cnt; i++)
		if (strcmp(a->packs->list[i].run, a->run) == 0 &&
		    pack_has_table(&a->packs->list[i], t->name))
			return true;
	return has_own(a, t->name, a->run);
}

/*
 * The view TABLE@after. With the columns Spark opens no file to find them, and has columns that a file lacks as NULL. Of one run the folders
 * of no other are listed; run is a column all the same.
 */
static void put_spark_view(FILE *out, const struct ask *a, const struct dataset_table *t,
			   const char *after)
{
	char rest[512], base[PATH_MAX + 128];

	fprintf(out, "CREATE OR REPLACE TEMPORARY VIEW %s%s (", t->name, after);
	for (size_t i = 0; i < t->cnt; i++)
		fprintf(out, "`%s` %s, ", t->columns[i].name,
			t->columns[i].kind == DATASET_INT ? "BIGINT" : "STRING");
	fputs("run STRING, node STRING) USING parquet OPTIONS (path ", out);
	if (is_of_one_run(a)) {
		snprintf(rest, sizeof(rest), "%s/run=%s", t->name, a->run);
		put_path(out, a, rest);
		/* No pattern. */
		snprintf(base, sizeof(base), "%s/%s", a->folder, t->name);
		fputs(", basePath ", out);
		put_quoted(out, a, base);
	} else {
		put_path(out, a, t->name);
	}
	fputs(");\n", out);
}

static void put_columns(FILE *out, const struct dataset_table *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		fprintf(out, "\"%s\", ", t->columns[i].name);
}

/* A run's pack has names of our own or dataset_word()s in it, and nothing to quote. */
static void put_packed_view(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	bool is_spark = strcmp(a->engine, "spark") == 0, own = false, is_clock = is_clocks(t);
	const char *between = "";

	for (size_t i = 0; i < a->packs->cnt; i++)
		own |= !a->packs->list[i].is_whole &&
		       (!is_of_one_run(a) || strcmp(a->packs->list[i].run, a->run) == 0);
	own = (own || is_clock || !is_of_one_run(a)) &&
	      has_own(a, t->name, is_of_one_run(a) ? a->run : NULL);
	for (size_t i = 0; is_spark && i < a->packs->cnt; i++) {
		char rest[1024];

		if (!counts(a, &a->packs->list[i], t))
			continue;
		snprintf(rest, sizeof(rest), "%s/%s.parquet", a->packs->list[i].folder, t->name);
		fprintf(out, "CREATE OR REPLACE TEMPORARY VIEW %s_%zu USING parquet OPTIONS (path ",
			t->name, i);
		put_path(out, a, rest);
		fputs(");\n", out);
	}
	if (is_spark && own)
		put_spark_view(out, a, t, "_own");
	fprintf(out, "CREATE %s VIEW %s AS SELECT * FROM (",
		is_spark ? "OR REPLACE TEMPORARY" : "TEMP", t->name);
	for (size_t i = 0; i < a->packs->cnt; i++) {
		const struct pack *p = &a->packs->list[i];
		char rest[1024];

		if (!counts(a, p, t))
			continue;
		fputs(between, out);
		between = is_spark ? " UNION ALL " : " UNION ALL BY NAME ";
		fputs("SELECT ", out);
		if (is_spark)
			put_columns(out, t);
		fprintf(out, is_spark ? "'%s' AS run, node FROM " : "*, '%s' AS run FROM ", p->run);
		snprintf(rest, sizeof(rest), "%s/%s.parquet", p->folder, t->name);
		if (is_spark) {
			fprintf(out, "%s_%zu", t->name, i);
		} else {
			fputs("read_parquet(", out);
			put_path(out, a, rest);
			fputs(", hive_partitioning = false)", out);
		}
		put_packed_condition(out, a, p, t);
	}
	if (own) {
		fputs(between, out);
		if (!is_spark) {
			put_own(out, a, t, !is_clock);
		} else {
			const char *before = " WHERE ";

			fputs("SELECT ", out);
			put_columns(out, t);
			fprintf(out, "run, node FROM %s_own", t->name);
			for (size_t i = 0; !is_clock && i < a->packs->cnt; i++) {
				fprintf(out, "%sNOT (run = '%s' AND node IN (%s))", before,
					a->packs->list[i].run, a->packs->list[i].nodes);
				before = " AND ";
			}
		}
	}
	if (!is_spark && *between)
		put_added_columns(out, t);
	fputs(") AS parts", out);
	put_condition(out, a, t);
	fputs(";\n", out);
}

/* Is the table in no part of the run, or runs, of a dataset that can be read here? Older versions wrote fewer. */
static bool is_missing(const struct ask *a, const struct dataset_table *t)
{
	char path[PATH_MAX];

	if (is_of_one_run(a))
		snprintf(path, sizeof(path), "%s/%s/run=%s", a->folder, t->name, a->run);
	else
		snprintf(path, sizeof(path), "%s/%s", a->folder, t->name);
	return access(a->folder, F_OK) == 0 && access(path, F_OK) < 0 && errno == ENOENT;
}

static void put_empty_view(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	bool is_spark = strcmp(a->engine, "spark") == 0;

	fprintf(out, "CREATE %s VIEW %s AS SELECT ", is_spark ? "OR REPLACE TEMPORARY" : "TEMP",
		t->name);
	for (size_t i = 0; i < t->cnt; i++)
		fprintf(out, "CAST(NULL AS %s) AS \"%s\", ",
			t->columns[i].kind == DATASET_INT ? "BIGINT"
			: is_spark                        ? "STRING"
							  : "VARCHAR",
			t->columns[i].name);
	fputs("'' AS run, '' AS node WHERE 1 = 0;\n", out);
}

static void put_view(FILE *out, const struct ask *a, const struct dataset_table *t)
{
	bool where = has_condition(a, t), is_packed = false;

	for (size_t i = 0; a->packs && i < a->packs->cnt; i++)
		is_packed |= counts(a, &a->packs->list[i], t);
	if (is_packed) {
		put_packed_view(out, a, t);
		return;
	}
	if (is_missing(a, t)) {
		put_empty_view(out, a, t);
		return;
	}
	if (strcmp(a->engine, "duckdb") == 0) {
		fprintf(out, "CREATE TEMP VIEW %s AS ", t->name);
		put_own(out, a, t, false);
		put_condition(out, a, t);
		fputs(";\n", out);
		return;
	}
	put_spark_view(out, a, t, where ? "_all" : "");
	if (where) {
		fprintf(out, "CREATE OR REPLACE TEMPORARY VIEW %s AS SELECT * FROM %s_all", t->name,
			t->name);
		put_condition(out, a, t);
		fputs(";\n", out);
	}
}

/* ---- roll-ups of a pack ---- */

/* The pack that all of the run counts from, if it has that table; NULL: none. */
static const struct pack *whole_pack(const struct ask *a, const char *table)
{
	for (size_t i = 0; a->packs && i < a->packs->cnt; i++) {
		const struct pack *p = &a->packs->list[i];

		if (p->is_whole && strcmp(p->run, a->run) == 0 && pack_has_table(p, table))
			return p;
	}
	return NULL;
}

/* The question over the roll-ups that the run has; malloc'd, NULL: it lacks one. */
static char *over_rollups(const struct ask *a)
{
	char table[64], *made;

	/* Their sums are of all steps. */
	if (!is_of_one_run(a) || a->steps)
		return NULL;
	for (size_t i = 0; (made = ask_rollup(a->sql, i, table)); i++) {
		free(made);
		if (!whole_pack(a, table))
			return NULL;
	}
	return ask_over_rollups(a->sql);
}

static void put_rollup_views(FILE *out, const struct ask *a)
{
	char table[64], rest[1024], *made;

	for (size_t i = 0; (made = ask_rollup(a->sql, i, table)); i++) {
		bool is_spark = strcmp(a->engine, "spark") == 0;

		free(made);
		snprintf(rest, sizeof(rest), "%s/%s.parquet", whole_pack(a, table)->folder, table);
		fprintf(out,
			is_spark
				? "CREATE OR REPLACE TEMPORARY VIEW %s USING parquet OPTIONS (path "
				: "CREATE TEMP VIEW %s AS SELECT * FROM read_parquet(",
			table);
		put_path(out, a, rest);
		fputs(is_spark ? ");\n" : ", hive_partitioning = false);\n", out);
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
/* Operations in which a rank is done without all others: their kernels show no wait for the last rank. */
static const char rooted[] = "('Broadcast', 'Bcast', 'Reduce', 'Gather', 'Scatter', 'Scan')";

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
		} else if (is_word(sql, ":rooted")) {
			fputs(rooted, out);
			sql += 6;
		} else if (is_word(sql, ":top")) {
			fprintf(out, "%lld", a->top);
			sql += 3;
		} else {
			putc(*sql, out);
		}
}

/*
 * The statement with its numbers as text: those of engines have as many digits as there are. minute is a date, UTC. Columns are those of
 * the head.
 */
static bool put_for_people(FILE *out, const struct ask *a, const char *sql)
{
	static const char macro[] = "CREATE TEMP MACRO sl_text(x) AS coalesce(CASE WHEN typeof(x) "
				    "<> 'DOUBLE' THEN CAST(x AS "
				    "VARCHAR) WHEN abs(TRY_CAST(x AS DOUBLE)) >= 1000 THEN "
				    "format('{:.0f}', TRY_CAST(x AS "
				    "DOUBLE)) WHEN abs(TRY_CAST(x AS DOUBLE)) >= 1 THEN "
				    "format('{:.3f}', TRY_CAST(x AS DOUBLE)) "
				    "ELSE format('{:.3g}', TRY_CAST(x AS DOUBLE)) END, '-');\n"
				    "CREATE TEMP MACRO sl_minute(x) AS "
				    "strftime(make_timestamp(CAST(x AS BIGINT) * 60000000), "
				    "'%Y-%m-%d %H:%M');\n";
	char *text = NULL, column[512];
	size_t len;
	FILE *statement = open_memstream(&text, &len);

	if (!statement)
		return false;
	put_statement(statement, a, sql);
	if (fclose(statement) != 0)
		return false;
	while (len && strchr("; \n", text[len - 1]))
		text[--len] = 0;
	fprintf(out, "%sSELECT ", macro);
	for (unsigned i = 0; report_field(a->sql, "column", i, column, sizeof(column)); i++) {
		column[strcspn(column, " ")] = 0;
		fprintf(out, "%s%s(\"%s\") AS \"%s\"", i ? ", " : "",
			strcmp(column, "minute") == 0 ? "sl_minute" : "sl_text", column, column);
	}
	fprintf(out, " FROM (%s) LIMIT %lld;\n", text, a->top);
	free(text);
	return true;
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
	char *text = NULL, *rolled;
	const char *sql;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool is_whole = true;

	if (!out)
		return NULL;
	if (strcmp(a->engine, "spark") == 0)
		fputs("SET spark.sql.ansi.enabled=true;\nSET "
		      "spark.sql.ansi.doubleQuotedIdentifiers=true;\n"
		      "SET spark.sql.sources.partitionColumnTypeInference.enabled=false;\n",
		      out);
	rolled = over_rollups(a);
	sql = rolled ? rolled : a->sql;
	if (rolled)
		put_rollup_views(out, a);
	/* An engine opens the files of a view where it is made. */
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		if (a->all_views || !sql || names(sql, dataset_tables[n].name))
			put_view(out, a, &dataset_tables[n]);
	if (sql && a->for_people)
		is_whole = put_for_people(out, a, sql);
	else if (sql)
		put_statement(out, a, sql);
	free(rolled);
	if (ferror(out) || !is_whole) {
		fclose(out);
		free(text);
		return NULL;
	}
	return fclose(out) == 0 ? text : NULL;
}
