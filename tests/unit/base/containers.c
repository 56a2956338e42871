/* containers.c - numbers by numbers, elements by keys: against arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/hash.h"
#include "collector/base/map.h"
#include "collector/base/slots.h"

#define KEYS 500

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void a_map_has_what_was_put_in_and_not_removed(void **state)
{
	struct map m = {0};
	uint64_t value[KEYS] = {0}, seed = 1;
	size_t cnt = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t key = next(&seed) % KEYS;
		uint64_t *slot = map_at(&m, key << 40, false);

		assert_int_equal(slot ? *slot : 0, value[key]);
		if (seed >> 63) {
			slot = map_at(&m, key << 40, true);
			assert_non_null(slot);
			cnt += value[key] == 0;
			*slot = value[key] = seed | 1;
		} else {
			map_remove(&m, key << 40);
			cnt -= value[key] != 0;
			value[key] = 0;
		}
		assert_int_equal(m.cnt, cnt);
	}
	map_free(&m);
}

/* @same: all keys have one hash. */
static uint32_t number_of(struct slots *s, uint64_t *list, uint64_t key, bool same)
{
	uint64_t hash = same ? 1 : hash_u64(key);
	uint32_t at, i;

	for (i = slots_first(s, hash, &at); i != SLOTS_NONE; i = slots_next(s, hash, &at))
		if (list[i] == key)
			return i;
	list[s->cnt] = key;
	assert_true(slots_add(s, hash, s->cnt));
	return s->cnt - 1;
}

static void a_key_keeps_its_number(void **state)
{
	(void)state;
	for (int same = 0; same < 2; same++) {
		struct slots s = {0};
		uint64_t list[KEYS], seed = 7;
		uint32_t number[KEYS], cnt = 0;

		memset(number, 0xff, sizeof(number));
		for (int i = 0; i < 20000; i++) {
			uint32_t key = (uint32_t)(next(&seed) % KEYS);

			if (number[key] == UINT32_MAX)
				number[key] = cnt++;
			assert_int_equal(number_of(&s, list, (uint64_t)key << 32, same),
					 number[key]);
		}
		assert_int_equal(s.cnt, KEYS);
		slots_free(&s);
	}
}

static void bytes_of_other_lengths_have_other_hashes(void **state)
{
	static const char zeros[40];

	(void)state;
	for (size_t a = 0; a < sizeof(zeros); a++)
		for (size_t b = 0; b < a; b++)
			assert_true(hash_bytes(0, zeros, a) != hash_bytes(0, zeros, b));
	assert_true(hash_bytes(1, zeros, 3) != hash_bytes(2, zeros, 3));
	assert_true(hash_text("ab") == 0x089c4407b545986au); /* FNV-1a, in names of files */
}

/* Slots far more than a number counts: none are made. */
static void more_slots_than_numbers_are_refused(void **state)
{
	struct slots s = {.size = UINT32_C(1) << 31, .cnt = UINT32_C(1) << 30};

	(void)state;
	assert_false(slots_add(&s, 1, 0));
	assert_null(s.slot);
	assert_int_equal(s.cnt, UINT32_C(1) << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_has_what_was_put_in_and_not_removed),
		cmocka_unit_test(a_key_keeps_its_number),
		cmocka_unit_test(bytes_of_other_lengths_have_other_hashes),
		cmocka_unit_test(more_slots_than_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
