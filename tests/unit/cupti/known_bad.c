/* known_bad - the table of CUPTI's bugs: its ranges, and one note for each bug that the loaded version has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The code under test, with a library of any version and a counter in place of its records. */
#include "preload/cupti/known_bad.c" /* NOLINT(bugprone-suspicious-include) */

struct guest guest;
static unsigned notes;

void status_record(enum sl_gpu_status_code code, int detail, const char *format, ...)
{
	assert_true(code == SL_GPU_STATUS_AVOIDED || code == SL_GPU_STATUS_LIMITED);
	assert_int_equal(detail, 0);
	assert_non_null(strstr(format, ": %s"));
	notes++;
}

const char *find_version_text(char *to, size_t size)
{
	snprintf(to, size, "?");
	return to;
}

static const struct {
	const char *name, *source;
} lines[] = {
#define BAD(name, from, to, avoided, source) {#name, source},
#include "preload/cupti/known_bad.def"
};

static void each_line_is_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < BAD_CNT; i++) {
		const char *avoided = bugs[i].what;

		print_message("%s\n", lines[i].name);
		assert_true(bugs[i].from >= CUPTI_OLDEST);
		assert_true(bugs[i].from <= bugs[i].to);
		/* From 13.0 on the number has the update in it; a range ends with the last of a release or one it names. */
		assert_true(bugs[i].to < 100 || bugs[i].to >= 130000);
		assert_true(strlen(avoided) > 20 && !isupper((unsigned char)avoided[0]));
		assert_true(avoided[strlen(avoided) - 1] != '.');
		assert_non_null(strstr(lines[i].source, ": "));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(lines[i].name, lines[k].name);
	}
}

static void ranges_are_inclusive(void **state)
{
	(void)state;
	for (size_t i = 0; i < BAD_CNT; i++) {
		guest.version = bugs[i].from;
		assert_true(known_bad((enum known_bad)i));
		guest.version = bugs[i].to;
		assert_true(known_bad((enum known_bad)i));
		guest.version = bugs[i].from - 1;
		assert_false(known_bad((enum known_bad)i));
		guest.version = bugs[i].to + 1;
		assert_false(known_bad((enum known_bad)i));
	}
}

static void each_is_noted_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < BAD_CNT; i++) {
		notes = 0;
		guest.version = bugs[i].to + 1;
		known_bad_note((enum known_bad)i);
		assert_int_equal(notes, 0);
		guest.version = bugs[i].from;
		known_bad_note((enum known_bad)i);
		known_bad_note((enum known_bad)i);
		known_bad_warn((enum known_bad)i);
		assert_int_equal(notes, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_complete),
		cmocka_unit_test(ranges_are_inclusive),
		cmocka_unit_test(each_is_noted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
