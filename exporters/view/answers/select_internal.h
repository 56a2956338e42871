/* select_internal.h - between the files that answer /v1/select. */
#pragma once

#include "collector/base/slots.h"
#include "exporters/view/answers/answer.h"
#include "exporters/view/answers/body.h"
#include "exporters/view/index/lod.h"

#define VIEW_ROWS_MAX 2000 /* names in an answer */

/* Events that the edges of the span cut: their lengths say nothing of whole events. */
struct cut {
	uint64_t cnt;
	int64_t total, min, max;
};

/* A duration that stands for several. */
struct weighed {
	float dur, weight;
};

struct group {
	enum view_kind kind;
	uint32_t name, row; /* row 0: of any */
	bool is_folded;
	struct cut cut;
	uint64_t cnt; /* whole events */
	int64_t total, min, max;
	unsigned __int128 squares;
	int64_t *kept; /* durations; a sample of them where there are more */
	size_t kept_cnt, kept_room;
	uint64_t next; /* number of the next duration that is kept; 0: all are */
	double chance;
	uint64_t summed; /* of cnt: events of totals, which come after all others */
	struct weighed *weighed;
	size_t weighed_cnt, weighed_room;
	int64_t inner; /* time in events that are nested in these, in the same row */
	double p;      /* against the other report: see select_test.c; -1: not tested */
};

struct select {
	struct view_store *v;
	int64_t from, to;
	struct group *groups;
	size_t cnt, room;
	/*
	 * Group + 1 by name, by bucket: a kind, or a row of ranges on the GPU, for a range may have a part on each stream; by thread, a kind
	 * of each thread or GPU.
	 */
	struct bucket {
		enum view_kind kind;
		uint32_t row;
		uint32_t *of_name;
	} * buckets;
	size_t bucket, bucket_cnt, bucket_room; /* bucket: of the lane */
	uint32_t *
		stem; /* by number of a name of a range, + 1: the first name that folds to the same */
	struct slots stems;
	uint32_t name_cnt;
	uint64_t events;
	size_t kept;
	uint64_t random;
	enum view_kind kind; /* of the lane */
	bool by_totals, by_thread;
	bool has_inner; /* nested events were few enough to look at each */
	bool failed;
};

/* Of the whole events; sorts the kept durations. */
double view_median_of(struct group *g);
double view_deviation_of(const struct group *g);

/* select.c: the group of a name in a row; NULL: no memory. The store's lock is held. */
struct group *view_group_of(struct select *s, const struct view_row *row, uint32_t name);
/* Reads the events of a span; groups by total. view_select_free() in any case. */
void view_select(struct select *s, struct view_store *v, const struct view_span *span);
void view_select_free(struct select *s);

/* select_self.c: adds the time of nested events to the groups that they are nested in. */
void view_add_inner(struct select *s, const struct view_span *span);
/* select_test.c: tests the names of @s against those of another report. */
void view_test_names(struct select *s, struct select *other);
