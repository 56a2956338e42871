/*
 * schema_image.c SCHEMA.SQL - runs while Sightline is built; prints, as C, the file that SQLite makes of the tables which
 * every report has. Creating those forty tables takes SQLite 8 ms, for which each traced program would wait.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-- @table "

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return;
	fprintf(stderr, "schema_image: %s: %s\n", sql, sqlite3_errmsg(db));
	exit(1);
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	sqlite3_int64 size;
	const unsigned char *bytes;
	char *text = NULL, when[16];
	size_t room = 0;
	sqlite3 *db;

	if (!f || getdelim(&text, &room, '\0', f) < 0 || sqlite3_open(":memory:", &db))
		return 1;
	run(db, "PRAGMA page_size = 8192; PRAGMA auto_vacuum = NONE; BEGIN");
	for (char *at = strstr(text, MARK), *next; at; at = next) {
		next = strstr(at + 1, MARK);
		if (next)
			next[-1] = 0;
		if (sscanf(at, MARK "%*s %15s", when) != 1)
			return 1;
		if (!strcmp(when, "always") || !strcmp(when, "private"))
			run(db, at);
	}
	run(db, "COMMIT");
	bytes = sqlite3_serialize(db, "main", &size, 0);
	printf("#include \"collector/report/db_internal.h\"\nconst unsigned char sl_new_report[] = "
	       "{");
	for (sqlite3_int64 i = 0; bytes && i < size; i++)
		printf("%d,%s", bytes[i], i % 64 ? "" : "\n");
	printf("};\nconst unsigned long sl_new_report_size = sizeof(sl_new_report);\n");
	return !bytes || fflush(stdout) || ferror(stdout);
}
