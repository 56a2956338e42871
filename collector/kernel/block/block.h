/*
 * block.h - requests to block devices, of the process tree and of the kernel's own threads (which write back, and keep
 * journals); system-wide, of all.
 *
 * By eBPF alone (bpf/blockio.bpf.c): the tree is that of a struct sched. A request has its row when it is done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sched/sched.h"
#include "collector/source/event_source.h"

extern const struct event_source block_source;

struct block;
struct db;
struct windows;

struct block_ask {
	const struct sched_maps *kernel; /* NULL: there is no eBPF */
	bool system_wide;
	/* The descriptor of the ring, to be polled edge-triggered: readable when it is time for block_write(). May be NULL. */
	void (*on_ring)(void *ctx, int fd);
	void *ctx;
};

/* Sizes, for tests to make small, and how many of the ways of loading to leave out; 0: its own choice. */
struct block_tuning {
	size_t ring_bytes;
	unsigned way;
};
extern struct block_tuning block_tuning;

/* NULL, and one sentence in @why: unavailable. */
struct block *block_open(const struct block_ask *ask, char *why, size_t why_len);
/* Requests that begin while it is off are not recorded. */
void block_record(struct block *b, bool on);

/*
 * Writes rows of the requests that began and were done in @windows. Requests that began at @hold
 * (CLOCK_MONOTONIC) or later wait for the next report. @zero: CLOCK_MONOTONIC at session time 0.
 */
struct event_rows block_write(struct block *b, struct db *db, const struct windows *windows,
			      int64_t zero, int64_t hold);
/*
 * Requests without a row: the kernel's buffer was full, too many were under way, a program was interrupted, or the end of a
 * request was not seen. Monotonic.
 */
uint64_t block_lost(const struct block *b);
/* Stops recording; recorded requests can still be written. */
void block_stop(struct block *b);
void block_close(struct block *b);
