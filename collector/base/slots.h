/*
 * slots.h - finds the element of an array by its key, whatever that is: numbers of elements by the hash of the key.
 *
 *   for (i = slots_first(s, hash, &at); i != SLOTS_NONE; i = slots_next(s, hash, &at))
 *           if (list[i] has the key)
 *                   return i;
 *   if (!slots_add(s, hash, cnt)) ...    the new element's number
 *
 * The array is the caller's, in the order in which the elements came. A zeroed struct is empty. Nothing is taken out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_NONE UINT32_MAX

struct slots {
	struct slot {
		uint32_t hash, number; /* number: + 1; 0: free */
	} * slot;
	uint32_t size, cnt; /* size: a power of two, or 0 */
};

static inline uint32_t slots_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

static inline uint32_t slots_look(const struct slots *s, uint32_t hash, uint32_t *at)
{
	for (; s->slot[*at].number; *at = (*at + 1) & (s->size - 1))
		if (s->slot[*at].hash == hash)
			return s->slot[*at].number - 1;
	return SLOTS_NONE;
}

static inline uint32_t slots_first(const struct slots *s, uint64_t hash, uint32_t *at)
{
	if (!s->size)
		return SLOTS_NONE;
	*at = slots_fold(hash) & (s->size - 1);
	return slots_look(s, slots_fold(hash), at);
}

static inline uint32_t slots_next(const struct slots *s, uint64_t hash, uint32_t *at)
{
	*at = (*at + 1) & (s->size - 1);
	return slots_look(s, slots_fold(hash), at);
}

static inline void slots_put(struct slots *s, uint32_t hash, uint32_t number)
{
	uint32_t at = hash & (s->size - 1);

	while (s->slot[at].number)
		at = (at + 1) & (s->size - 1);
	s->slot[at].hash = hash;
	s->slot[at].number = number + 1;
}

static inline bool slots_grow(struct slots *s)
{
	struct slots more = {.size = s->size ? 2 * s->size : 64, .cnt = s->cnt};

	more.slot = more.size ? calloc(more.size, sizeof(*more.slot)) : NULL;
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < s->size; i++)
		if (s->slot[i].number)
			slots_put(&more, s->slot[i].hash, s->slot[i].number - 1);
	free(s->slot);
	*s = more;
	return true;
}

/* False: no memory. */
static inline bool slots_add(struct slots *s, uint64_t hash, uint32_t number)
{
	if (s->cnt >= s->size / 2 && !slots_grow(s))
		return false;
	slots_put(s, slots_fold(hash), number);
	s->cnt++;
	return true;
}

static inline void slots_free(struct slots *s)
{
	free(s->slot);
	memset(s, 0, sizeof(*s));
}
