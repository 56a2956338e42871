/* symbols_decompress.c - inflates sections by libdeflate and libzstd. */
#if SL_HAVE_LIBDW

#include "collector/symbols/symbols_decompress.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if SL_HAVE_LIBDEFLATE
#include <libdeflate.h>
#elif SL_HAVE_ZLIB
#include <zlib.h>
#endif
#if SL_HAVE_ZSTD
#include <zstd.h>
#endif

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* since glibc 2.37 */
#endif
#define SIZE_MOST  UINT32_MAX
#define RATIO_MOST 1032u /* deflate cannot do more; zstd could, with what is no debug information */
#define SECTIONS   16u
#define ALIGNED    16u
#define HUGE_PAGE  (UINT64_C(2) << 20)

/* All that libdw unpacks, and what symbols_dwarf.c has a use for. */
static const struct known_section {
	const char *name;
	bool is_used;
} known[] = {
	{".debug_abbrev", true},      {".debug_addr", true},      {".debug_aranges", true},
	{".debug_info", true},        {".debug_line", true},      {".debug_line_str", true},
	{".debug_ranges", true},      {".debug_rnglists", true},  {".debug_str", true},
	{".debug_str_offsets", true}, {".debug_types", true},     {".debug_frame", false},
	{".debug_loc", false},        {".debug_loclists", false}, {".debug_macinfo", false},
	{".debug_macro", false},      {".debug_pubnames", false},
};
#define KNOWN (sizeof(known) / sizeof(*known))

struct section {
	Elf64_Shdr *header;
	Elf_Data *data, *raw; /* one of them is what libdw takes, by its version */
	const uint8_t *packed;
	size_t packed_size, size;
	uint32_t how;
};

struct plan {
	struct section section[SECTIONS];
	unsigned cnt;
	size_t size, most;
	bool is_known[KNOWN]; /* that one there was; libdw takes the first */
};

/* ---- one section ---- */

#if SL_HAVE_LIBDEFLATE
/* There may be several streams behind each other, which linkers make that copy what assemblers have packed. */
static bool inflate_all(const struct section *s, uint8_t *to)
{
	struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
	size_t in = 0, out = 0, used, made;
	bool is_good = z;

	while (is_good && in < s->packed_size) {
		is_good = libdeflate_zlib_decompress_ex(z, s->packed + in, s->packed_size - in,
							to + out, s->size - out, &used,
							&made) == LIBDEFLATE_SUCCESS;
		if (is_good) {
			in += used;
			out += made;
		}
	}
	libdeflate_free_decompressor(z);
	return is_good && out == s->size;
}
#elif SL_HAVE_ZLIB
static bool inflate_all(const struct section *s, uint8_t *to)
{
	z_stream z = {.next_in = (Bytef *)s->packed,
		      .avail_in = (uInt)s->packed_size,
		      .next_out = to,
		      .avail_out = (uInt)s->size};
	int rc = inflateInit(&z);

	if (rc != Z_OK)
		return false;
	while (rc == Z_OK && z.avail_in)
		rc = inflate(&z, Z_FINISH) == Z_STREAM_END ? inflateReset(&z) : Z_DATA_ERROR;
	inflateEnd(&z);
	return rc == Z_OK && !z.avail_out;
}
#endif

static bool unpack(const struct section *s, uint8_t *to)
{
	switch (s->how) {
#if SL_HAVE_LIBDEFLATE || SL_HAVE_ZLIB
	case ELFCOMPRESS_ZLIB:
		return inflate_all(s, to);
#endif
#if SL_HAVE_ZSTD
	case ELFCOMPRESS_ZSTD:
		return ZSTD_decompress(to, s->size, s->packed, s->packed_size) == s->size;
#endif
	default:
		return false;
	}
}

static bool can_unpack(uint32_t how)
{
#if SL_HAVE_LIBDEFLATE || SL_HAVE_ZLIB
	if (how == ELFCOMPRESS_ZLIB)
		return true;
#endif
#if SL_HAVE_ZSTD
	if (how == ELFCOMPRESS_ZSTD)
		return true;
#endif
	(void)how;
	return false;
}

/* ---- all ---- */

/* With a NUL behind it: not each version of libdw looks where the last of its texts ends. */
static size_t room(size_t size)
{
	return (size + ALIGNED) & ~(size_t)(ALIGNED - 1);
}

/* For libdw it is not in this file. */
static void hide(Elf64_Shdr *header)
{
	header->sh_type = SHT_NOBITS;
	header->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
}

static const struct known_section *find_known(const char *name)
{
	for (size_t i = 0; name && i < KNOWN; i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

static void add(struct plan *p, Elf_Scn *scn, Elf64_Shdr *header)
{
	struct section s = {.header = header, .raw = elf_rawdata(scn, NULL)};
	Elf64_Chdr c;

	if (!s.raw || !s.raw->d_buf || s.raw->d_size < sizeof(c) || s.raw->d_size > SIZE_MOST)
		return;
	memcpy(&c, s.raw->d_buf, sizeof(c));
	if (!can_unpack(c.ch_type))
		return;
	s.how = c.ch_type;
	s.packed = (const uint8_t *)s.raw->d_buf + sizeof(c);
	s.packed_size = s.raw->d_size - sizeof(c);
	s.size = c.ch_size;
	if (!s.size || s.size > SIZE_MOST || s.size / RATIO_MOST > s.packed_size ||
	    s.size + ALIGNED > p->most - p->size || p->cnt == SECTIONS) {
		hide(header);
		return;
	}
	s.data = elf_getdata(scn, NULL);
	if (!s.data)
		return;
	p->section[p->cnt++] = s;
	p->size += room(s.size);
}

static void look_at(Elf *elf, size_t names, struct plan *p)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		Elf64_Shdr *header = elf64_getshdr(scn);
		const struct known_section *k;

		/* A part of a group, or of a program: not for libdw, either. */
		if (!header || !(header->sh_flags & SHF_COMPRESSED) ||
		    header->sh_flags & (SHF_ALLOC | SHF_GROUP) || header->sh_type == SHT_NOBITS)
			continue;
		k = find_known(elf_strptr(elf, names, header->sh_name));
		if (!k || p->is_known[k - known])
			continue;
		p->is_known[k - known] = true;
		if (k->is_used)
			add(p, scn, header);
		else
			hide(header);
	}
}

static bool is_ours(Elf *elf)
{
	const Elf64_Ehdr *h = elf64_getehdr(elf);

	return h && h->e_type != ET_REL &&
	       h->e_ident[EI_DATA] ==
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

/* What lies about its size, and keeps the lie, has half of the memory at most. */
static size_t memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && bytes > 0 ? (size_t)pages / 2 * (size_t)bytes : SIZE_MOST;
}

/*
 * Claimed, not taken: only what is written needs memory. That is in large pages where it fills some, for the kernel to
 * bring thousands of small ones takes longer than to unpack what they hold, on virtual machines at least.
 */
static bool reserve(struct symbols_unpacked *u, size_t bytes)
{
	bool is_large = bytes >= HUGE_PAGE / 2;
	size_t size = is_large ? (bytes / HUGE_PAGE + 2) * HUGE_PAGE : bytes;
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return false;
	*u = (struct symbols_unpacked){.at = at, .size = size, .data = at};
	if (is_large) {
		u->data += -(uintptr_t)at % HUGE_PAGE;
		madvise(at, size, MADV_HUGEPAGE);
	}
	return true;
}

void symbols_unpack(Elf *elf, struct symbols_unpacked *u)
{
	struct plan p = {.most = memory()};
	uint8_t *to;
	size_t names;

	*u = (struct symbols_unpacked){0};
	if (!is_ours(elf) || elf_getshdrstrndx(elf, &names))
		return;
	look_at(elf, names, &p);
	if (!p.cnt)
		return;
	if (!reserve(u, p.size))
		return;
	to = u->data;
	for (unsigned i = 0; i < p.cnt; to += room(p.section[i++].size)) {
		const struct section *s = &p.section[i];

		if (!unpack(s, to)) {
			hide(s->header);
			continue;
		}
		s->header->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		s->header->sh_size = s->data->d_size = s->raw->d_size = s->size;
		s->data->d_buf = s->raw->d_buf = to;
		s->data->d_type = s->raw->d_type = ELF_T_BYTE;
	}
}

void symbols_unpacked_free(struct symbols_unpacked *u)
{
	if (u->at)
		munmap(u->at, u->size);
	u->at = NULL;
}

#else
typedef int symbols_unpack_needs_libdw;
#endif
