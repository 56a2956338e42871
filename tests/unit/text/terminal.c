/* terminal.c - lines of text that fit into a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/text/terminal.h"

static void assert_fitted(const char *text, size_t columns, const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	text_put_fitted(out, text, columns);
	fclose(out);
	assert_string_equal(got, want);
	free(got);
}

static void line_that_fits_stays(void **state)
{
	(void)state;
	assert_fitted("one two\n\n  three\n", 7, "one two\n\n  three\n");
	assert_fitted("no end", 6, "no end\n");
	assert_fitted("", 6, "");
}

static void rest_of_a_line_goes_below_its_text(void **state)
{
	(void)state;
	assert_fitted("one two three four\n", 9, "one two\n    three\n    four\n");
	assert_fitted("  one two three four\n", 14, "  one two\n      three\n      four\n");
	/* Columns, not bytes. */
	assert_fitted("\u00e4\u00f6\u00fc \u00e4\u00f6\u00fc next\n", 7,
		      "\u00e4\u00f6\u00fc \u00e4\u00f6\u00fc\n   next\n");
}

static void word_that_is_too_long_stays_whole(void **state)
{
	(void)state;
	assert_fitted("abcdefghijkl mno\n", 6, "abcdefghijkl\n   mno\n");
}

static void command_stays_whole_and_moves_to_the_left(void **state)
{
	(void)state;
	assert_fitted("          at worst: sightline view r --at 1s\n", 40,
		      "  at worst: sightline view r --at 1s\n");
	assert_fitted("     sightline view r --at 1s\n", 40, "     sightline view r --at 1s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_that_fits_stays),
		cmocka_unit_test(rest_of_a_line_goes_below_its_text),
		cmocka_unit_test(word_that_is_too_long_stays_whole),
		cmocka_unit_test(command_stays_whole_and_moves_to_the_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
