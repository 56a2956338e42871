/* json_value.c - JSON text becomes a tree with positions; what is wrong in it is found at its line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/report/json_value.h"

static struct json_error error;

static void json_is_read(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf [null, true, -12, 1.5e3,\n "
		"{\"a\\n\\u00e9\\ud83d\\ude00\": \"b\", \"c\": [{}, [7]],\n\"d\":\"\"}, []] ";
	struct json_value *root = json_read(text, sizeof(text) - 1, &error), *v = root->child, *in;

	(void)state;
	assert_int_equal(root->type, JSON_ARRAY);
	assert_int_equal(v->type, JSON_NULL);
	v = v->next;
	assert_int_equal(v->type, JSON_BOOL);
	v = v->next;
	assert_int_equal(v->number, -12);
	assert_true(v->is_integer && !v->next->is_integer);
	assert_int_equal(v->next->type, JSON_NUMBER);
	v = v->next->next;
	assert_int_equal(v->at.line, 2);
	assert_int_equal(v->at.column, 2);
	in = v->child;
	assert_string_equal(in->key, "a\n\xc3\xa9\xf0\x9f\x98\x80");
	assert_string_equal(in->text, "b");
	in = in->next;
	assert_string_equal(in->key, "c");
	assert_int_equal(in->key_at.column, 33);
	assert_int_equal(in->child->type, JSON_OBJECT);
	assert_null(in->child->child);
	assert_int_equal(in->child->next->child->number, 7);
	assert_ptr_equal(in->child->next->parent, in);
	in = in->next;
	assert_string_equal(in->key, "d");
	assert_int_equal(in->key_at.line, 3);
	assert_int_equal(in->at.column, 5);
	assert_null(in->next);
	v = v->next;
	assert_int_equal(v->type, JSON_ARRAY);
	assert_null(v->child);
	assert_null(v->next);
	json_free(root);
}

static void what_is_wrong_is_found_at_its_place(void **state)
{
	static const struct {
		const char *text;
		unsigned line, column;
		const char *error;
	} wrong[] = {
		{"", 1, 1, "not valid JSON: it ends too early"},
		{"[1,]", 1, 4, "not valid JSON: unexpected ']'"},
		{"[1 2]", 1, 4, "not valid JSON: unexpected '2'"},
		{"{\"a\" 1}", 1, 6, "not valid JSON: unexpected '1'"},
		{"{a: 1}", 1, 2, "not valid JSON: unexpected 'a'"},
		{"[\"\xc3\xa9\", x]", 1, 7, "not valid JSON: unexpected 'x'"},
		{"[\"abc\n\"]", 1, 2, "not valid JSON: unexpected '\"abc'"},
		{"[\"\\q\"]", 1, 2, "not valid JSON: unexpected '\"\\q\"'"},
		{"[01]", 1, 2, "not valid JSON: unexpected '01'"},
		{"[1] 2", 1, 5, "not valid JSON: unexpected '2'"},
		{"[# no\n]", 1, 2, "not valid JSON: unexpected '#'"},
		{"[1}\n]", 1, 3, "not valid JSON: unexpected '}'"},
		{"]", 1, 1, "not valid JSON: unexpected ']'"},
		{"[{\"a\": [1,\n2", 2, 2, "not valid JSON: it ends too early"},
		{"{\"a\": 1,", 1, 9, "not valid JSON: it ends too early"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct json_value *v = json_read(wrong[i].text, strlen(wrong[i].text), &error);

		if (v || error.at.line != wrong[i].line || error.at.column != wrong[i].column)
			fail_msg("'%s': %s %u:%u", wrong[i].text, error.text, error.at.line,
				 error.at.column);
		assert_string_equal(error.text, wrong[i].error);
	}
	assert_null(json_read("[1]\0", 4, &error));
	assert_int_equal(error.at.column, 4);
}

/* A long text is refused quickly, wherever it is wrong, and however deeply it is nested. */
static void long_texts_are_refused_quickly(void **state)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 1);
	struct json_value *v;

	(void)state;
	for (size_t i = 0; i < len; i += 2)
		memcpy(text + i, "1,", 2);
	text[0] = '[';
	text[1] = ' ';
	text[len - 1] = ']';
	text[len] = '\0';
	v = json_read(text, len, &error);
	assert_non_null(v);
	json_free(v);
	text[len / 2] = '?';
	assert_null(json_read(text, len, &error));
	assert_int_equal(error.at.column, len / 2 + 1);
	memset(text, '[', len);
	assert_null(json_read(text, len, &error));
	memset(text, ']', len);
	assert_null(json_read(text, len, &error));
	free(text);
}

/* Every beginning of a text, and every text with one byte changed, is read or refused. */
static void no_text_does_harm(void **state)
{
	static const char text[] =
		"[{\"a\": [1, -2.5e1, null, \"\\u00e9\\\\\"], \"b\": {}}, \"x\", "
		"{\"\\u0000\": \"\\ud800\", \"\": \"\"}]";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		for (unsigned byte = 0; byte < 256; byte += len % 5 ? 17 : 1) {
			char changed[sizeof(text) + 1] = "";

			memcpy(changed, text, sizeof(text));
			changed[len] = (char)byte;
			json_free(json_read(changed, sizeof(text) - 1, &error));
			memset(changed + len + 1, 0, sizeof(text) - len);
			json_free(json_read(changed, len + 1, &error));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read),
		cmocka_unit_test(what_is_wrong_is_found_at_its_place),
		cmocka_unit_test(long_texts_are_refused_quickly),
		cmocka_unit_test(no_text_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
