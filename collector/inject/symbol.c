/* symbol.c - walks the hash tables (DT_GNU_HASH) of objects in another process's memory, which may hold anything. */
#include "collector/inject/symbol.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define PHDRS_MAX   64u
#define DYNAMIC_MAX 128u
#define CHAIN_MAX   100000u /* symbols of one bucket */

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Pointers of the dynamic section are relocated, but not in all objects. */
static uint64_t pointer(uint64_t bias, uint64_t p)
{
	return p < bias ? p + bias : p;
}

static bool read_dynamic(const struct subject *t, uint64_t at, struct symbol_object *o)
{
	Elf64_Dyn dyn;

	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		if (!subject_read(t->pid, at + i * sizeof(dyn), &dyn, sizeof(dyn)) ||
		    dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_SYMTAB)
			o->symtab = pointer(o->bias, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_STRTAB)
			o->strtab = pointer(o->bias, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_VERSYM)
			o->versym = pointer(o->bias, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_GNU_HASH)
			o->gnu_hash = pointer(o->bias, dyn.d_un.d_ptr);
	}
	return o->symtab && o->strtab && o->gnu_hash;
}

static bool read_object(const struct subject *t, const struct subject_mapping *m,
			struct symbol_object *o)
{
	Elf64_Phdr p[PHDRS_MAX];
	uint64_t dynamic = 0, end = 0;
	bool has_load = false;
	Elf64_Ehdr e;

	if (!subject_read(t->pid, m->from, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !e.e_phnum || e.e_phnum > PHDRS_MAX || e.e_phentsize != sizeof(*p) ||
	    !subject_read(t->pid, m->from + e.e_phoff, p, e.e_phnum * sizeof(*p)))
		return false;
	*o = (struct symbol_object){.from = m->from, .kind = (enum subject_kind)m->kind};
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (p[i].p_type == PT_DYNAMIC)
			dynamic = p[i].p_vaddr;
		if (p[i].p_type != PT_LOAD)
			continue;
		/* The first one has the file's header. */
		if (!has_load)
			o->bias = m->from - (p[i].p_vaddr - p[i].p_offset);
		has_load = true;
		if (p[i].p_vaddr + p[i].p_memsz > end)
			end = p[i].p_vaddr + p[i].p_memsz;
	}
	o->to = o->bias + end;
	return has_load && dynamic && o->to > o->from && read_dynamic(t, o->bias + dynamic, o);
}

bool symbol_objects(const struct subject *t, struct symbol_list *list)
{
	struct symbol_object o;

	for (size_t i = 0; i < t->mapping_cnt; i++) {
		const struct subject_mapping *m = &t->mappings[i];

		if (!m->inode || m->offset || m->rights[0] != 'r' || !read_object(t, m, &o))
			continue;
		if (!grow(&list->at, list->cnt, &list->room, sizeof(*list->at)))
			return false;
		list->at[list->cnt++] = o;
	}
	return true;
}

void symbol_list_free(struct symbol_list *list)
{
	free(list->at);
	*list = (struct symbol_list){0};
}

/* Whether symbol @i is @name, defined, a function, and of the default version. */
static uint64_t address_of(const struct subject *t, const struct symbol_object *o, uint32_t i,
			   const char *name)
{
	char text[64] = "";
	uint16_t version = 0;
	Elf64_Sym sym;
	size_t len = strlen(name) + 1;

	if (len > sizeof(text) ||
	    !subject_read(t->pid, o->symtab + (uint64_t)i * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
	    !subject_read(t->pid, o->strtab + sym.st_name, text, len) ||
	    memcmp(text, name, len) != 0)
		return 0;
	if (o->versym &&
	    (!subject_read(t->pid, o->versym + (uint64_t)i * 2, &version, sizeof(version)) ||
	     version & 0x8000))
		return 0;
	return o->bias + sym.st_value;
}

static uint64_t find_in(const struct subject *t, const struct symbol_object *o, const char *name)
{
	uint32_t head[4], h = gnu_hash(name), i, other;
	uint64_t buckets, chain, found;

	if (!subject_read(t->pid, o->gnu_hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = o->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	chain = buckets + (uint64_t)head[0] * 4;
	if (!subject_read(t->pid, buckets + (uint64_t)(h % head[0]) * 4, &i, sizeof(i)) ||
	    i < head[1])
		return 0;
	for (unsigned n = 0; n < CHAIN_MAX; n++, i++) {
		if (!subject_read(t->pid, chain + (uint64_t)(i - head[1]) * 4, &other,
				  sizeof(other)))
			return 0;
		found = (other | 1) == (h | 1) ? address_of(t, o, i, name) : 0;
		if (found || other & 1)
			return found;
	}
	return 0;
}

uint64_t symbol_find(const struct subject *t, const struct symbol_list *list, const char *name,
		     enum symbol_where where)
{
	uint64_t found = 0;

	for (size_t i = 0; i < list->cnt && !found; i++) {
		const struct symbol_object *o = &list->at[i];

		if (o->kind != SUBJECT_LOADER &&
		    (o->kind == SUBJECT_LIBC) == (where == SYMBOL_LIBC))
			found = find_in(t, o, name);
	}
	return found;
}

void symbol_allocator(const struct subject *t, const struct symbol_list *list, uint64_t *from,
		      uint64_t *to)
{
	uint64_t at = symbol_find(t, list, "malloc", SYMBOL_OTHER);

	*from = *to = 0;
	for (size_t i = 0; at && i < list->cnt; i++)
		if (at >= list->at[i].from && at < list->at[i].to) {
			*from = list->at[i].from;
			*to = list->at[i].to;
		}
}
