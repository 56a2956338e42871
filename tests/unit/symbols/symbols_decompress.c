/*
 * symbols_decompress.c - compressed debug information: what comes out is what went in, and names are those of the same program
 * when it is not compressed; what lies, is cut or is something else does no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/symbols/symbols_internal.h"

#if SL_HAVE_LIBDW && SL_HAVE_ZLIB
#include <zlib.h>
#if SL_HAVE_ZSTD
#include <zstd.h>
#endif

#include "collector/symbols/sigbus_guard.h"
#include "collector/symbols/symbols_decompress.h"

#ifndef SL_HAVE_ZSTD
#define SL_HAVE_ZSTD 0
#endif
#define ZLIB   1u
#define ZSTD   2u
#define FILES  8u
#define LARGE  (5u << 20)
#define SMALL  1000u
#define ROUNDS 300u

/* ---- files that are made here ---- */

struct part {
	const char *name;
	uint8_t *data;
	size_t size;
	uint64_t flags;
};

static uint8_t *text_of(size_t size)
{
	uint8_t *text = malloc(size);

	for (size_t i = 0; i < size; i++)
		text[i] = (uint8_t)(1 + (i * 2654435761u >> 13) % 7 + i / 65536);
	return text;
}

/* As the bytes of a section, behind what is said of them. */
static struct part packed(const char *name, uint32_t how, const uint8_t *text, size_t size)
{
	Elf64_Chdr head = {.ch_type = how, .ch_size = size, .ch_addralign = 1};
	struct part p = {.name = name, .flags = SHF_COMPRESSED};
	uLongf len = compressBound(size) + 512;

	p.data = malloc(sizeof(head) + len);
	memcpy(p.data, &head, sizeof(head));
#if SL_HAVE_ZSTD
	if (how == ZSTD)
		len = ZSTD_compress(p.data + sizeof(head), len, text, size, 3);
	else
#endif
		assert_int_equal(compress(p.data + sizeof(head), &len, text, size), Z_OK);
	p.size = sizeof(head) + len;
	return p;
}

static size_t put(int fd, const void *data, size_t size)
{
	off_t at = lseek(fd, 0, SEEK_END);

	assert_int_equal(pwrite(fd, data, size, at), size);
	return (size_t)at;
}

/* An ELF file of those parts. */
static int make(const struct part *part, unsigned cnt, uint16_t type)
{
	Elf64_Ehdr h = {.e_ident = ELFMAG,
			.e_type = type,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (uint16_t)(cnt + 2),
			.e_shstrndx = (uint16_t)(cnt + 1)};
	Elf64_Shdr s[FILES + 2] = {{0}};
	char names[512] = ".shstrtab";
	size_t used = sizeof(".shstrtab");
	int fd = memfd_create("unpack", MFD_CLOEXEC);

	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	put(fd, &h, sizeof(h));
	for (unsigned i = 0; i < cnt; i++) {
		s[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)used,
					.sh_type = SHT_PROGBITS,
					.sh_flags = part[i].flags,
					.sh_offset = put(fd, part[i].data, part[i].size),
					.sh_size = part[i].size,
					.sh_addralign = 1};
		used += (size_t)sprintf(names + used, "%s", part[i].name) + 1;
	}
	s[cnt + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				  .sh_offset = put(fd, names, used),
				  .sh_size = used,
				  .sh_addralign = 1};
	h.e_shoff = put(fd, s, (cnt + 2) * sizeof(*s));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	return fd;
}

/* What libdw has of one. */
struct seen {
	Elf *elf;
	struct symbols_unpacked u;
	int fd;
};

static void see(struct seen *f, int fd)
{
	elf_version(EV_CURRENT);
	f->fd = fd;
	f->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(f->elf);
	symbols_unpack(f->elf, &f->u);
}

static void forget(struct seen *f)
{
	elf_end(f->elf);
	symbols_unpacked_free(&f->u);
	close(f->fd);
}

static Elf64_Shdr *header(const struct seen *f, unsigned section)
{
	return elf64_getshdr(elf_getscn(f->elf, section));
}

static bool is_hidden(const struct seen *f, unsigned section)
{
	return header(f, section)->sh_type == SHT_NOBITS;
}

static bool is_in(const struct seen *f, const void *at)
{
	return (uintptr_t)at - (uintptr_t)f->u.at < f->u.size;
}

static bool holds(const struct seen *f, unsigned section, const void *text, size_t size)
{
	Elf_Scn *scn = elf_getscn(f->elf, section);
	Elf_Data *data = elf_getdata(scn, NULL), *raw = elf_rawdata(scn, NULL);

	if (!data || !raw || data->d_size != size || raw->d_size != size ||
	    header(f, section)->sh_flags & SHF_COMPRESSED || header(f, section)->sh_size != size)
		return false;
	if (is_in(f, data->d_buf) && ((const char *)data->d_buf)[size]) /* texts end */
		return false;
	return memcmp(data->d_buf, text, size) == 0 && memcmp(raw->d_buf, text, size) == 0;
}

/* ---- what comes out ---- */

static void what_goes_in_comes_out(void **state)
{
	uint8_t *large = text_of(LARGE), *small = text_of(SMALL);
	struct part part[] = {
		packed(".debug_info", ZLIB, large, LARGE),
		packed(".debug_abbrev", ZLIB, small, SMALL),
		packed(".debug_str", SL_HAVE_ZSTD ? ZSTD : ZLIB, large, LARGE - 4097),
		packed(".debug_line", SL_HAVE_ZSTD ? ZSTD : ZLIB, small, 1),
		{".debug_ranges", small, SMALL, 0},
	};
	struct seen f;

	(void)state;
	see(&f, make(part, 5, ET_DYN));
	assert_true(holds(&f, 1, large, LARGE));
	assert_true(holds(&f, 2, small, SMALL));
	assert_true(holds(&f, 3, large, LARGE - 4097));
	assert_true(holds(&f, 4, small, 1));
	assert_true(holds(&f, 5, small, SMALL));
	forget(&f);
	for (int i = 0; i < 4; i++)
		free(part[i].data);
	free(large);
	free(small);
}

/* Pieces that were packed each, as some linkers leave them. */
static void streams_may_be_behind_each_other(void **state)
{
	uint8_t *text = text_of(SMALL);
	struct part one = packed(".debug_str", ZLIB, text, 600),
		    other = packed("", ZLIB, text + 600, SMALL - 600);
	Elf64_Chdr *head = (Elf64_Chdr *)one.data;
	struct seen f;

	(void)state;
	one.data = realloc(one.data, one.size + other.size);
	head = (Elf64_Chdr *)one.data;
	head->ch_size = SMALL;
	memcpy(one.data + one.size, other.data + sizeof(*head), other.size - sizeof(*head));
	one.size += other.size - sizeof(*head);
	see(&f, make(&one, 1, ET_EXEC));
	assert_true(holds(&f, 1, text, SMALL));
	forget(&f);
	one.data[one.size++] = 0; /* and something that is none */
	see(&f, make(&one, 1, ET_EXEC));
	assert_true(is_hidden(&f, 1));
	forget(&f);
	free(one.data);
	free(other.data);
	free(text);
}

static void what_nobody_asks_for_is_left_out(void **state)
{
	uint8_t *text = text_of(SMALL);
	struct part part[] = {packed(".debug_loclists", ZLIB, text, SMALL),
			      packed(".debug_info", ZLIB, text, SMALL),
			      packed(".debug_info", ZLIB, text, SMALL)};
	struct seen f;

	(void)state;
	see(&f, make(part, 3, ET_DYN));
	assert_true(is_hidden(&f, 1));
	assert_true(holds(&f, 2, text, SMALL));
	assert_false(holds(&f, 3, text, SMALL)); /* libdw takes the first */
	forget(&f);
	for (int i = 0; i < 3; i++)
		free(part[i].data);
	free(text);
}

static void check_stays(const struct part *part, uint16_t type, int at, uint8_t with)
{
	int fd = make(part, 1, type);
	struct seen f;

	if (at)
		assert_int_equal(pwrite(fd, &with, 1, at), 1);
	see(&f, fd);
	assert_null(f.u.at);
	if (!at) {
		assert_int_equal(header(&f, 1)->sh_flags, part->flags);
		assert_int_equal(header(&f, 1)->sh_size, part->size);
		assert_int_equal(header(&f, 1)->sh_type, SHT_PROGBITS);
	}
	forget(&f);
}

static void what_this_is_not_for_stays(void **state)
{
	uint8_t *text = text_of(SMALL);
	struct part p = packed(".debug_info", ZLIB, text, SMALL);
	Elf64_Chdr *head = (Elf64_Chdr *)p.data;

	(void)state;
	check_stays(&p, ET_REL, 0, 0);
	check_stays(&p, ET_DYN, EI_CLASS, ELFCLASS32);
	check_stays(&p, ET_DYN, EI_DATA, ELFDATA2MSB);
	p.flags |= SHF_ALLOC;
	check_stays(&p, ET_DYN, 0, 0);
	p.flags = SHF_COMPRESSED | SHF_GROUP;
	check_stays(&p, ET_DYN, 0, 0);
	p.flags = SHF_COMPRESSED;
	head->ch_type = 99;
	check_stays(&p, ET_DYN, 0, 0);
	head->ch_type = ZLIB;
	p.name = ".debug_info.dwo";
	check_stays(&p, ET_DYN, 0, 0);
	p.name = ".zdebug_info";
	check_stays(&p, ET_DYN, 0, 0);
	p.name = ".debug_info";
	p.size = sizeof(*head) - 1;
	check_stays(&p, ET_DYN, 0, 0);
	free(p.data);
	free(text);
}

/* ---- what lies ---- */

/* Whole, or not there. With zstd, which has no checksum here, something else may come out. */
static void check_harmless(const struct part *part, const uint8_t *text, bool may_be_whole)
{
	struct seen f;

	see(&f, make(part, 1, ET_DYN));
	if (!is_hidden(&f, 1) && ((const Elf64_Chdr *)part->data)->ch_type == ZLIB)
		assert_true(may_be_whole && holds(&f, 1, text, SMALL));
	forget(&f);
}

static void check_liars(uint32_t how)
{
	static const uint64_t sizes[] = {
		0,         1,         SMALL - 1, SMALL + 1, SMALL * 1032,    UINT32_MAX,
		1ul << 32, 1ul << 40, INT64_MAX, 1ul << 63, UINT64_MAX - 15, UINT64_MAX,
	};
	uint8_t *text = text_of(SMALL);
	struct part p = packed(".debug_info", how, text, SMALL);
	Elf64_Chdr *head = (Elf64_Chdr *)p.data;
	size_t whole = p.size;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		head->ch_size = sizes[i];
		check_harmless(&p, text, false);
	}
	head->ch_size = SMALL;
	for (p.size = sizeof(*head); p.size < whole; p.size++)
		check_harmless(&p, text, false);
	for (size_t i = sizeof(*head); i < whole; i++)
		for (int bit = 0; bit < 8; bit++) {
			p.data[i] ^= (uint8_t)(1 << bit);
			check_harmless(
				&p, text,
				true); /* bits between the last block and its end mean nothing */
			p.data[i] ^= (uint8_t)(1 << bit);
		}
	free(p.data);
	free(text);
}

static void who_lies_has_no_debug_information(void **state)
{
	(void)state;
	check_liars(ZLIB);
#if SL_HAVE_ZSTD
	check_liars(ZSTD);
#endif
}

/* The largest that can be claimed is claimed, not taken. */
static void memory_is_taken_as_it_is_written(void **state)
{
	uint8_t *text = text_of(SMALL);
	struct part p = packed(".debug_info", ZLIB, text, SMALL);
	size_t size = 64u << 20, pages = 0;
	struct seen f;
	unsigned char *is_there;

	(void)state;
	p.data = realloc(p.data, size / 1032 + p.size);
	memset(p.data + p.size, 0, size / 1032);
	p.size += size / 1032;
	((Elf64_Chdr *)p.data)->ch_size = size;
	see(&f, make(&p, 1, ET_DYN));
	assert_true(is_hidden(&f, 1));
	assert_true(f.u.size >= size);
	is_there = malloc(f.u.size / 4096 + 1);
	assert_int_equal(mincore(f.u.at, f.u.size, is_there), 0);
	for (size_t i = 0; i < f.u.size / (size_t)sysconf(_SC_PAGESIZE); i++)
		pages += is_there[i] & 1;
	assert_true(pages * (size_t)sysconf(_SC_PAGESIZE) <= 4u << 20);
	forget(&f);
	((Elf64_Chdr *)p.data)->ch_size = size * 2; /* so much cannot be in it */
	see(&f, make(&p, 1, ET_DYN));
	assert_true(is_hidden(&f, 1));
	assert_null(f.u.at);
	forget(&f);
	free(is_there);
	free(p.data);
	free(text);
}

static void unpack_seen(void *of)
{
	struct seen *f = of;

	symbols_unpack(f->elf, &f->u);
}

static void a_file_may_be_cut_meanwhile(void **state)
{
	uint8_t *text = text_of(LARGE);
	struct part p = packed(".debug_info", ZLIB, text, LARGE);
	struct seen f = {.fd = make(&p, 1, ET_DYN)};

	(void)state;
	elf_version(EV_CURRENT);
	f.elf = elf_begin(f.fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf64_getshdr(elf_getscn(f.elf, 1))); /* it has those by now */
	assert_non_null(elf_strptr(f.elf, 2, 0));
	assert_int_equal(ftruncate(f.fd, 0), 0);
	assert_false(bus_error_try(unpack_seen, &f));
	forget(&f);
	free(p.data);
	free(text);
}

/* ---- names of a program ---- */

static char self[512], dir[] = "/tmp/sl-unpack-XXXXXX";

struct both {
	struct symbols *s;
	struct symbols_module *plain, *other;
	unsigned cnt, asked;
};

static bool compare(void *to, const struct elf_symbol *symbol)
{
	struct symbols_frame a[16], b[16];
	struct both *t = to;
	size_t cnt;

	if (t->cnt++ % 5)
		return true;
	for (unsigned part = 0; part < 3; part++) {
		uint64_t at = symbol->at + symbol->size * part / 3;

		cnt = symbols_at(t->s, t->plain, at, a, 16);
		assert_int_equal(symbols_at(t->s, t->other, at, b, 16), cnt);
		for (size_t i = 0; i < cnt; i++) { /* texts of a session are there once */
			assert_ptr_equal(a[i].function, b[i].function);
			assert_ptr_equal(a[i].file, b[i].file);
			assert_int_equal(a[i].line, b[i].line);
			t->asked += a[i].line > 0;
		}
	}
	return true;
}

/* In dir/@name. False: it cannot be done here. */
static bool pack_self(const char *how, const char *name, char *path, size_t room)
{
	char command[2048];

	snprintf(path, room, "%s/%s", dir, name);
	snprintf(command, sizeof(command),
		 "objcopy --compress-debug-sections=%s '%s' %s 2>/dev/null", how, self, path);
	return system(command) == 0;
}

static void check_names(const char *how)
{
	struct both t = {.s = symbols_open()};
	struct elf_image e;
	char path[600];

	if (!pack_self(how, how, path, sizeof(path))) {
		symbols_close(t.s);
		return;
	}
	t.plain = symbols_module(t.s, self, NULL, 0);
	t.other = symbols_module(t.s, path, NULL, 0);
	assert_true(elf_image_open(&e, self));
	elf_image_symbols(&e, SHT_SYMTAB, compare, &t);
	elf_image_close(&e);
	assert_true(t.asked > 100);
	symbols_close(t.s);
}

static void names_are_those_of_the_plain_file(void **state)
{
	(void)state;
	check_names("zlib");
	check_names("zlib-gnu");
#if SL_HAVE_ZSTD
	check_names("zstd");
#endif
}

static uint32_t chance(void)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

/* Some bytes of what is said of sections, or of what is in those that are compressed. */
static void damage(uint8_t *at, size_t size)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)at;
	Elf64_Shdr *s = (Elf64_Shdr *)(at + h->e_shoff);

	for (unsigned i = 0; i < h->e_shnum; i++) {
		uint8_t *bytes = at + s[i].sh_offset;

		if (!(s[i].sh_flags & SHF_COMPRESSED) || chance() % 2)
			continue;
		switch (chance() % 4) {
		case 0:
			((uint8_t *)&s[i])[chance() % sizeof(*s)] ^= (uint8_t)chance();
			break;
		case 1:
			bytes[chance() % sizeof(Elf64_Chdr)] ^= (uint8_t)chance();
			break;
		case 2:
			s[i].sh_size = chance() % (s[i].sh_size + 1);
			break;
		default:
			for (unsigned k = chance() % 8; k < 8; k++)
				bytes[chance() % s[i].sh_size] ^= (uint8_t)chance();
		}
	}
	(void)size;
}

static void ask_damaged(const uint8_t *whole, size_t size, const char *path)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, path, NULL, 0);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct symbols_frame frame[16];
	uint8_t *at;

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	memcpy(at, whole, size);
	damage(at, size);
	munmap(at, size);
	for (uint64_t address = 0x10000; address < 0x60000; address += 0x4000)
		symbols_at(s, m, address, frame, 16);
	symbols_close(s);
}

static void damaged_files_do_no_harm(void **state)
{
	static const char *const hows[] = {"zlib", "zstd"};
	char path[600], damaged[640], command[2048];
	struct elf_image e;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		/* Small, so that much can be tried. */
		snprintf(path, sizeof(path), "%s/small", dir);
		snprintf(
			command, sizeof(command),
			"cd %s && printf 'int f(int a) { return a * 3; } int main(int c, char **v) "
			"{ (void)v; return f(c); }' >s.c && ${CC:-cc} -g -O1 -o small s.c && "
			"objcopy --compress-debug-sections=%s small 2>/dev/null",
			dir, hows[i]);
		if (system(command) != 0)
			continue;
		assert_true(elf_image_open(&e, path));
		snprintf(damaged, sizeof(damaged), "%s/damaged", dir);
		for (unsigned round = 0; round < ROUNDS; round++)
			ask_damaged(e.at, e.size, damaged);
		elf_image_close(&e);
	}
}

static int setup(void **state)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	return len > 0 && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(streams_may_be_behind_each_other),
		cmocka_unit_test(what_nobody_asks_for_is_left_out),
		cmocka_unit_test(what_this_is_not_for_stays),
		cmocka_unit_test(who_lies_has_no_debug_information),
		cmocka_unit_test(memory_is_taken_as_it_is_written),
		cmocka_unit_test(a_file_may_be_cut_meanwhile),
		cmocka_unit_test(names_are_those_of_the_plain_file),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

#else

static void nothing_to_unpack(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_to_unpack)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
