/* pieces.h - the walk in the order of time: equal leaves in a row are one piece. */
#pragma once

#include "collector/base/slots.h"
#include "exporters/why/walk/gpu.h"
#include "exporters/why/walk/walk.h"

/* Pieces with the same cause in the same thread. */
struct why_piece_kind {
	struct why_cause cause;
	uint32_t thread;
	int64_t ns;         /* of all of them */
	int64_t start, end; /* of the longest piece */
};

/* From @start to the start of the next piece. */
struct why_slice {
	int64_t start;
	uint32_t kind;
};

struct why_pieces {
	WHY_LIST(why_piece_kind, kinds);
	struct slots by_kind;
	WHY_LIST(why_slice, slices); /* only if @keeps_slices */
	bool keeps_slices;
	bool is_short; /* of memory */
	/* how far the walk is, and the piece that it is in */
	int64_t at, since;
	uint32_t last; /* WHY_NONE: none yet */
};

/*
 * Zeroed at first. Covers [@from, @to) of a thread, or of a GPU, with @w, whose leaves grow; several spans in order of time. Slices
 * end with one of kind WHY_NONE.
 */
void why_pieces_cover(struct why_pieces *p, struct walk *w, uint32_t thread, int64_t from,
		      int64_t to);
void why_pieces_cover_gpu(struct why_pieces *p, struct walk *w, const struct why_gpu *g,
			  int64_t from, int64_t to);
/* The kind with the longest piece of a cause, in any thread: leaves of several threads may be one. NULL: there is none. */
const struct why_piece_kind *why_pieces_longest(const struct why_pieces *p,
						const struct why_cause *cause);
/* NULL: there is no such piece. */
const struct why_piece_kind *why_piece_of(const struct why_pieces *p, const struct why_cause *cause,
					  uint32_t thread);
void why_pieces_free(struct why_pieces *p);
