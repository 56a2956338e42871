/*
 * walk.h - where the time of a thread went: each instant of a span belongs to exactly one leaf. Running time is the thread's own;
 * a wait belongs to the thread that ended it, as that thread's time during the wait, and so on.
 */
#pragma once

#include "collector/base/slots.h"
#include "exporters/why/model/model.h"
#include "exporters/why/model/place.h"

enum why_reason {
#define REASON(id, text, part, colour, ends) WHY_##id,
#include "exporters/why/walk/reasons.def"
	WHY_REASON_CNT
};

struct why_cause {
	uint32_t reason; /* enum why_reason */
	uint32_t place;  /* PLACE_NONE: none */
	uint32_t name;   /* of the call or the kernel; WHY_NONE: none */
	uint32_t object; /* path or peer; WHY_NONE: none */
};

/* How a leaf was reached: a thread waited, and the next hop is the thread that ended the wait. */
struct why_hop {
	uint32_t parent; /* 0: the focus thread itself */
	uint32_t thread; /* the waiting thread */
	struct why_cause cause;
};

struct why_leaf {
	struct why_cause cause;
	uint32_t process; /* of the thread */
	uint32_t hop;     /* the last wait on the way to it; 0: the focus thread's own time */
	uint32_t thread;  /* one of the threads with this leaf */
	int64_t ns;
	int64_t cnt;    /* pieces */
	int64_t calls;  /* calls that begin in the leaf, on a CPU */
	int64_t itself; /* of ns: compiled code of the place itself computes, and calls nothing */
	double sure; /* of 0..1: share of ns that was reached over measured edges and has a measured reason */
	uint32_t piece; /* its last piece, + 1 */
	uint32_t
		disk; /* number of an object: the block device that had @disk_ns of it; WHY_NONE: several */
	int64_t disk_ns;
};

/* A leaf's share of one span. */
struct why_piece {
	uint32_t span, leaf;
	int64_t ns;
};

/* The end of a wait. */
struct why_wake {
	struct why_cause cause;
	double sure;      /* of the cause */
	double edge_sure; /* of the waker */
	int64_t woken;    /* when the thread had become runnable; INT64_MAX: never */
	uint32_t waker;   /* the thread that the wait is due to; WHY_NONE: a timer, or not known */
	bool is_series;   /* the waker is that of a later wait at the same place: walk_series() */
	bool is_last;     /* of a series whose waker ended no wait */
};

/* Waits of a thread that are one with what ended them: those that begin with switches in [@first, @last). */
struct why_series {
	size_t first, last;
	uint32_t waker; /* of what ended them; WHY_NONE: a time limit, or not known */
	bool is_found;  /* the waker ended no wait: the look after the last wait found something */
};

typedef void walk_span(void *ctx, const struct why_cause *cause, int64_t ns);

/* Called for each leaf, in the order of time. */
typedef void walk_seen(void *ctx, uint32_t thread, const struct why_cause *cause, int64_t ns);

struct walk {
	const struct why_model *m;
	struct places places;
	WHY_LIST(why_leaf, leaves);
	WHY_LIST(why_hop, hops); /* hops[0]: none */
	struct slots leaf_of, hop_of;
	uint8_t *reason_of; /* by number of a name: enum why_reason + 1, WHY_IO; 0: not looked up */
	uint8_t *object_is; /* likewise by number of an object */
	struct why_series *series; /* by thread: the one last looked at */
	walk_span *span;           /* of walk_own() */
	void *span_ctx;
	walk_seen *seen; /* NULL: only sums are kept */
	void *seen_ctx;
	struct {
		uint32_t disk;
		int64_t ns;
	} io;               /* of the next leaf, likewise */
	uint32_t range;     /* place of what has no stack now: an NVTX range; PLACE_NONE: none */
	uint32_t *range_of; /* by number of a name of ranges: its place */
	bool interprets;    /* the next leaf computes in CPython, with the GIL */
	bool is_short;      /* of memory */
	bool keeps_pieces;
	const uint32_t *
		group_of; /* by process: its rank + 1, 0: none; NULL: no ranks, and every wait is followed */
	uint32_t
		group; /* rank that is covered now: a wait for another rank is a wait, and not followed */
	uint32_t span_no; /* of the span that is covered now */
	WHY_LIST(why_piece, pieces);
};

/* SQLite's result code. */
int walk_open(struct walk *w, const struct why_model *m);
/* Adds the leaves of [@from, @to) of @thread. */
void walk_cover(struct walk *w, uint32_t thread, int64_t from, int64_t to);
/* SQLite's result code, after all spans. */
int walk_end(const struct walk *w);
/* Finds the end of the wait that begins with switch @i of @thread. */
void walk_wake(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake);
/* Calls @span for each part of @thread's own time in [@from, @to), in order; no wait is followed. After walk_open(). */
void walk_own(struct walk *w, uint32_t thread, int64_t from, int64_t to, walk_span *span,
	      void *ctx);
void walk_free(struct walk *w);
/* Is it a wait that another thread, a process or a peer ends? */
bool walk_waits_for_others(uint32_t reason);

const char *why_reason_text(uint32_t reason);
const char *why_reason_name(uint32_t reason); /* for programs: "file", "no_cpu" */
