/*
 * intern.h - which texts a stream has already defined, and under which number.
 *
 * Memory does not grow with the report: texts that the report numbers take a bit each; others (NVTX messages
 * may be different every time) go through a table of fixed size. A text that the table has dropped is defined anew, under
 * another number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERN_SLOTS  8192
#define INTERN_ID_MAX (1 << 24) /* report's numbers above it are treated as if there were none */

struct intern {
	uint64_t *seen; /* by the report's number */
	size_t words;
	uint64_t next; /* the last number that was given to one without */
	struct {
		uint64_t key;
		uint64_t iid;
	} slot[INTERN_SLOTS];
};

/* A zeroed struct is empty. */
void intern_free(struct intern *in);

/* The text's number, > 0; *fresh: it must be defined first. */
uint64_t intern_hashed(struct intern *in, uint64_t hash, bool *fresh);
uint64_t intern_slow(struct intern *in, int64_t id, const char *text, size_t len, bool *fresh);

/* @id: as tl_text.id. */
static inline uint64_t intern_text(struct intern *in, int64_t id, const char *text, size_t len,
				   bool *fresh)
{
	if (id > 0 && (uint64_t)id / 64 < in->words && in->seen[id / 64] >> id % 64 & 1) {
		*fresh = false;
		return (uint64_t)id;
	}
	return intern_slow(in, id, text, len, fresh);
}
