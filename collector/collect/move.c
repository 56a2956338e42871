/*
 * move.c - copies full chunks out of the rings, so that programs use them again while they are in the caches.
 *
 * A crash between any two steps neither loses nor doubles a record: the copy is published first,
 * then the slot leads to the next chunk, then the chunk goes back to the pool. A record found twice
 * has the same position in the thread's chain.
 */
#include "collector/collect/arenas.h"

#include <string.h>

#define DATA_BYTES ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define PART       256u /* chunks of a thread at a time */

/* The chunk of the ring that follows those already spooled; 0: there is none. */
static sl_ref ring_first(const struct arena *a, const struct thread *t)
{
	return spool_is_ref(t->at.chunk) ? spool_at(a->mem.spool, t->at.tail)->next : t->at.chunk;
}

/* Places that led to @from lead to its copy. */
static void follow(struct thread *t, sl_ref from, sl_ref to)
{
	if (t->at.prescanned.chunk == from)
		t->at.prescanned.chunk = to;
	if (t->at.watched.chunk == from)
		t->at.watched.chunk = to;
}

static void append(struct arena *a, struct thread *t, sl_ref from, sl_ref copy)
{
	if (spool_is_ref(t->at.chunk))
		spool_at(a->mem.spool, t->at.tail)->next = copy;
	else
		t->at.chunk = copy;
	t->at.tail = copy;
	follow(t, from, copy);
}

/* Copies the ring's first chunk if it is full. Bytes; 0: it is not, or makes no sense (drain.c counts that), or no room. */
static size_t move_one(struct arena *a, uint32_t idx, struct thread *t)
{
	sl_ref ref = ring_first(a, t), next, copy;
	const struct sl_chunk *from, *following;
	struct sl_chunk *to;
	uint32_t committed, seq;

	if (!arena_has_chunk(a, ref))
		return 0;
	seq = spool_is_ref(t->at.chunk) ? spool_at(a->mem.spool, t->at.tail)->seq + 1 : t->at.seq;
	from = sl_chunk_at(a->map, ref);
	next = __atomic_load_n(&from->next, __ATOMIC_ACQUIRE);
	if (!next || !arena_has_chunk(a, next))
		return 0;
	committed = __atomic_load_n(&from->committed, __ATOMIC_ACQUIRE);
	following = sl_chunk_at(a->map, next);
	if (committed > DATA_BYTES || committed % 8 || from->seq != seq || from->slot != idx + 1 ||
	    following->seq != seq + 1 || following->slot != idx + 1)
		return 0;
	copy = spool_take(a->mem.spool);
	if (!copy)
		return 0;
	to = spool_at(a->mem.spool, copy);
	to->committed = committed;
	to->next = next;
	to->seq = seq;
	to->slot = idx + 1;
	to->consumed = ref == t->at.chunk ? t->at.saved : 0;
	memcpy(to->data, from->data, committed);
	spool_publish(a->mem.spool, copy, a->id, t->id.instance);
	append(a, t, ref, copy);
	arena_give_back(a, idx, ref, next);
	return committed;
}

size_t move_thread(struct arena *a, uint32_t idx, struct thread *t)
{
	size_t all = 0, part;

	/* Records copied out of a file would be lost with this process: a file has no keeper. */
	if (!a->mem.spool || a->flags.is_bad || a->flags.is_file || t->flags.is_over ||
	    t->flags.has_spent || !t->at.chunk)
		return 0;
	/* Bounded: a thread may fill chunks as fast as they are copied. */
	for (uint32_t k = 0; k < PART && (part = move_one(a, idx, t)) > 0; k++)
		all += part;
	if (all)
		arena_wake_waiters(a);
	return all;
}

size_t move_chunks(struct arenas *as)
{
	size_t all = 0;

	for (struct arena *a = as->first; a && as->spool; a = a->next)
		if (__atomic_load_n(&a->map->used_chunks, __ATOMIC_RELAXED))
			for (uint32_t i = 0; i < a->threads.cnt; i++)
				if (a->threads.at[i])
					all += move_thread(a, i, a->threads.at[i]);
	return all;
}

static bool has_full_chunk(const struct arena *a, uint32_t idx)
{
	const struct sl_slot *slot = &a->map->slot[idx];
	sl_ref ref;

	if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SL_SLOT_FREE)
		return false;
	ref = __atomic_load_n(&slot->first_chunk, __ATOMIC_RELAXED);
	return arena_has_chunk(a, ref) && sl_chunk_at(a->map, ref)->next;
}

bool move_finds_new(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next) {
		uint32_t fresh = arena_fresh_slots(a);

		if (a->flags.is_bad || !__atomic_load_n(&a->map->used_chunks, __ATOMIC_RELAXED))
			continue;
		for (uint32_t i = 0; i < fresh; i++)
			if ((i >= a->threads.cnt || !a->threads.at[i]) && has_full_chunk(a, i))
				return true;
	}
	return false;
}

bool spool_resume(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t)
{
	sl_ref last = 0, first = spool_link(a->mem.spool, a->id, idx, t->id.instance, &last),
	       ring = t->at.chunk;
	struct sl_chunk *end;

	if (!first)
		return false;
	end = spool_at(a->mem.spool, last);
	/* Copied, and not given back yet. */
	while (arena_has_chunk(a, ring) && sl_chunk_at(a->map, ring)->seq <= end->seq) {
		sl_ref next = __atomic_load_n(&sl_chunk_at(a->map, ring)->next, __ATOMIC_ACQUIRE);

		if (!arena_has_chunk(a, next) ||
		    sl_chunk_at(a->map, next)->seq != sl_chunk_at(a->map, ring)->seq + 1)
			break;
		arena_give_back(a, idx, ring, next);
		ring = next;
	}
	if (arena_has_chunk(a, ring) && sl_chunk_at(a->map, ring)->seq <= end->seq) {
		/* The ring contradicts the copies. */
		as->lost.corrupt++;
		return false;
	}
	end->next = ring;
	t->at.chunk = first;
	t->at.tail = last;
	return true;
}
