/* thread_switches.h - context switches: rows of SCHED_EVENTS, which rows of SL_SCHED_DETAIL complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exporters/read/db_read.h"

enum thread_state_kind {
	THREAD_RUNNING,
	THREAD_RUNNABLE, /* without a CPU */
	THREAD_SLEEPING,
	THREAD_BLOCKED, /* uninterruptible: mostly for a device */
	THREAD_STOPPED,
	THREAD_ENDED,
	THREAD_OFF_CPU, /* the report has no reason */
	THREAD_STATE_CNT
};

/* The state of a thread that leaves its CPU: @label is one of ENUM_SAMPLING_THREAD_STATE; any other number is no reason. */
enum thread_state_kind thread_state_of(int64_t label);

/* The label in words; NULL: no such label. */
const char *thread_label_text(int64_t label);

#define THREAD_NONE INT64_MIN /* a time, CPU or thread that the report lacks */

struct thread_switch {
	int64_t tid, time, cpu;
	int64_t wakeup, waker; /* onto a CPU: when the thread became runnable, by which thread */
	enum thread_state_kind state; /* from the switch on */
	bool is_in;                   /* onto a CPU */
};

/* It belongs to the switch of its thread at its time, in its direction. */
struct thread_detail {
	int64_t tid, time, wakeup, waker;
	bool is_in, is_preempted;
	int64_t priority; /* of thread_details alone */
};

/* A detail counts more than the label of its switch. */
void thread_switch_complete(struct thread_switch *s, const struct thread_detail *d);

/* ---- details beside switches that come in the order of time ---- */

struct thread_details;

/*
 * Details with a rowid above @after; INT64_MIN: all, of a filtered report, too. @in_order: the table is in the order of time.
 * NULL: no memory, or no such table.
 */
struct thread_details *thread_details_open(sqlite3 *db, int64_t after, bool in_order);
/* The detail of a switch; @time is at least that of the call before. NULL: it has none, as have all where @s is NULL. */
const struct thread_detail *thread_details_at(struct thread_details *s, int64_t time, int64_t tid,
					      bool is_in);
/* Whether rows were not read: an error of the file, or no memory. */
bool thread_details_failed(const struct thread_details *s);
void thread_details_free(struct thread_details *s);
