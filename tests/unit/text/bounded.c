/* bounded.c - lists and answers of a bounded size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/text/bounded.h"

struct lists {
	size_t cnt;
	const char *text;
};

static void put(struct writer *w, const void *ctx)
{
	const struct lists *l = ctx;
	size_t cnt = bounded_list(w, "list", l->cnt);

	for (size_t i = 0; i < cnt; i++)
		json_text(w, NULL, l->text);
	json_close(w, ']');
	bounded_time(w, "list", (int64_t)(l->cnt - cnt), (int64_t)l->cnt);
}

static char *printed(const struct bounds *b, const struct lists *l)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(bounded_print(out, b, put, l), 0);
	fclose(out);
	return text;
}

static struct bounds of(const char *const *words, int argc)
{
	struct bounds b = {0};

	bounds_open(&b, argc, (char **)(uintptr_t)words);
	return b;
}

#define IS(b, l, want)                           \
	do {                                     \
		char *text = printed(b, l);      \
		assert_string_equal(text, want); \
		free(text);                      \
	} while (0)

static void a_list_within_the_limit_is_whole(void **state)
{
	struct bounds b = {.limit = 2};

	(void)state;
	IS(&b, (&(struct lists){2, "a"}), "{\"schema_version\": 1, \"list\": [\"a\", \"a\"]}");
	IS(NULL, (&(struct lists){3, "a"}),
	   "{\"schema_version\": 1, \"list\": [\"a\", \"a\", \"a\"]}");
}

static void a_longer_list_says_how_much_was_left_out_and_what_shows_it(void **state)
{
	const char *words[] = {"why", "--limit", "2", "-f", "json", "--max-bytes=9", "a b", NULL};
	struct bounds b = of(words, 7);

	(void)state;
	assert_string_equal(b.command, "sightline why -f json 'a b'");
	b.limit = 2;
	IS(&b, (&(struct lists){8, "a"}),
	   "{\"schema_version\": 1, \"list\": [\"a\", \"a\"],\n \"omitted\": {\"list\": "
	   "{\"count\": 6, "
	   "\"time_share\": 0.7500}},\n \"next\": \"sightline why -f json 'a b' --limit=8\"}");
	bounds_free(&b);
}

static void an_answer_that_is_too_long_has_shorter_lists(void **state)
{
	struct bounds b = {.limit = 50, .max_bytes = 400};
	char *text = printed(&b, &(struct lists){50, "0123456789"});

	(void)state;
	assert_true(strlen(text) <= 400);
	assert_non_null(strstr(text, "0123456789\", \"0123456789\", \"0123456789"));
	assert_non_null(strstr(text, "\"omitted\": {\"list\": {\"count\": "));
	free(text);
}

static void a_text_that_is_too_long_is_cut_at_a_character(void **state)
{
	struct bounds b = {.limit = 50, .max_bytes = 300};
	char long_text[2001] = "", *text;

	(void)state;
	for (int i = 0; i < 1000; i++)
		memcpy(long_text + 2 * i, "\xC3\xA9", 2);
	text = printed(&b, &(struct lists){1, long_text});
	assert_true(strlen(text) <= 300);
	assert_non_null(strstr(text, "\xC3\xA9\xE2\x80\xA6\"]"));
	free(text);
}

static void defaults_stand_in_for_what_was_not_asked_for(void **state)
{
	struct bounds b = {.limit = 0, .has_limit = true};

	(void)state;
	bounds_default(&b);
	assert_int_equal(b.limit, 0);
	assert_int_equal(b.max_bytes, BOUNDED_BYTES);
	b = (struct bounds){.has_max_bytes = true};
	bounds_default(&b);
	assert_int_equal(b.limit, BOUNDED_LIMIT);
	assert_int_equal(b.max_bytes, 0);
	assert_true(bounds_are_asked(&b));
	assert_false(bounds_are_asked(&(struct bounds){.limit = 3}));
}

static void an_answer_that_abstains_has_one_shape(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	bounded_abstain(out, NULL, "no \"x\"", "record it");
	fclose(out);
	assert_string_equal(text, "{\"schema_version\": 1, \"report\": null, \"abstained\": true, "
				  "\"reason\": \"no \\\"x\\\"\", \"remedy\": \"record it\"}\n");
	free(text);
}

static void json_of_a_table_is_bounded_on_stdout(void **state)
{
	struct bounds b = {0};
	bool array;

	(void)state;
	assert_true(bounds_of_table(&b, true, 1, &array));
	assert_true(array && b.limit == 0 && b.max_bytes == BOUNDED_BYTES);
	b = (struct bounds){0};
	assert_true(bounds_of_table(&b, true, 4, &array));
	assert_true(array && b.max_bytes == BOUNDED_BYTES / 4);
	b = (struct bounds){0};
	assert_true(
		bounds_of_table(&b, true, 1000, &array)); /* there is room for an object at least */
	assert_int_equal(b.max_bytes, 1024);
	b = (struct bounds){0};
	assert_false(bounds_of_table(&b, false, 1, &array)); /* a file has all of it */
	assert_false(array);
	b = (struct bounds){.has_limit = true, .has_max_bytes = true};
	assert_false(bounds_of_table(&b, true, 1, &array)); /* --limit=0 --max-bytes=0 */
	assert_false(array);
	b = (struct bounds){.has_limit = true, .limit = 5};
	assert_true(bounds_of_table(&b, false, 1, &array));
	assert_true(!array && b.limit == 5 && b.max_bytes == BOUNDED_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_within_the_limit_is_whole),
		cmocka_unit_test(a_longer_list_says_how_much_was_left_out_and_what_shows_it),
		cmocka_unit_test(an_answer_that_is_too_long_has_shorter_lists),
		cmocka_unit_test(a_text_that_is_too_long_is_cut_at_a_character),
		cmocka_unit_test(defaults_stand_in_for_what_was_not_asked_for),
		cmocka_unit_test(an_answer_that_abstains_has_one_shape),
		cmocka_unit_test(json_of_a_table_is_bounded_on_stdout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
