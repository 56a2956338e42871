/*
 * why.h - where the wall time of a report's focus thread went, and the reasons of its waits: the answer of sightline why, and the
 * head of sightline analyze.
 *
 * The focus thread is the main thread of the root process; where that waits for processes that work, the busiest thread of the one
 * that its end waits for. The time of a wait for another thread is attributed to that thread: to
 * its causes, with the way to it.
 */
#pragma once

#include <stdio.h>

#include "exporters/why/model/focus.h"
#include "exporters/why/walk/gpu.h"
#include "exporters/why/answer/busy.h"
#include "exporters/why/answer/gains.h"
#include "exporters/why/answer/awaits.h"
#include "exporters/why/answer/hangs.h"
#include "exporters/why/answer/runners.h"
#include "exporters/why/walk/steps.h"
#include "exporters/why/walk/walk.h"

/* Leaves with the same cause, reached by any way. */
struct why_part {
	struct why_cause cause;
	uint32_t process;
	uint32_t thread; /* one of the threads with this cause */
	uint32_t hop;    /* of the way with most time */
	uint32_t number; /* in the order in which they were found */
	int64_t ns, hop_ns, cnt;
	uint32_t disk; /* as of leaves */
	int64_t disk_ns;
	double sure;
	bool is_own_thread; /* of the focus thread, not reached by a wait */
};

/*
 * A line of the program that takes the focus thread's time: the line's own running and waiting, and the time that libraries,
 * child processes and interpreters take on its behalf. Lines of a computing function are one culprit.
 */
struct why_culprit {
	uint32_t place; /* PLACE_NONE: no line is known, only the group */
	uint32_t process;
	uint32_t group; /* thread, reason and call or kernel of what has no line: tuple of groups */
	int64_t ns, part_ns;
	int64_t of_reason[WHY_REASON_CNT];
	struct why_part part; /* the one with most time */
	double sure;          /* as of parts */
	int64_t itself;  /* of ns: compiled code of the line itself computes, and calls nothing */
	int64_t in_sync; /* of of_reason[WHY_KERNEL]: in calls that bring data to the disk */
	bool is_of_processes; /* processes are made at this line, or waited for */
	/* the longest stretch of the part, ns of the report's clock; equal: none is known */
	int64_t worst_from, worst_to;
	uint32_t worst_thread;
};

struct why_number {
	uint32_t number;
};

struct why {
	struct why_model model;
	struct walk walk;
	uint32_t focus;        /* a thread; WHY_NONE: the report has none */
	int64_t from, to;      /* bounds of the explained time, ns */
	int64_t ns;            /* the explained time: shares are relative to it */
	struct why_focus time; /* the spans of that time */
	struct why_steps steps;
	struct why_focus noticed; /* steps that were not asked for */
	struct why_busy busy;
	struct why_hangs hangs;
	struct why_awaits awaits;
	struct why_runners runners;
	struct why_gpus gpus;
	const struct why_gpu *gpu; /* the GPU that is explained; NULL: a thread is */
	WHY_LIST(why_part, parts); /* most time first */
	WHY_LIST(why_culprit,
		 culprits);   /* most time first; without start-up and leaves without a place */
	uint32_t *command_of; /* by process: the first one with the same command */
	struct tuples groups;
	uint32_t *culprit_of_place;             /* index + 1; 0: none */
	WHY_LIST(why_number, culprit_of_group); /* likewise */
	bool *imports_again; /* by place: does the line import the same module again and again? */
	size_t places_cnt;
	WHY_LIST(why_gain, gains); /* notes last, the largest lower bound first */
	int64_t replay_error;      /* ns, of the replay that changes nothing */
	bool has_replay;           /* the replay is exact enough: gains are more than bounds */
	int64_t of_reason[WHY_REASON_CNT];
	uint32_t order[WHY_REASON_CNT]; /* reasons, most time first */
};

/*
 * @f: the time to be explained; @db shows all of the report, as a wait may have begun before it. NULL: the wall time.
 * 0, or -1 after one sentence in @why_text. */
int why_run(struct why *y, sqlite3 *db, const struct db_filter *f, const struct why_ask *ask,
	    char *why_text, size_t why_len);
void why_free(struct why *y);

/* culprits.c. SQLite's result code. */
int why_find_culprits(struct why *y);
/* The line that a leaf is due to: its own line, else the line of the nearest wait on the way to it that has one. */
uint32_t why_line_of(const struct why *y, const struct why_leaf *l, uint32_t *process);
/* Does the time belong to the line? An import that is made again and again does, an import at the start does not. */
bool why_is_blamed(const struct why *y, const struct why_cause *cause, uint32_t line);
/* Does the way to @hop have a wait at @line for a child process? */
bool why_is_in_child(const struct why *y, uint32_t hop, uint32_t line);
/* The index of the culprit of a leaf; WHY_NONE: none. */
uint32_t why_culprit_of(struct why *y, const struct why_leaf *l);
/* worst.c: the worst stretch of each culprit; after all else that adds leaves up. SQLite's result code. */
int why_find_worst(struct why *y);
/* gains.c. SQLite's result code. */
int why_find_gains(struct why *y);
/* Can something be done about it? Of what computes without a line, and of a range that is all of the time, only its name is known. */
bool why_is_change(const struct why *y, const struct why_culprit *c);
/*
 * Does a process that is explained instead of the root wait there for others to ask it for something, as workers of servers do? That is
 * no cause while there is another one.
 */
bool why_is_idle(const struct why *y, const struct why_culprit *c);
/* A culprit's time without waits for a CPU, which may be due to other programs, and without kernels, the purpose of a GPU. */
int64_t why_weight(const struct why_culprit *c);
/* The reason with most time, other than waiting for a CPU; the kernel's work in a call that brings data to the disk counts with the wait of that call. */
uint32_t why_main_reason(const struct why_culprit *c);
/* The reason with most of the time that could be saved: not that of kernels, the purpose of the GPU. */
uint32_t why_cost_of(const struct why_culprit *c);

void why_put_text(FILE *out, const struct why *y, const char *report, bool is_brief);
struct bounds;
/* 0, or -1: no memory. */
int why_put_json(FILE *out, const struct why *y, const char *report, const struct bounds *b);
/* Is there anything to explain: events of a thread, waits that never ended, work of a GPU? */
bool why_has_answer(const struct why *y);

/* A text of StringIds; malloc'd, NULL: none. */
char *why_string(const struct why *y, const struct id_map *map, uint32_t number);
/* "python3 train.py", "cc1 a.c": the program, and the file that it is about; @buf of at least 64 bytes. */
const char *why_command(const struct why *y, uint32_t process, char *buf, size_t len);
/* "main thread", "python3 thread 4711", "gcc"; @buf of at least 64 bytes. */
const char *why_thread_text(const struct why *y, uint32_t thread, char *buf, size_t len);
