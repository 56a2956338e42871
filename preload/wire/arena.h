/*
 * arena.h - the shared memory between traced processes and the collector.
 *
 * One arena per process image (a memfd made in the constructor, before main, and sent once to the
 * collector); forked children inherit the mapping and simply take slots and chunks of their own, so
 * fork, new threads and new rings need no descriptor. An arena is therefore shared by all processes
 * forked between one exec and the next. The collector maps all of it, a process what it uses
 * (preload/core/arena_map.h).
 *
 *   [struct sl_arena: header, slots, chunk links][chunk 0][chunk 1]...   (sparse until touched)
 *
 * A slot is one thread. It owns an aggregate chunk (struct sl_agg per hook, then totals by file, struct sl_file_total, of a few
 * descriptors), one with totals of more descriptors if it needs one, and a chain of record chunks: the thread writes into the last, the collector reads from the first, and returns each
 * to the pool when the transaction that holds its records has been committed. The pool is a
 * last-in first-out stack, so a program that is drained in time keeps reusing the same warm pages.
 *
 * Writers of a field: "T" the owning thread, "C" the collector, "A" all of them, atomically.
 * Fields that both sides access are accessed by __atomic builtins; the pairing is named here.
 */
#pragma once

#include "preload/wire/wire.h"

#define SL_ARENA_MAGIC 0x616e657261746c73ull /* "sltarena" */
#define SL_CHUNK_BYTES 32768u
#define SL_CHUNK_CNT   8192u /* 256 MiB of file; memory is used only where touched */
#define SL_SLOT_CNT    4096u
#define SL_HOOK_MAX    512u /* an aggregate chunk holds 512 struct sl_agg */
#define SL_COMM_BYTES  16u
#define SL_FILE_TOTALS 512u /* struct sl_file_total of a chunk; a power of two */
#define SL_FILE_FEW    8u   /* behind the totals by hook, of a thread without such a chunk */
#define SL_FILE_FEW_AT 440u /* struct sl_agg before them */

_Static_assert(SL_HOOK_MAX * sizeof(struct sl_agg) == SL_CHUNK_BYTES, "aggregates fill a chunk");
_Static_assert(SL_FILE_TOTALS * sizeof(struct sl_file_total) == SL_CHUNK_BYTES,
	       "as totals by file");
_Static_assert(SL_CHUNK_CNT <= UINT16_MAX, "sl_slot.file_chunk");

/* Index + 1 of a chunk or slot; 0 = none. */
typedef uint32_t sl_ref;

struct sl_chunk {
	uint32_t
		committed; /* T: bytes of data[] that are published; release, pairs with C's acquire */
	sl_ref next;  /* T: the chunk that follows; stored (release) after the last committed */
	uint32_t seq; /* T: position in the slot's chain, from 0 */
	sl_ref slot;  /* T: owner */
	uint32_t consumed; /* C: bytes of data[] whose rows are committed in the report */
	uint32_t reserved[11];
	uint64_t data[(SL_CHUNK_BYTES - 64) / 8];
};
_Static_assert(sizeof(struct sl_chunk) == SL_CHUNK_BYTES, "sl_chunk");

enum sl_slot_state {
	SL_SLOT_FREE = 0,
	SL_SLOT_LIVE = 1, /* T: set (release) after every other field */
	SL_SLOT_DONE = 2, /* T: the thread is about to exit; it may write until it has exited */
};

/* Flag of a slot: its ids may not be those of the collector's PID namespace; the process has sent SL_HELLO_FORKED. */
#define SL_SLOT_NAMESPACED 1u
/* There was no chunk for totals of more files: those that the few places have no room for are in the ring. */
#define SL_SLOT_FEW_FILES 2u

#define SL_EPOCH_CHANGES (1u << 31)

struct sl_slot {
	uint32_t
		state; /* T: enum sl_slot_state; C sets FREE once the thread has exited and is drained */
	uint32_t instance;  /* A: counts the uses of this slot, from 1 */
	uint32_t pid, tid;  /* T: as the thread sees them (its own PID namespace) */
	uint32_t process;   /* T: process number in this arena: 1 = creator, new after every fork */
	sl_ref agg_chunk;   /* T */
	sl_ref first_chunk; /* T: at start; then C: the chunk being read */
	uint16_t flags;     /* T: SL_SLOT_* */
	uint16_t file_chunk; /* T: totals of more files, 0: none; release, pairs with C's acquire */
	uint64_t born;       /* T: ticks */
	uint64_t lost_cnt;   /* T: calls without room for a record, since the thread began */
	uint64_t lost_first, lost_last; /* T: ticks of those that no LOST record covers yet */
	uint64_t
		nested_cnt; /* T: calls made by signal handlers that interrupted the shim: no record */
	char comm[SL_COMM_BYTES]; /* T: thread name; may be torn while it changes */
	uint32_t parent_process;  /* T: process number of the process that forked this one, or 0 */
	uint32_t epoch; /* T: the report that the totals belong to; SL_EPOCH_CHANGES: being reset */
	/* T: Python's interpreter lock (python_gil.c): ticks since when the thread holds it and waits for it, 0: it does
	 * not; the gate when the lock was taken; which of the two have records. C reads gil_since. */
	uint64_t gil_since, gil_wait;
	uint32_t gil_gate, gil_recorded;
	uint64_t lost_recorded; /* T: lost_cnt of the last LOST record */
	uint64_t lost_of[8];    /* T: other losses, since the thread began: enum sl_lost */
};
_Static_assert(sizeof(struct sl_slot) == 192, "sl_slot is three cache lines");
_Static_assert(SL_LOST_KINDS <= 8, "each kind of loss has its count");

#define SL_SPAWNED_CNT 26u /* more than connections that wait for a keeper to look at them */

struct sl_arena {
	uint64_t magic;
	uint32_t wire_version, hook_cnt;
	uint64_t
		hook_hash; /* of all hook names in order: detects sides that were not built together */
	uint32_t chunk_bytes, chunk_cnt, slot_cnt, header_bytes;
	uint32_t creator_pid, clock_mode;
	uint64_t born; /* ticks, before the arena was created; names it in a hello */

	_Alignas(64) uint64_t free_chunks; /* A: sl_ref | change count << 32: head of the pool */
	uint32_t fresh_chunk;              /* A: chunks handed out for the first time so far */
	uint32_t used_chunks; /* A: chunks in chains beyond each thread's first: the backlog */
	_Alignas(64) uint64_t free_slots; /* A: as free_chunks */
	uint32_t fresh_slot;    /* A: slots ever used: the collector looks at [0, fresh) */
	uint32_t process_cnt;   /* A: last process number given out */
	uint32_t file_serial;   /* A: last file serial given out */
	uint32_t freed_seq;     /* C: raised when chunks come back; futex word of waiters */
	uint32_t waiter_cnt;    /* A: threads in that futex: C wakes only if not 0 */
	uint32_t string_serial; /* A: last id of SL_META_STRING given out */
	uint32_t nvtx_serial;   /* A: last number of an NVTX domain or payload schema given out */
	uint32_t code_serial;   /* A: last id of SL_META_CODE given out */
	/* A: NVTX domain of the ranges of Python's interpreter lock, 0: none yet (stored last, release), and their
	 * messages, ids of SL_META_STRING. */
	uint32_t gil_domain, gil_hold, gil_wait;
	uint32_t reserved;
	uint64_t unslotted_cnt; /* A: calls that found no slot or no first chunk: lost */
	uint64_t unslotted_first, unslotted_last; /* A: ticks */
	uint32_t stack_serial;                    /* A: last id of SL_META_STACK given out */
	/* A: pids of the last children that were made for an exec by vfork() or posix_spawn(), and so have no slot; their
	 * number so far. A keeper reads them. */
	uint32_t spawned_cnt, spawned[SL_SPAWNED_CNT];

	_Alignas(64) struct sl_slot slot[SL_SLOT_CNT];
	sl_ref chunk_link[SL_CHUNK_CNT]; /* A: links of the pool of chunks */
	sl_ref slot_link[SL_SLOT_CNT];   /* A: links of the free slots */
};

#define SL_ARENA_HEADER_BYTES \
	((sizeof(struct sl_arena) + SL_CHUNK_BYTES - 1) / SL_CHUNK_BYTES * SL_CHUNK_BYTES)
#define SL_ARENA_BYTES sl_arena_bytes(SL_CHUNK_CNT)

/* An arena has fewer chunks where the process may not make files that large (RLIMIT_FSIZE). */
static inline uint64_t sl_arena_bytes(uint32_t chunk_cnt)
{
	return SL_ARENA_HEADER_BYTES + (uint64_t)SL_CHUNK_BYTES * chunk_cnt;
}

/* The few totals by file of a thread, in its aggregate chunk. */
static inline struct sl_file_total *sl_file_few(struct sl_agg *agg)
{
	return (struct sl_file_total *)(void *)(agg + SL_FILE_FEW_AT);
}

static inline struct sl_chunk *sl_chunk_at(struct sl_arena *a, sl_ref ref)
{
	return (struct sl_chunk *)((char *)a + SL_ARENA_HEADER_BYTES) + (ref - 1);
}

/*
 * Lock-free stack of refs: @head as free_chunks, links in @link[ref - 1], of which there are @cnt. 0: it is empty, or another
 * process that maps it has led its head out of the links.
 */
static inline sl_ref sl_stack_pop(uint64_t *head, sl_ref *link, uint32_t cnt)
{
	uint64_t old = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	for (;;) {
		sl_ref top = (sl_ref)old;
		uint64_t want;

		if (!top || top > cnt)
			return 0;
		/* The link is stale if another thread popped @top meanwhile: then the count differs. */
		want = __atomic_load_n(&link[top - 1], __ATOMIC_RELAXED) | ((old >> 32) + 1) << 32;
		if (__atomic_compare_exchange_n(head, &old, want, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE))
			return top;
	}
}

static inline void sl_stack_push(uint64_t *head, sl_ref *link, sl_ref ref)
{
	uint64_t old = __atomic_load_n(head, __ATOMIC_RELAXED);

	for (;;) {
		__atomic_store_n(&link[ref - 1], (sl_ref)old, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(head, &old, ref | ((old >> 32) + 1) << 32, 0,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
}
