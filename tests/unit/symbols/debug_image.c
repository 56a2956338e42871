/*
 * debug_image.c - compressed debug information in memory: each section as the uncompressed file has it, decompressed no
 * further than it is read, zeros where the file is damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/symbols/debug_image.h"
#include "collector/symbols/elf_image.h"

static const char source[] = "for i in $(seq 6000); do echo \"struct s$i { int a$i; char *b$i; };"
			     " int f$i(struct s$i *p) { return p->a$i; }\"; done";
static char dir[64], plain[96], packed[96];

__attribute__((format(printf, 1, 2))) static int sh(const char *format, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

static int make_files(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sl-debug-image-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(plain, sizeof(plain), "%s/plain", dir);
	snprintf(packed, sizeof(packed), "%s/packed", dir);
	return sh("(%s) | cc -g -shared -fPIC -gz=none -o %s -xc -", source, plain) ||
	       sh("objcopy --compress-debug-sections=zlib %s %s", plain, packed);
}

static int remove_files(void **state)
{
	(void)state;
	return sh("rm -r %s", dir);
}

static struct debug_image *open_image(const struct elf_image *file, struct elf_image *image)
{
	struct debug_image *d = debug_image_open(file->at, file->size);
	size_t size;
	char *at;

	assert_non_null(d);
	at = debug_image_elf(d, &size);
	assert_true(elf_image_memory(image, at, size));
	return d;
}

static void sections_are_those_of_the_uncompressed_file(void **state)
{
	static const char *const names[] = {".debug_info", ".debug_line", ".debug_str",
					    ".debug_abbrev", ".debug_aranges"};
	struct elf_image whole, file, image;
	struct debug_image *d;

	(void)state;
	assert_true(elf_image_open(&whole, plain) && elf_image_open(&file, packed));
	d = open_image(&file, &image);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct elf_part want = elf_image_section(&whole, names[i]),
				got = elf_image_section(&image, names[i]);

		assert_true(want.size > 0);
		assert_int_equal(got.size, want.size);
		assert_memory_equal(got.at, want.at, want.size);
	}
	debug_image_close(d);
	elf_image_close(&file);
	elf_image_close(&whole);
}

/* Without touching it. */
static int may_be_read(const void *at)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)at, 1};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

static void nothing_is_decompressed_beyond_what_is_read(void **state)
{
	struct elf_image file, image;
	struct debug_image *d;
	struct elf_part info;

	(void)state;
	assert_true(elf_image_open(&file, packed));
	d = open_image(&file, &image);
	info = elf_image_section(&image, ".debug_info");
	assert_true(info.size > 4 << 16);
	assert_true(may_be_read(info.at));
	assert_false(may_be_read(info.at + info.size - 1));
	(void)*(const volatile uint8_t *)(info.at + info.size - 1);
	assert_true(may_be_read(info.at + info.size - 1));
	debug_image_close(d);
	elf_image_close(&file);
}

static void damaged_information_is_zeros(void **state)
{
	struct elf_image file, damaged = {0}, image;
	struct debug_image *d;
	struct elf_part info;
	uint8_t *copy;

	(void)state;
	assert_true(elf_image_open(&file, packed));
	copy = malloc(file.size);
	assert_non_null(copy);
	memcpy(copy, file.at, file.size);
	info = elf_image_section(&file, ".debug_info");
	memset(copy + (info.at - file.at) + info.size / 2, 0xff, info.size / 2);
	assert_true(elf_image_memory(&damaged, copy, file.size));
	d = open_image(&damaged, &image);
	info = elf_image_section(&image, ".debug_info");
	assert_int_not_equal(info.at[0], 0);
	for (size_t i = info.size - 256; i < info.size; i++)
		assert_int_equal(info.at[i], 0);
	debug_image_close(d);
	free(copy);
	elf_image_close(&file);
}

static void a_size_that_cannot_be_is_refused(void **state)
{
	struct elf_image file, forged = {0};
	struct elf_part info;
	uint8_t *copy;
	Elf64_Chdr head;

	(void)state;
	assert_true(elf_image_open(&file, packed));
	copy = malloc(file.size);
	assert_non_null(copy);
	memcpy(copy, file.at, file.size);
	info = elf_image_section(&file, ".debug_info");
	memcpy(&head, info.at, sizeof(head));
	head.ch_size = info.size * 1100;
	memcpy(copy + (info.at - file.at), &head, sizeof(head));
	assert_true(elf_image_memory(&forged, copy, file.size));
	assert_null(debug_image_open(forged.at, forged.size));
	free(copy);
	elf_image_close(&file);
}

static void a_file_without_compression_is_refused(void **state)
{
	struct elf_image whole;

	(void)state;
	assert_true(elf_image_open(&whole, plain));
	assert_null(debug_image_open(whole.at, whole.size));
	assert_null(debug_image_open("no ELF file", 11));
	elf_image_close(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_those_of_the_uncompressed_file),
		cmocka_unit_test(nothing_is_decompressed_beyond_what_is_read),
		cmocka_unit_test(damaged_information_is_zeros),
		cmocka_unit_test(a_size_that_cannot_be_is_refused),
		cmocka_unit_test(a_file_without_compression_is_refused),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
