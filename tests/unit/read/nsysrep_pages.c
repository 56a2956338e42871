/* nsysrep_pages.c - pages of a database file written by hand are what SQLite reads: rows, long texts, levels, indexes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "exporters/read/nsysrep/pages.h"

static char path[64];
static struct pages p;
static struct page_tree rows, idx;

static int begin(void **state)
{
	(void)state;
	strcpy(path, "/tmp/sl-pages-XXXXXX");
	p = (struct pages){.fd = mkstemp(path)};
	return p.fd < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	page_tree_drop(&rows);
	page_tree_drop(&idx);
	free(p.buffer);
	close(p.fd);
	return unlink(path);
}

static void start_again(void)
{
	free(p.buffer);
	assert_int_equal(ftruncate(p.fd, 0), 0);
	p = (struct pages){.fd = p.fd};
}

static void add(int64_t rowid, int64_t a, const char *text, size_t len)
{
	const struct page_value v[] = {
		{.type = PAGE_INTEGER, .number = a},
		{.type = text ? PAGE_TEXT : PAGE_NULL, .text = text, .len = len}};

	page_row(&p, &rows, rowid, v, 2);
}

static sqlite3 *open_db(bool has_index)
{
	uint32_t root = page_tree_end(&p, &rows, false), index = 0;
	char sql[512];
	sqlite3 *db;

	if (has_index)
		index = page_tree_end(&p, &idx, true);
	assert_int_equal(pages_end(&p), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "PRAGMA synchronous=OFF; PRAGMA writable_schema=ON; INSERT INTO sqlite_master "
		 "VALUES "
		 "('table', 't', 't', %u, 'CREATE TABLE t(a INTEGER, b TEXT)')",
		 root);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO sqlite_master VALUES ('table', 'u', 'u', %u, 'CREATE TABLE u(a "
		 "INTEGER, "
		 "b INTEGER, PRIMARY KEY (a, b))'), ('index', 'sqlite_autoindex_u_1', 'u', %u, "
		 "NULL)",
		 root, index);
	if (has_index)
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	else
		print_error("%s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	return n;
}

#define CHECK "SELECT integrity_check = 'ok' FROM pragma_integrity_check"

static void numbers_of_all_sizes_come_back(void **state)
{
	static const int64_t values[] = {0,
					 1,
					 2,
					 -1,
					 127,
					 128,
					 -128,
					 -129,
					 32767,
					 32768,
					 -32768,
					 -32769,
					 8388607,
					 8388608,
					 -8388608,
					 -8388609,
					 2147483647,
					 2147483648,
					 -2147483648,
					 -2147483649,
					 (1LL << 47) - 1,
					 1LL << 47,
					 -(1LL << 47),
					 -(1LL << 47) - 1,
					 INT64_MAX,
					 INT64_MIN};
	char sql[128];
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		add((int64_t)i + 1, values[i], NULL, 0);
	db = open_db(false);
	assert_int_equal(number(db, CHECK), 1);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(sql, sizeof(sql), "SELECT a FROM t WHERE rowid = %zu AND b IS NULL",
			 i + 1);
		assert_int_equal(number(db, sql), values[i]);
	}
	assert_int_equal(number(db, "SELECT sum(typeof(a) = 'integer') FROM t"), 26);
	sqlite3_close(db);
}

static void texts_longer_than_a_page_go_on_in_others(void **state)
{
	static char text[300000];
	static const size_t sizes[] = {0,    1,    57,   3900, 4050, 4053, 4054,  4055,  4056,
				       4057, 4058, 4059, 4060, 4061, 4062, 4100,  8140,  8180,
				       8181, 8182, 8183, 8184, 8185, 9000, 12270, 20000, 299999};
	int64_t rowid = 0;
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			add(++rowid, (int64_t)sizes[i], text, sizes[i]);
	db = open_db(false);
	assert_int_equal(number(db, CHECK), 1);
	assert_int_equal(number(db, "SELECT count(*) FROM t WHERE length(b) = a"), rowid);
	assert_int_equal(
		number(db, "SELECT count(*) FROM t WHERE b <> (SELECT substr(x.b, 1, t.a) FROM "
			   "t AS x ORDER BY a DESC LIMIT 1)"),
		0);
	sqlite3_close(db);
}

static void a_table_may_have_no_row_one_page_or_several_levels(void **state)
{
	static const int64_t counts[] = {0, 1, 700, 2000, 300000};
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		start_again();
		for (int64_t k = 0; k < counts[i]; k++)
			add(k * 3 - 5, k, "xyz", 3);
		db = open_db(false);
		assert_int_equal(number(db, CHECK), 1);
		assert_int_equal(number(db, "SELECT count(*) FROM t"), counts[i]);
		assert_int_equal(number(db, "SELECT count(*) FROM t WHERE rowid <> a * 3 - 5"), 0);
		/* By way of the levels, and rows added by SQLite. */
		for (int64_t k = 0; k < counts[i]; k += 997) {
			char sql[96];

			snprintf(sql, sizeof(sql), "SELECT a FROM t WHERE rowid = %lld",
				 (long long)(k * 3 - 5));
			assert_int_equal(number(db, sql), k);
		}
		assert_int_equal(
			sqlite3_exec(db,
				     "INSERT INTO t VALUES (1, 2); CREATE TABLE v AS SELECT * "
				     "FROM t; DELETE FROM t WHERE a % 2",
				     NULL, NULL, NULL),
			SQLITE_OK);
		assert_int_equal(number(db, CHECK), 1);
		sqlite3_close(db);
	}
}

/* A page that is full is written when the one behind it has an entry: all counts around those of full pages. */
static void an_index_is_whole_whatever_its_last_page_has(void **state)
{
	sqlite3 *db;

	(void)state;
	for (int64_t cnt = 0; cnt < 60000; cnt += cnt < 1200 ? 1 : 9311) {
		start_again();
		for (int64_t k = 0; k < cnt; k++) {
			const struct page_value v[] = {{.type = PAGE_INTEGER, .number = k / 4},
						       {.type = PAGE_INTEGER, .number = k % 4}};

			page_row(&p, &rows, k + 1, v, 2);
			page_entry(&p, &idx, k / 4, k % 4, k + 1);
		}
		if (cnt > 400 && cnt < 1200 && cnt % 7) {
			page_tree_drop(&rows);
			page_tree_drop(&idx);
			continue;
		}
		db = open_db(true);
		assert_int_equal(
			sqlite3_exec(db,
				     "PRAGMA writable_schema=ON; DELETE FROM sqlite_master WHERE "
				     "name = 't'",
				     NULL, NULL, NULL),
			SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(number(db, CHECK), 1);
		assert_int_equal(
			number(db, "SELECT count(*) FROM u INDEXED BY sqlite_autoindex_u_1"), cnt);
		sqlite3_close(db);
	}
}

/* SQLite locks bytes from 1 GiB on: the page there stays empty, also within a long text. */
static void the_page_of_locks_is_left_out(void **state)
{
	static char text[40000];
	sqlite3 *db;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (int at = -12; at < 3; at++) {
		start_again();
		p = (struct pages){.fd = p.fd,
				   .cnt = 0x40000000 / 4096 + (uint32_t)at,
				   .at = 4096 * (0x40000000ull / 4096 + (uint64_t)(int64_t)at)};
		for (int64_t k = 0; k < 20; k++)
			add(k, k, text, (size_t)k * 2000);
		db = open_db(false);
		assert_int_equal(number(db,
					"SELECT sum(length(b) = a * 2000 AND b NOT GLOB '*[^x]*') "
					"FROM t"),
				 20);
		assert_int_equal(number(db, "SELECT count(*) FROM pragma_integrity_check WHERE "
					    "integrity_check NOT GLOB '*never used*'"),
				 0);
		sqlite3_close(db);
	}
}

static void a_file_that_cannot_be_written_to_is_an_error(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	if (fd < 0)
		skip();
	close(p.fd);
	p.fd = fd;
	for (int64_t k = 0; k < 200000; k++)
		add(k, k, "x", 1);
	page_tree_end(&p, &rows, false);
	assert_true(pages_end(&p) < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(numbers_of_all_sizes_come_back),
		TEST(texts_longer_than_a_page_go_on_in_others),
		TEST(a_table_may_have_no_row_one_page_or_several_levels),
		TEST(an_index_is_whole_whatever_its_last_page_has),
		TEST(the_page_of_locks_is_left_out),
		TEST(a_file_that_cannot_be_written_to_is_an_error),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
