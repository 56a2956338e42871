/* view_input.c - which requests are answered, and what bodies, parameters and statements are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/view/answers/body.h"
#include "exporters/view/server/guard.h"
#include "exporters/view/answers/answer.h"
#include "exporters/view/answers/sql.h"

static const char token[] = "00112233445566778899aabbccddeeff";
#define BEARER "Bearer 00112233445566778899aabbccddeeff"

static int ask(const char *method, const char *host, const char *origin, const char *site,
	       const char *authorization)
{
	const struct view_heads h = {method, host, origin, site, authorization};
	const char *why = NULL;
	int status = view_guard(&h, token, &why);

	assert_int_equal(status != 0, why != NULL);
	return status;
}

static void guard(void **state)
{
	char made[VIEW_TOKEN_LEN + 1], other[VIEW_TOKEN_LEN + 1];
	const struct view_heads plain = {"GET", "127.0.0.1:1", NULL, NULL, NULL};
	const char *why;

	(void)state;
	assert_int_equal(ask("GET", "127.0.0.1:8420", NULL, NULL, BEARER), 0);
	assert_int_equal(ask("POST", "localhost:1", "http://localhost:1", "same-origin", BEARER),
			 0);
	assert_int_equal(ask("GET", "[::1]:99", "http://[::1]:99", "none", BEARER), 0);
	assert_int_equal(ask("GET", "127.0.0.1", NULL, NULL, BEARER), 0);
	/* names that lead here by the resolver's grace */
	assert_int_equal(ask("GET", "evil.example:8420", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", "127.0.0.1.evil.example", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost.", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost:", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost:80a", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", "", NULL, NULL, BEARER), 403);
	assert_int_equal(ask("GET", NULL, NULL, NULL, BEARER), 403);
	/* other pages, also of this machine */
	assert_int_equal(ask("GET", "localhost:1", "http://localhost:2", NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost:1", "https://localhost:1", NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost:1", "null", NULL, BEARER), 403);
	assert_int_equal(ask("GET", "localhost:1", NULL, "cross-site", BEARER), 403);
	assert_int_equal(ask("GET", "localhost:1", NULL, "same-site", BEARER), 403);
	/* tokens */
	assert_int_equal(ask("GET", "localhost:1", NULL, NULL, NULL), 401);
	assert_int_equal(ask("GET", "localhost:1", NULL, NULL, "Bearer "), 401);
	assert_int_equal(ask("GET", "localhost:1", NULL, NULL, BEARER "0"), 401);
	assert_int_equal(
		ask("GET", "localhost:1", NULL, NULL, "Bearer 00112233445566778899aabbccddeefe"),
		401);
	assert_int_equal(
		ask("GET", "localhost:1", NULL, NULL, "Basic 00112233445566778899aabbccddeeff"),
		401);
	assert_int_equal(ask("DELETE", "localhost:1", NULL, NULL, BEARER), 405);
	assert_int_equal(view_guard(&plain, NULL, &why), 0);
	assert_int_equal(view_token_make(made), 0);
	assert_int_equal(view_token_make(other), 0);
	assert_int_equal(strspn(made, "0123456789abcdef"), VIEW_TOKEN_LEN);
	assert_string_not_equal(made, other);
}

static bool span(const char *text, struct view_span *s)
{
	return view_body_span((const uint8_t *)text, strlen(text), s);
}

static void bodies(void **state)
{
	struct view_span s;
	static const char *const bad[] = {"",
					  "{",
					  "[]",
					  "{}x",
					  "{\"from\":}",
					  "{\"from\":1,}",
					  "{from:1}",
					  "{\"lanes\":[1,]}",
					  "{\"lanes\":[-1]}",
					  "{\"lanes\":[4294967296]}",
					  "{\"lanes\":[1],\"lanes\":[2]}",
					  "{\"a\":{}}",
					  "{\"from\":1e300}",
					  "{\"from\":99999999999999999999}",
					  "{\"table\":\"a\\\"b\"}"};

	(void)state;
	assert_true(span(
		" { \"from\" : -5 , \"to\":1.5e3, \"lanes\":[ 3,4 ], \"table\":\"flame\" } ", &s));
	assert_true(s.from == -5 && s.to == 1500 && s.lane_cnt == 2 && s.lanes[1] == 4);
	assert_string_equal(s.table, "flame");
	view_span_free(&s);
	assert_true(span("{}", &s));
	assert_true(s.from == INT64_MIN && s.to == INT64_MAX && s.lane_cnt == 0);
	assert_true(span("{\"lanes\":[],\"more\":7,\"word\":\"x\"}", &s));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(span(bad[i], &s));
}

static void parameters(void **state)
{
	const struct view_request q = {.query = "t=-12&lane=3&q=a%20b%2fc+d%zz%4&x=&t=5&n=12a"};
	const struct view_request none = {0};
	int64_t value = 0;
	char *text;

	(void)state;
	assert_true(view_param_int(&q, "t", &value) && value == -12);
	assert_true(view_param_int(&q, "lane", &value) && value == 3);
	assert_false(view_param_int(&q, "x", &value));
	value = 7;
	assert_false(view_param_int(&q, "n", &value));
	assert_int_equal(value, 7);
	assert_false(view_param_int(&q, "ane", &value));
	assert_false(view_param_int(&none, "t", &value));
	text = view_param_text(&q, "q");
	assert_string_equal(text, "a b/c d%zz%4");
	free(text);
	assert_null(view_param_text(&q, "nothing"));
}

static int prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	/* The server's other condition: VACUUM asks no authorizer before it runs. */
	if (rc == SQLITE_OK && !sqlite3_stmt_readonly(stmt))
		rc = SQLITE_AUTH;
	sqlite3_finalize(stmt);
	return rc;
}

static void authorizer(void **state)
{
	static const char *const good[] = {
		"SELECT 1",
		"SELECT a, count(*) FROM t GROUP BY a",
		"EXPLAIN SELECT * FROM t",
		"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
		"VALUES (1)",
		"SELECT * FROM sqlite_master"};
	static const char *const bad[] = {"UPDATE t SET a = 1",
					  "DELETE FROM t",
					  "INSERT INTO t VALUES (1)",
					  "DROP TABLE t",
					  "CREATE TABLE u(a)",
					  "CREATE TEMP TABLE u(a)",
					  "CREATE TEMP VIEW u AS SELECT 1",
					  "ATTACH ':memory:' AS u",
					  "DETACH main",
					  "PRAGMA journal_mode = DELETE",
					  "PRAGMA user_version",
					  "VACUUM",
					  "VACUUM INTO '/tmp/x'",
					  "REINDEX",
					  "ANALYZE",
					  "BEGIN",
					  "SAVEPOINT a",
					  "SELECT load_extension('x')",
					  "SELECT zeroblob(1000000000)",
					  "ALTER TABLE t ADD b",
					  "SELECT * FROM pragma_user_version"};
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE t(a); CREATE INDEX i ON t(a); SELECT * FROM sqlite_master",
		     NULL, NULL, NULL);
	sqlite3_set_authorizer(db, view_sql_authorize, NULL);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(prepare(db, good[i]), SQLITE_OK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (prepare(db, bad[i]) == SQLITE_OK)
			fail_msg("allowed: %s", bad[i]);
	sqlite3_close(db);
}

static void json(void **state)
{
	struct writer b = {0};

	(void)state;
	json_open(&b, NULL, '{');
	js_int(&b, "a", INT64_C(1) << 53);
	js_int(&b, "b", (INT64_C(1) << 53) + 1);
	json_bytes(&b, "c", "q\"\\\n\x80\xC3\xA9\0", 8);
	json_open(&b, "d", '[');
	json_real(&b, NULL, 0.5);
	json_real(&b, NULL, INFINITY);
	json_null(&b, NULL);
	json_bool(&b, NULL, true);
	json_close(&b, ']');
	json_close(&b, '}');
	writer_add(&b, "", 1);
	assert_string_equal(b.data,
			    "{\"a\":9007199254740992,\"b\":\"9007199254740993\",\"c\":\"q\\\"\\\\"
			    "\\u000a\\ufffd\xC3\xA9\\u0000\",\"d\":[0.5,null,null,true]}");
	writer_free(&b);
}

static void characters_that_cannot_be_seen_have_a_mark(void **state)
{
	static const char *const unseen[] = {
		"\xE2\x80\xAE" /* turns the direction */,
		"\xE2\x80\x8B" /* no width */,
		"\xF3\xA0\x81\x81" /* a tag */,
		"\xC2\x85",
		"\x80",
		"\x1b",
		"\x7f",
		"\r",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++) {
		struct writer reply = {.is_marked = true}, names = {0};
		char name[16];

		snprintf(name, sizeof(name), "a%s\"", unseen[i]);
		js_text(&reply, NULL, name);
		writer_add(&reply, "", 1);
		assert_string_equal(reply.data, "\"a\xEF\xBF\xBD\\\"\"");
		writer_add_marked(&names, name, strlen(name));
		writer_add(&names, "", 1);
		assert_string_equal(names.data, "a\xEF\xBF\xBD\"");
		writer_free(&reply);
		writer_free(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard),
		cmocka_unit_test(bodies),
		cmocka_unit_test(parameters),
		cmocka_unit_test(authorizer),
		cmocka_unit_test(json),
		cmocka_unit_test(characters_that_cannot_be_seen_have_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
