/* sweep.h - ranges and calls of each thread, in order of time; the callbacks of struct sweep_way decide their use. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/events/sorter.h"

enum range {
	A_TID, /* in this order they are swept */
	A_START,
	A_SEQ,
	A_KEYS,
	A_END = A_KEYS,
	A_STYLE,
	A_DOMAIN,
	A_TEXT,
	A_TEXT_ID,
	A_WORDS,
};

enum call {
	C_TID,
	C_START,
	C_END,
	C_KEYS,
	C_N = C_KEYS, /* work that it gave the GPU */
	C_FIRST,
	C_LAST,
	C_WORDS,
	/* or one piece of it */
	C_KERNEL = C_N,
	C_DUR,
};

struct sweep_range { /* one that is open */
	int64_t range[A_WORDS];
	uint64_t mark;
	int64_t name; /* 0, for the way to use */
};

struct sweep_call { /* one that does not count yet */
	int64_t call[C_WORDS];
	uint64_t mark;
};

struct sweep {
	const struct sweep_way *way;
	void *ctx;
	struct sweep_range *open; /* a heap, the next to end first */
	size_t opens, open_room;
	struct sweep_call *pending; /* in order of time */
	size_t pendings, pending_room;
};

/* Callbacks with a result of type int return SQLite's result codes. */
struct sweep_way {
	/* The marks of a range that begins, and of a call. */
	int (*begin)(struct sweep *s, uint64_t *mark);
	uint64_t (*call)(struct sweep *s);
	/* The call counts, for all open ranges that began before it. */
	int (*apply)(struct sweep *s, const struct sweep_call *c);
	/* The range is no longer open; may be NULL. */
	int (*end)(struct sweep *s, const struct sweep_range *r);
};

int sweep(struct sorter *ranges, struct sorter *calls, const struct sweep_way *way, void *ctx);

/* sorter_next() with NULL after the last one, and SQLITE_OK for both. */
int sweep_next(struct sorter *from, const int64_t **record);
