/* tuples.c - a set that only grows. */
#include "exporters/why/model/tuples.h"

#include "collector/base/grow.h"
#include "collector/base/hash.h"

static bool is_same(const uint32_t *a, const uint32_t *b, uint32_t width)
{
	uint32_t i = 0;

	while (i < width && a[i] == b[i])
		i++;
	return i == width;
}

uint32_t tuples_add(struct tuples *t, const uint32_t *tuple)
{
	size_t size = t->width * sizeof(*tuple);
	uint64_t hash = 0;
	uint32_t at, i;

	for (i = 0; i < t->width; i++)
		hash = hash_join(hash, tuple[i]);
	for (i = slots_first(&t->by_words, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&t->by_words, hash, &at))
		if (is_same(tuples_at(t, i), tuple, t->width))
			return i;
	if (!grow(&t->words, t->cnt, &t->room, size) ||
	    !slots_add(&t->by_words, hash, (uint32_t)t->cnt))
		return UINT32_MAX;
	memcpy(t->words + t->cnt * t->width, tuple, size);
	return (uint32_t)t->cnt++;
}

void tuples_free(struct tuples *t)
{
	free(t->words);
	slots_free(&t->by_words);
	memset(t, 0, sizeof(*t));
}
