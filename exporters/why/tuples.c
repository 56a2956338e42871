/* tuples.c - open addressing; nothing is ever taken out. */
#include "exporters/why/tuples.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

static bool is_same(const uint32_t *a, const uint32_t *b, uint32_t width)
{
	uint32_t i = 0;

	while (i < width && a[i] == b[i])
		i++;
	return i == width;
}

static size_t slot_of(const struct tuples *t, const uint32_t *tuple)
{
	uint64_t h = 0;
	size_t at;

	for (uint32_t i = 0; i < t->width; i++)
		h = (h ^ tuple[i]) * 0x9E3779B97F4A7C15u;
	at = (size_t)(h >> 32) & (t->slot_cnt - 1);
	while (t->slots[at] && !is_same(tuples_at(t, t->slots[at] - 1), tuple, t->width))
		at = (at + 1) & (t->slot_cnt - 1);
	return at;
}

static bool grow_slots(struct tuples *t)
{
	size_t want = t->slot_cnt ? 2 * t->slot_cnt : 256;
	uint32_t *slots = want <= UINT32_MAX ? calloc(want, sizeof(*slots)) : NULL;

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->slot_cnt = want;
	for (size_t i = 0; i < t->cnt; i++)
		slots[slot_of(t, tuples_at(t, (uint32_t)i))] = (uint32_t)i + 1;
	return true;
}

uint32_t tuples_add(struct tuples *t, const uint32_t *tuple)
{
	size_t size = t->width * sizeof(*tuple), at;

	if (2 * t->cnt >= t->slot_cnt && !grow_slots(t))
		return UINT32_MAX;
	at = slot_of(t, tuple);
	if (!t->slots[at]) {
		if (!grow(&t->words, t->cnt, &t->room, size))
			return UINT32_MAX;
		memcpy(t->words + t->cnt++ * t->width, tuple, size);
		t->slots[at] = (uint32_t)t->cnt;
	}
	return t->slots[at] - 1;
}

void tuples_free(struct tuples *t)
{
	free(t->words);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}
