/*
 * unseen.h - a library's function by its own symbol table: no function of the loader is asked, so nothing that watches
 * those learns of it. Like the calls of a runtime that is linked into another library.
 */
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* Number of symbols: the hash tables are the only ones that know it. */
static inline uint32_t unseen_symbols(const uint32_t *gnu, const uint32_t *sysv)
{
	const uint32_t *buckets, *chain;
	uint32_t last = 0;

	if (sysv)
		return sysv[1];
	if (!gnu)
		return 0;
	buckets = gnu + 4 + gnu[2] * sizeof(ElfW(Addr)) / 4;
	chain = buckets + gnu[0];
	for (uint32_t i = 0; i < gnu[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	while (last >= gnu[1] && !(chain[last - gnu[1]] & 1))
		last++;
	return last + 1;
}

static inline void *unseen(void *library, const char *name)
{
	const void *tables[DT_NUM] = {0}, *gnu = NULL;
	const struct link_map *map = NULL;
	const ElfW(Sym) * symbols;
	uint32_t cnt;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
		return NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		/* The loader may or may not have made addresses of them. */
		uintptr_t at =
			d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr;

		if (d->d_tag == DT_GNU_HASH)
			gnu = (const void *)at;
		else if (d->d_tag == DT_SYMTAB || d->d_tag == DT_STRTAB || d->d_tag == DT_HASH)
			tables[d->d_tag] = (const void *)at;
	}
	symbols = tables[DT_SYMTAB];
	cnt = symbols && tables[DT_STRTAB] ? unseen_symbols(gnu, tables[DT_HASH]) : 0;
	for (uint32_t i = 0; i < cnt; i++)
		if (symbols[i].st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
		    !strcmp((const char *)tables[DT_STRTAB] + symbols[i].st_name, name))
			return (void *)(map->l_addr + symbols[i].st_value);
	return NULL;
}
