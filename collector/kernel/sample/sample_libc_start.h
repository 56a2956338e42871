/*
 * sample_libc_start.h - the code that the compiler's start files bring into every program and
 * library, which has no unwinding table: _init and _fini, and the functions that crtbegin.o
 * registers. Programs with many libraries are often in it, for it is the first of a library that is
 * touched, which has to be read from the disk then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/unwind/cfi.h"

/* Entries of the dynamic section, in the file's addresses; 0: none. */
struct sample_crt_ask {
	uint64_t init, fini, init_array, fini_array;
	/* At least @bytes of the file from @address on; NULL: it has none there. */
	const uint8_t *(*at)(const void *ctx, uint64_t address, size_t bytes);
	const void *ctx;
};

struct sample_crt {
	struct sample_crt_part {
		uint64_t from, to;
		int16_t cfa; /* from the stack pointer; 16 and has_fp: the frame pointer is below */
		bool has_fp;
	} part[12];
	unsigned cnt;
};

/* Makes a row only of known code, compared byte for byte where it matters. */
void sample_crt_find(struct sample_crt *crt, const struct sample_crt_ask *ask);
bool sample_crt_row(const struct sample_crt *crt, uint64_t address, struct sl_row *row);
