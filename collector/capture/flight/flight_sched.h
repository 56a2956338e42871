/*
 * flight_sched.h - context switches of the last moments, in memory (flight recorder).
 *
 * Rows come from sched_poll() in the order of time and go into blocks as large as a ring's chunk, so that the recorder
 * lets both go by the same rule. What tells who is who (fork, exec, exit, names) passes through at once.
 */
#ifndef SL_FLIGHT_SCHED_H
#define SL_FLIGHT_SCHED_H

#include "collector/capture/flight/flight_ring.h"
#include "collector/model/model.h"

struct flight_block;

/* Who is on a CPU; tid 0: nobody, or not known. */
struct flight_cpu {
	uint32_t pid, tid;
};

struct flight_sched {
	struct model *model;
	struct flight_block *first, *last;
	uint64_t bytes;
	uint64_t lost; /* rows for which there was no memory */
	/* On each CPU when the first block begins. */
	struct flight_cpu *cpu;
	uint32_t cpus;
};

/* For sched_poll(); ctx is the struct flight_sched. */
extern const struct sched_ops flight_sched_ops;

/* Adds the blocks to @ages. */
void flight_sched_look(const struct flight_sched *q, struct flight_ages *ages);
/* Forgets what is older, in blocks. */
void flight_sched_forget(struct flight_sched *q, uint64_t ticks);
/*
 * Tells the model of the switches in [from, to), CLOCK_MONOTONIC ns; as sched_resume() and sched_pause() would: who runs
 * at the beginning gets an in, who runs at the end an out. Rows.
 */
uint64_t flight_sched_tell(const struct flight_sched *q, uint64_t from, uint64_t to);
void flight_sched_release(struct flight_sched *q);

#endif
