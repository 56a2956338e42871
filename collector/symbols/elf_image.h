/*
 * elf_image.h - an ELF file in memory: sections, build id, symbols. The file may be anything: every offset is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	const uint8_t *at; /* NULL: none */
	size_t size;
	bool is_mapped, is_heap; /* owner of the bytes; neither: the caller's */
};

/*
 * Maps the file; false (and nothing is to be closed) when it is no 64-bit ELF file of this machine's byte order, or of another
 * user (symbols_owner.h).
 */
bool elf_image_open(struct elf_image *e, const char *path);
bool elf_image_memory(struct elf_image *e, void *at, size_t size);
void elf_image_close(struct elf_image *e);

struct elf_part {
	const uint8_t *at; /* NULL: not there */
	size_t size;
};
/* A section's bytes as they are in the file, compressed or not. */
struct elf_part elf_image_section(const struct elf_image *e, const char *name);
bool elf_image_has(const struct elf_image *e, const char *name);
/* Where it is in memory, in the file's addresses; false: there is none, or it is not loaded. */
bool elf_image_section_address(const struct elf_image *e, const char *name, uint64_t *address);
struct elf_part elf_image_build_id(const struct elf_image *e);

struct elf_symbol {
	uint64_t at, size;
	const char *name;
	bool is_local;
};
/* Calls @found for each function in the tables of the given kind (SHT_SYMTAB, SHT_DYNSYM), until it returns false. */
void elf_image_symbols(const struct elf_image *e, uint32_t kind,
		       bool (*found)(void *to, const struct elf_symbol *s), void *to);
/*
 * Where symbols of these names are, functions or data, by the table of all of them (SHT_SYMTAB); those that are not there
 * keep their place in @at as it is.
 */
void elf_image_find(const struct elf_image *e, const char *const *names, unsigned cnt,
		    uint64_t *at);
