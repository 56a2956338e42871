/* arena.c - the lock-free stack of the arena, and the packing of record heads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/wire/hooks.h"

#define REFS    64u
#define THREADS 4
#define ROUNDS  200000

static uint64_t head;
static sl_ref links[REFS];
static uint32_t owner[REFS]; /* how many hold this ref: never more than one */
static int doubled;

static void *hammer(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		sl_ref a = sl_stack_pop(&head, links, REFS), b = sl_stack_pop(&head, links, REFS);
		sl_ref both[2] = {a, b};

		for (int k = 0; k < 2; k++)
			if (both[k] && __atomic_fetch_add(&owner[both[k] - 1], 1, __ATOMIC_SEQ_CST))
				__atomic_store_n(&doubled, 1, __ATOMIC_SEQ_CST);
		/* Back in the other order: the pattern that breaks a stack without a change count. */
		for (int k = 0; k < 2; k++)
			if (both[k]) {
				__atomic_fetch_sub(&owner[both[k] - 1], 1, __ATOMIC_SEQ_CST);
				sl_stack_push(&head, links, both[k]);
			}
	}
	return NULL;
}

static void a_ref_is_never_given_to_two_threads_at_once(void **state)
{
	pthread_t t[THREADS];
	uint32_t seen = 0;

	(void)state;
	for (sl_ref r = 1; r <= REFS; r++)
		sl_stack_push(&head, links, r);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hammer, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(doubled, 0);
	for (sl_ref r; (r = sl_stack_pop(&head, links, REFS)) != 0; seen++)
		assert_int_equal(owner[r - 1]++, 0);
	assert_int_equal(seen, REFS);
}

static void the_last_one_returned_comes_first(void **state)
{
	uint64_t h = 0;
	sl_ref l[3];

	(void)state;
	assert_int_equal(sl_stack_pop(&h, l, 3), 0);
	sl_stack_push(&h, l, 2);
	sl_stack_push(&h, l, 3);
	assert_int_equal(sl_stack_pop(&h, l, 3), 3);
	assert_int_equal(sl_stack_pop(&h, l, 3), 2);
	assert_int_equal(sl_stack_pop(&h, l, 3), 0);
}

static void a_head_outside_of_the_links_is_an_empty_stack(void **state)
{
	static const sl_ref bad[] = {4, 5, 0xf0000000, UINT32_MAX};
	sl_ref l[3] = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t h = 1ull << 32 | bad[i];

		assert_int_equal(sl_stack_pop(&h, l, 3), 0);
	}
	/* So is what a link leads to. */
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t h = 2;

		l[1] = bad[i];
		assert_int_equal(sl_stack_pop(&h, l, 3), 2);
		assert_int_equal(sl_stack_pop(&h, l, 3), 0);
	}
}

static void every_field_of_a_head_survives_its_extremes(void **state)
{
	static const unsigned hooks[] = {0, 1, SL_HOOK_CNT - 1, 4095};
	static const unsigned words[] = {2, 3, 512, SL_REC_MAX_WORDS};

	(void)state;
	for (unsigned h = 0; h < 4; h++)
		for (unsigned w = 0; w < 4; w++)
			for (unsigned level = 0; level < 8; level++)
				for (unsigned shape = 0; shape < SL_SHAPE_CNT; shape++)
					for (unsigned flags = 0; flags < 8; flags++) {
						uint32_t v = sl_head(hooks[h], words[w], level,
								     shape, flags);

						assert_int_equal(sl_head_hook(v), hooks[h]);
						assert_int_equal(sl_head_words(v), words[w]);
						assert_int_equal(sl_head_level(v), level);
						assert_int_equal(sl_head_shape(v), shape);
						assert_int_equal(sl_head_flags(v), flags);
					}
}

static void hook_names_are_all_different(void **state)
{
	(void)state;
	for (int i = 0; i < SL_HOOK_CNT; i++) {
		assert_non_null(sl_hook_name(i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(sl_hook_name(i), sl_hook_name(k));
	}
	assert_int_not_equal(sl_hook_hash(), 0);
}

static void chunks_do_not_overlap_the_header_or_each_other(void **state)
{
	struct sl_arena *a = (struct sl_arena *)(uintptr_t)0x100000000;

	(void)state;
	assert_true((char *)sl_chunk_at(a, 1) >= (char *)(a + 1));
	assert_ptr_equal((char *)sl_chunk_at(a, 2), (char *)sl_chunk_at(a, 1) + SL_CHUNK_BYTES);
	assert_true((char *)sl_chunk_at(a, SL_CHUNK_CNT) + SL_CHUNK_BYTES <=
		    (char *)a + SL_ARENA_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ref_is_never_given_to_two_threads_at_once),
		cmocka_unit_test(the_last_one_returned_comes_first),
		cmocka_unit_test(a_head_outside_of_the_links_is_an_empty_stack),
		cmocka_unit_test(every_field_of_a_head_survives_its_extremes),
		cmocka_unit_test(hook_names_are_all_different),
		cmocka_unit_test(chunks_do_not_overlap_the_header_or_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
