/* object.h - symbol lookup in a loaded ELF object (resolve.c). */
#pragma once

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_object {
	const ElfW(Sym) * symtab;
	const char *strtab;
	const uint16_t *versym;
	const ElfW(Verneed) * verneed; /* NULL: none */
	const uint32_t *gnu_hash;
	const char *soname;         /* NULL: none */
	const ElfW(Rela) * rela[2]; /* of the PLT; others */
	size_t rela_cnt[2];
	ElfW(Addr) base;
};

#pragma GCC visibility push(hidden)

/* False: the object has no symbols to look up. @dyn: its dynamic section, or NULL. */
bool sl_object_of(struct sl_object *o, ElfW(Addr) base, const ElfW(Dyn) * dyn);
bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info);
/* Whether @address is in a loaded segment of the object. */
bool sl_object_contains(const struct dl_phdr_info *info, const void *address);
/* The default version of @name in @o (the one whose version is not hidden), or NULL. */
void *sl_object_find(const struct sl_object *o, const char *name);
/* The next definition of @name after this library, for functions that are no hooks; NULL: none. */
void *sl_object_next(const char *name);

#pragma GCC visibility pop
