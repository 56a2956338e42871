/*
 * symbols_aranges.h - .debug_aranges: sets of ranges, each of a unit. Not by libdw, which looks at the header of every unit
 * in the list, and so reads all of .debug_info.
 */
#pragma once

#if SL_HAVE_LIBDW

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that have not been read yet. */
struct aranges {
	const uint8_t *at;
	size_t left;
};

struct aranges aranges_of(Elf *elf);
/* The ranges of the set at the beginning of @l, which goes on behind it; @unit: offset of the unit's header. */
struct aranges aranges_set(struct aranges *l, uint64_t *unit);
/* The next range of a set; false: there is none. */
bool aranges_next(struct aranges *set, uint64_t *from, uint64_t *bytes);

#endif
