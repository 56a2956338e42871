/* rules.c - heads of rules are whole and true, and each rule stands any data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/analyze/findings.h"

static char path[] = "/tmp/sightline-rules-XXXXXX";
static char why[1024];

/* ---- a format that looks at headings only ---- */

static const char *rule_sql, *rule_name;
static long heads_seen;

/* Each column that the evidence has is in the head, in the same order. */
static int check_heads(struct sheet *s)
{
	char field[512];
	unsigned cnt = 0;

	for (int i = 0; i < s->cols; i++) {
		size_t len = strlen(s->heads[i]);

		if (!report_field(rule_sql, "column", (unsigned)i, field, sizeof(field)) ||
		    strncmp(field, s->heads[i], len) != 0 || strncmp(field + len, " = ", 3) != 0)
			fail_msg("%s: column %d is %s, the head says %s", rule_name, i, s->heads[i],
				 field);
	}
	while (report_field(rule_sql, "column", cnt, field, sizeof(field)))
		cnt++;
	assert_int_equal(cnt, s->cols);
	heads_seen++;
	return 0;
}

static int any_row(struct sheet *s, const struct cell *cells)
{
	(void)s;
	(void)cells;
	return 0;
}

static int any_end(struct sheet *s)
{
	(void)s;
	return 0;
}

static const struct format heads = {
	.name = "heads", .begin = check_heads, .row = any_row, .end = any_end};

/* ---- reports with every table ---- */

static void make(sqlite3 *db, const char *row)
{
	static const struct {
		const char *name, *columns;
	} tables[] = {
#define TABLE(name, columns) {#name, columns},
#include "exporters/read/compat.def"
#undef TABLE
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char sql[8192], *p = sql, *values;

		p += sprintf(p, "DROP TABLE IF EXISTS %s; CREATE TABLE %s(\"", tables[i].name,
			     tables[i].name);
		for (const char *c = tables[i].columns; *c; c++)
			p = *c == ' ' ? stpcpy(p, "\",\"") : (*p = *c, p + 1);
		p = stpcpy(p, "\");");
		if (row) {
			p += sprintf(p, "INSERT INTO %s VALUES(%s", tables[i].name, row);
			for (const char *c = tables[i].columns; *c; c++)
				if (*c == ' ')
					p += sprintf(p, ",%s", row);
			p = stpcpy(p, ");");
		}
		*p = '\0';
		values = NULL;
		if (sqlite3_exec(db, sql, NULL, NULL, &values) != SQLITE_OK)
			fail_msg("%s: %s", tables[i].name, values);
	}
}

static void run_all(const char *row, long long least)
{
	struct analysis a;
	struct findings fs = {0};
	long ran = 0;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA synchronous=OFF; BEGIN", NULL, NULL, NULL);
	make(db, row);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	if (analysis_open(&a, path, NULL, false, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	for (size_t i = 0; sl_embedded[i].name; i++) {
		struct sheet s = {.out = stdout};
		struct report r;
		char name[64];

		rule_name = report_embedded(&rule_kind, i, name);
		if (!rule_name)
			continue;
		assert_int_equal(report_load(&rule_kind, name, NULL, &r, why, sizeof(why)), 0);
		rule_sql = r.sql;
		long long rows =
			findings_run(&a, &r, &time_units[0], &heads, &s, &fs, why, sizeof(why));

		if (rows == -1)
			fail_msg("%s with %s: %s", name, row ? row : "nothing", why);
		ran += rows >= 0;
		report_free(&r);
	}
	findings_rank(&fs);
	for (size_t i = 0; i + 1 < fs.cnt; i++)
		assert_true(fs.list[i].share >= fs.list[i + 1].share);
	assert_true(ran >= least);
	findings_free(&fs);
	analysis_close(&a);
}

/* Empty tables, and rows of nothing but NULL, 0, 1, -1, a huge number. */
static void any_data(void **state)
{
	static const char *const rows[] = {"NULL", "0", "1", "-1", "9223372036854775807"};

	(void)state;
	run_all(NULL, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run_all(rows[i], i == 0 ? 0 : 15);
	assert_true(heads_seen > 100);
}

static void whole_heads(void **state)
{
	static const char *const keys[] = {"title",  "about",  "needs",
					   "advice", "column", "default"};
	long places[64];
	unsigned cnt = 0;

	(void)state;
	for (size_t i = 0; sl_embedded[i].name; i++) {
		const char *sql = sl_embedded[i].text;
		char name[64], field[512];

		if (!report_embedded(&rule_kind, i, name))
			continue;
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (!report_field(sql, keys[k], 0, field, sizeof(field)))
				fail_msg("%s: no %s", name, keys[k]);
		places[cnt] = strtol(field, NULL, 10);
		for (unsigned k = 0; k < cnt; k++)
			if (places[k] == places[cnt])
				fail_msg("%s: its default place %ld is taken", name, places[cnt]);
		cnt++;
	}
	assert_true(cnt >= 16);
}

static void times(void **state)
{
	static const struct {
		long long ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1 us"},
		{1234, "1.23 us"},
		{12345, "12.3 us"},
		{123456, "123 us"},
		{999499, "999 us"},
		{999500, "1.00 ms"},
		{1500000000, "1.50 s"},
		{100000000000, "100 s"},
		{5000000000000, "5000 s"},
		{-1500, "-1.50 us"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[32];

		findings_time(cases[i].ns, buf, sizeof(buf));
		assert_string_equal(buf, cases[i].text);
	}
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_heads),
		cmocka_unit_test(any_data),
		cmocka_unit_test(times),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
