/* sched_bpf.h - the user half of bpf/ctxsw.bpf.c; for sched_bpf.c and sched_bpf_open.c alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/bpf/ctxsw.h"
#include "collector/kernel/sched/sched_load.h"

struct calls;
struct ring_buffer;
struct sched;

#define LIVES_BYTES (1u << 20)

union life {
	struct rec_head head;
	struct rec_task task;
	struct rec_life life;
};

struct taken_life {
	union life record;
	char *text; /* EXEC: path and arguments as in struct rec_exec; NULL: unknown */
	uint16_t path_len, args_len;
};

struct bpf {
	struct ctxsw_loaded loaded;
	struct {
		struct ctxsw_shared *shared;
		struct ctxsw_ring *rings;
		const struct rec_switch *switches;
		const uint8_t *flags; /* enum ctxsw_flag of each thread */
		size_t shared_bytes, rings_bytes, switches_bytes;
		unsigned slots; /* per CPU; a power of two */
	} map;
	struct {
		struct ring_buffer *ring;
		struct taken_life
			*list; /* taken out of lives_ring, sorted by time, not handed over yet */
		size_t cnt, at, max;
		uint64_t taken;   /* bytes, out of lives_ring, ever */
		uint64_t dropped; /* for lack of memory */
	} lives;
	struct calls *calls;     /* NULL: not asked for, or unavailable */
	uint64_t *next_ns;       /* per CPU, of lives, per CPU of calls: see sched_merge() */
	uint64_t *heads, *tails; /* per CPU: bytes that this poll may read, and has read */
	struct {
		uint64_t ns;           /* since when; 0: not, or no matter */
		bool is_cold;          /* the programs of the hot path are detached */
		uint64_t dead_windows; /* in which they could not be attached */
	} pause;
};

/* Loads it, maps its memory, attaches. 0 or -errno; @why and @fix as those of a struct sched_driver. */
int sched_bpf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len);
/* Runs the iterator over all threads once. */
int sched_bpf_iterate(struct bpf *b);
