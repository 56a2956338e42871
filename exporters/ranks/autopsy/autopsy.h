/*
 * autopsy.h - how each rank of a run ended, of all nodes together: exit, stacks of then, waits, collectives that it has joined; and the
 * rank of which the others died, or for which they wait.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bounds;
struct dataset;
struct sqlite3;

#define AUTOPSY_NONE INT64_MIN /* of a number that was not recorded */

struct autopsy_frame {
	char *function, *file, *module; /* NULL: not known */
	int64_t line, rank;             /* 0: not known; enum frame_rank */
};

struct autopsy_stack {
	struct autopsy_frame *list; /* the innermost first */
	size_t cnt, room;
};

/* A thread at a moment: when it waited in a system call, when it died, at its last sample or its last call. */
struct autopsy_thread {
	int64_t tid, time;  /* ns since 1970 */
	int64_t owner, pid; /* thread and process that have the lock; 0: not known */
	char *call, *path, *peer, *state;
	struct autopsy_stack stack;
};

/* The last collective of a rank on a communicator. */
struct autopsy_joined {
	int64_t comm, seq, size, own, bytes; /* size, own: ranks of the communicator, own number */
	int64_t call,
		end; /* ns since 1970; AUTOPSY_NONE: its kernel has not ended, or that is not known */
	char *op;
};

struct autopsy_range {
	int64_t start, end; /* ns since 1970; AUTOPSY_NONE: it was open */
	char *name;
};

struct autopsy_call {
	int64_t n, ns;
	char *name;
};

#define AUTOPSY_LIST(type, name) \
	struct type *name;       \
	size_t name##_cnt, name##_room

enum autopsy_role {
	AUTOPSY_OTHER,
	AUTOPSY_CAUSE,
	AUTOPSY_WAITS, /* in a collective that not all of its ranks have joined */
};

struct autopsy_rank {
	struct {
		int64_t rank, restart, pid;
		char *node, *host, *report, *command;
	} id;
	struct {
		int64_t start, end, status; /* ns since 1970; wait status */
		int64_t progress;           /* it has got ahead up to then */
		int64_t complete;           /* 0: its report was cut off */
	} life;
	AUTOPSY_LIST(autopsy_thread, deaths); /* in order of time */
	AUTOPSY_LIST(autopsy_thread, waits);
	AUTOPSY_LIST(autopsy_thread, last); /* the main thread: its last sample, its last call */
	AUTOPSY_LIST(autopsy_joined, joined);
	AUTOPSY_LIST(autopsy_range, ranges);
	AUTOPSY_LIST(autopsy_call, calls);
	AUTOPSY_LIST(autopsy_call, notes); /* sentences: the kernel's, XIDs; n, ns: 0 */
	AUTOPSY_LIST(autopsy_call,
		     children); /* commands of helpers that ended badly; n: wait status, ns: when */
	struct autopsy_verdict {
		enum autopsy_role role;
		const struct autopsy_joined *in; /* the collective in which it waits; NULL: none */
		size_t waiters;                  /* ranks that wait for it, also by others */
		const struct autopsy_thread *thread; /* where it was; NULL: not recorded */
		size_t frame;                        /* of its stack: the line of the program */
		bool is_cycle;                       /* the thread waits for itself, by others */
	} verdict;
};

/* A collective in which ranks wait for others. */
struct autopsy_stuck {
	int64_t comm, seq, size;
	const char *op;
	AUTOPSY_LIST(autopsy_number, in);
	AUTOPSY_LIST(autopsy_number, missing);
	size_t unknown; /* ranks of the communicator that are not in the dataset */
};

struct autopsy_number {
	int64_t rank;
};

struct autopsy {
	AUTOPSY_LIST(autopsy_rank, ranks); /* the cause first, then by number */
	AUTOPSY_LIST(autopsy_stuck, stuck);
	int64_t start; /* of the run, ns since 1970 */
	int64_t world; /* ranks of the run; 0: not known */
	size_t unread; /* nodes whose file cannot be read, or that have none */
	enum autopsy_reason {
		AUTOPSY_UNKNOWN,    /* no rank is the cause, by what was recorded */
		AUTOPSY_DIED,       /* it ended badly, and first */
		AUTOPSY_LEFT,       /* it ended well, before a collective that others have joined */
		AUTOPSY_NOT_JOINED, /* others wait for it in a collective */
		AUTOPSY_ELSEWHERE,  /* likewise, and it waits for them in another one */
		AUTOPSY_DEADLOCK,   /* its threads wait for each other */
		AUTOPSY_DIFFERS, /* all were ended together, and it was elsewhere than the others */
	} reason;
};

/* ---- from a report into the dataset ---- */

/* Of the reports of one node, while they are added. */
struct autopsy_node;
struct autopsy_node *autopsy_node_new(void);
void autopsy_node_free(struct autopsy_node *n);
/* The report whose ranks come next: its path and size are kept, too. */
void autopsy_node_report(struct autopsy_node *n, const char *path);
/* The ranks of a report whose rows are in @d; @report has the tables of here.sql. SQLite's result code. */
int autopsy_node_add(struct autopsy_node *n, struct dataset *d, struct sqlite3 *report,
		     int64_t epoch);
/* 0, or -1 after one sentence in @why. */
int autopsy_node_write(struct autopsy_node *n, const char *folder, const char *run,
		       const char *node, char *why, size_t why_len);

/* ---- out of the dataset ---- */

/* @manifests: of manifests_read(). 0, or -1 after one sentence in @why. */
int autopsy_read(struct autopsy *a, struct sqlite3 *manifests, const char *folder, const char *run,
		 char *why, size_t why_len);
/* The ranks of a node from the text of its file. SQLite's result code; SQLITE_CORRUPT: it is none. */
int autopsy_read_node(struct autopsy *a, struct sqlite3 *db, const char *node, const char *json);
/* Finds the cause and sorts the ranks. False: no memory. */
bool autopsy_judge(struct autopsy *a);
void autopsy_free(struct autopsy *a);

/* The frame of the program in a stack, as why has it; SIZE_MAX: none. */
size_t autopsy_frame_of(const struct autopsy_stack *s);
/* "ended well", "exit status 3", "killed by signal 9 (SIGKILL)", "still running, or not known". */
const char *autopsy_exit_text(const struct autopsy_rank *r, char *buf, size_t len);
#define AUTOPSY_EXIT_MAX 64

void autopsy_put_text(FILE *out, const struct autopsy *a, const char *run, size_t columns);
/* 0, or -1: no memory. */
int autopsy_put_json(FILE *out, const struct autopsy *a, const char *run, const struct bounds *b);
void autopsy_put_page(FILE *out, const struct autopsy *a, const char *run);
