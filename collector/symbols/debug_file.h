/* debug_file.h - a file of debug information, opened for libdw. */
#pragma once

#if SL_HAVE_LIBDW

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "collector/symbols/elf_image.h"

struct debug_image;

struct debug_file {
	struct elf_image mapped;
	struct debug_image *image; /* NULL: nothing is compressed */
	Elf *elf;
	Dwarf *dw; /* NULL: there is none */
};

/* False: it is no plain file, or has no debug information. It is to be closed in any case. */
bool debug_file_open(struct debug_file *f, const char *path);
void debug_file_close(struct debug_file *f);

#endif
