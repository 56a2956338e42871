/* sample_python_code.h - code objects of sampled Pythons, read from the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/unwind/pylayout.h"

struct sample_sink;
struct pysample_code;

struct pycode {
	uint64_t address, check; /* bpf/pysample.h: pysample_check() */
	uint64_t present;        /* of the entry without a check: which one is there */
	uint32_t number;         /* 0: none, its address is no code object's */
	bool is_hidden;          /* of frames that Python hides from tracebacks */
	uint32_t first_line;
	char *file, *name; /* NULL: the process was gone, or the code object */
	uint8_t *lines;
	uint32_t lines_len;
};

struct pycodes { /* of one process image */
	struct pycode *slot;
	size_t slots, cnt;
};

struct pycode_from {
	uint32_t pid;
	struct sl_pylayout at;
	uint64_t code_type; /* 0: not known where; then a type of that name */
};

/* Number of bytes read of a code object. */
size_t pycode_size(const struct sl_pylayout *at);
/*
 * Reads it when it is new, and counts *@serial up. NULL: no memory. @check 0: it could not be read when first seen; then
 * the one that is at that address now counts.
 */
const struct pycode *pycode_get(struct pycodes *cs, const struct pycode_from *from,
				uint64_t address, uint64_t check, uint32_t *serial);
/* One that was copied when it was met, all of it @size bytes: has its names whatever has become of it since. */
void pycode_copied(struct pycodes *cs, const struct pycode_from *from,
		   const struct pysample_code *copy, size_t size, uint32_t *serial);
void pycode_tell(const struct pycode *c, uint32_t version, const struct sample_sink *sink);
void pycodes_release(struct pycodes *cs);

/* UTF-8 of the str at @address, its first 1023 characters, to be freed; NULL: it cannot be read, or is none. */
char *pycode_text(const struct pycode_from *from, uint64_t address);
/* @bytes of the process @pid; false: not all of them are there. */
bool pycode_read(uint32_t pid, uint64_t address, void *to, size_t bytes);
