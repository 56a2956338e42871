/* exec_runtime.c - headers of programs that are about to be executed: files by hand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/wire/exec_file.h"

#define DYNAMIC 8192u
#define STRINGS 16384u
#define RUNTIME "libasan.so.8"

static unsigned char file[20000];
static char path[] = "/tmp/sightline-exec.XXXXXX";
static struct sl_exec_room room;

/*
 * A program with its headers at @headers, and @others dynamic entries before those of the strings and of the library. @parts: headers
 * before that of the dynamic entries.
 */
static void make(uint64_t headers, unsigned parts, unsigned others, const char *library)
{
	Elf64_Ehdr e = {
		.e_ident = ELFMAG,
#if defined(__x86_64__)
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_phoff = headers,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)(parts + 2)
	};
	Elf64_Phdr load = {.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(file)},
		   dynamic = {.p_type = PT_DYNAMIC,
			      .p_offset = DYNAMIC,
			      .p_filesz = (others + 3) * sizeof(Elf64_Dyn)};
	Elf64_Dyn strings = {.d_tag = DT_STRTAB, .d_un.d_ptr = 0x10000 + STRINGS},
		  needed = {.d_tag = DT_NEEDED, .d_un.d_val = 1}, other = {.d_tag = DT_DEBUG};
	unsigned char *at = file + headers, *d = file + DYNAMIC;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	memset(file, 0, sizeof(file));
	e.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(file, &e, sizeof(e));
	memcpy(at, &load, sizeof(load));
	memcpy(at + (parts + 1) * sizeof(load), &dynamic, sizeof(dynamic));
	for (unsigned i = 0; i < others; i++, d += sizeof(other))
		memcpy(d, &other, sizeof(other));
	memcpy(d, &strings, sizeof(strings));
	memcpy(d + sizeof(strings), &needed, sizeof(needed));
	strcpy((char *)file + STRINGS + 1, library);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, sizeof(file)), sizeof(file));
	close(fd);
}

static enum sl_exec_needs look(char name[SL_RUNTIME_BYTES])
{
	const struct sl_exec_file of = {.path = path, .dir = AT_FDCWD};

	memset(name, 0, SL_RUNTIME_BYTES);
	return sl_exec_look(&of, NULL, &room, name);
}

static void a_runtime_is_found_wherever_its_entry_is(void **state)
{
	char name[SL_RUNTIME_BYTES];

	(void)state;
	for (unsigned others = 0; others < 120; others++) {
		make(sizeof(Elf64_Ehdr), 3, others, RUNTIME);
		assert_int_equal(look(name), SL_EXEC_RUNTIME);
		assert_string_equal(name, RUNTIME);
		make(sizeof(Elf64_Ehdr), 3, others, "libc.so.6");
		assert_int_equal(look(name), SL_EXEC_NOTHING);
	}
}

static void headers_may_be_anywhere_in_the_file(void **state)
{
	char name[SL_RUNTIME_BYTES];

	(void)state;
	for (uint64_t at = sizeof(Elf64_Ehdr); at < 2048; at += 24) {
		make(at, 20, 1, RUNTIME);
		assert_int_equal(look(name), SL_EXEC_RUNTIME);
	}
}

static void a_file_that_is_cut_asks_for_nothing(void **state)
{
	static const off_t sizes[] = {0, 3, 63, 64, 100, 400, 1024, DYNAMIC, DYNAMIC + 20, STRINGS};
	char name[SL_RUNTIME_BYTES];

	(void)state;
	make(sizeof(Elf64_Ehdr), 3, 50, RUNTIME);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		assert_int_equal(truncate(path, sizes[sizeof(sizes) / sizeof(*sizes) - 1 - i]), 0);
		assert_int_equal(look(name), SL_EXEC_NOTHING);
	}
}

static void a_file_of_another_processor_is_another(void **state)
{
	char name[SL_RUNTIME_BYTES];
	int fd;

	(void)state;
	make(sizeof(Elf64_Ehdr), 3, 1, RUNTIME);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\x28", 1, offsetof(Elf64_Ehdr, e_machine)), 1);
	close(fd);
	assert_int_equal(look(name), SL_EXEC_OTHER);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runtime_is_found_wherever_its_entry_is),
		cmocka_unit_test(headers_may_be_anywhere_in_the_file),
		cmocka_unit_test(a_file_that_is_cut_asks_for_nothing),
		cmocka_unit_test(a_file_of_another_processor_is_another),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
