/*
 * db_symbolize.c - writes the rows of one symbolized stack: SL_STACKS, SL_FRAMES and the callchain tables of its kinds.
 */
#include "collector/report/db_symbolize.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"

/* The table of callchains of a kind, each stack once, however many rows share it; DB_TABLE_CNT: a view has them. */
static const enum db_table CHAINS[NAMING_KINDS] = {
	[DB_STACK_OSRT] = DB_OSRT_CALLCHAINS,
	[DB_STACK_CUDA] = DB_CUDA_CALLCHAINS,
	[DB_STACK_SYSCALL] = DB_SYSCALL_CALLCHAINS,
	[DB_STACK_SAMPLE] = DB_TABLE_CNT,
};

bool naming_has_view(unsigned kind)
{
	return CHAINS[kind] == DB_TABLE_CNT;
}

int naming_drop(struct db *db)
{
	static const char *const tables[] = {"SL_FRAMES",           "SL_STACKS",
					     "SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS",
					     "CUDA_CALLCHAINS",     "SYSCALL_CALLCHAINS"};
	int err = db_begin(db);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		err = db_table_drop(db, tables[i]);
	return err;
}

int naming_open(struct db *db, struct naming **out)
{
	struct naming *n = calloc(1, sizeof(*n));
	int err = n ? naming_drop(db) : -ENOMEM;

	*out = n;
	if (!err)
		err = db_table_need(db, "SL_FRAMES");
	if (!err)
		err = db_table_need(db, "SL_STACKS");
	if (err)
		return err;
	n->db = db;
	return db_frames_open(db, &n->frames);
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	db_frames_close(n->frames);
	free(n);
}

/* ---- a stack ---- */

static void add_row(struct naming *n, int64_t stack, int64_t depth, int64_t frame, unsigned kinds)
{
	int64_t *row = db_row(n->db, DB_SL_STACKS);

	row[STACKS_ID] = stack;
	row[STACKS_DEPTH] = depth;
	row[STACKS_FRAME_ID] = frame;
	for (size_t i = 0; i < NAMING_KINDS; i++) {
		if (!(kinds & 1u << i) || naming_has_view(i))
			continue;
		row = db_row(n->db, CHAINS[i]);
		row[CHAIN_ID] = stack;
		row[CHAIN_STACK_DEPTH] = depth;
		db_frames_chain(n->frames, frame, row);
	}
}

static int add_rows(struct naming *n, int64_t stack, unsigned kinds, size_t parts)
{
	int64_t depth = 0, frame;

	for (size_t p = 0; p < parts; p++)
		for (uint32_t i = 0; i < n->merged[p].cnt; i++) {
			frame = db_frames_use(n->frames, n->merged[p].first + i);
			if (!frame)
				return n->db->txn.failed ? n->db->txn.failed : -ENOMEM;
			add_row(n, stack, depth++, frame, kinds);
		}
	return 0;
}

/* A remark belongs to the frames before it. */
int naming_add(struct naming *n, const struct db_stack_of *stack, unsigned kinds,
	       const uint64_t *frames, size_t cnt)
{
	size_t cnts[2] = {0};
	bool is_python = false;

	for (size_t i = 0; i < cnt && i < SL_FRAME_MAX; i++) {
		uint64_t remark = frames[i] & SL_FRAME_REMARK ? sl_frame_address(frames[i]) : 0;
		struct stack_part part = db_frames_part(n->frames, stack, frames[i]);

		if (!part.cnt && part.role != STACK_ENTRY)
			return db_frames_error(n->frames);
		is_python |= frames[i] & SL_FRAME_PYTHON || remark == SL_REMARK_PYTHON ||
			     remark == SL_REMARK_PYTHON_BROKEN;
		n->part[is_python][cnts[is_python]++] = part;
	}
	return add_rows(n, stack->id, kinds,
			stack_merge(n->part[0], cnts[0], n->part[1], cnts[1], n->merged));
}
