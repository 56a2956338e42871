/* text_value.c - JSON and TOML that a person wrote: what is right is read, what is wrong is found at its line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/options/text_value.h"

static struct value_error error;

static struct value *json(const char *text)
{
	return value_read_json(text, strlen(text), &error);
}
static struct value *toml(const char *text)
{
	return value_read_toml(text, strlen(text), &error);
}

static void json_is_read(void **state)
{
	struct value *v = json("\xef\xbb\xbf [null, true, -12, 1.5e3,\n "
			       "{\"a\\n\\u00e9\\ud83d\\ude00\": \"b\"}, []] ");

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->type, VALUE_ARRAY);
	assert_int_equal(v->cnt, 6);
	assert_int_equal(v->item[0].type, VALUE_NULL);
	assert_true(v->item[1].number);
	assert_int_equal(v->item[2].number, -12);
	assert_true(v->item[2].is_integer && !v->item[3].is_integer);
	assert_int_equal(v->item[4].line, 2);
	assert_int_equal(v->item[4].column, 2);
	assert_string_equal(v->item[4].key[0].name, "a\n\xc3\xa9\xf0\x9f\x98\x80");
	assert_string_equal(v->item[4].item[0].text, "b");
	assert_int_equal(v->item[5].cnt, 0);
	value_free(v);
}

static void toml_is_read(void **state)
{
	struct value *v =
		toml("top = 'a\\b' # comment\n[[t]]\nx = 0x10\n\"y z\" = [ 1,\n 2, # more\n]\n"
		     "[[t]]\nz = {a = true, b = \"\\t\"}\n\n[u]\n");

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->cnt, 3);
	assert_string_equal(v->item[0].text, "a\\b");
	assert_string_equal(v->key[1].name, "t");
	assert_int_equal(v->item[1].cnt, 2);
	assert_int_equal(v->item[1].item[0].item[0].number, 16);
	assert_int_equal(v->item[1].item[0].item[1].cnt, 2);
	assert_string_equal(v->item[1].item[1].item[0].item[1].text, "\t");
	assert_int_equal(v->item[2].type, VALUE_TABLE);
	value_free(v);
}

static void what_is_wrong_is_found_at_its_place(void **state)
{
	static const struct {
		bool is_toml;
		const char *text;
		unsigned line, column;
	} wrong[] = {
		{false, "", 1, 1},
		{false, "[1,]", 1, 4},
		{false, "[1 2]", 1, 4},
		{false, "{\"a\" 1}", 1, 6},
		{false, "{a: 1}", 1, 2},
		{false, "{\"a\": 1,\n \"a\": 2}", 2, 2},
		{false, "[\"\xc3\xa9\", x]", 1, 7},
		{false, "[\"abc\n\"]", 1, 6},
		{false, "[\"\\ud800\"]", 1, 5},
		{false, "[\"\\q\"]", 1, 4},
		{false, "[01]", 1, 2},
		{false, "[1] 2", 1, 5},
		{false, "[# no\n]", 1, 2},
		{false, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 1, 33},
		{true, "a = 1 b = 2", 1, 7},
		{true, "a", 1, 2},
		{true, "a.b = 1", 1, 2},
		{true, "a = \"\"\"x\"\"\"", 1, 6},
		{true, "[a\n", 1, 3},
		{true, "[[a]\n", 1, 5},
		{true, "[a]\n[a]", 2, 2},
		{true, "a = 2024-01-01", 1, 5},
		{true, "a = {b = 1,\n}", 1, 12},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct value *v = wrong[i].is_toml ? toml(wrong[i].text) : json(wrong[i].text);

		if (v || error.line != wrong[i].line || error.column != wrong[i].column)
			fail_msg("'%s': %s %u:%u", wrong[i].text, error.text, error.line,
				 error.column);
	}
}

/* Every beginning of a text, and every text with one byte changed, is read or refused. */
static void no_text_does_harm(void **state)
{
	static const char text[] = "[{\"a\": [1, -2.5e1, null, \"\\u00e9\\\\\"], \"b\": {}}, 'x', "
				   "0x1f]\n[[t]]\nk = { l = 1 }";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		for (unsigned byte = 0; byte < 256; byte += len % 5 ? 17 : 1) {
			char changed[sizeof(text)];

			memcpy(changed, text, sizeof(text));
			changed[len] = (char)byte;
			value_free(value_read_json(changed, len + 1, &error));
			value_free(value_read_json(changed, sizeof(text) - 1, &error));
			value_free(value_read_toml(changed, len + 1, &error));
			value_free(value_read_toml(changed + 53, sizeof(text) - 53, &error));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read),
		cmocka_unit_test(toml_is_read),
		cmocka_unit_test(what_is_wrong_is_found_at_its_place),
		cmocka_unit_test(no_text_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
