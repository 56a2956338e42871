/*
 * flight_store.h - the flight recorder's event store: context switches, CPU samples and totals of short calls of the last
 * moments, in memory.
 *
 * Records go into parts, in the order of time. Each part is whole by itself, as a report is: it has
 * the stacks, mappings and Python code of its samples, and the totals of all threads at its
 * beginning. So the oldest part can be dropped at any time, and with it the stacks that only it
 * refers to. Events that change processes (fork, exec, exit, names) are not held back.
 */
#pragma once

#include "collector/base/clock_map.h"
#include "collector/capture/flight/flight_ring.h"
#include "collector/kernel/sample/sample.h"
#include "collector/model/model.h"
#include "collector/report/db_map.h"

struct flight_part;

/* The thread that runs on a CPU; tid 0: none, or not known. */
struct flight_cpu {
	uint32_t pid, tid;
};

struct flight_store {
	struct arenas *arenas;
	struct sample *sample; /* NULL: no samples */
	struct {
		int64_t ns;     /* length of a part, at most */
		uint64_t bytes; /* the same, besides totals */
	} part;
	struct flight_part *first, *last;
	struct db_map codes; /* that the last part has */
	uint64_t bytes;      /* of all parts */
	bool is_torn;        /* a record is missing in the last part: there was no memory */
	bool has_begun;
	struct sample_losses seen;   /* of which the parts know */
	struct sample_losses losses; /* in reports, all together */
	struct {
		uint64_t samples, switches; /* for which there was no memory, not yet in a report */
	} lost;
	struct {
		/* On each CPU when the first part begins. */
		struct flight_cpu *list;
		uint32_t cnt;
	} cpus;
	struct db_map base; /* records of totals at the beginning of the window that is written */
};

/* How many stacks are recognized again, where the recorder has @bytes. */
size_t flight_store_stacks(uint64_t bytes);
/* For a recorder of @ns and @bytes; @sample may be NULL. */
void flight_store_open(struct flight_store *q, struct arenas *as, struct sample *sample, int64_t ns,
		       uint64_t bytes);
void flight_store_release(struct flight_store *q);

/* Before events are added: begins another part when it is time. @now: CLOCK_MONOTONIC, as all times here. */
void flight_store_turn(struct flight_store *q, int64_t now);
/* For sched_poll(); ctx is the store. */
extern const struct sched_ops flight_store_sched_ops;
/* As sample_poll(). */
void flight_store_poll_samples(struct flight_store *q, int64_t now, bool all);

/* Memory of the store, and of the tables that recognize stacks. */
uint64_t flight_store_bytes(const struct flight_store *q);
/* Adds the parts that can be dropped to @ages. */
void flight_store_look(const struct flight_store *q, struct flight_ages *ages);
/* Drops parts that ended before, but the last one. */
void flight_store_forget(struct flight_store *q, int64_t mono);

/*
 * Switches in [@from, @to) go to the model, as between sched_resume() and sched_pause(): a thread
 * that runs at the beginning gets an in, one that runs at the end an out. Returns their number.
 * Samples of that time go to @sink (NULL: none) with their stacks, mappings and code; losses of
 * that time are added to q->losses.
 */
uint64_t flight_store_write(struct flight_store *q, int64_t from, int64_t to,
			    const struct sample_sink *sink);

/* A window from @from on is written: flight_store_since() subtracts totals of then, about. Until flight_store_over(). */
void flight_store_base(struct flight_store *q, int64_t from);
void flight_store_over(struct flight_store *q);
/* arenas.since. Shortest and longest cannot be subtracted: they stay those since the thread began. */
void flight_store_since(void *ctx, const struct thread *t, unsigned hook, struct sl_agg *g);
