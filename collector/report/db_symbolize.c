/*
 * db_symbolize.c - writes the rows of one symbolized stack: SL_STACKS, SL_FRAMES and the callchain tables of its kinds.
 */
#include "collector/report/db_symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"

/* And the table that nsys has for those: each stack once, however many rows share it. */
static const struct kind {
	const char *chains; /* NULL: a view does */
	enum db_table as;
	const char *column, *table[NAMING_TABLES];
} KINDS[NAMING_KINDS] = {
	[DB_STACK_OSRT] = {"OSRT_CALLCHAINS", DB_OSRT_CALLCHAINS, "callchainId", {"OSRT_API"}},
	[DB_STACK_CUDA] = {"CUDA_CALLCHAINS",
			   DB_CUDA_CALLCHAINS,
			   "callchainId",
			   {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUBLAS_EVENTS", "CUDNN_EVENTS",
			    "SL_LIBRARY_API"}},
	[DB_STACK_SYSCALL] = {"SYSCALL_CALLCHAINS",
			      DB_SYSCALL_CALLCHAINS,
			      "callchainId",
			      {"SYSCALL"}},
	[DB_STACK_SAMPLE] = {NULL, DB_TABLE_CNT, "stackId", {"COMPOSITE_EVENTS", "SL_PAGE_FAULTS"}},
};

_Static_assert(DB_STACK_KIND_CNT == NAMING_KINDS, "one is missing above");

const char *naming_table(unsigned kind, unsigned table)
{
	return table < NAMING_TABLES ? KINDS[kind].table[table] : NULL;
}

const char *naming_column(unsigned kind)
{
	return KINDS[kind].column;
}

const char *naming_column_of(const char *table)
{
	for (unsigned kind = 0; kind < NAMING_KINDS; kind++)
		for (unsigned i = 0; i < NAMING_TABLES && KINDS[kind].table[i]; i++)
			if (!strcmp(KINDS[kind].table[i], table))
				return KINDS[kind].column;
	return NULL;
}

bool naming_has_view(unsigned kind)
{
	return !KINDS[kind].chains;
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
		if (!(kinds & 1u << i) || !KINDS[i].chains)
			continue;
		row = db_row(n->db, KINDS[i].as);
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
