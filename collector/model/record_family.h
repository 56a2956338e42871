/*
 * record_family.h - the functions that the transport (collect/) calls for one kind of records. A
 * family owns its state of an arena. Members that a family has no use for are NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/model/decode.h"

struct arenas;
struct arena;
struct image;
struct thread;

struct record_family {
	/* Keeps the names and descriptions in @c, not drained yet. @process: number of its image in the arena. */
	void (*prescan)(struct arena *a, uint32_t process, const struct call *c);
	/* Turns @c into rows, or keeps it until settle. On the path of every record. */
	void (*record)(struct arenas *as, struct thread *t, const struct call *c);
	/* A thread of @im was found. A thread is over at @ns (DB_NULL: unknown) and its ring is drained. */
	void (*thread_begin)(struct arenas *as, const struct image *im);
	void (*thread_end)(struct arenas *as, struct thread *t, int64_t ns);
	/* Once per tick: writes rows that are complete. @all: the report ends, or all processes of the arena have. */
	void (*settle)(struct arenas *as, struct arena *a, bool all);
	/* Writes the family's state for recover in the open transaction (0 or -errno), and reads it again. */
	int (*save)(struct arenas *as, struct arena *a);
	void (*restore)(struct arenas *as, struct arena *a);
	/* The transaction was committed; or it failed, and the rows in it are lost. */
	void (*committed)(struct arena *a);
	void (*lost)(struct arenas *as, struct arena *a);
	/* The report ends at @end (session ns) while the programs go on. */
	void (*cut)(struct arenas *as, struct arena *a, int64_t end);
	/* Session time 0 moves by @shift ns, after settle of all. */
	void (*rotate)(struct arena *a, int64_t shift);
	/* Writes open calls and ranges, and frees the family's state of the arena. */
	void (*release)(struct arenas *as, struct arena *a);
};

#define RECORD_FAMILIES 5u
/* Index in by_shape of the stack records, which share SL_SHAPE_META with others. */
#define SHAPE_STACK ((unsigned)SL_SHAPE_CNT)

struct record_families {
	/* Restored and saved in this order, released in the other: later ones refer to earlier ones. */
	const struct record_family *list[RECORD_FAMILIES];
	const struct record_family *by_shape[SL_SHAPE_CNT + 1];
};

static inline const struct record_family *record_family_of(const struct record_families *all,
							   const struct call *c)
{
	bool is_stack = c->shape == SL_SHAPE_META && c->hook >= SL_META_CHAIN &&
			c->hook <= SL_META_CODE_LINES;

	return all->by_shape[is_stack ? SHAPE_STACK : c->shape];
}
