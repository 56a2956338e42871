/*
 * debug_image.h - compressed debug information of an ELF file, decompressed as far as it is read.
 *
 * Distributions compress it: that of libc takes hundredths of a second, for a stack of which one function is libc's. zlib's
 * streams can only be read from the beginning, and units of debug information stand in the order of the code, so that half of
 * it is needed on average, and next to nothing for the function that calls main.
 */
#pragma once

#include <stddef.h>

struct debug_image;

/*
 * An ELF file in memory with the sections of debug information that naming functions and lines takes. Its pages are there when
 * they have been touched (sigbus_guard.h). @file: stays mapped meanwhile. NULL: nothing in @file is compressed, or by
 * another method, or it is not an ELF file of this machine's kind.
 */
struct debug_image *debug_image_open(const void *file, size_t size);
char *debug_image_elf(const struct debug_image *d, size_t *size);
void debug_image_close(struct debug_image *d);
