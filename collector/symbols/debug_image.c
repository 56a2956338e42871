/* debug_image.c - lays the sections out, and inflates them page by page in the handler of SIGSEGV. */
#include "collector/symbols/debug_image.h"

#if SL_HAVE_ZLIB

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "collector/symbols/elf_image.h"
#include "collector/symbols/sigbus_guard.h"

#define PAGE       65536u /* of any machine */
#define STEP       (2u * PAGE)
#define IMAGE_MOST ((uint64_t)4 << 30)
#define RATIO_MOST 1032u /* of deflate; a file that claims more is not believed */

/* Without .debug_loclists and others that say where variables are. */
static const char *const wanted[] = {
	".debug_info",     ".debug_abbrev",      ".debug_line",   ".debug_str",
	".debug_line_str", ".debug_rnglists",    ".debug_ranges", ".debug_aranges",
	".debug_addr",     ".debug_str_offsets", ".debug_types",  ".gnu_debugaltlink",
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

struct section {
	struct elf_part in; /* in the file */
	uint64_t at, size;  /* in the image; size 0: there is none */
	uint64_t there;     /* bytes that may be read; whole pages, but for the last */
	bool is_compressed, is_inflating;
	z_stream stream;
};

struct debug_image {
	char *at;
	uint64_t size;
	struct section section[WANTED];
};

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* Inflates up to @to. What is damaged remains zeros. */
static void inflate_to(struct debug_image *d, struct section *s, uint64_t to)
{
	char *from = d->at + s->at + s->there;
	uint64_t end = whole_pages(s->size), bytes;

	if (to > end || !s->is_inflating)
		to = end;
	bytes = to - s->there;
	if (mprotect(from, bytes, PROT_READ | PROT_WRITE))
		return;
	s->there = to;
	if (!s->is_inflating)
		return;
	s->stream.next_out = (Bytef *)from;
	s->stream.avail_out = (uInt)(to > s->size ? bytes - (to - s->size) : bytes);
	if (inflate(&s->stream, Z_SYNC_FLUSH) != Z_OK || s->stream.avail_out)
		s->is_inflating = false;
}

/* In the handler, of a thread that reads the image: nothing but inflate() and mprotect() happens here. */
static bool fill(void *of, uintptr_t address)
{
	struct debug_image *d = of;
	uint64_t at = address - (uintptr_t)d->at;

	for (size_t i = 0; i < WANTED; i++) {
		struct section *s = &d->section[i];

		if (at < s->at || at - s->at >= whole_pages(s->size) || at - s->at < s->there)
			continue;
		inflate_to(d, s, whole_pages(at - s->at + 1) + STEP);
		return at - s->at < s->there;
	}
	return false;
}

static bool find_sections(struct debug_image *d, const struct elf_image *file)
{
	bool any = false;

	d->size = PAGE;
	for (size_t i = 0; i < WANTED; i++) {
		struct section *s = &d->section[i];
		Elf64_Chdr head;
		uint64_t flags;

		s->in = elf_image_section_flags(file, wanted[i], &flags);
		s->size = s->in.size;
		s->at = d->size;
		if (s->in.at && flags & SHF_COMPRESSED) {
			if (s->in.size < sizeof(head))
				return false;
			memcpy(&head, s->in.at, sizeof(head));
			if (head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > IMAGE_MOST)
				return false;
			s->is_compressed = any = true;
			s->size = head.ch_size;
			s->in.at += sizeof(head);
			s->in.size -= sizeof(head);
			if (head.ch_size / RATIO_MOST > s->in.size)
				return false;
		}
		d->size += whole_pages(s->size);
		if (d->size > IMAGE_MOST || s->in.size > UINT32_MAX)
			return false;
	}
	return any;
}

/* Names and headers of sections, behind the sections. */
static bool put_headers(struct debug_image *d, uint64_t at, uint16_t machine)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)d->at;
	Elf64_Shdr *h = (Elf64_Shdr *)(void *)(d->at + at);
	char *names = (char *)(h + WANTED + 2), *name = names + 1;

	if (mprotect(d->at, PAGE, PROT_READ | PROT_WRITE) ||
	    mprotect(d->at + at, PAGE, PROT_READ | PROT_WRITE))
		return false;
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	e->e_ident[EI_VERSION] = EV_CURRENT;
	e->e_type = ET_EXEC;
	e->e_machine = machine;
	e->e_version = EV_CURRENT;
	e->e_ehsize = sizeof(*e);
	e->e_shentsize = sizeof(*h);
	e->e_shoff = at;
	e->e_shnum = WANTED + 2;
	e->e_shstrndx = WANTED + 1;
	for (size_t i = 0; i < WANTED; i++) {
		const struct section *s = &d->section[i];

		h[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)(name - names),
					.sh_type = s->size ? SHT_PROGBITS : SHT_NOBITS,
					.sh_offset = s->at,
					.sh_size = s->size,
					.sh_addralign = 1};
		name = stpcpy(name, wanted[i]) + 1;
	}
	h[WANTED + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)(name - names),
				     .sh_type = SHT_STRTAB,
				     .sh_offset = (uint64_t)(names - d->at),
				     .sh_addralign = 1};
	name = stpcpy(name, ".shstrtab") + 1;
	h[WANTED + 1].sh_size = (uint64_t)(name - names);
	return true;
}

/* The first step of each is made here: zlib allocates its memory then, and not in the handler. */
static bool begin_section(struct debug_image *d, struct section *s)
{
	if (!s->is_compressed) {
		if (s->size &&
		    mprotect(d->at + s->at, whole_pages(s->size), PROT_READ | PROT_WRITE))
			return false;
		memcpy(d->at + s->at, s->in.at ? s->in.at : (const void *)"", s->size);
		s->there = whole_pages(s->size);
		return true;
	}
	s->stream.next_in = (Bytef *)(uintptr_t)s->in.at;
	s->stream.avail_in = (uInt)s->in.size;
	s->is_inflating = inflateInit(&s->stream) == Z_OK;
	if (s->size)
		inflate_to(d, s, PAGE);
	return s->is_inflating || s->there == whole_pages(s->size) || s->stream.total_out;
}

struct debug_image *debug_image_open(const void *file, size_t size)
{
	struct debug_image *d = calloc(1, sizeof(*d));
	struct elf_image e;
	uint64_t headers;
	void *at;

	if (!d || !elf_image_memory(&e, (void *)(uintptr_t)file, size) || !find_sections(d, &e)) {
		free(d);
		return NULL;
	}
	headers = d->size;
	d->size += PAGE;
	at = mmap(NULL, d->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		free(d);
		return NULL;
	}
	d->at = at;
	if (put_headers(d, headers, elf_image_machine(&e)) &&
	    bus_error_fill(at, d->size, fill, d)) {
		size_t i = 0;

		while (i < WANTED && begin_section(d, &d->section[i]))
			i++;
		if (i == WANTED)
			return d;
	}
	debug_image_close(d);
	return NULL;
}

char *debug_image_elf(const struct debug_image *d, size_t *size)
{
	*size = d->size;
	return d->at;
}

void debug_image_close(struct debug_image *d)
{
	if (!d)
		return;
	bus_error_fill_end(d->at);
	for (size_t i = 0; i < WANTED; i++)
		if (d->section[i].is_compressed)
			inflateEnd(&d->section[i].stream);
	munmap(d->at, d->size);
	free(d);
}

#else

struct debug_image *debug_image_open(const void *file, size_t size)
{
	(void)file;
	(void)size;
	return NULL;
}

char *debug_image_elf(const struct debug_image *d, size_t *size)
{
	(void)d;
	*size = 0;
	return NULL;
}

void debug_image_close(struct debug_image *d)
{
	(void)d;
}

#endif
