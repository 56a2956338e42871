/*
 * totals.h - sums of a stretch of a lane by name, in the side file. A stretch is the 512 blocks below one node of level 3, which
 * has the place of the sums. So totals of all events are the sum of a few thousand records and of the edges.
 */
#pragma once

#include "exporters/view/index/lod.h"

#define VIEW_TOTALS_LEVEL  3
#define VIEW_TOTALS_BLOCKS 512
/* A stretch with more names has no totals: they would take too much beside its events. */
#define VIEW_TOTALS_NAMES 200
#define VIEW_TOTALS_KEPT  24
/* In a stretch with more names than this, each name keeps half as many durations. */
#define VIEW_TOTALS_FEW 80
/* A stretch with a longer event has no totals: so no sum in a record can overflow. */
#define VIEW_TOTALS_NS (INT64_C(1) << 48)

/* A selection of more events than this is summed up of totals. Tests make it small. */
extern uint64_t view_exact_most;
/* Beyond the limit on durations, each name keeps this many; with totals, which are many, some more. */
extern size_t view_sample_min;

struct view_total {
	uint32_t name, cnt;
	int64_t total, min, max;
	uint64_t squares[2]; /* the sum of squares: its lower and its upper half */
	uint32_t kept_cnt;   /* durations that stand for all: each step-th of them */
	uint32_t step;
	float kept[VIEW_TOTALS_KEPT];
};

#define VIEW_TOTALS_SLOTS 512

/* Totals of the stretch that is being written. */
struct view_totals {
	struct view_total *t;
	uint32_t cnt, room;
	uint8_t slot[VIEW_TOTALS_SLOTS]; /* by name: number in t, + 1 */
	bool is_off;                     /* too many names, or too long */
};

#define VIEW_TOTAL_BYTES  56 /* of a record, with kept behind it */
#define VIEW_TOTALS_BYTES (4 + VIEW_TOTALS_NAMES * (VIEW_TOTAL_BYTES + 4 * VIEW_TOTALS_KEPT))

void view_totals_begin(struct view_totals *s);
void view_totals_add(struct view_totals *s, const struct view_event *e, unsigned cnt);
/* Bytes at @to, which has room for VIEW_TOTALS_BYTES; 0: there are none. */
size_t view_totals_pack(struct view_totals *s, uint8_t *to);
void view_totals_free(struct view_totals *s);

/* Calls @each for all totals of stretch @i of a reader's lane. False: for none, as there are none, or damaged ones. */
bool view_reader_totals(struct view_reader *r, uint32_t i,
			void (*each)(void *ctx, const struct view_total *t), void *ctx);
