/* symbols_scope.h - names of functions in debug information. */
#pragma once

#include "collector/symbols/symbols_internal.h"

#if SL_HAVE_LIBDW

#include <elfutils/libdw.h>

/* As the linker knows it; NULL: by no name of its own. */
const char *symbols_linkage_name(Dwarf_Die *function);
/* As a reader knows it, kept by @s; NULL: it has none. */
const char *symbols_function_name(struct symbols *s, Dwarf_Die *unit, Dwarf_Die *function);

/* ---- symbols_dwarf_place.c ---- */

/* Whole, and "/io/../sysdeps/./read.c" is "/sysdeps/read.c"; kept by @s. NULL: @path is. */
const char *symbols_source_path(struct symbols *s, Dwarf_Die *unit, const char *path);
/* Where an inlined function is called. NULL, 0: not known. */
const char *symbols_call_file(Dwarf_Die *unit, Dwarf_Die *inlined);
int symbols_call_line(Dwarf_Die *inlined);

/* ---- symbols_dwarf_file.c ---- */

/* The file's debug information, and its *@elf, both for the caller to end; NULL: no plain file, or none in it (*@elf may be set). */
Dwarf *symbols_dwarf_file(const char *path, Elf **elf);

#endif
