/* elf_image.c - headers, sections and symbols of an ELF file, every offset checked. */
#include "collector/symbols/elf_image.h"

#include "collector/symbols/symbols_owner.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

/* Copies rather than points: alignment is not guaranteed. */
static bool copy(const struct elf_image *e, void *to, uint64_t offset, size_t len)
{
	if (offset > e->size || len > e->size - offset)
		return false;
	memcpy(to, e->at + offset, len);
	return true;
}

static struct elf_part part(const struct elf_image *e, uint64_t offset, uint64_t len)
{
	struct elf_part p = {0};

	if (offset > e->size || len > e->size - offset)
		return p;
	p.at = e->at + offset;
	p.size = len;
	return p;
}

static bool is_elf(const struct elf_image *e, Elf64_Ehdr *h)
{
	return copy(e, h, 0, sizeof(*h)) && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == OUR_ORDER;
}

bool elf_image_memory(struct elf_image *e, void *at, size_t size)
{
	Elf64_Ehdr h;

	*e = (struct elf_image){.at = at, .size = size};
	return at && is_elf(e, &h);
}

bool elf_image_open(struct elf_image *e, const char *path)
{
	struct stat st;
	int fd = symbols_owner_open(path, &st);
	void *at = MAP_FAILED;

	*e = (struct elf_image){0};
	if (fd < 0)
		return false;
	if (st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	if (!elf_image_memory(e, at, (size_t)st.st_size)) {
		munmap(at, (size_t)st.st_size);
		*e = (struct elf_image){0};
		return false;
	}
	e->is_mapped = true;
	return true;
}

void elf_image_close(struct elf_image *e)
{
	if (e->is_mapped)
		munmap((void *)e->at, e->size);
	if (e->is_heap)
		free((void *)e->at);
	*e = (struct elf_image){0};
}

/* ---- sections ---- */

static unsigned section_cnt(const struct elf_image *e, const Elf64_Ehdr *h)
{
	Elf64_Shdr first;

	if (!h->e_shoff || h->e_shentsize != sizeof(first))
		return 0;
	if (h->e_shnum)
		return h->e_shnum;
	/* More than fit into the header. */
	return copy(e, &first, h->e_shoff, sizeof(first)) && first.sh_size < 1u << 20
		       ? (unsigned)first.sh_size
		       : 0;
}

static bool section(const struct elf_image *e, const Elf64_Ehdr *h, unsigned i, Elf64_Shdr *s)
{
	return h->e_shoff <= e->size &&
	       copy(e, s, h->e_shoff + (uint64_t)i * sizeof(*s), sizeof(*s));
}

static struct elf_part contents(const struct elf_image *e, const Elf64_Shdr *s)
{
	if (s->sh_type == SHT_NOBITS) /* a file of debug information has only the name of it */
		return (struct elf_part){0};
	return part(e, s->sh_offset, s->sh_size);
}

static const char *text_at(const struct elf_part *p, uint64_t offset)
{
	if (!p->at || offset >= p->size || !memchr(p->at + offset, 0, p->size - offset))
		return NULL;
	return (const char *)p->at + offset;
}

static bool names(const struct elf_image *e, const Elf64_Ehdr *h, struct elf_part *p)
{
	Elf64_Shdr s, first;
	unsigned i = h->e_shstrndx;

	if (i == SHN_XINDEX && section(e, h, 0, &first))
		i = first.sh_link;
	if (!section(e, h, i, &s))
		return false;
	*p = contents(e, &s);
	return p->at;
}

static bool section_named(const struct elf_image *e, const char *name, Elf64_Shdr *s)
{
	struct elf_part text = {0};
	Elf64_Ehdr h;
	unsigned cnt;

	if (!e->at || !is_elf(e, &h) || !names(e, &h, &text))
		return false;
	cnt = section_cnt(e, &h);
	for (unsigned i = 1; i < cnt && section(e, &h, i, s); i++) {
		const char *is = text_at(&text, s->sh_name);

		if (is && strcmp(is, name) == 0)
			return true;
	}
	return false;
}

struct elf_part elf_image_section(const struct elf_image *e, const char *name)
{
	Elf64_Shdr s;

	return section_named(e, name, &s) ? contents(e, &s) : (struct elf_part){0};
}

bool elf_image_section_address(const struct elf_image *e, const char *name, uint64_t *address)
{
	Elf64_Shdr s;

	if (!section_named(e, name, &s) || !(s.sh_flags & SHF_ALLOC))
		return false;
	*address = s.sh_addr;
	return true;
}

bool elf_image_has(const struct elf_image *e, const char *name)
{
	return elf_image_section(e, name).size > 0;
}

/* ---- build id ---- */

static struct elf_part build_id_in(const struct elf_part *notes)
{
	Elf64_Nhdr n;

	for (size_t at = 0; notes->at && at + sizeof(n) <= notes->size;) {
		size_t name, data;

		memcpy(&n, notes->at + at, sizeof(n));
		name = at + sizeof(n);
		data = name + (((size_t)n.n_namesz + 3) & ~(size_t)3);
		at = data + (((size_t)n.n_descsz + 3) & ~(size_t)3);
		if (data > notes->size || n.n_descsz > notes->size - data)
			break;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(notes->at + name, "GNU", 4) == 0)
			return (struct elf_part){notes->at + data, n.n_descsz};
	}
	return (struct elf_part){0};
}

/* By program headers, as the loader sees them; a file of debug information has only the section. */
struct elf_part elf_image_build_id(const struct elf_image *e)
{
	struct elf_part notes, id = {0};
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (!e->at || !is_elf(e, &h))
		return id;
	notes = elf_image_section(e, ".note.gnu.build-id");
	id = build_id_in(&notes);
	for (unsigned i = 0; !id.at && i < h.e_phnum && h.e_phoff <= e->size; i++) {
		if (!copy(e, &p, h.e_phoff + (uint64_t)i * sizeof(p), sizeof(p)))
			break;
		if (p.p_type != PT_NOTE)
			continue;
		notes = part(e, p.p_offset, p.p_filesz);
		id = build_id_in(&notes);
	}
	return id;
}

/* ---- symbols ---- */

static bool is_code(const Elf64_Sym *s, const char *name)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || !*name)
		return false;
	/* Assembly often has no type; names with a dollar sign in front are marks, on ARM. */
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && *name != '$' && strncmp(name, ".L", 2) != 0);
}

/* A table of symbols and its texts. */
struct table {
	struct elf_part list, text;
};

static bool table_open(const struct elf_image *e, const Elf64_Ehdr *h, const Elf64_Shdr *at,
		       struct table *t)
{
	Elf64_Shdr link;

	if (!section(e, h, at->sh_link, &link))
		return false;
	*t = (struct table){contents(e, at), contents(e, &link)};
	/* Ends with a NUL, or it is no table of texts; then every offset in it is good. */
	return t->list.at && t->text.at && t->text.size && !t->text.at[t->text.size - 1];
}

/* The symbol at *@at, which goes on to the next; its name, NULL: there are no more. */
static const char *table_next(const struct table *t, size_t *at, Elf64_Sym *s)
{
	while (*at + sizeof(*s) <= t->list.size) {
		memcpy(s, t->list.at + *at, sizeof(*s));
		*at += sizeof(*s);
		if (s->st_name < t->text.size)
			return (const char *)t->text.at + s->st_name;
	}
	return NULL;
}

static bool each_symbol(const struct elf_image *e, const Elf64_Ehdr *h, const Elf64_Shdr *section,
			bool (*found)(void *to, const struct elf_symbol *s), void *to)
{
	const char *name;
	struct table t;
	Elf64_Sym sym;
	size_t at = 0;

	if (!table_open(e, h, section, &t))
		return true;
	while ((name = table_next(&t, &at, &sym))) {
		struct elf_symbol s = {.at = sym.st_value,
				       .size = sym.st_size,
				       .name = name,
				       .is_local = ELF64_ST_BIND(sym.st_info) == STB_LOCAL};

		if (is_code(&sym, s.name) && !found(to, &s))
			return false;
	}
	return true;
}

void elf_image_symbols(const struct elf_image *e, uint32_t kind,
		       bool (*found)(void *to, const struct elf_symbol *s), void *to)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	unsigned cnt;

	if (!e->at || !is_elf(e, &h))
		return;
	cnt = section_cnt(e, &h);
	for (unsigned i = 1; i < cnt && section(e, &h, i, &s); i++)
		if (s.sh_type == kind && !each_symbol(e, &h, &s, found, to))
			return;
}

void elf_image_find(const struct elf_image *e, const char *const *wanted, unsigned wanted_cnt,
		    uint64_t *at)
{
	const char *name;
	struct table t;
	Elf64_Ehdr h;
	Elf64_Shdr s;
	Elf64_Sym sym;
	unsigned cnt;

	if (!e->at || !is_elf(e, &h))
		return;
	cnt = section_cnt(e, &h);
	for (unsigned i = 1; i < cnt && section(e, &h, i, &s); i++) {
		if (s.sh_type != SHT_SYMTAB || !table_open(e, &h, &s, &t))
			continue;
		for (size_t next = 0; (name = table_next(&t, &next, &sym));)
			for (unsigned k = 0; sym.st_shndx != SHN_UNDEF && k < wanted_cnt; k++)
				if (strcmp(name, wanted[k]) == 0)
					at[k] = sym.st_value;
	}
}
