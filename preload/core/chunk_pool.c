/*
 * chunk_pool.c - takes slots and chunks of the arena: returned ones first, then those that were never used.
 *
 * Runs inside the program's calls, as hook.c does: no locks, no allocation, no libc.
 */
#include "preload/core/arena_map.h"
#include "preload/core/hook.h"

/* Bump allocation of indices not used before; returned ones are on a stack. */
sl_ref sl_take_fresh(uint32_t *next, uint32_t cnt)
{
	uint32_t n = __atomic_load_n(next, __ATOMIC_RELAXED);

	while (n < cnt)
		if (__atomic_compare_exchange_n(next, &n, n + 1, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return n + 1;
	return 0;
}

/*
 * A chunk of the pool that this process can map. Others are put back: another process of the arena, or this one when there
 * is memory again, may use them.
 */
static sl_ref take_returned(struct sl_arena *a)
{
	uint32_t most = a->chunk_cnt < SL_CHUNK_CNT ? a->chunk_cnt : SL_CHUNK_CNT;
	sl_ref out[4], ref;
	unsigned cnt = 0;

	while ((ref = sl_stack_pop(&a->free_chunks, a->chunk_link, most)) && !sl_arena_reach(ref)) {
		out[cnt++] = ref;
		ref = 0;
		if (cnt == sizeof(out) / sizeof(out[0]))
			break;
	}
	while (cnt)
		sl_stack_push(&a->free_chunks, a->chunk_link, out[--cnt]);
	return ref;
}

/*
 * @first: one of the two chunks that every thread has. The quota does not apply to them, so that a thread
 * can record although others fill the ring, or there are thousands of them.
 * @used: set if the chunk has been in use before, and so is not zero.
 */
sl_ref sl_chunk_take(struct sl_arena *a, bool first, bool *used)
{
	uint32_t next;
	sl_ref ref;

	if (!first &&
	    __atomic_load_n(&a->used_chunks, __ATOMIC_RELAXED) >= sl_global.session->quota_chunks)
		return 0;
	ref = take_returned(a);
	*used = ref != 0;
	/* Mapped before one is taken, so that none is put back without use, but for a race. */
	next = __atomic_load_n(&a->fresh_chunk, __ATOMIC_RELAXED);
	if (!ref && next < a->chunk_cnt && sl_arena_reach(next + 1))
		ref = sl_take_fresh(&a->fresh_chunk, a->chunk_cnt);
	if (ref && !sl_arena_reach(ref)) {
		sl_stack_push(&a->free_chunks, a->chunk_link, ref);
		return 0;
	}
	if (ref && !first)
		__atomic_add_fetch(&a->used_chunks, 1, __ATOMIC_RELAXED);
	return ref;
}
