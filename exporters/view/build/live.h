/*
 * live.h - a report that grows: what its tables have more than a second ago goes into the lanes that are there, so that each look
 * costs as much as what is new.
 */
#pragma once

#include "exporters/view/build/build.h"

struct view_live;

/* For a report whose rows up to now are what the next run of the timeline reads: view_live_rows() bounds it. NULL: no memory. */
struct view_live *view_live_new(sqlite3 *db);
void view_live_free(struct view_live *l);
/* tl_options.rows */
bool view_live_rows(void *live, const char *table, int64_t *after, int64_t *upto);
/* All rows that the tables have now, all at once: the next run reads those that came. 0, -1. */
int view_live_next(struct view_live *l, sqlite3 *db);
/* How many of them there are. */
int64_t view_live_new_rows(const struct view_live *l);
/* Is that as many as there were when the index was made? */
bool view_live_has_doubled(const struct view_live *l);

/* From the sink: events of the run, each for a row. 0, -1: no memory. */
enum view_how {
	VIEW_ADDED,   /* to what is there, wherever it begins */
	VIEW_INSTEAD, /* of what is there from the first of them on */
	VIEW_ON_TOP,  /* of a counter: its values are added to those that are there */
};
int view_live_put(struct view_live *l, const struct view_row *row, enum view_how how,
		  const struct view_event *e);
/* After the run: into the lanes. 0, -1: the index is of no use any more. */
int view_live_take(struct view_live *l, struct view_store *v);
/* Events that were written again because others began before them. */
uint64_t view_live_moved(const struct view_live *l);
