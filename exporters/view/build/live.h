/*
 * live.h - a report that grows: rows added since the last look go into the existing lanes, so that a look costs only as much as
 * the new rows.
 */
#pragma once

#include "exporters/view/build/build.h"

struct view_live;

/* For a report whose present rows the next run of the timeline reads, bounded by view_live_rows(). NULL: no memory. */
struct view_live *view_live_new(sqlite3 *db);
void view_live_free(struct view_live *l);
/* tl_options.rows */
bool view_live_rows(void *live, const char *table, int64_t *after, int64_t *upto);
/* Takes the present end of all tables at once: the next run reads the rows added since the last call. 0, -1. */
int view_live_next(struct view_live *l, sqlite3 *db);
/* The number of new rows. */
int64_t view_live_new_rows(const struct view_live *l);
/* Has the report twice as many rows as when the index was made? */
bool view_live_has_doubled(const struct view_live *l);

/* The way in which events of a run join a row; view_live_put() is called by the sink. 0, -1: no memory. */
enum view_how {
	VIEW_ADDED,   /* to the present events, at any time */
	VIEW_INSTEAD, /* of the present events from the first new one on */
	VIEW_ON_TOP,  /* of a counter: its values are added to the present values */
};
int view_live_put(struct view_live *l, const struct view_row *row, enum view_how how,
		  const struct view_event *e);
/* Writes the events into the lanes, after the run. 0, -1: the index cannot be used any more. */
int view_live_take(struct view_live *l, struct view_store *v);
/* The number of events that were written again because new events began before them. */
uint64_t view_live_moved(const struct view_live *l);
