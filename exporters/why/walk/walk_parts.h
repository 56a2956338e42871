/* walk_parts.h - between the files of the walk. */
#pragma once

#include "exporters/why/walk/walk.h"

#define SURE    1.0
#define MATCHED 0.7
#define GUESSED 0.4

#define DEPTH_MAX 64
#define WALK_HOPS 65536u

#define SAMPLE_FAR 20000000 /* ns: a sample stands for no more time before it */

#define WALK_CLOCKS 20000 /* ns by which the clocks of a GPU and of the host may differ */

/* Where the walk is. */
struct at {
	uint32_t thread, hop;
	unsigned depth;
	double sure;
};

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Is a wait followed to a thread of the process? */
static inline bool walk_may_enter(const struct walk *w, uint32_t process)
{
	return !w->group_of || !w->group_of[process] || w->group_of[process] == w->group;
}

/* walk_table.c: @ns more of a leaf; NULL: none is kept. */
struct why_leaf *walk_leaf(struct walk *w, const struct at *at, const struct why_cause *cause,
			   int64_t ns, double sure);
/* The number of a hop from @at, whose thread waits. Beyond WALK_HOPS, the way to a leaf is cut short. */
uint32_t walk_hop(struct walk *w, const struct at *at, const struct why_cause *cause);
/* walk_cause.c: the place of a stack by its number in the model; WHY_NONE: no stack. */
uint32_t walk_place(struct walk *w, uint32_t stack, uint16_t *flags);
/* The call of @list that contains @time, or NULL. */
const struct why_call *walk_call_at(const struct why_call *list, size_t cnt, int64_t time);
/* The first call of @list that begins after @time begins then; INT64_MAX: none. */
int64_t walk_next_call(const struct why_call *list, size_t cnt, int64_t time);
/* The sample that stands for the time before it, or the nearest; NULL: none is near. */
const struct why_sample *walk_sample_at(const struct why_thread *t, int64_t time);
/* Of a call on a CPU at @time. */
struct why_cause walk_cause_of_run(struct walk *w, const struct why_thread *t,
				   const struct why_call *c, uint32_t reason, int64_t time);
/* Of a call that waits at @time. */
struct why_cause walk_cause_of_call(struct walk *w, const struct why_thread *t,
				    const struct why_call *c, int64_t time, double *sure);
/* Why the thread left the CPU at @time. */
struct why_cause walk_cause_of_wait(struct walk *w, const struct why_thread *t, int64_t time,
				    bool is_on_disk, double *sure);
/* The last look at the thread, if it waited in a call then, and has since @from; NULL: there is none. */
const struct why_open *walk_open_wait(const struct why_model *m, uint32_t thread, int64_t from);
/* What that row adds to @cause; NULL: nothing. */
void walk_add_open(struct walk *w, struct why_cause *cause, const struct why_open *o);
/* The place of the innermost range of a thread at @time; PLACE_NONE: none. */
uint32_t walk_range(const struct walk *w, uint32_t thread, int64_t time);
/* Calls @part for each part of [@from, @to) in which the thread has the same innermost range. */
typedef void walk_part(struct walk *w, struct at at, int64_t from, int64_t to);
void walk_by_range(struct walk *w, const struct at *at, int64_t from, int64_t to, walk_part *part);
/* [@from, @to) of a thread by its states alone: no work of a GPU is looked at. */
void walk_states(struct walk *w, const struct at *at, int64_t from, int64_t to);
/* walk_calls.c: is anything of the thread recorded but its name? */
bool walk_is_known(const struct why_thread *t);
/* The thread that ended the wait of @thread in @c since @from, and when, by what calls say; else @wake stays as it is. */
void walk_wake_by_call(struct walk *w, uint32_t thread, const struct why_call *c, int64_t from,
		       struct why_wake *wake);
/* walk_gpu.c: the cause of a wait for an operation; all of [@from, @to). */
struct why_cause walk_cause_of_op(struct walk *w, const struct why_op *o);
void walk_at(struct walk *w, struct at at, int64_t from, int64_t to);
/* gpu.c: the work of a GPU for a process (WHY_NONE: for all); in its idle time, the walk of the thread that launches. */
void walk_device(struct walk *w, struct at at, uint32_t process, uint32_t device, int64_t from,
		 int64_t to);
/* walk_ranks.c: the last kernel to begin of @o's NCCL collective; NULL: @o itself is the last, is alone, or is none of NCCL. */
const struct why_op *walk_late_op(struct walk *w, const struct why_op *o);
/*
 * walk_ranks.c: adds the leaves of the late rank for the part of [@from, @to), in which a kernel of NCCL ran, before that rank
 * began. Returns the end of the part; @from: no rank was late.
 */
int64_t walk_late_rank(struct walk *w, const struct at *at, const struct why_op *o, int64_t from,
		       int64_t to);
/*
 * walk_disk.c: walk_disk_ns() returns the time that requests to block devices took of a wait [@from, @to) of @thread;
 * walk_disk_find() keeps it for the next leaf; walk_disk_add() adds it to a leaf.
 */
int64_t walk_disk_ns(const struct walk *w, uint32_t thread, uint32_t reason, int64_t from,
		     int64_t to);
void walk_disk_find(struct walk *w, uint32_t thread, uint32_t reason, int64_t from, int64_t to);
void walk_disk_add(struct walk *w, uint32_t *disk, int64_t *ns);
/*
 * walk_series.c: the wait that begins with switch @i ended by its time limit, as those after it at the same place did, up to one
 * that a thread ended: that thread, in @wake.
 */
void walk_series(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake);
/* walk_gil.c: the thread of the same process that runs while @thread waits for the GIL; WHY_NONE: none. */
uint32_t walk_gil_holder(const struct why_model *m, uint32_t thread, int64_t from, int64_t to);
/*
 * walk_uneven.c: the time from which, in [@from, @to), one of several streams of a process went on alone until *@until: the part
 * that equal shares for all streams would have saved. INT64_MAX: no such time.
 */
int64_t walk_uneven_from(const struct why_model *m, uint32_t process, int64_t from, int64_t to,
			 int64_t *until);
