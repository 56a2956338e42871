/* mask.c - which arguments lose their values. */
#include "collector/base/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* @args: separated by '|'. */
static void expect(const char *args, const char *want)
{
	char text[512], *line;
	size_t len = strlen(args) + 1;

	memcpy(text, args, len);
	for (char *p = text; *p; p++)
		if (*p == '|')
			*p = 0;
	line = mask_line(text, len);
	assert_string_equal(line, want);
	free(line);
}

static void values_of_secrets_are_hidden(void **state)
{
	(void)state;
	mask_set(MASK_SECRETS);
	expect("p|--password=x|a", "p --password=*** a");
	expect("p|--password|x y|a", "p --password *** a");
	expect("p|password=hunter2", "p password=***");
	expect("env|API_KEY=x|B=c|prog", "env API_KEY=*** B=c prog");
	expect("p|--api-key=1|--authToken=2|-secret|3",
	       "p --api-key=*** --authToken=*** -secret ***");
	expect("p|DB_PASSWORD_FILE=/x|--PassPhrase=y", "p DB_PASSWORD_FILE=*** --PassPhrase=***");
	expect("p|--password=with spaces in it|b", "p --password=*** b");
	expect("sh|-c|mysql --password=hunter2 -u root; TOKEN='a b' x",
	       "sh -c mysql --password=*** -u root; TOKEN=*** x");
	expect("sh|-c|curl --token abc https://x", "sh -c curl --token *** https://x");
	expect("sh|-c|\"$X\"|{\"password=a\"}", "sh -c \"$X\" {\"password=***");
	expect("p|a=b;password=x", "p a=b;password=***");
}

static void other_arguments_stay(void **state)
{
	(void)state;
	mask_set(MASK_SECRETS);
	expect("password=1", "password=1"); /* the program */
	expect("p|--password", "p --password");
	expect("p|--password|--user|x", "p --password --user x");
	expect("p|--password|", "p --password ");
	expect("p|--tokenizer=a|--max-tokens|5|--keyword=b",
	       "p --tokenizer=a --max-tokens 5 --keyword=b");
	expect("p|--password=", "p --password=");
	expect("p|key|x", "p key x");
	expect("p|=|==|--|-|;;| ", "p = == -- - ;;  ");
	expect("", "");
}

static void all_arguments_or_none_are_masked(void **state)
{
	(void)state;
	mask_set(MASK_ALL);
	expect("p|a||--password=x", "p *** *** ***");
	mask_set(MASK_NONE);
	expect("p|--password=x|--password|y", "p --password=x --password y");
	assert_int_equal(mask_mode_of("all"), MASK_ALL);
	assert_int_equal(mask_mode_of("none"), MASK_NONE);
	assert_int_equal(mask_mode_of("secrets"), MASK_SECRETS);
	mask_set(MASK_SECRETS);
}

/* Each string of few bytes: no overrun (with a sanitizer), and never longer than four times. */
static void any_bytes_are_masked_without_harm(void **state)
{
	static const char some[] = "k=ey -'\"p\x80";
	char args[8];

	(void)state;
	for (unsigned n = 0; n < 200000; n++) {
		unsigned r = n * 2654435761u;
		char *line;

		for (size_t i = 0; i < sizeof(args); i++, r = r * 1103515245u + 12345u)
			args[i] = r >> 16 & 3 ? some[(r >> 20) % (sizeof(some) - 1)] : '\0';
		line = mask_line(args, sizeof(args));
		assert_true(strlen(line) <= 5 * sizeof(args));
		free(line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_secrets_are_hidden),
		cmocka_unit_test(other_arguments_stay),
		cmocka_unit_test(all_arguments_or_none_are_masked),
		cmocka_unit_test(any_bytes_are_masked_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
