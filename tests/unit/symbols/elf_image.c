/* elf_image.c - symbols and sections of an ELF file, found in our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collector/symbols/elf_image.h"

/* volatile: to be read, and in a section of its own. */
static volatile long in_section __attribute__((section(".OurSection"), used)) = 1;
long in_data = 2;
static long hidden_data __attribute__((used)) = 3;

static void symbols_of_a_file_are_found(void **state)
{
	const char *const names[] = {"in_data", "hidden_data", "no_such_symbol",
				     "symbols_of_a_file_are_found"};
	uint64_t at[4] = {1, 1, 1, 1}, section = 0, bias;
	struct elf_image e;

	(void)state;
	assert_true(elf_image_open(&e, "/proc/self/exe"));
	elf_image_find(&e, names, 4, at);
	bias = (uintptr_t)&in_data - at[0];
	assert_int_equal(bias % 4096, 0);
	assert_int_equal(at[1] + bias, (uintptr_t)&hidden_data);
	assert_int_equal(at[2], 1);
	assert_int_equal(at[3] + bias, (uintptr_t)symbols_of_a_file_are_found);
	assert_true(elf_image_section_address(&e, ".OurSection", &section));
	assert_int_equal(section + bias, (uintptr_t)&in_section);
	assert_false(elf_image_section_address(&e, ".NoSection", &section));
	/* There, but not in memory. */
	assert_true(elf_image_has(&e, ".symtab"));
	assert_false(elf_image_section_address(&e, ".symtab", &section));
	elf_image_close(&e);
}

static void damaged_files_do_no_harm(void **state)
{
	const char *const names[] = {"in_data"};
	uint8_t file[4096];
	struct elf_image whole, e;
	uint64_t at = 0;

	(void)state;
	assert_true(elf_image_open(&whole, "/proc/self/exe"));
	memcpy(file, whole.at, sizeof(file));
	/* The tables are behind the end. */
	assert_true(elf_image_memory(&e, file, sizeof(file)));
	elf_image_find(&e, names, 1, &at);
	assert_int_equal(at, 0);
	assert_false(elf_image_section_address(&e, ".text", &at));
	assert_false(elf_image_memory(&e, file, 16));
	elf_image_find(&e, names, 1, &at);
	assert_int_equal(at, 0);
	elf_image_close(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_of_a_file_are_found),
					   cmocka_unit_test(damaged_files_do_no_harm)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
