/*
 * ring_reader.c - walks the chunks of rings without consuming them. Pairings of loads: as in collect/drain.c.
 */
#include "collector/model/ring_reader.h"

#define DATA_BYTES ((uint32_t)sizeof(((struct sl_chunk *)0)->data))

static void prescan_record(struct arena *a, uint32_t process, const struct call *c)
{
	const struct record_family *family = record_family_of(a->families, c);

	if (family->prescan)
		family->prescan(a, process, c);
}

/* Scans the records of @c from @pos on. Returns the position after the last one. */
static uint32_t prescan_chunk(struct arena *a, uint32_t process, const struct sl_chunk *c,
			      uint32_t pos)
{
	uint32_t end = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE);
	struct call call;

	while (end <= DATA_BYTES && pos < end) {
		unsigned words = decode_record(c->data + pos / 8, (end - pos) / 8, &call);

		if (!words)
			break;
		if (call.data.bytes || call.io.new_serial || call.shape == SL_SHAPE_META ||
		    call.shape == SL_SHAPE_NVTX)
			prescan_record(a, process, &call);
		pos += words * 8;
	}
	return pos;
}

void ring_prescan(struct arena *a)
{
	uint32_t fresh = arena_fresh_slots(a);
	unsigned hops = 0;

	if (a->flags.is_prescanned)
		return;
	a->flags.is_prescanned = true;
	for (uint32_t i = 0; i < fresh; i++) {
		struct thread *t = i < a->threads.cnt ? a->threads.at[i] : NULL;
		const struct sl_slot *slot = &a->map->slot[i];
		bool is_new = !t && __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != SL_SLOT_FREE;
		struct place p = {is_new ? slot->first_chunk : 0, 0, 0};

		/* No record is scanned twice: the flight recorder keeps many of them. */
		if (t)
			p = t->at.prescanned.seq > t->at.seq ||
					    (t->at.prescanned.seq == t->at.seq &&
					     t->at.prescanned.pos > t->at.pos)
				    ? t->at.prescanned
				    : (struct place){t->at.chunk, t->at.pos, t->at.seq};
		for (; (t || arena_has_chunk(a, p.chunk)) && p.chunk && hops < arena_hops(a);
		     hops++) {
			struct sl_chunk *c = arena_chunk(a, p.chunk);
			sl_ref next = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);

			p.pos = prescan_chunk(a, slot->process, c, p.pos);
			if (!arena_leads(a, p.chunk, next))
				break;
			p = (struct place){next, 0, p.seq + 1};
		}
		if (t)
			t->at.prescanned = p;
	}
}

uint64_t ring_read_to(const struct arena *a)
{
	uint64_t read_to = UINT64_MAX;
	uint32_t fresh = arena_fresh_slots(a);

	for (uint32_t i = 0; i < fresh && !a->flags.is_bad; i++) {
		const struct thread *t = i < a->threads.cnt ? a->threads.at[i] : NULL;

		/* A thread that the drain has not seen yet may have written since long ago. */
		if (!t && __atomic_load_n(&a->map->slot[i].state, __ATOMIC_ACQUIRE) != SL_SLOT_FREE)
			return 0;
		if (t && !t->flags.is_over && t->at.read_to < read_to)
			read_to = t->at.read_to;
	}
	return read_to;
}

static uint64_t above(const uint64_t *cnt, uint64_t written)
{
	uint64_t now = __atomic_load_n(cnt, __ATOMIC_RELAXED);

	return now > written ? now - written : 0;
}

uint64_t ring_open_losses(const struct arena *a)
{
	uint64_t sum = above(&a->map->unslotted_cnt, a->counts.unslotted_written);

	for (uint32_t i = 0; i < a->threads.cnt; i++) {
		const struct thread *t = a->threads.at[i];
		const struct sl_slot *slot = &a->map->slot[i];

		if (t && !t->flags.is_over)
			sum += above(&slot->lost_cnt, t->written.lost) +
			       above(&slot->nested_cnt, t->written.nested) + t->txn.dead_rows;
	}
	return sum;
}
