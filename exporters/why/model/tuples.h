/* tuples.h - tuples of 32-bit words, each kept once, by numbers in the order of their first appearance. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/base/slots.h"

struct tuples {
	uint32_t *words;
	size_t cnt, room;
	uint32_t width; /* words of a tuple; set before the first */
	struct slots by_words;
};

/* The number of a tuple, a new one if it has none; UINT32_MAX: no memory. */
uint32_t tuples_add(struct tuples *t, const uint32_t *tuple);
void tuples_free(struct tuples *t);

static inline const uint32_t *tuples_at(const struct tuples *t, uint32_t number)
{
	return t->words + (size_t)number * t->width;
}
