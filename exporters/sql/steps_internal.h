/*
 * steps_internal.h - the ranges that steps.c reads; steps_choose.c finds the steps in them, steps_rows.c gives the steps to
 * SQL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/sql/range_texts.h"
#include "exporters/events/sorter.h"
#include "exporters/sql/steps.h"

/* A range that may be a step. */
enum step_range {
	SR_TID, /* in this order they are swept */
	SR_DOMAIN,
	SR_START,
	SR_LATER, /* ~end: the longer one is in front */
	SR_KEYS,
	SR_GROUP = SR_KEYS,
	SR_NAME, /* of texts */
	SR_WORDS,
};

/* A row of the table. */
enum step_row {
	ST_TID, /* its order */
	ST_PLACE,
	ST_START,
	ST_END,
	ST_KEYS,
	ST_NAME = ST_KEYS,
	ST_STEM,
	ST_WORDS,
};

/* How likely ranges of that name are steps. */
enum likely {
	LIKELY_NOT,
	LIKELY_EPOCH,
	LIKELY_STEP
};

/* Names that are the same but for their numbers. */
struct step_stem {
	enum likely likely;
	bool is_optimizer; /* a step of one */
	bool is_outermost; /* some are in no other */
	int64_t ns;        /* sum of those */
	int64_t until_ns; /* from the ends of an optimizer's steps to the ends of its next; how many */
	int64_t until_cnt;
	uint32_t place; /* by name */
};

/* Ranges of a stem in a thread. */
struct step_group {
	int64_t tid, stem, cnt;
	int64_t last; /* an optimizer's: where the last ended */
	bool has_last;
};

struct step_domain {
	int64_t process, id;
	char *name;
	size_t len;
	bool is_library, is_pytorch, is_marked;
};

struct step_cached { /* a name by its id */
	int64_t id, name, stem;
	const struct step_domain *domain;
};
#define STEP_CACHE 1024

struct steps {
	sqlite3 *db;
	const char *range;
	bool is_start_end;           /* of start/end ranges, as no push/pop ranges are steps */
	struct step_domain *domains; /* by process and id */
	size_t domains_cnt, domains_room;
	struct texts names; /* with their domain in front */
	struct pool stems, groups;
	struct step_names {
		int64_t *stem; /* of a name; STEP_NONE: its ranges are no steps */
		size_t cnt, room;
		char *buf; /* one of them */
		size_t buf_room;
		sqlite3_stmt *by_id;
		struct step_cached *cache;
		bool only_marked; /* by --python-step */
	} by;
	struct step_found {
		struct step_stem *stem;
		size_t stem_room;
		struct step_group *group;
		size_t group_room;
		struct {
			int64_t start, end;
		} span[2]; /* of threads that are not, and that are, the main one of their process */
		bool has_main;
		bool has_steps; /* a name that repeats is that of a step */
		int64_t chosen; /* stem; STEP_NONE: all */
		bool none;      /* no ranges look like steps */
		bool is_until;  /* the times between an optimizer's steps */
	} found;
	struct sorter *ranges, *optimizer, *rows;
};

#define STEP_NONE (-1)

/* Reads ranges and counts them. SQLite's result code. */
int steps_read(struct steps *s);
/* Fills the table's rows. SQLite's result code. */
int steps_choose(struct steps *s);
void steps_free(struct steps *s);

static inline bool step_is_main(int64_t tid)
{
	return (tid & 0xFFFFFF) == (tid >> 24 & 0xFFFFFF);
}
