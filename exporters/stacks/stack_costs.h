/*
 * stack_costs.h - stacks and what they cost: samples, time blocked, time on GPUs, bytes, calls, added up by stack.
 *
 * All that has no stack stands under one frame, [no stack]: sums are those of the tables. Memory follows how many
 * different stacks there are, not how many events.
 */
#ifndef SL_WEIGH_H
#define SL_WEIGH_H

#include <sqlite3.h>

#include "exporters/timeline/tl_internal.h"

enum weigh_what {
	WEIGH_CPU,     /* samples */
	WEIGH_OFF_CPU, /* ns in calls of the C library, or without a CPU */
	WEIGH_GPU,     /* ns of what was launched */
	WEIGH_READ,    /* bytes */
	WEIGH_WRITTEN,
	WEIGH_ALLOCATIONS, /* bytes of GPU memory */
	WEIGH_CALLS,
	WEIGH_CNT
};
#define WEIGH_BIT(what) (1u << (what))
#define WEIGH_ALL       (WEIGH_BIT(WEIGH_CNT) - 1)

struct weigh_kind {
	const char *name; /* of --flame */
	const char *unit; /* samples, nanoseconds, bytes, calls */
	const char *about;
	const char *record; /* the option that records it */
};
extern const struct weigh_kind weigh_kinds[WEIGH_CNT];

/* A comma list to bits; 0 after one sentence in @why with all choices. */
unsigned weigh_parse(const char *list, char *why, size_t why_len);

enum weigh_frames { /* how a frame is called; what is called the same is the same frame */
	WEIGH_FUNCTION,
	WEIGH_LINE,   /* function (file:line) */
	WEIGH_MODULE, /* function (module) */
	WEIGH_EXACT,  /* function, but each address and line stays apart */
};

enum weigh_frame_kind { /* the first five as in SL_FRAMES */
	WEIGH_NATIVE,
	WEIGH_PYTHON,
	WEIGH_KERNEL,
	WEIGH_JIT,
	WEIGH_REMARK,
	WEIGH_CALL, /* the call that was made */
	WEIGH_WORK, /* what ran on the GPU */
	WEIGH_FILE,
};

struct weigh_frame {
	char *text;
	const char *function, *module,
		*file;    /* texts of the tree: WEIGH_EXACT only; "" when not known */
	int64_t line, ip; /* 0: not known */
	enum weigh_frame_kind kind;
	bool inlined;
};

/* Stacks as a tree: node 0 is the root, a child comes behind its parent. */
struct weigh_node {
	uint32_t parent, frame;
};

enum weigh_by { /* whose it is */
	WEIGH_BY_PROCESS,
	WEIGH_BY_NAME,   /* process and thread: those of the same names are one */
	WEIGH_BY_THREAD, /* each for itself */
};

struct weigh_owner {
	int64_t global; /* globalTid; globalPid of processes; of those of the same names the first */
	char *process, *thread; /* thread: NULL of processes */
};

struct weigh_entry {
	uint32_t owner, node;
	int64_t value[WEIGH_CNT];
};

struct weigh {
	/* set by the user */
	sqlite3 *db;
	unsigned what; /* WEIGH_BIT()s */
	enum weigh_frames frames;
	enum weigh_by by;
	bool no_leaves; /* without the calls, kernels and files below the innermost functions */
	/* results */
	unsigned has;       /* of what there were events */
	unsigned has_stack; /* and of what any had a stack */
	int64_t total[WEIGH_CNT];
	struct weigh_frame *frame;
	uint32_t frame_cnt, frame_max;
	struct weigh_node *node;
	uint32_t node_cnt, node_max;
	struct weigh_owner *owner;
	uint32_t owner_cnt, owner_max;
	struct weigh_entry *entry;
	size_t entry_cnt, entry_max;
	/* inner */
	struct tl_map frame_of, child_of, node_of, owner_of, owner_named, entry_of, strings,
		leaf_of;
	sqlite3_stmt *string;
	bool unsorted;
	bool failed; /* no memory */
	char *why;
	size_t why_len;
};

/* Nonsense in a report shall not wrap around. */
static inline int64_t weigh_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* 0, or -1 after one sentence in @why. */
int weigh_run(struct weigh *w, char *why, size_t why_len);
void weigh_free(struct weigh *w);

/* ---- between the two halves ---- */

#define WEIGH_NO_NODE UINT32_MAX
/* All stacks of the report (stack_tree.c). */
int weigh_read_stacks(struct weigh *w);
/* For who shows events one by one: the stacks alone, where @activities (TL_ACT_*) have any. 0, or -1 as above. */
int weigh_load(struct weigh *w, uint32_t activities, char *why, size_t why_len);
/* The innermost frame of a stack in the tree; 0: there is none. */
static inline uint32_t weigh_node(struct weigh *w, int64_t stack)
{
	uint64_t *at = tl_map_at(&w->node_of, (uint64_t)stack, false);

	return at ? (uint32_t)*at : 0;
}
/* A text of StringIds, kept; "" when there is none. */
const char *weigh_string(struct weigh *w, int64_t id);
/* A frame of no stack, below @parent. */
uint32_t weigh_leaf(struct weigh *w, uint32_t parent, enum weigh_frame_kind kind, const char *text);
uint32_t weigh_no_stack(struct weigh *w);
int weigh_fail(struct weigh *w);

#endif
