/*
 * kernel_types.h - the part of the kernel's BTF that the programs in this folder name.
 *
 * libbpf searches all of it, 127,000 types, anew for each object and each type that a program names, which took more than a
 * third of the time until a program starts. So the few dozen types are taken out once, and libbpf gets those.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_types {
	void *btf; /* of those types alone */
	uint32_t bytes;
	uint32_t *real; /* ids in the kernel's BTF: of type 1 in @btf first; 0: it has none alone */
	uint32_t cnt;
};

/*
 * Takes types with one of @names (in order, @name_cnt of them) out of @btf. Members of structs and unions that no name
 * leads to are kept by size alone, pointers without what they point to. -EINVAL: not BTF of this machine's form; -ENOMEM.
 */
int kernel_types_make(struct kernel_types *t, const void *btf, size_t bytes,
		      const char *const *names, size_t name_cnt);
void kernel_types_free(struct kernel_types *t);

/* The id in the kernel's BTF of the struct @name; 0: there is none. */
uint32_t kernel_types_struct(const char *name);
