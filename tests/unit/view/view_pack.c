/* view_pack.c - blocks of events: any widths there and back, and bytes that are no block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/view/pack.h"

static uint64_t seed = 1;

static uint64_t random_bits(unsigned bits)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	uint64_t x = seed ^ seed >> 29;

	return bits == 0 ? 0 : x >> (64 - bits);
}

static void there_and_back(const struct view_event *e, unsigned cnt)
{
	uint8_t packed[VIEW_BLOCK_MAX + 16] = {0};
	struct view_event back[VIEW_BLOCK];
	size_t len = view_pack(e, cnt, packed);

	assert_true(len <= VIEW_BLOCK_MAX);
	assert_int_equal(view_unpack(packed, len, back, true), cnt);
	for (unsigned i = 0; i < cnt; i++) {
		assert_true(back[i].start == e[i].start && back[i].end == e[i].end);
		assert_true(back[i].row == e[i].row && back[i].name == e[i].name);
		assert_true(back[i].source == e[i].source && back[i].flags == e[i].flags);
	}
	/* One byte less is none, unless it is of a column without bits. */
	assert_int_equal(view_unpack(packed, len - 1, back, true), 0);
}

/* Each column with each number of bits. */
static void any_widths(void **state)
{
	struct view_event e[VIEW_BLOCK];

	(void)state;
	for (unsigned bits = 0; bits <= 62; bits++)
		for (unsigned cnt = 1; cnt <= VIEW_BLOCK; cnt++) {
			/* All together stay below the largest time. */
			unsigned time_bits = bits < 56 ? bits : 56;
			int64_t at = -(int64_t)random_bits(62);

			for (unsigned i = 0; i < cnt; i++) {
				at += (int64_t)random_bits(time_bits);
				e[i].start = at;
				at += (int64_t)random_bits(time_bits);
				e[i].end = at;
				e[i].row = (int64_t)random_bits(bits) - (int64_t)random_bits(bits);
				e[i].name = (uint32_t)random_bits(bits < 32 ? bits : 32);
				e[i].source = (uint8_t)random_bits(bits < 5 ? bits : 5);
				e[i].flags =
					(uint8_t)(random_bits(bits < 4 ? bits : 4) & ~VIEW_OPEN);
			}
			there_and_back(e, cnt);
		}
}

static void edges(void **state)
{
	struct view_event one = {-VIEW_TIME_MAX, VIEW_TIME_MAX, INT64_MIN, UINT32_MAX, 31, 14};
	struct view_event two[2] = {{-VIEW_TIME_MAX, -VIEW_TIME_MAX, INT64_MIN, 0, 0, VIEW_INSTANT},
				    {VIEW_TIME_MAX, VIEW_TIME_MAX, INT64_MAX, UINT32_MAX, 31, 0}};
	struct view_event open[2] = {{5, 7, 1, 3, 2, 0}, {9, VIEW_TIME_MAX, 2, 3, 2, VIEW_OPEN}};
	struct view_event same[3] = {{4, 4, 1, 1, 0, VIEW_INSTANT},
				     {4, 4, 1, 1, 0, VIEW_INSTANT},
				     {4, 4, 1, 1, 0, VIEW_INSTANT}};

	(void)state;
	there_and_back(&one, 1);
	there_and_back(two, 2);
	there_and_back(open, 2);
	/* All alike: no column has a bit. */
	uint8_t packed[VIEW_BLOCK_MAX + 16] = {0};
	struct view_event back[VIEW_BLOCK];

	for (int i = 0; i < 3; i++)
		same[i].flags = 0;
	assert_int_equal(view_unpack(packed, view_pack(same, 3, packed), back, true), 3);
	assert_true(back[2].start == 4 && back[2].end == 4);
}

/* Whatever the bytes are, nothing beyond them is read (valgrind and ASan see it), and a count is in bounds. */
static void no_block(void **state)
{
	struct view_event back[VIEW_BLOCK];

	(void)state;
	for (int n = 0; n < 20000; n++) {
		size_t len = random_bits(8);
		uint8_t *bytes = malloc(len + 16);

		assert_non_null(bytes);
		for (size_t i = 0; i < len + 16; i++)
			bytes[i] = (uint8_t)random_bits(8);
		if (len > 0 && n % 2)
			bytes[0] = (uint8_t)(1 + random_bits(5));
		assert_true(view_unpack(bytes, len, back, true) <= VIEW_BLOCK);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_widths),
		cmocka_unit_test(edges),
		cmocka_unit_test(no_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
