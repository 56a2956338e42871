/* pylines.c - tables of lines: by hand, cut short, and nonsense. What interpreters make: tests/e2e/python/pystack.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/symbols/pylines.h"

static const uint8_t lnotab[] = {6, 1, 50, 2, 255, 0, 45, 127, 0, 73, 4, 254};
static const uint8_t linetable[] = {4, 1, 8, 128, 2, 0, 6, 255, 0, 10, 2, 1};
/* As Objects/locations.md describes: none for 2, same line for 1, two on for 8, a long step of -70 for 1, then +300 without
 * columns. */
static const uint8_t locations[] = {0x80 | 15 << 3 | 1,
				    0x80 | 0,
				    0x12,
				    0x80 | 12 << 3 | 7,
				    3,
				    9,
				    0x80 | 14 << 3,
				    0x40 | (141 & 0x3f),
				    141 >> 6,
				    0,
				    1,
				    2,
				    0x80 | 13 << 3 | 2,
				    0x40 | (600 & 0x3f),
				    600 >> 6};

static void lnotab_gives_the_lines_of_3_8_and_3_9(void **state)
{
	(void)state;
	assert_int_equal(pylines_at(0x0308, lnotab, sizeof(lnotab), 1, 0), 1);
	assert_int_equal(pylines_at(0x0308, lnotab, sizeof(lnotab), 1, 4), 1);
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 6), 2);
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 54), 2);
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 56), 4);
	/* A long way and many lines take several pairs. */
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 354), 4);
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 356), 204);
	assert_int_equal(pylines_at(0x0309, lnotab, sizeof(lnotab), 1, 360), 202);
	assert_int_equal(pylines_at(0x0309, NULL, 0, 7, 100), 7);
}

static void linetable_gives_the_lines_of_3_10(void **state)
{
	(void)state;
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 0), 11);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 4), 0);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 10), 0);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 12), 11);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 14), 10);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 20), 21);
	assert_int_equal(pylines_at(0x030a, linetable, sizeof(linetable), 10, 22), 0);
}

static void locations_give_the_lines_of_3_11_and_later(void **state)
{
	static const struct {
		uint32_t offset;
		int line;
	} want[] = {{0, 0},    {2, 0},     {4, 1000},  {6, 1002}, {20, 1002},
		    {22, 932}, {24, 1232}, {28, 1232}, {30, 0}};

	(void)state;
	for (unsigned version = 0x030b; version <= 0x030f; version++)
		for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++)
			assert_int_equal(pylines_at((int)version, locations, sizeof(locations),
						    1000, want[i].offset),
					 want[i].line);
}

static void a_function_that_has_not_begun_has_its_first_line(void **state)
{
	(void)state;
	for (unsigned version = 0x0308; version <= 0x030f; version++)
		assert_int_equal(pylines_at((int)version, NULL, 0, 42, SL_PYLINES_NOT_BEGUN), 42);
}

static void a_table_that_is_cut_gives_its_whole_entries(void **state)
{
	(void)state;
	/* Each whole entry of a table that is cut has its line, and a cut entry has none. */
	for (size_t len = 0; len <= sizeof(locations); len++) {
		uint8_t *copy = malloc(len ? len : 1); /* of exactly this size, for the sanitizer */

		memcpy(copy, locations, len);
		assert_int_equal(pylines_at(0x030c, copy, len, 1000, 4), len >= 2 ? 1000 : 0);
		assert_int_equal(pylines_at(0x030c, copy, len, 1000, 24), len >= 15 ? 1232 : 0);
		free(copy);
	}
}

static void tables_of_nonsense_do_no_harm(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		uint8_t table[40];
		size_t len;
		int line;

		for (size_t i = 0; i < sizeof(table); i++) {
			seed = seed * 1664525 + 1013904223;
			table[i] = (uint8_t)(seed >> 24);
		}
		len = table[0] % sizeof(table);
		line = pylines_at(0x0308 + round % 7, table + sizeof(table) - len, len, (int)seed,
				  table[1] * 2u);
		assert_true(line >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_gives_the_lines_of_3_8_and_3_9),
		cmocka_unit_test(linetable_gives_the_lines_of_3_10),
		cmocka_unit_test(locations_give_the_lines_of_3_11_and_later),
		cmocka_unit_test(a_function_that_has_not_begun_has_its_first_line),
		cmocka_unit_test(a_table_that_is_cut_gives_its_whole_entries),
		cmocka_unit_test(tables_of_nonsense_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
