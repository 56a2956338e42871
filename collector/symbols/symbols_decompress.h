/*
 * symbols_decompress.h - debug information that is compressed, unpacked before libdw sees it.
 *
 * libdw unpacks every section that it knows when it opens a file, by zlib and into small pages. Here those are left out
 * that nobody asks it for, the others go through libdeflate into large pages, in a quarter of the time; and zstd is read
 * with every version of elfutils.
 */
#ifndef SL_SYMBOLS_UNPACK_H
#define SL_SYMBOLS_UNPACK_H

#if SL_HAVE_LIBDW

#include <libelf.h>
#include <stddef.h>

struct symbols_unpacked {
	void *at; /* NULL: nothing was compressed */
	size_t size;
	unsigned char *data; /* within it */
};

/*
 * Between elf_begin(), with ELF_C_READ_MMAP, and dwarf_begin_elf(): sections then have their data in @u. The file may be
 * anything; a section that cannot be unpacked is as if it were not there. What this is not for stays as it is, for libdw:
 * .zdebug_*, other byte orders, 32 bits, what is compressed in a way that is not known here.
 */
void symbols_unpack(Elf *elf, struct symbols_unpacked *u);
void symbols_unpacked_free(struct symbols_unpacked *u); /* after elf_end() */

#endif

#endif
