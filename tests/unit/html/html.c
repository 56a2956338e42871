/* html.c - texts, numbers, curves and histograms of the HTML summary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporters/html/curve.h"
#include "exporters/html/html_text.h"
#include "exporters/read/id_map.h"

static char *written(void (*put)(FILE *, const char *, size_t), const char *text, size_t len)
{
	static char *out;
	size_t out_len;
	FILE *f;

	free(out);
	f = open_memstream(&out, &out_len);
	assert_non_null(f);
	put(f, text, len);
	fclose(f);
	return out;
}

#define HTML(text) written(html_text, text, sizeof(text) - 1)
#define JSON(text) written(html_json, text, sizeof(text) - 1)

static void texts(void **state)
{
	(void)state;
	assert_string_equal(HTML(""), "");
	assert_string_equal(HTML("a<b>&\"'"), "a&#60;b&#62;&#38;&#34;&#39;");
	assert_string_equal(HTML("\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"),
			    "\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80");
	assert_string_equal(HTML("a\0b\tc\nd\x1B"), "a&#65533;b c d&#65533;");
	assert_string_equal(HTML("\xFF<\x80\xC3"), "&#65533;&#60;&#65533;&#65533;");
	assert_string_equal(HTML("\xED\xA0\x80"), "&#65533;&#65533;&#65533;"); /* a surrogate */
	assert_string_equal(HTML("\xE2\x80\xAEx"), "&#65533;x");               /* right to left */
	assert_string_equal(HTML("\xEF\xBF\xBE"), "&#65533;");                 /* no character */
	assert_string_equal(JSON("</script>\"\\"), "\"\\u003c/script\\u003e\\u0022\\u005c\"");
	assert_string_equal(JSON("\xE2\x80\xA8&\x01\xFF"), "\"\\ufffd\\u0026\\ufffd\\ufffd\"");
}

static void long_texts(void **state)
{
	char text[HTML_TEXT_MAX + 10];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(strlen(written(html_text, text, HTML_TEXT_MAX)), HTML_TEXT_MAX);
	assert_int_equal(strlen(written(html_text, text, HTML_TEXT_MAX + 1)),
			 HTML_TEXT_MAX + strlen("&#8230;"));
	assert_int_equal(strlen(written(html_json, text, sizeof(text))),
			 HTML_TEXT_MAX + strlen("\"\\u2026\""));
}

static void numbers(void **state)
{
	static const struct {
		const char *(*human)(char *, double);
		double x;
		const char *want;
	} list[] = {
		{human_time, 0, "0 ns"},
		{human_time, 999, "999 ns"},
		{human_time, 999.4, "999 ns"},
		{human_time, 999.6, "1.00 \u00b5s"},
		{human_time, 1000, "1 \u00b5s"},
		{human_time, 1234, "1.23 \u00b5s"},
		{human_time, 12345678, "12.3 ms"},
		{human_time, 999600, "1.00 ms"},
		{human_time, 1.5e9, "1.50 s"},
		{human_time, 119.4e9, "119 s"},
		{human_time, 125e9, "2 min 05 s"},
		{human_time, 3600e9 * 26 + 60e9, "26 h 01 min"},
		{human_time, -1234, "-1.23 \u00b5s"},
		{human_time, 1e30, "1000000000000000000000 s"},
		{human_bytes, 0, "0 B"},
		{human_bytes, 999, "999 B"},
		{human_bytes, 1000, "0.98 KiB"},
		{human_bytes, 1024, "1 KiB"},
		{human_bytes, 1536, "1.50 KiB"},
		{human_bytes, 1048575, "1.00 MiB"},
		{human_bytes, 5e18, "4.34 EiB"},
		{human_count, 0, "0"},
		{human_count, 1234567, "1,234,567"},
		{human_count, 12345678, "12.3 M"},
		{human_count, 3e9, "3 G"},
		{human_percent, 12.345, "12.3 %"},
		{human_percent, 0, "0.0 %"},
		{human_percent, 0.01, "< 0.1 %"},
	};
	char buf[HUMAN_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_string_equal(list[i].human(buf, list[i].x), list[i].want);
}

static void maps(void **state)
{
	struct id_map m = {0};

	(void)state;
	assert_int_equal(id_map_find(&m, 7), -1);
	for (long i = 0; i < 100000; i++)
		assert_int_equal(id_map_add(&m, i * 4096 - 5), i);
	for (long i = 0; i < 100000; i++) {
		assert_int_equal(id_map_add(&m, i * 4096 - 5), i);
		assert_int_equal(id_map_find(&m, i * 4096 - 5), i);
	}
	assert_int_equal(id_map_find(&m, 1), -1);
	assert_int_equal(m.cnt, 100000);
	id_map_free(&m);
}

static double sum(const struct curve *c)
{
	double all = 0;

	for (int i = 0; i < CURVE_BINS; i++)
		all += curve_at(c, i);
	return all;
}

static void curves(void **state)
{
	struct axis a = {1000, 1000 + 10 * CURVE_BINS, 10};
	struct curve c = {0};

	(void)state;
	assert_int_equal(curve_spread(&c, &a, 1005, 1025, 20), 0); /* half, whole, half a bin */
	assert_float_equal(curve_at(&c, 0), 5, 1e-9);
	assert_float_equal(curve_at(&c, 1), 10, 1e-9);
	assert_float_equal(curve_at(&c, 2), 5, 1e-9);
	assert_float_equal(curve_at(&c, 3), 0, 1e-9);
	curve_free(&c);
	curve_spread(&c, &a, 1042, 1042, 7); /* a moment */
	assert_float_equal(curve_at(&c, 4), 7, 1e-9);
	curve_free(&c);
	curve_spread(&c, &a, 0, a.to + 1000, (double)a.to + 1000); /* beyond both ends */
	assert_float_equal(sum(&c), 10 * CURVE_BINS, 1e-6);
	assert_float_equal(curve_at(&c, CURVE_BINS - 1), 10, 1e-9);
	curve_free(&c);
	curve_spread(&c, &a, 0, 500, 500); /* before all */
	curve_spread(&c, &a, a.to + 1, a.to + 5, 4);
	assert_float_equal(sum(&c), 0, 1e-9);
	curve_spread(&c, &a, a.to - 1, a.to, 1); /* the very end */
	assert_float_equal(curve_at(&c, CURVE_BINS - 1), 1, 1e-9);
	curve_free(&c);
}

static void levels(void **state)
{
	struct axis a = {0, 10 * CURVE_BINS, 10};
	struct level l = {0};

	(void)state;
	level_set(&l, &a, 12, 5);
	level_set(&l, &a, 13, 9); /* a peak within a bin */
	level_set(&l, &a, 14, 3);
	level_set(&l, &a, 35, 0);
	level_end(&l);
	assert_float_equal(l.high[0], 0, 0);
	assert_float_equal(l.high[1], 9, 0);
	assert_float_equal(l.high[2], 3, 0);
	assert_float_equal(l.high[3], 3, 0); /* it began with it */
	assert_float_equal(l.high[4], 0, 0);
	assert_float_equal(l.high[CURVE_BINS - 1], 0, 0);
	assert_float_equal(l.peak, 9, 0);
}

static void histograms(void **state)
{
	static const int64_t values[] = {
		0,  1,   2,    3,    4,    5,    9,       10,        19,    20,         49,      50,
		99, 100, 4095, 4096, 4097, 1000, 1 << 30, INT64_MAX, 65535, 1000000000, 1 << 20, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct histogram h = {0}, p = {0};

		histogram_add_125(&h, values[i]);
		histogram_add_pow4(&p, values[i]);
		for (int s = 0; s + 1 < HISTOGRAM_SLOTS; s++) {
			double x = (double)values[i];

			/* Beyond 2^53 neighbours have the same double. */
			if (h.cnt[s] && values[i] < INT64_MAX)
				assert_true(x >= histogram_edge_125(s) &&
					    x < histogram_edge_125(s + 1));
			if (p.cnt[s] && values[i] < INT64_MAX)
				assert_true(x >= histogram_edge_pow4(s) &&
					    x < histogram_edge_pow4(s + 1));
		}
		assert_int_equal(h.all, 1);
		assert_int_equal(p.all, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),      cmocka_unit_test(long_texts),
		cmocka_unit_test(numbers),    cmocka_unit_test(maps),
		cmocka_unit_test(curves),     cmocka_unit_test(levels),
		cmocka_unit_test(histograms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
