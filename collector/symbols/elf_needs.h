/* elf_needs.h - what a program file asks the loader for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first DT_NEEDED of @path that begins with @prefix, into @name; false: none, or no 64-bit ELF file. */
bool elf_needs(const char *path, const char *prefix, char *name, size_t size);
