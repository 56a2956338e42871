/* object.h - a loaded ELF object, as symbol lookup sees it (resolve.c). */
#ifndef SL_OBJECT_H
#define SL_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_object {
	const ElfW(Sym) * symtab;
	const char *strtab;
	const uint16_t *versym;
	const uint32_t *gnu_hash;
	const char *soname;         /* NULL none */
	const ElfW(Rela) * rela[2]; /* of the PLT; others */
	size_t rela_cnt[2];
	ElfW(Addr) base;
};

#pragma GCC visibility push(hidden)

/* False: nothing can be looked up in it. */
bool sl_object_open(struct sl_object *o, const struct dl_phdr_info *info);
/* The default version of @name in @o (the one whose version is not hidden), or NULL. */
void *sl_object_find(const struct sl_object *o, const char *name);
/* The definition of @name that comes after this library's, for what is no hook; NULL. */
void *sl_object_next(const char *name);

#pragma GCC visibility pop
#endif
