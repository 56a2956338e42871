/*
 * stack_costs.h - stacks and their costs: samples, time blocked, time on GPUs, bytes, calls, added up by stack.
 *
 * All that has no stack stands under one frame, [no stack]: sums are those of the tables. Memory follows how many
 * different stacks there are, not how many events.
 */
#pragma once

#include "collector/base/map.h"
#include "exporters/read/db_read.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"

enum stack_cost {
	COST_CPU,     /* samples */
	COST_OFF_CPU, /* ns in calls of the C library, or without a CPU */
	COST_GPU,     /* ns of launched work */
	COST_READ,    /* bytes */
	COST_WRITTEN,
	COST_ALLOCATIONS, /* bytes of GPU memory */
	COST_CALLS,
	COST_CNT
};
#define COST_BIT(what) (1u << (what))
#define COST_ALL       (COST_BIT(COST_CNT) - 1)

struct stack_cost_kind {
	const char *name; /* of --flame */
	const char *unit; /* samples, nanoseconds, bytes, calls */
	const char *about;
	const char *record; /* the option that records it */
};
extern const struct stack_cost_kind stack_cost_kinds[COST_CNT];

/* A comma list to bits; 0 after one sentence in @why with all choices. */
unsigned stack_costs_parse(const char *list, char *why, size_t why_len);

enum stack_frames { /* naming of frames; frames of one name are one frame */
	FRAMES_BY_FUNCTION,
	FRAMES_BY_LINE,   /* function (file:line) */
	FRAMES_BY_MODULE, /* function (module) */
	FRAMES_BY_EXACT,  /* function, but each address and line stays apart */
};

enum stack_frame_kind { /* the first five as in SL_FRAMES */
	FRAME_NATIVE,
	FRAME_PYTHON,
	FRAME_KERNEL,
	FRAME_JIT,
	FRAME_REMARK,
	FRAME_CALL, /* the call that was made */
	FRAME_WORK, /* work on the GPU */
	FRAME_FILE,
};

struct stack_frame {
	char *text;
	const char *function, *module,
		*file;    /* texts of the tree: FRAMES_BY_EXACT only; "" when not known */
	int64_t line, ip; /* 0: not known */
	enum stack_frame_kind kind;
	bool inlined;
};

/* Stacks as a tree: node 0 is the root, a child comes after its parent. */
struct stack_node {
	uint32_t parent, frame;
};

enum stack_by { /* whose it is */
	OWNER_BY_PROCESS,
	OWNER_BY_NAME,   /* process and thread: those of the same names are one */
	OWNER_BY_THREAD, /* each for itself */
};

struct stack_owner {
	int64_t global; /* globalTid; globalPid of processes; of those of the same names the first */
	char *process; /* the program that ran at the time: of a process that execs there are several owners */
	char *thread; /* NULL of processes */
};

/* The program that a process ran from @start on; of processes that ran several. */
struct stack_image {
	int64_t process, start; /* globalPid; ns */
	char *name;             /* of its file */
};

struct stack_entry {
	uint32_t owner, node;
	int64_t value[COST_CNT];
};

struct stack_costs {
	/* set by the user */
	sqlite3 *db;
	unsigned what; /* COST_BIT()s */
	enum stack_frames frames;
	enum stack_by by;
	bool python_only; /* frames of Python, and the calls and work below them; else [no Python] */
	bool no_leaves;   /* without the calls, kernels and files below the innermost functions */
	/* results */
	unsigned has;       /* costs that have events */
	unsigned has_stack; /* costs of which any event had a stack */
	int64_t total[COST_CNT];
	struct stack_frame *frame;
	uint32_t frame_cnt, frame_max;
	struct stack_node *node;
	uint32_t node_cnt, node_max;
	struct stack_owner *owner;
	uint32_t owner_cnt, owner_max;
	struct stack_image *image; /* by process and start */
	uint32_t image_cnt, image_max;
	struct stack_entry *entry;
	size_t entry_cnt, entry_max;
	/* inner */
	struct map frame_of, child_of, node_of, owner_of, owner_named, entry_of, strings, leaf_of;
	sqlite3_stmt *string;
	bool unsorted;
	bool has_python; /* any frame is Python's */
	bool failed;     /* no memory */
	char *why;
	size_t why_len;
};

/* Nonsense in a report shall not wrap around. */
static inline int64_t stack_cost_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* 0, or -1 after one sentence in @why. */
int stack_costs_run(struct stack_costs *w, char *why, size_t why_len);
void stack_costs_free(struct stack_costs *w);

/* ---- between the parts ---- */

/* The images of processes that exec (stack_owner.c). 0, or -1 as above. */
int stack_images_read(struct stack_costs *w);
/* Index of the owner that thread @global had at @at_ns. */
uint32_t stack_owner_at(struct stack_costs *w, int64_t global, int64_t at_ns);

#define STACK_NO_NODE UINT32_MAX
/* All stacks of the report (stack_tree.c). */
int stack_costs_read(struct stack_costs *w);
/* For who shows events one by one: the stacks alone, where @activities (TL_ACT_*) have any. 0, or -1 as above. */
int stack_costs_load(struct stack_costs *w, uint32_t activities, char *why, size_t why_len);
/* The innermost frame of a stack in the tree; 0: there is none. */
static inline uint32_t stack_node(struct stack_costs *w, int64_t stack)
{
	uint64_t *at = map_at(&w->node_of, (uint64_t)stack, false);

	return at ? (uint32_t)*at : 0;
}
/* A text of StringIds, kept; "" when there is none. */
const char *stack_string(struct stack_costs *w, int64_t id);
/* A frame of no stack, below @parent. */
uint32_t stack_leaf(struct stack_costs *w, uint32_t parent, enum stack_frame_kind kind,
		    const char *text);
uint32_t stack_no_stack(struct stack_costs *w);
int stack_costs_fail(struct stack_costs *w);
