/* view_pack.c - blocks of events: any widths there and back, and bytes that are no block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/view/index/pack.h"

static uint64_t seed = 1;

static uint64_t random_bits(unsigned bits)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	uint64_t x = seed ^ seed >> 29;

	return bits == 0 ? 0 : x >> (64 - bits);
}

static struct view_event event_of(int64_t start, int64_t end)
{
	return (struct view_event){.start = start, .end = end, .row = start, .name = 7};
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

/* What is read of a part of the columns is what a whole block has there. */
static void parts_of_a_block_are_those_of_the_whole(void **state)
{
	struct view_event e[VIEW_BLOCK], part[VIEW_BLOCK];
	uint64_t dur[VIEW_BLOCK];
	uint32_t name[VIEW_BLOCK];

	(void)state;
	for (unsigned bits = 0; bits <= 57; bits++) {
		uint8_t packed[VIEW_BLOCK_MAX + 16] = {0};
		unsigned cnt = 1 + bits % VIEW_BLOCK;
		int64_t at = -(int64_t)random_bits(50);
		size_t len;

		for (unsigned i = 0; i < cnt; i++) {
			at += (int64_t)random_bits(bits < 56 ? bits : 56);
			e[i] = (struct view_event){
				.start = at,
				.end = at + (int64_t)random_bits(bits < 56 ? bits : 56),
				.row = (int64_t)random_bits(bits),
				.name = (uint32_t)random_bits(bits < 32 ? bits : 32),
				.source = (uint8_t)random_bits(5),
				.flags = (uint8_t)(random_bits(3) << 1)};
			at = e[i].end;
		}
		len = view_pack(e, cnt, packed);
		memset(part, 0x55, sizeof(part));
		assert_int_equal(view_unpack(packed, len, part, false), cnt);
		assert_int_equal(view_unpack_durations(packed, len, dur, name), cnt);
		for (unsigned i = 0; i < cnt; i++) {
			assert_true(part[i].start == e[i].start && part[i].end == e[i].end);
			assert_true(part[i].name == e[i].name && part[i].flags == e[i].flags);
			/* Not asked for, and not touched. */
			assert_true(part[i].row == 0x5555555555555555 && part[i].source == 0x55);
			assert_true(dur[i] == (uint64_t)(e[i].end - e[i].start));
			assert_int_equal(name[i], e[i].name);
		}
		if (cnt < VIEW_BLOCK)
			assert_int_equal(part[cnt].flags, 0x55);
		assert_int_equal(view_unpack_durations(packed, len - 1, dur, name), 0);
		assert_int_equal(view_unpack(packed, len - 1, part, false), 0);
	}
}

/* A column takes the bits of its largest value above the least: the head has 32 bytes. */
static void blocks_take_as_many_bytes_as_their_columns_need(void **state)
{
	struct view_event e[VIEW_BLOCK];
	uint8_t packed[VIEW_BLOCK_MAX + 16];

	(void)state;
	for (int i = 0; i < VIEW_BLOCK; i++)
		e[i] = (struct view_event){
			.start = 100 + i * 7, .end = 100 + i * 7, .row = 5, .name = 9};
	/* Of gaps of 7, the first 0, three bits each: 12 bytes. */
	assert_int_equal(view_pack(e, VIEW_BLOCK, packed), 32 + 12);
	/* Durations of up to 3, rows from 5 to 6, names from 9 to 24: 2, 1 and 4 bits, gaps of 4 and more still 3. */
	for (int i = 0; i < VIEW_BLOCK; i++) {
		e[i].end += i % 4;
		e[i].row += i % 2;
		e[i].name += (uint32_t)i % 16;
	}
	assert_int_equal(view_pack(e, VIEW_BLOCK, packed), 32 + 4 * (3 + 2 + 1 + 4));
	/* Sources 3 to 4, and flags of which the highest is 4: 1 bit, and 3. One event: 0 + 2 + 0 + 0 + 0 + 3 bits. */
	for (int i = 0; i < VIEW_BLOCK; i++) {
		e[i].source = (uint8_t)(3 + i % 2);
		e[i].flags = VIEW_INSTANT;
	}
	assert_int_equal(view_pack(e, VIEW_BLOCK, packed), 32 + 4 * (3 + 2 + 1 + 4 + 1 + 3));
	assert_int_equal(view_pack(e + 3, 1, packed), 32 + 1);
}

static void a_head_with_a_wrong_count_or_width_is_no_block(void **state)
{
	struct view_event e[2] = {event_of(10, 20), event_of(30, 50)}, back[VIEW_BLOCK + 1];
	uint8_t packed[VIEW_BLOCK_MAX + 16] = {0}, forged[sizeof(packed)];
	size_t len = view_pack(e, 2, packed);
	uint64_t dur[VIEW_BLOCK];
	uint32_t name[VIEW_BLOCK];

	(void)state;
	/* Without columns any count fits: but 0 and more than 32 are none. */
	memset(forged, 0, sizeof(forged));
	for (int cnt = 0; cnt < 256; cnt++) {
		forged[0] = (uint8_t)cnt;
		assert_int_equal(view_unpack(forged, 32, back, true), cnt <= VIEW_BLOCK ? cnt : 0);
		assert_int_equal(view_unpack_durations(forged, 32, dur, name),
				 cnt <= VIEW_BLOCK ? cnt : 0);
	}
	assert_int_equal(view_unpack(forged, 31, back, true), 0);
	/* Six widths of up to 64 follow the count. */
	for (int column = 1; column <= 6; column++) {
		memcpy(forged, packed, sizeof(packed));
		forged[column] = 64;
		assert_int_equal(view_unpack(forged, VIEW_BLOCK_MAX, back, true), 2);
		forged[column] = 65;
		assert_int_equal(view_unpack(forged, VIEW_BLOCK_MAX, back, true), 0);
	}
	assert_int_equal(view_unpack(packed, len, back, true), 2);
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
		cmocka_unit_test(parts_of_a_block_are_those_of_the_whole),
		cmocka_unit_test(blocks_take_as_many_bytes_as_their_columns_need),
		cmocka_unit_test(a_head_with_a_wrong_count_or_width_is_no_block),
		cmocka_unit_test(no_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
