/* why_tuples.c - tuples of words: each once, by numbers in the order of their first appearance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporters/why/model/tuples.h"

#include <string.h>

static void number_is_that_of_the_first_appearance(void **state)
{
	struct tuples t = {.width = 2};
	const uint32_t a[] = {1, 2}, b[] = {2, 1}, c[] = {1, 3};

	(void)state;
	assert_int_equal(tuples_add(&t, a), 0);
	assert_int_equal(tuples_add(&t, b), 1);
	assert_int_equal(tuples_add(&t, a), 0);
	assert_int_equal(tuples_add(&t, c), 2);
	assert_int_equal(tuples_add(&t, b), 1);
	assert_int_equal(t.cnt, 3);
	assert_memory_equal(tuples_at(&t, 0), a, sizeof(a));
	assert_memory_equal(tuples_at(&t, 1), b, sizeof(b));
	assert_memory_equal(tuples_at(&t, 2), c, sizeof(c));
	tuples_free(&t);
}

/* One that differs in its last word alone is another one; the empty word and the largest are words. */
static void each_word_counts(void **state)
{
	struct tuples t = {.width = 3};
	const uint32_t list[][3] = {{0, 0, 0},
				    {0, 0, UINT32_MAX},
				    {0, UINT32_MAX, 0},
				    {UINT32_MAX, 0, 0},
				    {UINT32_MAX, UINT32_MAX, UINT32_MAX}};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(tuples_add(&t, list[i]), i);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(tuples_add(&t, list[i]), i);
	tuples_free(&t);
}

/* The slots double when half of them are taken: 128 tuples fit into 256, the next one makes 512. */
static void slots_double_when_half_are_taken(void **state)
{
	struct tuples t = {.width = 1};

	(void)state;
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(tuples_add(&t, &i), i);
	assert_int_equal(t.by_words.size, 256);
	assert_int_equal(tuples_add(&t, &(uint32_t){128}), 128);
	assert_int_equal(t.by_words.size, 512);
	for (uint32_t i = 0; i <= 128; i++) {
		assert_int_equal(tuples_add(&t, &i), i);
		assert_int_equal(*tuples_at(&t, i), i);
	}
	tuples_free(&t);
}

/* Ten thousand, twice, of four words; in the other order the second time. */
static void many_tuples(void **state)
{
	struct tuples t = {.width = 4};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		const uint32_t tuple[] = {i % 10, i % 7, i, i / 256};

		assert_int_equal(tuples_add(&t, tuple), i);
	}
	for (uint32_t i = 10000; i--;) {
		const uint32_t tuple[] = {i % 10, i % 7, i, i / 256};

		assert_int_equal(tuples_add(&t, tuple), i);
	}
	assert_int_equal(t.cnt, 10000);
	tuples_free(&t);
	assert_int_equal(t.cnt + t.by_words.size + t.room, 0);
	assert_null(t.words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_is_that_of_the_first_appearance),
		cmocka_unit_test(each_word_counts),
		cmocka_unit_test(slots_double_when_half_are_taken),
		cmocka_unit_test(many_tuples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
