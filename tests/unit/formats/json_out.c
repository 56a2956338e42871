/* json_out.c - digits and escapes of exports, against printf and a plain loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/formats/json_out.h"

static void numbers(void **state)
{
	char want[32], got[32];

	(void)state;
	for (int shift = 0; shift < 64; shift++) {
		for (int64_t near = -2; near <= 2; near++) {
			int64_t n = (int64_t)(((uint64_t)1 << shift) + (uint64_t)near);

			snprintf(want, sizeof(want), "%lld", (long long)n);
			*int_at(got, n) = '\0';
			assert_string_equal(got, want);
		}
	}
	for (int64_t n = 1; n < INT64_MAX / 10; n *= 10) {
		snprintf(want, sizeof(want), "%lld", (long long)(n - 1));
		*int_at(got, n - 1) = '\0';
		assert_string_equal(got, want);
	}
}

static void microseconds(void **state)
{
	static const struct {
		int64_t ns;
		const char *us;
	} cases[] = {
		{0, "0.000"},
		{1, "0.001"},
		{-1, "-0.001"},
		{999, "0.999"},
		{1000, "1.000"},
		{-1050, "-1.050"},
		{1700000000123456789, "1700000000123456.789"},
		{INT64_MAX, "9223372036854775.807"},
		{INT64_MIN, "-9223372036854775.808"},
	};
	char got[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*us_at(got, cases[i].ns) = '\0';
		assert_string_equal(got, cases[i].us);
	}
}

/* The text as JSON, through a buffer that is large enough. */
static char *written(const char *text, size_t len)
{
	static char buf[400000];
	struct out o = {.buf = buf, .p = buf, .end = buf + sizeof(buf) - 1, .size = sizeof(buf)};

	json_out_text(&o, text, len);
	*o.p = '\0';
	return buf;
}

static void every_byte_everywhere(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		for (size_t at = 0; at < 19; at++) {
			char text[20] = "abcdefghijklmnopqrs", want[64], *p = want;

			text[at] = (char)byte;
			*p++ = '"';
			for (size_t i = 0; i < 19; i++) {
				unsigned char c = (unsigned char)text[i];

				if (c == '"' || c == '\\')
					p += sprintf(p, "\\%c", c);
				else if (c < 0x20 || c == 0x7F)
					p += sprintf(p, "\\u%04x", c);
				else if (c >= 0x80)
					p += sprintf(p, "\\ufffd"); /* alone it is no UTF-8 */
				else
					*p++ = (char)c;
			}
			memcpy(p, "\"", 2);
			assert_string_equal(written(text, 19), want);
		}
	}
}

static void utf8(void **state)
{
	static const char good[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	char want[64];

	(void)state;
	snprintf(want, sizeof(want), "\"%s\"", good);
	assert_string_equal(written(good, sizeof(good) - 1), want);
	assert_string_equal(written("\xed\xa0\x80", 3),
			    "\"\\ufffd\\ufffd\\ufffd\""); /* half a surrogate pair */
	assert_string_equal(written("\xe2\x82", 2), "\"\\ufffd\\ufffd\""); /* cut off */
	assert_string_equal(written("", 0), "\"\"");
}

/* Longer than a piece: characters that lie across the cut stay whole. */
static void long_text(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 3; shift++) {
		size_t len = 30000 + shift;
		char *text = malloc(len);

		memset(text, 'x', shift);
		for (size_t i = shift; i + 3 <= len; i += 3)
			memcpy(text + i, "\xe2\x82\xac", 3);
		len = shift + (len - shift) / 3 * 3;
		assert_null(strstr(written(text, len), "\\ufffd"));
		assert_int_equal(strlen(written(text, len)), len + 2);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(microseconds),
		cmocka_unit_test(every_byte_everywhere),
		cmocka_unit_test(utf8),
		cmocka_unit_test(long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
