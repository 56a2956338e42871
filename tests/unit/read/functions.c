/* functions.c - what functions of the C library do and wait for: by the report, else by the hook tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/read/db_read.h"
#include "exporters/read/functions.h"
#include "preload/wire/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

/* A report with the schema of today, and what @sql makes of it. */
static sqlite3 *report(const char *sql)
{
	const struct embedded *schema = sl_embedded;
	char why[512] = "";
	sqlite3 *db;

	while (strcmp(schema->name, "schema.sql") != 0)
		schema++;
	snprintf(path, sizeof(path), "/tmp/sightline-functions-%d.sqlite", (int)getpid());
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, schema->text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	db = db_read_open(path, why, sizeof(why));
	if (!db)
		fail_msg("%s", why);
	return db;
}

/* Rows of SL_FUNCTION_KINDS, "name io stdio file waits sends bytes copies", one per line, in alphabetical order; NULL: -. */
static void assert_kinds(const char *sql, const char *want)
{
	static const char select[] =
		"SELECT group_concat(line, '; ') FROM (SELECT value || ' ' || coalesce(io, '-') || "
		"' ' || coalesce(isStdio, '-') || ' ' || coalesce(file, '-') || ' ' || "
		"coalesce(waits, '-') || ' ' || coalesce(sends, '-') || ' ' || "
		"coalesce(returnsBytes, '-') || ' ' || coalesce(copies, '-') AS line FROM "
		"SL_FUNCTION_KINDS JOIN StringIds ON id = "
		"nameId ORDER BY value)";
	sqlite3 *db = report(sql);
	sqlite3_stmt *stmt = NULL;
	const char *got;

	assert_int_equal(sqlite3_prepare_v2(db, select, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	got = (const char *)sqlite3_column_text(stmt, 0);
	assert_string_equal(got ? got : "", want);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	unlink(path);
}

#define NAMES                                                                                    \
	"INSERT INTO StringIds VALUES(1, 'read'), (2, '__pwrite64_chk'), (3, 'fflush'), (4, "    \
	"'/read'), (5, 'libc'), (6, 'pthread_mutex_lock'), (7, 'cudaMalloc'), (8, 'shutdown'), " \
	"(9, '__connect'), (11, 'reads'), (12, 'sendfile');"
#define BY_NAME                                                                            \
	"__connect 1 0 - socket 1 0 0; __pwrite64_chk 4 0 write object 1 1 0; fflush 4 1 " \
	"flush object 1 0 0; pthread_mutex_lock - 0 - lock 0 0 0; "

static void without_a_table_names_decide(void **state)
{
	(void)state;
	assert_kinds(NAMES "DROP TABLE SL_FUNCTIONS",
		     BY_NAME "read 3 0 read object 0 1 0; sendfile 3 0 read object 1 1 1; shutdown "
			     "- 0 - none 1 0 0");
	assert_kinds(NAMES, BY_NAME "read 3 0 read object 0 1 0; sendfile 3 0 read object 1 1 1; "
				    "shutdown - 0 - none 1 0 0");
}

static void table_of_an_older_version_decides_what_it_can(void **state)
{
	(void)state;
	assert_kinds(
		NAMES "DROP TABLE SL_FUNCTIONS; CREATE TABLE SL_FUNCTIONS(nameId INTEGER "
		      "PRIMARY KEY, library, io, isStdio); INSERT INTO SL_FUNCTIONS VALUES(1, "
		      "5, 4, 1), (7, 5, NULL, 0)",
		"__connect 1 0 - socket 1 0 0; __pwrite64_chk 4 0 write object 1 1 0; cudaMalloc - "
		"0 "
		"- - - - -; fflush 4 1 flush object 1 0 0; pthread_mutex_lock - 0 - lock 0 0 0; "
		"read 4 1 read object 0 1 0; sendfile 3 0 read object 1 1 1; shutdown - 0 - none 1 "
		"0 0");
}

static void complete_table_decides_alone(void **state)
{
	(void)state;
	assert_kinds(NAMES "INSERT INTO SL_FUNCTIONS VALUES(1, 5, 4, 1, 'sync', 'poll', 1, 0, 1)",
		     "read 4 1 sync poll 1 0 1");
	/* Merged of reports of both versions. */
	assert_kinds(NAMES "INSERT INTO SL_FUNCTIONS VALUES(1, 5, 4, 1, 'sync', 'poll', 1, 0, 1), "
			   "(8, 5, NULL, 0, NULL, NULL, NULL, NULL, NULL)",
		     "read 4 1 sync poll 1 0 1; shutdown - 0 - none 1 0 0");
}

static void names_that_are_none(void **state)
{
	static const char *const names[] = {"",      "_",  "__",   "rea",    "reads",  "Read",
					    "read ", "64", "_chk", "SELECT", "wrapper"};
	char name[100] = "read";
	struct function_kind kind;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(function_kind(names[i], &kind));
	memset(name + 4, '_', sizeof(name) - 5);
	assert_false(function_kind(name, &kind));
}

/* ---- the tables themselves ---- */

static bool is_one_of(const char *word, const char *words)
{
	char key[32];

	snprintf(key, sizeof(key), " %s ", word);
	return strstr(words, key) != NULL;
}

/* The classes that a function with such an operation may have. */
static const char *classes_of(const struct function_kind *k)
{
	if (!k->file)
		return k->io == SL_IO_READ || k->io == SL_IO_WRITE ? " socket queue object " : NULL;
	return strcmp(k->file, "open") == 0     ? " open "
	       : strcmp(k->file, "stat") == 0   ? " file "
	       : strcmp(k->file, "sync") == 0   ? " disk "
	       : strcmp(k->file, "buffer") == 0 ? " none "
	       : strcmp(k->file, "close") == 0  ? " object child none "
						: " object ";
}

static void each_hook_has_a_class_that_fits_its_operation(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
		const struct sl_hook_info *hook = &sl_hook_info[i];
		struct function_kind k;
		const char *may;

		assert_true(function_kind(sl_hook_name(i), &k));
		assert_int_equal(k.io, hook->io);
		assert_int_equal(k.is_stdio, sl_hook_is_stdio(i));
		assert_int_equal(k.returns_bytes, hook->fail == SL_FAIL_CNT);
		assert_non_null(k.waits);
		may = classes_of(&k);
		if (may && !is_one_of(k.waits, may))
			fail_msg("%s: %s waits for %s", sl_hook_name(i), k.file, k.waits);
		assert_int_equal(k.copies, hook->op == SL_OP_COPY);
		if (k.returns_bytes && k.io != SL_IO_READ && k.io != SL_IO_WRITE &&
		    strcmp(sl_hook_name(i), "getrandom") != 0)
			fail_msg("%s moves no bytes", sl_hook_name(i));
	}
}

static void strip(char *word, const char *part)
{
	for (char *at; (at = strstr(word, part)) != NULL;)
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* The function that a hook is a variant of: __isoc99_fscanf is fscanf, __fread_unlocked_chk is fread. */
static void plain_name(const char *name, char word[64])
{
	snprintf(word, 64, "%s", name);
	strip(word, "__");
	strip(word, "_chk");
	strip(word, "64");
	strip(word, "_unlocked");
	strip(word, "isoc99_");
	strip(word, "isoc23_");
}

static void variants_of_a_function_are_of_one_kind(void **state)
{
	char a[64], b[64];

	(void)state;
	for (unsigned i = 0; i < SL_HOOK_CNT; i++)
		for (unsigned k = 0; k < i; k++) {
			const struct sl_hook_info *x = &sl_hook_info[i], *y = &sl_hook_info[k];

			plain_name(sl_hook_name(i), a);
			plain_name(sl_hook_name(k), b);
			if (strcmp(a, b) == 0 && (x->op != y->op || x->waits != y->waits))
				fail_msg("%s is not of the kind of %s", sl_hook_name(i),
					 sl_hook_name(k));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_table_names_decide),
		cmocka_unit_test(table_of_an_older_version_decides_what_it_can),
		cmocka_unit_test(complete_table_decides_alone),
		cmocka_unit_test(names_that_are_none),
		cmocka_unit_test(each_hook_has_a_class_that_fits_its_operation),
		cmocka_unit_test(variants_of_a_function_are_of_one_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
