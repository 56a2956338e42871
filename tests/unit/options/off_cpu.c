/* off_cpu.c - the time of --off-cpu-threshold: nanoseconds, or with a unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/base/message.h"
#include "collector/options/profile_values.h"

static int64_t read_word(const char *word)
{
	int64_t ns = 0;
	int saved = dup(2), none = open("/dev/null", O_WRONLY);
	int rc;

	dup2(none, 2);
	rc = profile_read_off_cpu(word, &ns, "profile");
	dup2(saved, 2);
	close(saved);
	close(none);
	assert_true(rc == 0 || rc == -SL_EXIT_USAGE);
	return rc == 0 ? ns : -2;
}

static void time_without_a_unit_is_in_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(read_word("80000"), 80000);
	assert_int_equal(read_word("0"), 0);
	assert_int_equal(read_word("1000000000000"), INT64_C(1000000000000));
}

static void time_with_a_unit_is_taken(void **state)
{
	(void)state;
	assert_int_equal(read_word("500ns"), 500);
	assert_int_equal(read_word("50us"), 50000);
	assert_int_equal(read_word("1ms"), 1000000);
	assert_int_equal(read_word("1.5ms"), 1500000);
	assert_int_equal(read_word("2s"), 2000000000);
}

static void none_records_nothing(void **state)
{
	(void)state;
	assert_int_equal(read_word(NULL), -1);
	assert_int_equal(read_word("none"), -1);
}

static void other_words_are_refused(void **state)
{
	static const char *const words[] = {"",      "x",     "1x",           "ms", "-1",
					    "1 ms",  "1msx",  "0ms",          "+1", " 1",
					    "2000s", "1001s", "1000000000001"};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (read_word(words[i]) != -2)
			fail_msg("'%s' is taken", words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_without_a_unit_is_in_nanoseconds),
		cmocka_unit_test(time_with_a_unit_is_taken),
		cmocka_unit_test(none_records_nothing),
		cmocka_unit_test(other_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
