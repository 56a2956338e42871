/*
 * schema_image.c SCHEMA.SQL - what a new report begins with, as C source (collector/report/schema_image.h): the file that SQLite
 * makes of the tables which every report has, and the columns of all tables. Runs where Sightline is built.
 *
 * To create forty tables takes SQLite milliseconds, for which each program that is traced would wait.
 */
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-- @table "

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "schema_image: %s: %s\n", what, why);
	exit(1);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!f || getdelim(&text, &room, '\0', f) < 0)
		die(path, "cannot be read");
	fclose(f);
	return text;
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die(sql, sqlite3_errmsg(db));
}

static sqlite3 *new_database(void)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		die(":memory:", "cannot be opened");
	run(db, "PRAGMA page_size = 8192; PRAGMA auto_vacuum = NONE; BEGIN");
	return db;
}

/* Runs all sections ("-- @table NAME WHEN"), or those that every report begins with. */
static void make_tables(sqlite3 *db, const char *schema, bool all)
{
	const char *at = strstr(schema, MARK);

	while (at) {
		const char *next = strstr(at + 1, MARK);
		char name[64], when[16],
			*sql = next ? strndup(at, (size_t)(next - at)) : strdup(at);

		if (!sql || sscanf(at + strlen(MARK), "%63s %15s", name, when) != 2)
			die(at, "no table and its time");
		if (all || !strcmp(when, "always") || !strcmp(when, "private"))
			run(db, sql);
		free(sql);
		at = next;
	}
	run(db, "COMMIT");
}

static void print_file(sqlite3 *db)
{
	sqlite3_int64 size;
	const unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);

	if (!bytes)
		die("main", "cannot be serialized");
	printf("const unsigned char sl_new_report[] = {");
	for (sqlite3_int64 i = 0; i < size; i++)
		printf("%s%d,", i % 64 ? "" : "\n", bytes[i]);
	printf("};\nconst unsigned long sl_new_report_size = sizeof(sl_new_report);\n");
	sqlite3_free((void *)bytes);
}

/* Names of columns are left out, and keys: db_batch.c has rows in their order. */
static void print_columns(sqlite3 *db)
{
	sqlite3_stmt *columns;
	char name[64] = "";
	unsigned cnt = 0;
	sqlite3_uint64 not_null = 0;

	if (sqlite3_prepare_v2(
		    db,
		    "SELECT s.name, c.type, c.\"notnull\" FROM sqlite_schema s, "
		    "pragma_table_info(s.name) c WHERE s.type = 'table' ORDER BY s.rowid, c.cid",
		    -1, &columns, NULL) != SQLITE_OK)
		die("columns", sqlite3_errmsg(db));
	printf("const struct schema_columns sl_schema_columns[] = {");
	while (sqlite3_step(columns) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(columns, 0);
		int is_set = sqlite3_column_int(columns, 2);

		if (strcmp(table, name) != 0) {
			if (cnt)
				printf(")\", %u, %lluu},", cnt, not_null);
			snprintf(name, sizeof(name), "%s", table);
			printf("\n{\"%s\", \"CREATE TABLE %s(", name, name);
			cnt = 0;
			not_null = 0;
		}
		printf("%sc%u %s%s", cnt ? "," : "", cnt, sqlite3_column_text(columns, 1),
		       is_set ? " NOT NULL" : "");
		if (is_set && cnt < 64)
			not_null |= (sqlite3_uint64)1 << cnt;
		cnt++;
	}
	printf(")\", %u, %lluu},\n{0, 0, 0, 0}};\n", cnt, not_null);
	sqlite3_finalize(columns);
}

int main(int argc, char **argv)
{
	char *schema = argc == 2 ? read_file(argv[1]) : NULL;
	sqlite3 *fixed = new_database(), *all = new_database();

	if (!schema)
		die("usage", "schema_image SCHEMA.SQL");
	make_tables(fixed, schema, false);
	make_tables(all, schema, true);
	printf("/* made by scripts/schema_image.c */\n#include "
	       "\"collector/report/schema_image.h\"\n");
	print_file(fixed);
	print_columns(all);
	sqlite3_close(fixed);
	sqlite3_close(all);
	free(schema);
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
