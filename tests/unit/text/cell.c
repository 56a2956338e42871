/* cell.c - numbers and texts as exporters write them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/text/cell.h"

static const char *number(struct cell c)
{
	static char buf[CELL_NUMBER_MAX];

	size_t len = cell_number(&c, buf);

	assert_int_equal(len, strlen(buf));
	return buf;
}

static const char *people(struct cell c, int decimals, bool group)
{
	static char buf[CELL_NUMBER_MAX];

	size_t len = cell_number_people(&c, decimals, group, buf);

	assert_int_equal(len, strlen(buf));
	return buf;
}

#define INT(n)       ((struct cell){.kind = CELL_INT, .num = (n)})
#define SCALED(n, s) ((struct cell){.kind = CELL_INT, .num = (n), .scale = (s)})
#define REAL(r)      ((struct cell){.kind = CELL_REAL, .real = (r)})

static void numbers_for_machines_are_exact(void **state)
{
	(void)state;
	assert_string_equal(number(INT(0)), "0");
	assert_string_equal(number(INT(INT64_MIN)), "-9223372036854775808");
	assert_string_equal(number(SCALED(1, 9)), "0.000000001");
	assert_string_equal(number(SCALED(-1234, 3)), "-1.234");
	assert_string_equal(number(SCALED(INT64_MIN, 9)), "-9223372036.854775808");
	assert_string_equal(number(SCALED(INT64_MAX, 3)), "9223372036854775.807");
	assert_string_equal(number(REAL(60.4)), "60.4");
	assert_string_equal(number(REAL(0.1 + 0.2)), "0.30000000000000004");
	assert_string_equal(number(REAL(2)), "2.0");
	assert_string_equal(number(REAL(1e300)), "1e+300");
	assert_string_equal(number(REAL(INFINITY)), "");
	assert_string_equal(number(REAL(NAN)), "");
	assert_string_equal(number((struct cell){.kind = CELL_NULL}), "");
}

static void every_double_reads_back(void **state)
{
	uint64_t bits = 0x3ff123456789abcd;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		double d;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&d, &bits, sizeof(d));
		if (isfinite(d))
			assert_true(strtod(number(REAL(d)), NULL) == d);
	}
}

static void numbers_for_people_have_groups(void **state)
{
	(void)state;
	assert_string_equal(people(INT(999), 0, true), "999");
	assert_string_equal(people(INT(1000), 0, true), "1,000");
	assert_string_equal(people(INT(-1000), 0, true), "-1,000");
	assert_string_equal(people(INT(-100), 0, true), "-100");
	assert_string_equal(people(INT(INT64_MAX), 0, true), "9,223,372,036,854,775,807");
	assert_string_equal(people(REAL(1234567.25), 1, true), "1,234,567.2");
	assert_string_equal(people(REAL(1234567.25), 1, false), "1234567.2");
	assert_string_equal(people(REAL(0.5), 3, true), "0.500");
	assert_string_equal(people(SCALED(1234567, 3), 0, true), "1,234.567");
	assert_true(strlen(people(REAL(-1.7e308), 6, true)) > 400);
}

static void cells_have_the_decimals_that_they_need(void **state)
{
	(void)state;
	assert_int_equal(cell_decimals(&INT(5)), 0);
	assert_int_equal(cell_decimals(&REAL(5)), 1);
	assert_int_equal(cell_decimals(&REAL(5.25)), 2);
	assert_int_equal(cell_decimals(&REAL(1.0 / 3)), 6);
	assert_int_equal(cell_decimals(&REAL(1e-9)), 6);
	assert_int_equal(cell_decimals(&REAL(1e200)), 0);
	assert_int_equal(cell_decimals(&SCALED(5, 9)), 9);
}

static void shows(const char *in, size_t len, size_t width, const char *want, size_t want_width)
{
	size_t got_width;
	char *got = text_people(in, len, width, &got_width);

	assert_string_equal(got, want);
	assert_int_equal(got_width, want_width);
	free(got);
}

#define SHOWS(in, width, want, want_width) shows(in, sizeof(in) - 1, width, want, want_width)

static void words_of_a_shell_are_quoted_where_they_must_be(void **state)
{
	static const struct {
		const char *word, *want;
	} words[] = {
		{"run.sqlite", "run.sqlite"},
		{"/a/b=c", "/a/b=c"},
		{"", "''"},
		{"a b;c", "'a b;c'"},
		{"it's", "'it'\\''s'"},
		{"$HOME", "'$HOME'"},
		{"\x1b", "''\"$(printf '\\033')\"''"},
		{"\xC2\x9B", "''\"$(printf '\\302\\233')\"''"},
		{"a\xE2\x80\xAE", "'a'\"$(printf '\\342\\200\\256')\"''"},
		{"\xC3\xA9", "'\xC3\xA9'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		text_put_shell(out, words[i].word);
		fclose(out);
		assert_string_equal(text, words[i].want);
		free(text);
	}
}

static void texts_are_cut_to_columns(void **state)
{
	(void)state;
	SHOWS("", 5, "", 0);
	SHOWS("plain", 5, "plain", 5);
	SHOWS("longer", 5, "long…", 5);
	SHOWS("longer", 0, "longer", 6);
	SHOWS("ab", 1, "…", 1);
	SHOWS("日本語", 6, "日本語", 6);
	SHOWS("日本語", 5, "日本…", 5);
	SHOWS("日本語", 4, "日…", 3); /* half a character does not fit */
	SHOWS("e\xCC\x81", 1, "e\xCC\x81", 1);
	SHOWS("a\tb\nc", 0, "a\\tb\\nc", 7);
	SHOWS("\x1b[31m\x7f", 0, "\\x1B[31m\\x7F", 12);
	SHOWS("\xC2\x9Bx", 0, "\\xC2\\x9Bx", 9);         /* a C1 control character */
	SHOWS("\xff\xC0\x80", 0, "\\xFF\\xC0\\x80", 12); /* invalid, overlong */
	SHOWS("a\0b", 0, "a\\x00b", 6);
	/* What turns the direction, a tag; not the marks around them. */
	SHOWS("\xE2\x80\xAE", 0, "\\xE2\\x80\\xAE", 12);
	SHOWS("\xF3\xA0\x81\x81", 0, "\\xF3\\xA0\\x81\\x81", 16);
	SHOWS("\xE2\x80\x90\xE2\x80\xA0", 0, "\xE2\x80\x90\xE2\x80\xA0", 2);
	SHOWS("ab\xE2\x82", 0, "ab\\xE2\\x82", 10); /* cut off */
}

static void utf8_is_decoded(void **state)
{
	static const struct {
		const char *text;
		size_t len, bytes;
		int32_t cp;
	} cases[] = {
		{"A", 1, 1, 'A'},
		{"\xC3\xA9", 2, 2, 0xE9},
		{"\xE2\x82\xAC", 3, 3, 0x20AC},
		{"\xF0\x9F\x98\x80", 4, 4, 0x1F600},
		{"\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF},
		{"\xF4\x90\x80\x80", 4, 1, -1}, /* beyond Unicode */
		{"\xED\xA0\x80", 3, 1, -1},     /* surrogate */
		{"\xE0\x80\x80", 3, 1, -1},     /* overlong */
		{"\x80", 1, 1, -1},
		{"\xE2\x82", 2, 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t cp;

		assert_int_equal(utf8_next(cases[i].text, cases[i].len, &cp), cases[i].bytes);
		assert_int_equal(cp, cases[i].cp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_a_shell_are_quoted_where_they_must_be),
		cmocka_unit_test(numbers_for_machines_are_exact),
		cmocka_unit_test(every_double_reads_back),
		cmocka_unit_test(numbers_for_people_have_groups),
		cmocka_unit_test(cells_have_the_decimals_that_they_need),
		cmocka_unit_test(texts_are_cut_to_columns),
		cmocka_unit_test(utf8_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
