/* flight_ring.c - finds up to when the rings must be read to free memory; gives unused chunks back to the system. */
#include "collector/capture/flight/flight_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/base/grow.h"

#define DATA_BYTES   ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define PAGE         4096u
#define THREAD_BYTES (4 * PAGE) /* its totals and its first chunk, as far as they are resident */
#define SPARE_CHUNKS 1024u      /* an arena with fewer left, or with an eighth, is short */
#define KEEP_CHUNKS  64u        /* stay in the pool when others are given back to the system */

void flight_ages_add(struct flight_ages *ages, uint64_t ticks, uint64_t bytes)
{
	if (!grow(&ages->at, ages->cnt, &ages->cap, sizeof(*ages->at)))
		return;
	ages->at[ages->cnt++] = (struct flight_age){ticks, bytes};
}

static int by_ticks(const void *a, const void *b)
{
	uint64_t x = ((const struct flight_age *)a)->ticks,
		 y = ((const struct flight_age *)b)->ticks;

	return x < y ? -1 : x > y;
}

uint64_t flight_ages_pick(struct flight_ages *ages, size_t first, uint64_t bytes)
{
	uint64_t sum = 0, ticks = 0;

	if (first >= ages->cnt)
		return 0;
	qsort(ages->at + first, ages->cnt - first, sizeof(*ages->at), by_ticks);
	for (size_t i = first; i < ages->cnt && sum < bytes; i++) {
		sum += ages->at[i].bytes;
		ticks = ages->at[i].ticks;
	}
	return ticks;
}

static uint32_t threads_of(const struct arena *a)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < a->threads.cnt; i++)
		cnt += a->threads.at[i] != NULL;
	return cnt;
}

/* A count in shared memory, which the program could overwrite: bounded. */
static uint32_t backlog(const struct arena *a)
{
	uint32_t used = __atomic_load_n(&a->map->used_chunks, __ATOMIC_RELAXED);

	return used < a->mem.chunk_cnt ? used : 0;
}

uint64_t flight_used(const struct arenas *as, uint64_t *fixed)
{
	uint64_t used = 0;

	*fixed = 0;
	for (const struct arena *a = as->first; a; a = a->next) {
		used += (uint64_t)backlog(a) * SL_CHUNK_BYTES;
		*fixed += (uint64_t)threads_of(a) * THREAD_BYTES;
	}
	return used + *fixed;
}

/* When the first call in @c ended; UINT64_MAX: there is none yet. */
static uint64_t first_end(const struct sl_chunk *c)
{
	uint32_t committed = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE);
	struct call call;

	if (committed > DATA_BYTES || !decode_record(c->data, committed / 8, &call))
		return UINT64_MAX;
	return call.end;
}

/* When the last call in @c, read from @pos, ended. */
static uint64_t last_end(const struct sl_chunk *c, uint32_t pos, uint64_t before)
{
	uint32_t committed = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE);
	struct call call;

	while (committed <= DATA_BYTES && pos < committed) {
		unsigned words = decode_record(c->data + pos / 8, (committed - pos) / 8, &call);

		if (!words)
			break;
		if (call.end > before)
			before = call.end;
		pos += words * 8;
	}
	return before;
}

static bool is_gone(const struct arena *a, uint32_t idx, const struct thread *t)
{
	return t->flags.is_seen_gone || model_image_is_over(t->image) ||
	       __atomic_load_n(&a->map->slot[idx].state, __ATOMIC_ACQUIRE) == SL_SLOT_DONE;
}

/*
 * The chunks of one thread. A chunk is drained when the first call of the next one has ended: calls are in the order of
 * their ends. Of a thread that exited all chunks are freed.
 */
static void look_at(struct arenas *as, struct arena *a, uint32_t idx, struct flight_ages *ages,
		    struct flight_ages *gone, unsigned *hops)
{
	struct thread *t = a->threads.at[idx];
	uint64_t newest = as->clock->newest, ticks = 0, end;
	sl_ref ref = t->at.chunk, next;
	uint32_t pos = t->at.pos;

	for (; ref && *hops < arena_hops(a); ++*hops) {
		struct sl_chunk *c = arena_chunk(a, ref);

		next = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);
		if (!next) {
			if (is_gone(a, idx, t)) {
				ticks = last_end(c, pos, ticks);
				flight_ages_add(gone, ticks < newest ? ticks : newest,
						THREAD_BYTES);
			}
			return;
		}
		if (!arena_leads(a, ref, next))
			return;
		end = first_end(arena_chunk(a, next));
		if (end > newest)
			end = newest;
		if (end > ticks)
			ticks = end;
		flight_ages_add(ages, ticks, SL_CHUNK_BYTES);
		ref = next;
		pos = 0;
	}
}

#define SLOTS_MOST (SL_SLOT_CNT * 3 / 4)

static uint32_t spare_chunks(const struct arena *a)
{
	return a->mem.chunk_cnt / 8 < SPARE_CHUNKS ? a->mem.chunk_cnt / 8 : SPARE_CHUNKS;
}

/* Chunks in use beyond the limit that leaves the spare chunks. */
static uint32_t chunks_over(const struct arena *a)
{
	uint32_t used = backlog(a) + 2 * threads_of(a), room = a->mem.chunk_cnt - spare_chunks(a);

	return used > room ? used - room : 0;
}

bool flight_is_short(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		if (!a->flags.is_bad && (chunks_over(a) || threads_of(a) > SLOTS_MOST))
			return true;
	return false;
}

/* Up to when this arena's part of @ages, from @first on, has to be read; 0: it has room. */
static uint64_t shortage(struct arena *a, struct flight_ages *ages, size_t first,
			 struct flight_ages *gone)
{
	uint32_t threads = threads_of(a), over = chunks_over(a);
	uint64_t ticks = 0, more;

	if (over)
		ticks = flight_ages_pick(ages, first,
					 (uint64_t)(over + spare_chunks(a) / 2) * SL_CHUNK_BYTES);
	if (threads <= SLOTS_MOST)
		return ticks;
	more = flight_ages_pick(gone, 0, (uint64_t)(threads - SLOTS_MOST + 256) * THREAD_BYTES);
	return more > ticks ? more : ticks;
}

uint64_t flight_look(struct arenas *as, struct flight_ages *ages)
{
	struct flight_ages gone = {0};
	uint64_t ticks = 0;

	for (struct arena *a = as->first; a; a = a->next) {
		size_t first = ages->cnt;
		unsigned hops = 0;
		uint64_t until;

		gone.cnt = 0;
		for (uint32_t i = 0; i < a->threads.cnt && !a->flags.is_bad; i++)
			if (a->threads.at[i] && !a->threads.at[i]->flags.is_over)
				look_at(as, a, i, ages, &gone, &hops);
		for (size_t i = 0; i < gone.cnt; i++)
			flight_ages_add(ages, gone.at[i].ticks, gone.at[i].bytes);
		until = shortage(a, ages, first, &gone);
		if (until > ticks)
			ticks = until;
	}
	free(gone.at);
	return ticks;
}

/* Pages in memory of the @bytes at @at. */
static uint64_t pages_there(const void *at, uint64_t bytes)
{
	unsigned char there[1024];
	uint64_t cnt = 0;

	for (uint64_t done = 0; done < bytes; done += sizeof(there) * PAGE) {
		uint64_t part =
			bytes - done < sizeof(there) * PAGE ? bytes - done : sizeof(there) * PAGE;

		if (mincore((char *)(uintptr_t)at + done, part, there) < 0)
			return cnt;
		for (uint64_t i = 0; i < (part + PAGE - 1) / PAGE; i++)
			cnt += there[i] & 1;
	}
	return cnt;
}

static uint32_t fresh_chunks(const struct arena *a)
{
	uint32_t fresh = __atomic_load_n(&a->map->fresh_chunk, __ATOMIC_RELAXED);

	return fresh < a->mem.chunk_cnt ? fresh : a->mem.chunk_cnt;
}

uint64_t flight_resident(const struct arenas *as)
{
	uint64_t pages = 0;

	for (const struct arena *a = as->first; a; a = a->next)
		pages += pages_there(a->map, SL_ARENA_HEADER_BYTES +
						     (uint64_t)fresh_chunks(a) * SL_CHUNK_BYTES);
	return pages * PAGE;
}

/*
 * Takes chunks out of the pool, frees their memory, and puts them back in their order: those used last are used next. The
 * contents of a chunk in the pool mean nothing.
 */
static uint64_t trim_arena(struct arena *a, uint64_t bytes)
{
	uint32_t used = backlog(a) + 2 * threads_of(a), fresh = fresh_chunks(a), cnt = 0;
	uint32_t most = fresh > used + KEEP_CHUNKS ? fresh - used - KEEP_CHUNKS : 0;
	sl_ref *taken = most ? malloc(most * sizeof(*taken)) : NULL;
	uint64_t done = 0;

	while (taken && cnt < most) {
		sl_ref ref =
			sl_stack_pop(&a->map->free_chunks, a->map->chunk_link, a->mem.chunk_cnt);

		if (!ref)
			break; /* all, or the program wrote over its links */
		taken[cnt++] = ref;
	}
	while (cnt > 0) {
		struct sl_chunk *c = sl_chunk_at(a->map, taken[--cnt]);
		uint64_t there = done < bytes ? pages_there(c, SL_CHUNK_BYTES) : 0;

		if (there && madvise(c, SL_CHUNK_BYTES, MADV_REMOVE) == 0)
			done += there * PAGE;
		sl_stack_push(&a->map->free_chunks, a->map->chunk_link, taken[cnt]);
	}
	free(taken);
	return done;
}

uint64_t flight_trim(struct arenas *as, uint64_t bytes)
{
	uint64_t done = 0;

	for (struct arena *a = as->first; a && done < bytes; a = a->next)
		if (!a->flags.is_bad)
			done += trim_arena(a, bytes - done);
	return done;
}
