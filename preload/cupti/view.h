/* view.h - the fields of one record of CUPTI, by layout.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct view {
	const uint8_t *at;
	size_t bytes; /* up to the next record */
	uint32_t version;
	uint64_t now;
	/* Of a buffer of the program's: what began before is its own. 0: the buffer is the shim's. */
	uint64_t since;
	bool was_lent;                    /* CUPTI, to the program: the rest matters only then */
	uint32_t calls, calls_of_program; /* in this buffer so far, of lent_is_programs() */
};

static inline uint64_t view_load(const struct view *v, unsigned offset, unsigned bytes,
				 uint32_t version)
{
	uint64_t value = 0;

	/* A field that this version lacks reads as 0. */
	if (v->version >= version && offset + bytes <= v->bytes)
		memcpy(&value, v->at + offset, bytes);
	return value;
}

/* KERNEL_start(v) and so on; widths beyond 8 bytes (UUIDs) have no such function. */
#define FIELD(shape, field, offset, bytes, version, member)                                  \
	__attribute__((unused)) static inline uint64_t shape##_##field(const struct view *v) \
	{                                                                                    \
		return view_load(v, offset, (bytes) > 8 ? 8 : (bytes), version);             \
	}
#include "preload/cupti/layout.def"

/* believe.c: while guest.unchecked. False: not a record of the known layout. One status record; flush() then disables CUPTI. */
bool believe(const struct view *v, uint32_t kind);

/*
 * lent_records.c: CUPTI was lent, once; it is from now on; until a time; a call was recorded, of the shim's own; whether a record is of the program's own
 * tracing, and not of the shim's; whether that depends on what else lies in its buffer, as it has no times.
 */
bool lent_before(void);
void lent_begin(void);
void lent_end(uint64_t at);
void lent_call(uint32_t correlation, uint64_t start);
bool lent_is_programs(struct view *v, uint32_t kind);
bool lent_is_undecided(const struct view *v, uint32_t kind);
