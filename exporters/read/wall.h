/*
 * wall.h - the wall time of a report: the one span of time that every share of every table, rule and page is a share of.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporters/read/db_filter.h"

enum wall_basis {
	WALL_NONE, /* the report has neither events nor a duration: 0 ns */
	WALL_ROOT, /* life of the root process: the first traced process that no traced process started */
	WALL_ROOTS,    /* of several such processes: from the first start to the last end */
	WALL_EVENTS,   /* from the first event to the last: the report has no process tree */
	WALL_RECORDED, /* the whole time that was recorded: no events either */
};

struct wall {
	int64_t start, end; /* ns, session axis; end >= start */
	int64_t recorded;   /* ns that the session lasted; 0: not known */
	enum wall_basis basis;
};

/*
 * Reads the wall time from the tables as @db shows them, after db_filter_apply() of @f (NULL: none): a filter by time cuts
 * the wall to the span of its times, as does a report of captures (SL_CAPTURES). Returns SQLite's result code.
 *
 * The tables of events are read if wall_is_of_events(), other than those that temp.event_spans(name, first, last) has.
 */
bool wall_is_of_events(sqlite3 *db, const struct db_filter *f);
int wall_read(sqlite3 *db, const struct db_filter *f, struct wall *w);

/* Times of a report may be any number: within these, no difference of two overflows. */
#define WALL_FAR (INT64_C(1) << 61)
static inline int64_t wall_time(int64_t t)
{
	return t > WALL_FAR ? WALL_FAR : t < -WALL_FAR ? -WALL_FAR : t;
}

/* Makes the wall time a table for queries: temp.wall, one row (start, end, ns), none for WALL_NONE. */
int wall_table(sqlite3 *db, const struct db_filter *f, struct wall *w);

static inline int64_t wall_ns(const struct wall *w)
{
	return w->end - w->start;
}

/* "life of the root process" and so on, for the text beside a figure. */
const char *wall_basis_text(enum wall_basis basis);
