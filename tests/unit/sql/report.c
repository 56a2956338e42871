/* report.c - heads of reports, and that every report in the binary has a whole one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/message.h"
#include "collector/base/embed.h"
#include "exporters/read/db_views.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/report.h"

static char why[512];

static void fields_of_a_report_are_read(void **state)
{
	static const char sql[] = "-- title: A\n--\n-- arg:  x=<n>, two\n-- arg: y\n-- titles: no\n"
				  "SELECT 1;\n-- title: too late\n";
	char buf[32];

	(void)state;
	assert_true(report_field(sql, "title", 0, buf, sizeof(buf)));
	assert_string_equal(buf, "A");
	assert_false(report_field(sql, "title", 1, buf, sizeof(buf)));
	assert_true(report_field(sql, "arg", 0, buf, sizeof(buf)));
	assert_string_equal(buf, "x=<n>, two");
	assert_true(report_field(sql, "arg", 1, buf, sizeof(buf)));
	assert_string_equal(buf, "y");
	assert_false(report_field("", "title", 0, buf, sizeof(buf)));
	assert_true(report_field(sql, "title", 0, buf, 1));
	assert_string_equal(buf, "");
}

static void reports_are_loaded_by_name(void **state)
{
	struct report r;

	(void)state;
	assert_int_equal(report_load(&report_kind, "osrt_sum", NULL, &r, why, sizeof(why)), 0);
	assert_string_equal(r.name, "osrt_sum");
	assert_string_equal(r.title, "OS Runtime Summary");
	report_free(&r);
	assert_int_equal(report_load(&report_kind, "gpukernsum:base", NULL, &r, why, sizeof(why)),
			 0);
	assert_string_equal(r.name, "cuda_gpu_kern_sum"); /* by an older name */
	assert_string_equal(r.args, "base");
	report_free(&r);
	assert_int_equal(report_load(&report_kind, "osrt_sum:base", NULL, &r, why, sizeof(why)),
			 SL_EXIT_USAGE);
	assert_int_equal(report_load(&report_kind, "osrtsums", NULL, &r, why, sizeof(why)),
			 SL_EXIT_USAGE);
	assert_non_null(strstr(why, "'osrt_sum'"));
	assert_int_equal(report_load(&report_kind, "/no/such.sql", NULL, &r, why, sizeof(why)),
			 SL_EXIT_FAIL);
	assert_int_equal(report_load(&report_kind, "schema", NULL, &r, why, sizeof(why)),
			 SL_EXIT_USAGE);
	assert_int_equal(report_load(&report_kind, "", NULL, &r, why, sizeof(why)), SL_EXIT_USAGE);
}

/* A file that includes what there is, and what there is not. */
static void included_steps_are_put_in(void **state)
{
	static char path[] = "/tmp/sightline-report-XXXXXX.sql";
	int fd = mkstemps(path, 4);
	struct report r;

	(void)state;
	dprintf(fd,
		"-- title: T\nWITH\n  -- include: io_functions\n, -- include: no line of its own\n"
		"SELECT '-- include: x';\n-- include: steps");
	assert_int_equal(report_load(&report_kind, path, NULL, &r, why, sizeof(why)), 0);
	assert_string_equal(r.title, "T");
	assert_null(strstr(r.sql, "include: io_functions\n"));
	assert_non_null(strstr(r.sql, "WITH\n-- kind("));
	assert_non_null(
		strstr(r.sql, "\n, -- include: no line of its own\nSELECT '-- include: x';\n"));
	assert_non_null(
		strstr(r.sql, "CREATE TEMP TABLE timed")); /* which includes step_ranges, too */
	report_free(&r);
	dprintf(fd, "\n-- include: nonsense\n");
	assert_int_equal(report_load(&report_kind, path, NULL, &r, why, sizeof(why)), SL_EXIT_FAIL);
	assert_non_null(strstr(why, "'nonsense'"));
	close(fd);
	unlink(path);
}

static bool documented(const char *sql, const char *heading)
{
	char field[512];
	size_t len = strlen(heading);

	for (unsigned i = 0; report_field(sql, "column", i, field, sizeof(field)); i++)
		if (strncmp(field, heading, len) == 0 && strncmp(field + len, " = ", 3) == 0)
			return true;
	return false;
}

/* Each column that a report gives is in its head, in the same order and number. */
static void check_columns(sqlite3 *db, const char *name, const char *sql)
{
	sqlite3_stmt *stmt = NULL, *next;
	const char *rest = sql;
	char field[512];
	unsigned cnt = 0;

	/* what goes before the last statement is made and dropped again */
	sqlite3_exec(db, "SAVEPOINT report", NULL, NULL, NULL);
	while (sqlite3_prepare_v2(db, rest, -1, &next, &rest) == SQLITE_OK && next) {
		sqlite3_finalize(stmt);
		stmt = next;
		if (sqlite3_column_count(stmt) == 0)
			sqlite3_step(stmt);
	}
	if (sqlite3_errcode(db) != SQLITE_OK && sqlite3_errcode(db) != SQLITE_DONE)
		fail_msg("%s: %s", name, sqlite3_errmsg(db));
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (!documented(sql, sqlite3_column_name(stmt, i)))
			fail_msg("%s: column %s has no line in its head", name,
				 sqlite3_column_name(stmt, i));
	while (report_field(sql, "column", cnt, field, sizeof(field)))
		cnt++;
	assert_int_equal(cnt, sqlite3_column_count(stmt));
	sqlite3_finalize(stmt);
	sqlite3_exec(db, "ROLLBACK TO report; RELEASE report", NULL, NULL, NULL);
}

static sqlite3 *every_table(void)
{
	static const struct {
		const char *name, *columns;
	} tables[] = {
#define TABLE(name, columns) {#name, columns},
#include "exporters/read/compat.def"
#undef TABLE
	};
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char sql[4096], *p = sql;

		p += sprintf(p, "CREATE TABLE %s(\"", tables[i].name);
		for (const char *c = tables[i].columns; *c; c++)
			p = *c == ' ' ? stpcpy(p, "\",\"") : (*p = *c, p + 1);
		memcpy(p, "\")", sizeof("\")"));
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	assert_int_equal(db_read_add_stack_views(db), SQLITE_OK);
	assert_int_equal(sql_functions(db, NULL), SQLITE_OK);
	return db;
}

static void every_report_runs_and_is_described(void **state)
{
	sqlite3 *db = every_table();
	unsigned cnt = 0;

	(void)state;
	for (size_t i = 0; sl_embedded[i].name; i++) {
		char field[1024], name[64];
		struct report r;
		const char *sql;

		if (!report_embedded(&report_kind, i, name))
			continue;
		if (report_load(&report_kind, name, NULL, &r, why, sizeof(why)) != 0)
			fail_msg("%s", why);
		sql = r.sql;
		cnt++;
		assert_true(report_field(sql, "title", 0, field, sizeof(field)));
		assert_true(report_field(sql, "about", 0, field, sizeof(field)));
		assert_true(report_field(sql, "needs", 0, field, sizeof(field)));
		assert_non_null(strstr(field, " = "));
		check_columns(db, sl_embedded[i].name, sql);
		report_free(&r);
	}
	assert_true(cnt >= 14);
	sqlite3_close(db);
}

static void default_reports_can_be_loaded(void **state)
{
	char *list = report_defaults(&report_kind), *rest = list, *word;
	struct report r;

	(void)state;
	assert_int_equal(strncmp(list, "nvtx_sum,osrt_sum,cuda_api_sum,cuda_gpu_kern_sum,", 48), 0);
	while ((word = strsep(&rest, ",")) != NULL) {
		assert_int_equal(report_load(&report_kind, word, NULL, &r, why, sizeof(why)), 0);
		/* what every program has, or should have, is missed aloud */
		if (strcmp(word, "nvtx_sum") == 0 || strcmp(word, "osrt_sum") == 0 ||
		    strcmp(word, "cuda_api_sum") == 0 || strcmp(word, "cuda_gpu_kern_sum") == 0)
			assert_false(report_quiet(&r));
		if (strcmp(word, "thread_cpu_sum") == 0 || strcmp(word, "dx12_pix_sum") == 0)
			assert_true(report_quiet(&r));
		report_free(&r);
	}
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_a_report_are_read),
		cmocka_unit_test(reports_are_loaded_by_name),
		cmocka_unit_test(included_steps_are_put_in),
		cmocka_unit_test(every_report_runs_and_is_described),
		cmocka_unit_test(default_reports_can_be_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
