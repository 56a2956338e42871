/*
 * arena.h - the collector's state of each shared memory arena: its threads, the positions in their
 * rings, and the names and stacks from its records so far. The memory itself: preload/wire/arena.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/proc.h"
#include "collector/base/capture_window.h"
#include "collector/model/model.h"
#include "collector/model/record_family.h"
#include "collector/model/spool.h"
#include "preload/wire/arena.h"

/* Somewhere in a thread's ring. */
struct place {
	sl_ref chunk;
	uint32_t pos, seq;
};

/* One use of a slot. */
struct thread {
	struct {
		uint32_t instance; /* of the slot */
		uint32_t tid;      /* the collector's view */
		uint32_t ns_tid;   /* its own */
		int64_t global_tid;
		int64_t use; /* number of this thread in the report: SL_OSRT_TOTALS.instance */
	} id;
	struct {
		uint64_t read_to; /* ticks: everything it did before has been taken */
		sl_ref chunk;     /* where reading goes on */
		uint32_t pos;
		uint32_t saved; /* of chunk: the part in the report, committed */
		uint32_t seq;   /* of chunk */
		struct place
			prescanned; /* up to here (ring_reader.h), if further than chunk and pos */
		struct place watched; /* up to here triggers have seen it (trigger_watch.h) */
		sl_ref tail;          /* the last spooled chunk, while chunk is a spooled one */
		uint64_t last;        /* ticks: end of its last call */
	} at;
	struct image *image;
	struct {
		uint64_t call_start; /* a call that began then (ticks) has this stack: */
		uint32_t id;         /* 0 none */
	} stack;
	struct {
		bool has_moved; /* since the last commit */
		bool is_over; /* gone, drained, written: the slot can be given back after the commit */
		bool is_seen_gone; /* it was gone before the last reading of its ring */
		bool has_spent; /* chunks of its ring go back with the next commit: none is spooled before */
	} flags;
	char comm[SL_COMM_BYTES];
	struct {
		uint64_t agg_sum;      /* of all counts when the totals were written last */
		uint64_t lost, nested; /* losses since it began that were reported */
		uint64_t lost_of[SL_LOST_KINDS];
	} written;
	struct {
		struct sl_file_total *list; /* in the report, perhaps still in its chunk */
		size_t cnt, cap;
	} files;
	struct live_thread_calls live;
	struct {
		/* Rows of the open transaction, in case it fails; and rows that failed. */
		uint64_t rows, dead_rows;
		int64_t first_ns, last_ns, dead_first_ns, dead_last_ns;
	} txn;
};

/* A chunk that goes back once the transaction is safe. */
struct spent {
	uint32_t slot;
	sl_ref chunk, next;
};

#define STRINGS_PAGE 256u /* ids */

/* Texts by id, see strings.h. */
struct strings {
	char ***page; /* of STRINGS_PAGE texts; NULL: none of them is known */
	uint32_t pages;
	size_t bytes;         /* of all texts */
	uint64_t lost;        /* texts that were not kept */
	bool has_new;         /* since the last commit: */
	uint64_t is_new[256]; /* bit per page of STRINGS_PAGE ids */
};

/* A forked process of another PID namespace, by its hello: identity.c. */
struct forked {
	uint32_t number, ns_pid; /* as its slot will claim */
	uint32_t pid, parent_pid;
	uint64_t pid_ns; /* inode; 0 unknown */
	bool is_descendant;
};

/* A process whose hello may still come, since when: struct arenas.ever.accepts. */
struct early {
	uint32_t number, accepts;
};
#define EARLY_CNT 16

struct gpu_arena;
struct nvtx_arena;
struct stacks;

/* The processes that write to an arena: the creator, and those it forked. */
struct arena_peer {
	uint32_t pid;          /* creator, our view */
	uint32_t parent_pid;   /* likewise, of a creator in another PID namespace; 0 unknown */
	uint64_t pid_ns;       /* likewise: inode; 0 unknown */
	struct forked *forked; /* whose images are not known yet */
	uint32_t forked_cnt, forked_cap;
	struct early early[EARLY_CNT];
};

struct arena {
	struct arena *next;
	uint32_t id; /* in the session */
	struct sl_arena *map;
	struct {
		uint64_t bytes;
		uint64_t grown;         /* bytes that its records added to the collector's memory */
		uint64_t device, inode; /* of the memfd */
		uint64_t born;          /* ticks: hellos of forked processes name the arena by it */
		uint32_t chunk_cnt;     /* as checked; the program may change that of the header */
		struct spool *spool;    /* of all arenas; NULL: chunks are read in the ring */
	} mem;
	struct arena_peer peer;
	struct {
		bool is_foreign; /* lives in another PID namespace */
		bool is_over;    /* every image ended and every slot was given back */
		bool has_had_images;
		bool is_prescanned; /* in this round (ring_reader.h) */
		bool files_changed;
		bool is_bad; /* contents make no sense: left alone */
		bool is_file; /* that a keeper wrote: its records stay there until they are in the report */
		bool is_others; /* of a program of another user: its word counts for nothing */
		bool is_greedy; /* its records took too much of the collector's memory: they are dropped, counted */
	} flags;
	struct {
		struct thread **at; /* by slot */
		uint32_t cnt;
		uint32_t slots_in_use; /* when all threads were looked at last */
	} threads;
	struct image *images;
	const struct record_families *families;
	struct file_names names;
	struct strings strings;
	struct {
		struct gpu_arena *gpu;   /* gpu.c; NULL: no GPU record yet */
		struct nvtx_arena *nvtx; /* nvtx.c; likewise */
		struct stacks *stacks;   /* stacks.c; likewise */
	} family;
	struct {
		struct spent *list;
		size_t cnt, cap;
	} spent;
	struct {
		uint64_t unslotted_written;
		uint64_t corrupt;                /* records that were none */
		uint64_t greedy, greedy_written; /* records dropped since is_greedy */
	} counts;
	struct {
		void *state; /* positions of a previous collector (recover), see positions.c */
		size_t len;
	} saved;
};

/* State of GPUs in the whole report; see gpu.h. */
struct gpu_report {
	int64_t flush_ns; /* --cuda-flush-interval: CUPTI hands buffers over at least so often; 0: when they are full */
	int64_t ids_given; /* numbers of calls, see gpu_ids.c */
	struct {
		const char *folders;  /* the driver's, one for each GPU; NULL: those in /proc */
		uint8_t uuid[64][16]; /* by TARGET_INFO_GPU.id, see gpu_numbers.c */
		/* Bits by id: a GPU has it; sl-gpu, a process has reported the GPU, and its row is there. */
		uint64_t given, sampled, used;
	} gpus;
	bool has_changed;                        /* since it was saved for recover */
	bool no_um_cpu_faults, no_um_gpu_faults; /* not asked for, though CUPTI reports them */
	struct {
		uint64_t dropped;    /* records that CUPTI lost */
		uint64_t untimed;    /* ... that it had no times for */
		uint64_t backward;   /* ... that it had an end before the start for */
		uint64_t incomplete; /* buffers that ended in a record it had not completed */
	} lost;
	uint64_t hurried; /* records that did not wait as long as they should have */
	/* Prints a line on stderr; NULL: there is none. */
	void (*warn)(void *to, const char *text);
	void *warn_to;
	uint32_t said[16]; /* hashes of lines that were printed */
	uint32_t said_cnt;
};

/* An NVTX range that is to begin a capture, and opened ranges that nearly match it (collector/decode/nvtx/). */
struct sought_range {
	const char *range, *domain; /* domain "*": any */
	enum {
		SOUGHT_NONE,
		SOUGHT_NAME,   /* @text is spelt nearly so */
		SOUGHT_DOMAIN, /* the range, but in the domain @text; "": the default one */
		SOUGHT_PLAIN,  /* the range, but its message is no registered string */
	} near;
	char text[64];
	uint32_t compared; /* messages, of which the first thousands count */
};

struct arenas {
	struct model *model;
	struct db *db;
	struct clock_map *clock;
	struct spool *spool; /* NULL: none */
	struct arena *first;
	struct {
		/* Calls that ended later stay in the rings, ticks (flight recorder); 0: none does. */
		uint64_t hold;
		bool follows_files; /* in calls that have no row, too (flight recorder) */
		/* Subtracts from @g the counts from before the window began (flight recorder). NULL: none. */
		void (*since)(void *ctx, const struct thread *t, unsigned hook, struct sl_agg *g);
		void *ctx;
		/* Called before records of a thread are taken, all that are there (without a flight recorder: run/ranks.c). NULL: none. */
		void (*before)(void *ctx, struct arenas *as, struct arena *a, struct thread *t);
		void *before_ctx;
	} flight;
	uint32_t last_id;
	struct {
		int64_t uses;     /* threads seen */
		uint32_t accepts; /* how often all connections that waited were read */
		uint64_t rows;
		uint64_t outlived; /* threads with calls after the end of their image */
	} ever;
	struct {
		uint64_t refused; /* arenas of another build */
		uint64_t unsound; /* descriptors that are no rings, processes that are not traced */
		uint64_t no_room; /* arenas that could not be mapped */
		uint64_t full, other, disk; /* for the last line; disk: in commits that failed */
		const char *why;            /* the last of these did; NULL: none has */
		uint64_t of[SL_LOST_KINDS]; /* records that are no calls: rings full */
		uint64_t chunks; /* of the spool of a collector that died, which are gone */
		uint64_t corrupt;
		uint64_t greedy; /* records of arenas that are greedy */
	} lost;
	struct {
		uint64_t all, bytes; /* when it was looked at last; without symbols */
		size_t taken;        /* records since then */
		size_t threads;      /* ever */
		bool is_high;        /* rows should not wait for the commit */
		bool has_others;
	} memory;
	struct {
		const struct windows *windows; /* NULL: all is kept */
		uint32_t epoch;                /* number of the report; 0 any */
	} report;
	struct elders elders; /* processes that began before the session */
	struct gpu_report gpu;
	struct python *python;       /* NULL: not asked for */
	struct sought_range *sought; /* NULL: no range is waited for */
};

/* Is @ref a chunk of the ring? References in shared memory are not trusted. */
static inline bool arena_has_chunk(const struct arena *a, sl_ref ref)
{
	return ref - 1 < a->mem.chunk_cnt;
}

/* The chunk of a place that the collector keeps: in the ring or spooled. */
static inline struct sl_chunk *arena_chunk(const struct arena *a, sl_ref ref)
{
	return a->mem.spool && spool_is_ref(ref) ? spool_at(a->mem.spool, ref)
						 : sl_chunk_at(a->map, ref);
}

/* May reading go on from @ref, a place, to @next? Links of spooled chunks are the collector's own. */
static inline bool arena_leads(const struct arena *a, sl_ref ref, sl_ref next)
{
	return arena_has_chunk(a, next) || (spool_is_ref(ref) && spool_is_ref(next));
}

/*
 * Walks over all rings of an arena take no more steps than that: no two of them share a chunk, unless the program lies, and
 * its links lead in circles.
 */
static inline unsigned arena_hops(const struct arena *a)
{
	return SL_CHUNK_CNT + SL_SLOT_CNT + (a->mem.spool ? a->mem.spool->used : 0);
}

/* Slots below were used at some time; sl_slot.state: their present use. */
static inline uint32_t arena_fresh_slots(const struct arena *a)
{
	uint32_t n = __atomic_load_n(&a->map->fresh_slot, __ATOMIC_ACQUIRE);

	return n < SL_SLOT_CNT ? n : SL_SLOT_CNT;
}
