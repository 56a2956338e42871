/*
 * tl_stacks.c - the frames of samples.
 *
 * Our reports have every distinct stack once, and samples name it: a stack is read when the first sample names it,
 * and kept as a list of places in a table of distinct frames. nsys has the frames of every sample for themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/read/db_read.h"
#include "exporters/timeline/tl_internal.h"

#define KEPT_MAX (128u << 20)

struct tl_stacks {
	sqlite3_stmt *chain; /* the frames of a sample; in our schema those of a stack, by number */
	sqlite3_stmt *one;   /* in our schema: one frame */
	struct map stacks;   /* SL_STACKS.id -> place in list + 1 */
	struct map known;    /* SL_FRAMES.id -> place in distinct + 1 */
	uint32_t *list;      /* how many; the frames, the innermost first; how many; ... */
	size_t list_cnt, list_max;
	struct tl_frame *distinct;
	size_t distinct_cnt, distinct_max;
	struct tl_frame *frames; /* of the current sample */
	size_t frame_max;
};

/* ---- opening ---- */

static int open_ours(struct tl_run *r, struct tl_stacks *t)
{
	static const char chain[] = "SELECT frameId FROM SL_STACKS WHERE id = ?1 ORDER BY depth";
	static const char one[] = "SELECT symbol, module, kind = 2, ifnull(originalIP, 0) "
				  "FROM SL_FRAMES WHERE id = ?1";

	return sqlite3_prepare_v2(r->db, chain, -1, &t->chain, NULL) == SQLITE_OK &&
			       sqlite3_prepare_v2(r->db, one, -1, &t->one, NULL) == SQLITE_OK
		       ? 0
		       : -1;
}

/* By the id of the sample; needs an index, which old files lack. */
static int open_theirs(struct tl_run *r, struct tl_stacks *t)
{
	static const char select[] = "SELECT symbol, module, ifnull(kernelMode, 0), "
				     "ifnull(originalIP, 0) FROM %s WHERE id = ?1 "
				     "ORDER BY stackDepth";
	static const char sort[] =
		"CREATE TEMP TABLE SL_TL_CHAINS AS SELECT * FROM SAMPLING_CALLCHAINS "
		"ORDER BY id, stackDepth;"
		"CREATE INDEX temp.SL_TL_CHAINS_ID ON SL_TL_CHAINS(id, stackDepth)";
	const char *table = "SAMPLING_CALLCHAINS";
	sqlite3_stmt *stmt = NULL;
	bool indexed = false;
	char sql[256];

	if (!tl_has_column(r->db, table, "id"))
		return 0;
	if (sqlite3_prepare_v2(r->db, "PRAGMA main.index_list(SAMPLING_CALLCHAINS)", -1, &stmt,
			       NULL) == SQLITE_OK)
		indexed = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	if (!indexed) {
		table = "SL_TL_CHAINS";
		if (sqlite3_exec(r->db, sort, NULL, NULL, NULL) != SQLITE_OK)
			return -1;
	}
	snprintf(sql, sizeof(sql), select, table);
	return sqlite3_prepare_v2(r->db, sql, -1, &t->chain, NULL) == SQLITE_OK ? 0 : -1;
}

int tl_stacks_open(struct tl_run *r)
{
	r->own_stacks = db_read_has(r->db, "SL_STACKS");
	if (!(r->opt->activities & TL_ACT_SAMPLE))
		return 0;
	r->stacks = calloc(1, sizeof(*r->stacks));
	if (!r->stacks)
		return -1;
	return r->own_stacks ? open_ours(r, r->stacks) : open_theirs(r, r->stacks);
}

static void forget(struct tl_stacks *t)
{
	map_free(&t->stacks);
	map_free(&t->known);
	t->list_cnt = t->distinct_cnt = 0;
}

void tl_stacks_close(struct tl_run *r)
{
	struct tl_stacks *t = r->stacks;

	if (!t)
		return;
	forget(t);
	sqlite3_finalize(t->chain);
	sqlite3_finalize(t->one);
	free(t->list);
	free(t->distinct);
	free(t->frames);
	free(t);
	r->stacks = NULL;
}

void tl_stacks_trim(struct tl_run *r, bool no_texts)
{
	struct tl_stacks *t = r->stacks;
	size_t bytes;

	if (!t)
		return;
	bytes = t->list_cnt * sizeof(*t->list) + t->distinct_cnt * sizeof(*t->distinct) +
		(t->stacks.size + t->known.size) * sizeof(struct map_slot);
	if (no_texts || bytes > KEPT_MAX)
		forget(t);
}

/* ---- reading ---- */

static struct tl_frame frame_of_row(struct tl_run *r, sqlite3_stmt *stmt)
{
	return (struct tl_frame){
		.symbol = tl_name(r->names, sqlite3_column_int64(stmt, 0), false),
		.module = tl_name(r->names, sqlite3_column_int64(stmt, 1), false),
		.kernel = sqlite3_column_int(stmt, 2) == 1,
		.ip = (uint64_t)sqlite3_column_int64(stmt, 3),
	};
}

/* Finds the place of a frame in the table of frames: 1; 0: the report has no such frame; -1: failed. */
static int place_of(struct tl_run *r, int64_t id, uint32_t *place)
{
	struct tl_stacks *t = r->stacks;
	uint64_t *at = map_at(&t->known, (uint64_t)id, false);
	int rc = SQLITE_ROW;

	if (!at) {
		if (grow(&t->distinct, t->distinct_cnt, &t->distinct_max, sizeof(*t->distinct)))
			at = map_at(&t->known, (uint64_t)id, true);
		if (!at)
			return -1;
		sqlite3_bind_int64(t->one, 1, id);
		rc = sqlite3_step(t->one);
		if (rc == SQLITE_ROW) {
			t->distinct[t->distinct_cnt] = frame_of_row(r, t->one);
			*at = ++t->distinct_cnt;
		}
		sqlite3_reset(t->one);
	}
	*place = (uint32_t)*at - 1;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? *at != 0 : -1;
}

static int add_to_list(struct tl_stacks *t, uint32_t number)
{
	if (!grow(&t->list, t->list_cnt, &t->list_max, sizeof(*t->list)))
		return -1;
	t->list[t->list_cnt++] = number;
	return 0;
}

/* Puts the frames of a stack after all others: 0, or -1. */
static int read_stack(struct tl_run *r, int64_t stack)
{
	struct tl_stacks *t = r->stacks;
	size_t first = t->list_cnt;
	uint32_t place;
	int rc = add_to_list(t, 0) < 0 ? SQLITE_NOMEM : SQLITE_OK;

	sqlite3_bind_int64(t->chain, 1, stack);
	while (rc == SQLITE_OK && (rc = sqlite3_step(t->chain)) == SQLITE_ROW) {
		int has = place_of(r, sqlite3_column_int64(t->chain, 0), &place);

		rc = has < 0 || (has > 0 && add_to_list(t, place) < 0) ? SQLITE_NOMEM : SQLITE_OK;
	}
	sqlite3_reset(t->chain);
	if (rc != SQLITE_DONE)
		return -1;
	t->list[first] = (uint32_t)(t->list_cnt - first - 1);
	return 0;
}

static int frames_of_stack(struct tl_run *r, int64_t stack, struct tl_event *e)
{
	struct tl_stacks *t = r->stacks;
	uint64_t *at = map_at(&t->stacks, (uint64_t)stack, true);
	const uint32_t *list;

	if (!at)
		return -1;
	if (*at == 0) {
		uint64_t place = t->list_cnt + 1;

		if (read_stack(r, stack) < 0)
			return -1;
		*at = place;
	}
	list = t->list + *at - 1;
	if (*list > t->frame_max) {
		struct tl_frame *more = reallocarray(t->frames, *list, sizeof(*more));

		if (!more)
			return -1;
		t->frames = more;
		t->frame_max = *list;
	}
	for (uint32_t i = 0; i < *list; i++)
		t->frames[i] = t->distinct[list[i + 1]];
	e->frame_cnt = *list;
	e->frames = t->frames;
	e->stack = stack;
	return 0;
}

static int frames_of_sample(struct tl_run *r, int64_t sample, struct tl_event *e)
{
	struct tl_stacks *t = r->stacks;
	int rc;

	sqlite3_bind_int64(t->chain, 1, sample);
	while ((rc = sqlite3_step(t->chain)) == SQLITE_ROW) {
		if (!grow(&t->frames, e->frame_cnt, &t->frame_max, sizeof(*t->frames))) {
			rc = SQLITE_NOMEM;
			break;
		}
		t->frames[e->frame_cnt++] = frame_of_row(r, t->chain);
	}
	sqlite3_reset(t->chain);
	e->frames = t->frames;
	return rc == SQLITE_DONE ? 0 : -1;
}

bool tl_stacks_any(const struct tl_run *r)
{
	return r->stacks && r->stacks->chain;
}

int tl_stacks_frames(struct tl_run *r, int64_t sample, int64_t stack, struct tl_event *e)
{
	if (!r->own_stacks)
		return frames_of_sample(r, sample, e);
	return stack == TL_NONE || stack == 0 ? 0 : frames_of_stack(r, stack, e);
}
