/*
 * store.h - the index of a report for the page: rows, each with lanes of events that do not overlap, and their names.
 *
 * A lane is blocks of 32 events (pack.h) below an implicit tree: node i of level 0 stands for block i, node i of level n + 1
 * for nodes 8 i to 8 i + 7 of level n. One thread writes (lane.c, build.c); other threads read published blocks
 * under the store's lock, shared.
 */
#pragma once

#include <pthread.h>
#include "collector/base/hash.h"
#include "collector/base/map.h"
#include "exporters/read/db_read.h"

#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"
#include "exporters/view/index/pack.h"
#include "exporters/view/index/index_file.h"

#define VIEW_FAN    8
#define VIEW_LEVELS 12

enum view_kind {
#define KIND(id, name) VIEW_##id,
#include "exporters/view/index/kinds.def"
	VIEW_KINDS
};
extern const char *const view_kind_names[VIEW_KINDS];
/* Rows with events that other rows have, too: left out where all lanes are meant. */
static inline bool view_kind_repeats(enum view_kind kind)
{
	return kind == VIEW_FILE;
}

/* The summary of a block, or of eight nodes. */
struct view_node {
	int64_t start, end; /* of the first, of the last */
	union {
		int64_t covered; /* sum of durations */
		double least;    /* of a counter */
	};
	union {
		int64_t longest;
		double most;
	};
	/* Level 0: the extent, << 16, and the block's place in it; of VIEW_TOTALS_LEVEL likewise its totals (totals.h), or 0. */
	uint64_t where;
	union {
		struct {
			uint32_t name[2]; /* with most time */
			float weight[2];
		};
		struct {
			double last, sum;
		};
	};
	uint32_t cnt;   /* events */
	uint32_t flags; /* of any of them */
};
/* The weight of an event when a name is chosen: events without duration count, too. */
#define VIEW_WEIGHT(ns) ((float)((ns) > 0 ? (ns) : 1))

/* The place of node @i of a level: the extent's number; extents grow, so that short lanes take little. */
uint32_t view_node_extent(uint32_t level, uint32_t i, uint32_t *at);

struct view_refs {
	view_ref *ref;
	uint32_t cnt, room;
};

#define VIEW_NAME_WORDS 16

/* The published part of a lane. */
struct view_seen {
	uint32_t cnt[VIEW_LEVELS]; /* nodes */
	struct view_refs refs[VIEW_LEVELS];
	uint64_t events;
	int64_t first, last; /* start; end of the ended events */
	int64_t busy;
	double least, most;              /* of counters */
	uint64_t names[VIEW_NAME_WORDS]; /* names that may occur: bits by view_name_bit() */
};

static inline uint32_t view_name_bit(uint32_t name)
{
	return hash_place(name, 10);
}

struct view_lane_writer;

struct view_lane {
	uint32_t id, row;
	uint32_t sources; /* bits: of which tables it has events */
	bool is_counter;
	struct view_seen seen;
	struct view_lane_writer *w; /* NULL: read from the file */
};

struct view_row {
	uint32_t id, parent; /* from 1 on; 0: none */
	enum view_kind kind;
	char *name, *key, *unit;
	int64_t sort;
	int64_t process, thread; /* packed, as in the report; -1: none */
	int64_t pid, tid, cpu, device, context, stream;
	uint32_t *lanes; /* from the outermost to the innermost */
	uint32_t lane_cnt, lane_room;
	uint32_t seed_cnt; /* of lanes: taken over from the store before, to be used again */
};

struct view_name {
	char *text;
	uint32_t len;
	uint32_t color; /* 1 << 24 | RGB; 0: none was given */
};

enum view_state {
	VIEW_BUILDING,
	VIEW_LIVE, /* whole, as of a second ago */
	VIEW_READY,
	VIEW_FAILED,
};

#define VIEW_SOURCES 32

struct view_store {
	pthread_rwlock_t lock; /* of all below, but for the writer's own fields */
	char *path;            /* of the report */
	struct view_side *side;
	struct view_lane **lanes; /* by id, from 1 on */
	uint32_t lane_cnt, lane_room;
	struct view_row **rows;
	uint32_t row_cnt, row_room;
	struct view_name *names; /* 0: "" */
	uint32_t name_cnt, name_room;
	char *sources[VIEW_SOURCES]; /* names of tables */
	uint32_t source_cnt;
	enum view_state state;
	char message[512];
	uint32_t generation;
	double progress;
	uint64_t events;
	int64_t origin, first, last, indexed; /* origin: absolute, of the others' 0 */
	bool has_origin;
	bool is_damaged; /* atomic: a reader met something wrong in the side file */
	/* the writer's */
	uint64_t rows_then; /* numbers of rows of the report when it was looked at first */
	struct map by_key, name_of_id, name_of_text;
	uint64_t disordered;
	uint32_t file_cnt; /* rows of files */
	/* Of a growing report: the rows that are indexed (build/live.h). */
	struct view_live *live;
	void (*free_live)(struct view_live *live);
};

struct view_store *view_store_new(const char *path);
void view_store_free(struct view_store *v);
/* Swaps the contents of the stores, but for their locks. */
void view_store_take(struct view_store *v, struct view_store *from);

/* A store of the same report made anew: rows, lanes and names that @from has keep their numbers. NULL: no memory. */
struct view_store *view_store_seeded(struct view_store *from);

/* For the writer. NULL, 0, -1: no memory. */
struct view_row *view_row_add(struct view_store *v, enum view_kind kind, uint32_t parent,
			      const char *key, const char *name, size_t len);
struct view_row *view_row_find(struct view_store *v, const char *key);
struct view_lane *view_lane_add(struct view_store *v, struct view_row *row);
/* The number of a name, by its id where it has one, else by its bytes. UINT32_MAX: no memory. */
uint32_t view_name_of(struct view_store *v, const struct tl_text *text);
int view_source_of(struct view_store *v, const char *table);

/* lane.c */
int view_lane_put(struct view_store *v, struct view_lane *lane, struct view_event *e);
int view_lane_value(struct view_store *v, struct view_lane *lane, int64_t ts, bool is_real,
		    int64_t value, int64_t source);
/* Writes all events so far, and lets readers see them. @last: nothing follows. */
int view_lanes_publish(struct view_store *v, bool last);
void view_lane_writer_free(struct view_lane *lane);

/* directory.c: rows, lanes, names to bytes, and back from bytes that may be damaged. */
uint8_t *view_directory_write(const struct view_store *v, size_t *len);
int view_directory_read(struct view_store *v, const uint8_t *bytes, size_t len);
