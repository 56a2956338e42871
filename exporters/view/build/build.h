/* build.h - from a report to a store: the timeline's walk, once, in a thread of its own. */
#pragma once

#include "exporters/view/index/store.h"

/* Events in the first part of a report with ten times as many. Tests make it small. */
extern int64_t view_first_part;
/*
 * Takes the side file if it is of this report; else walks the report and makes the file, with @v growing meanwhile. @stop: set
 * to end early. 0, or -1 after v->state and v->message are set.
 */
int view_build(struct view_store *v, const bool *stop);
/* After it, until @stop: follows a report that grows, and one that goes away; makes a damaged index anew. */
void view_watch(struct view_store *v, const bool *stop);

/* ---- inner: build.c, tracks.c, states.c ---- */

#define VIEW_WHY 512

#define VIEW_DEPTH_MAX 256
#define VIEW_NEAR      (1 << 16)

/* Events of a kind on a track: a lane for each depth. */
struct view_nest {
	struct view_row *row;
	uint32_t open;
	struct {
		struct view_lane *lane;
		int64_t end;
	} at[VIEW_DEPTH_MAX]; /* side by side, as they are looked at */
};

/* Rows and lanes of a track; tl_track.of_sink. */
struct view_track {
	const struct tl_track *track;
	struct view_row
		*group; /* thread, process, device, machine; of CPUs and counters their row */
	struct view_nest *nests[VIEW_KINDS];
	struct view_lane *lane; /* of counters, CPUs; of threads their states */
	uint32_t name;          /* how a CPU's lane calls the thread; 0: not yet known */
	/* the state that a thread is in, and a CPU's thread */
	int64_t since, row;
	uint32_t runs; /* name of the thread; 0: none */
	uint32_t state;
	bool is_known, is_resumed;
	struct view_track *next;
};

struct view_states;
struct view_live;
struct view_files;

struct view_builder {
	struct view_store *v;
	sqlite3 *db;
	const bool *stop;
	struct view_track *tracks;
	struct view_states *states;
	struct view_files *files; /* NULL: of a part of the report */
	struct view_live *bounds; /* of a report that grows: the rows that are read; NULL: all */
	struct view_live *live;   /* set for a run of new rows; NULL: lanes are written at once */
	const char *table[VIEW_SOURCES]; /* found last, and their numbers */
	int source[VIEW_SOURCES];
	uint32_t *near; /* by number of a text below VIEW_NEAR: name + 1 */
	uint64_t too_deep;
	int64_t until;            /* of the report: where a first part ends; INT64_MAX */
	struct view_store *shown; /* has the first part, until v has as much; NULL: v itself */
	bool has_all;             /* but for ranges on the GPU, which come last */
	int64_t now, first, last; /* readers use the store's copies, of the last publication */
	int64_t published;        /* monotonic, ns */
	uint32_t publications;
};

/* build.c: a whole report into a new store, and into v->side; new rows into an existing store. 0, -1: @why. */
int view_walk(struct view_builder *b, char *why, size_t len);
int view_walk_on(struct view_builder *b, char *why, size_t len);
/* Indexes a first part of a large report. True: @v shows it. */
bool view_show_part(struct view_store *v, sqlite3 *db, const bool *stop);

/* tracks.c; NULL, -1: no memory */
struct view_track *view_track_of(struct view_builder *b, struct tl_track *t);
/* The lane of a thread's states. */
struct view_lane *view_track_state_lane(struct view_builder *b, struct view_track *t);
int view_track_slice(struct view_builder *b, const struct tl_event *e, struct view_event *out);
void view_tracks_free(struct view_builder *b);

/* As the store has times. */
static inline int64_t view_time(const struct view_store *v, int64_t ts)
{
	int64_t t;

	if (__builtin_sub_overflow(ts, v->origin, &t))
		t = ts < 0 ? -VIEW_TIME_MAX : VIEW_TIME_MAX;
	return t > VIEW_TIME_MAX ? VIEW_TIME_MAX : t < -VIEW_TIME_MAX ? -VIEW_TIME_MAX : t;
}

/* states.c */
/* @has_details: false if only switches are wanted. */
struct view_states *view_states_new(const struct view_builder *b, bool has_details);
void view_states_free(struct view_states *s);
int view_states_switch(struct view_builder *b, const struct tl_event *e, int source);
/* Writes the states that were under way when the recording ended. */
int view_states_end(struct view_builder *b);
