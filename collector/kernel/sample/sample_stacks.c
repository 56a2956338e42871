/* sample_stacks.c - interns stacks in a hash table, with their round of last use. */
#include "collector/kernel/sample/sample_stacks.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 4096u
#define STACKS_MOST (1u << 20) /* a program that never is where it was before */
#define ROUNDS_KEPT 16u        /* rounds without a use; then the slot is reused */

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	h = (h ^ h >> 29) * 0xa0761d6478bd642fu;
	return h ^ h >> 32;
}

static void hash_of(uint64_t where, const uint64_t *frames, size_t cnt, uint64_t hash[2])
{
	uint64_t a = where ^ 0x9e3779b97f4a7c15u, b = cnt;

	for (size_t i = 0; i < cnt; i++) {
		a = mix(a ^ frames[i]);
		b = (b ^ frames[i]) * 0xc2b2ae3d27d4eb4fu;
		b = b << 31 | b >> 33;
	}
	hash[0] = a;
	hash[1] = mix(b ^ where);
}

static struct sample_stack *slot_of(const struct sample_stacks *st, const uint64_t hash[2])
{
	size_t i = hash[0] & (st->slots - 1);

	while (st->slot[i].number &&
	       (st->slot[i].hash[0] != hash[0] || st->slot[i].hash[1] != hash[1]))
		i = (i + 1) & (st->slots - 1);
	return &st->slot[i];
}

static bool is_kept(const struct sample_stacks *st, const struct sample_stack *s)
{
	return s->number && st->round - s->round <= ROUNDS_KEPT;
}

/* Makes room: drops stacks that are too old, or else doubles the table. */
static bool make_room(struct sample_stacks *st)
{
	struct sample_stacks grown = *st;

	grown.cnt = 0;
	for (size_t i = 0; i < st->slots; i++)
		grown.cnt += is_kept(st, &st->slot[i]);
	if (grown.cnt * 2 >= st->slots)
		grown.slots = st->slots ? st->slots * 2 : SLOTS_FIRST;
	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return false;
	for (size_t i = 0; i < st->slots; i++)
		if (is_kept(st, &st->slot[i]))
			*slot_of(&grown, st->slot[i].hash) = st->slot[i];
	free(st->slot);
	*st = grown;
	return true;
}

static void forget(struct sample_stacks *st)
{
	memset(st->slot, 0, st->slots * sizeof(*st->slot));
	st->cnt = 0;
}

uint32_t sample_stacks_number(struct sample_stacks *st, uint64_t where, const uint64_t *frames,
			      size_t cnt, bool *is_new)
{
	struct sample_stack *s;
	uint64_t hash[2];

	*is_new = false;
	if (st->cnt >= (st->most ? st->most : STACKS_MOST))
		forget(st);
	if (st->cnt * 4 >= st->slots * 3 && !make_room(st))
		return 0;
	hash_of(where, frames, cnt, hash);
	s = slot_of(st, hash);
	*is_new = !s->number || s->round != st->round;
	s->round = st->round;
	if (s->number)
		return s->number;
	memcpy(s->hash, hash, sizeof(hash));
	s->number = ++st->numbers;
	st->cnt++;
	return s->number;
}

void sample_stacks_renew(struct sample_stacks *st)
{
	st->round++;
}

void sample_stacks_release(struct sample_stacks *st)
{
	free(st->slot);
	memset(st, 0, sizeof(*st));
}
