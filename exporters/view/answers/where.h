/* where.h - where a row of the report is drawn, and the other way round. */
#pragma once

#include "exporters/view/index/lod.h"
#include "exporters/view/answers/answer.h"

/* An event and its lane: END on the wire. */
struct view_place {
	uint32_t lane, row;
	struct view_event e;
};

/* The event of a lane that is, or is nearest to, @t, not farther than @far. */
bool view_find_at(struct view_store *v, uint32_t lane, int64_t t, int64_t far,
		  struct view_place *place);
/* The first event that starts after @t, @dir 1, or the last event that starts before @t, -1. */
bool view_find_next(struct view_store *v, uint32_t lane, int64_t t, int dir,
		    struct view_place *place);
/* The event with @name that starts at @t. */
bool view_find_named(struct view_store *v, uint32_t lane, int64_t t, uint32_t name,
		     struct view_place *place);
/* The event of row @rowid of @table, which starts at @t of the report. */
bool view_find_row(struct view_store *v, const char *table, int64_t rowid, int64_t t,
		   struct view_place *place);
/* The lane with the states of a thread; 0: none. */
uint32_t view_state_lane(struct view_store *v, int64_t global_tid);

void view_put_place(struct writer *b, const char *key, struct view_store *v,
		    const struct view_place *place);
void view_put_fields(struct writer *b, struct view_store *v, const struct view_place *place);
