/*
 * elf.c - files of programs: symbol tables, unwinding tables, debug information, names. Seeds are this program's own parts and a
 * library of the tests.
 */
#include "tests/fuzz/fuzz.h"

#include "collector/symbols/demangle.h"
#include "collector/symbols/symbols_internal.h"
#include "preload/unwind/cfi.h"
#include "preload/wire/exec_file.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile size_t kept; /* what is read must be there */

/* ---- tables ---- */

static bool count(void *to, const struct elf_symbol *s)
{
	*(size_t *)to += strlen(s->name);
	return true;
}

static void count_part(size_t *sum, struct elf_part p)
{
	for (size_t i = 0; p.at && i < p.size; i++)
		*sum += p.at[i];
}

static void run_elf(const uint8_t *data, size_t len)
{
	static const char *const names[] = {"main", "_PyRuntime"};
	struct symbols_table table = {0};
	uint64_t at[2] = {0}, address = 0, size = 0;
	uint8_t *copy = malloc(len ? len : 1);
	struct elf_image e;
	size_t sum = 0;

	memcpy(copy, data, len);
	if (elf_image_memory(&e, copy, len)) {
		struct symbols_file file = {.image = e};

		elf_image_symbols(&e, 2, count, &sum);
		elf_image_symbols(&e, 11, count, &sum);
		count_part(&sum, elf_image_build_id(&e));
		count_part(&sum, elf_image_section(&e, ".gnu_debuglink"));
		count_part(&sum, elf_image_section(&e, ".text"));
		sum += elf_image_section_address(&e, ".eh_frame_hdr", &address);
		elf_image_find(&e, names, 2, at);
		symbols_table_fill(&table, &file);
		for (address = 0; address < 0x4000; address += 61)
			sum += symbols_table_find(&table, address) != NULL;
		symbols_loop_part(&table, &e, &address, &size);
		symbols_table_free(&table);
	}
	free(copy);
	kept = sum;
}

/* A part of a file; the object is small enough to be a seed as a whole. */
static size_t read_seed(const char *path, size_t from, uint8_t *to)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;

	if (f && fseek(f, (long)from, SEEK_SET) == 0)
		n = fread(to, 1, FUZZ_SEED_MAX, f);
	if (f)
		fclose(f);
	return n;
}

static const char *library(void)
{
	const char *named = getenv("FUZZ_ELF");

	return named ? named : FUZZ_LIBRARY;
}

static size_t seed_elf(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	return i == 0 ? read_seed(library(), 0, to) : 0;
}

const struct fuzz_target fuzz_elf = {"elf", run_elf, seed_elf, NULL};

/* ---- .eh_frame_hdr and .eh_frame, one behind the other as the linker puts them ---- */

#define CFI_AT 0x400000u

static bool read_word(void *ctx, uint64_t address, uint64_t *value)
{
	(void)ctx;
	*value = address * 2654435761u;
	return address & 8;
}

static void run_cfi(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct sl_cfi table = {.header = CFI_AT,
			       .low = CFI_AT,
			       .high = CFI_AT + len,
			       .at = (intptr_t)copy - CFI_AT};
	uint64_t start = 0;

	memcpy(copy, data, len);
	if (len >= 8)
		memcpy(&start, data + len - 8, 8);
	for (int i = 0; i < 12; i++) {
		uint64_t pc = i < 4 ? CFI_AT - 0x8000 + (start >> (i * 16) & 0xffff)
				    : CFI_AT - 0x1000u * (unsigned)(i - 4);
		struct sl_regs regs = {.pc = pc, .known = ~0u};
		struct sl_row row;
		bool is_signal;

		sl_cfi_row(&table, pc, &row);
		sl_cfi_step(&table, pc, &regs, read_word, NULL, &is_signal);
	}
	free(copy);
}

static size_t seed_cfi(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	struct elf_image e;
	size_t n = 0;

	if (i || !elf_image_open(&e, library()))
		return 0;
	struct elf_part head = elf_image_section(&e, ".eh_frame_hdr"),
			body = elf_image_section(&e, ".eh_frame");

	if (head.at && body.at && body.at > head.at &&
	    (size_t)(body.at - head.at) + body.size <= FUZZ_SEED_MAX) {
		n = (size_t)(body.at - head.at) + body.size;
		memcpy(to, head.at, n);
	}
	elf_image_close(&e);
	return n;
}

const struct fuzz_target fuzz_cfi = {"cfi", run_cfi, seed_cfi, NULL};

/* ---- with libdw ---- */

static void run_dwarf(const uint8_t *data, size_t len)
{
	struct symbols_frame frame[8];
	struct symbols_module *m;
	struct symbols *s;
	char path[96], name[SL_RUNTIME_BYTES];
	struct sl_exec_room room;

	snprintf(path, sizeof(path), "%s/object", fuzz_dir());
	fuzz_file(path, data, len);
	sl_exec_look(&(struct sl_exec_file){.path = path, .dir = AT_FDCWD}, NULL, &room, name);
	s = symbols_open();
	m = symbols_module(s, path, NULL, 0);
	for (uint64_t at = 0x1000; at < 0x1600; at += 29)
		symbols_at(s, m, at, frame, 8);
	symbols_close(s);
}

const struct fuzz_target fuzz_dwarf = {"dwarf", run_dwarf, seed_elf, NULL};

/* ---- names ---- */

static void run_demangle(const uint8_t *data, size_t len)
{
	char *symbol = malloc(len + 1), *full, *function;
	const char *base;

	memcpy(symbol, data, len);
	symbol[len] = 0;
	full = demangle_full(symbol);
	if (full)
		kept = demangle_base(full, &base);
	function = demangle_function(symbol);
	free(full);
	free(function);
	free(symbol);
}

static size_t seed_demangle(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const names[] = {
		"_ZN3geo5outerEi",
		"_ZNSt6vectorIiSaIiEE9push_backERKi.constprop.0",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		"_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz",
		"_RINvNtC3std3mem8align_ofdE",
		"_ZN2at6native12_GLOBAL__N_143gpu_kernelINS0_13BinaryFunctorIfffEEEEvRT_",
		"plain.cold",
		NULL};

	return fuzz_text_seed(names, i, to);
}

const struct fuzz_target fuzz_demangle = {"demangle", run_demangle, seed_demangle, NULL};
