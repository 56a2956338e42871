/* flight_store_internal.h - records of the event store; for flight_store*.c alone. */
#pragma once

#include <stddef.h>

#include "collector/capture/flight/flight_store.h"
#include "collector/report/db.h"

#define WAKE_BITS 38

enum kind {
	RECORD_SPACE,
	RECORD_MODULE,
	RECORD_CODE,
	RECORD_STACK,
	RECORD_SAMPLE,
	RECORD_LOSSES,
	RECORD_SWITCH,
	RECORD_TOTAL,
};

/* struct sched_switch in two thirds of its size. */
struct packed_switch {
	uint64_t time_ns;
	uint32_t pid, tid, waker_pid, waker_tid;
	uint64_t wakeup : WAKE_BITS; /* so long before, + 1; 0 unknown */
	uint64_t cpu : 12, is_in : 1, state : 3, preempted : 2 /* + 1 */, priority : 8 /* + 1 */;
};

struct space {
	int64_t id, parent, global_pid;
};
struct stack {
	int64_t id, space;
	uint64_t ns, cnt;
};
struct losses {
	int64_t ns;
	struct sample_losses l;
};
struct total {
	int64_t global_tid, use;
	uint64_t hook;
	struct sl_agg agg;
};

/* A record; its kind decides the member in use, and the texts or frames behind it. */
struct record {
	uint32_t kind, bytes; /* all of it, a multiple of 8 */
	union {
		struct space space;
		struct db_module module; /* path, build id */
		struct db_code code;     /* file, name, lines */
		struct stack stack;      /* frames */
		struct sample_row row;
		struct losses losses;
		struct packed_switch sw;
		struct total total;
	};
};
#define HEAD offsetof(struct record, space)
/* The bytes behind member @m. */
#define TAIL(r, m) ((char *)&(r)->m + sizeof((r)->m))

struct block {
	struct block *next;
	size_t used, room;
	uint64_t data[];
};
#define BLOCK_BYTES (SL_CHUNK_BYTES - sizeof(struct block))

struct flight_part {
	struct flight_part *next;
	struct block *first, *last;
	uint64_t bytes, totals; /* all; of totals */
	int64_t begun, last_ns; /* last_ns: of its events, or when it ended */
};

#define LOSSES (sizeof(struct sample_losses) / sizeof(uint64_t))
_Static_assert(sizeof(struct sample_losses) == LOSSES * sizeof(uint64_t), "numbers alone");

/* @take is given every record of the part. */
void flight_part_each(const struct flight_part *p, void (*take)(void *ctx, struct record *r),
		      void *ctx);
/* Notes which thread runs on which CPU after this switch. */
void flight_store_step(struct flight_store *q, const struct packed_switch *e);
