/* dump.h - the threads of a report at its last look: what each waits for, and its stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/why/answer/why.h"

struct bounds;

struct dump_frame {
	char *function, *module, *file; /* NULL: not known */
	int64_t line;                   /* 0: not known */
	int kind;                       /* enum frame_kind */
	bool inlined;
};

struct dump_stack {
	int64_t id; /* SL_STACKS.id */
	struct dump_frame *list;
	size_t cnt, room;
};

struct dump_thread {
	int64_t tid;   /* globalTid */
	uint32_t hang; /* index in why's hangs; WHY_NONE: it runs, or has not waited for long */
	char *name, *state, *call, *path, *peer; /* NULL: not known */
	bool has_gil;
	uint32_t stack; /* index; WHY_NONE: none */
	uint32_t
		alike; /* how many threads, next to it, wait for the same with the same stack; 0: it is one of these */
};

struct dump_process {
	int64_t pid; /* globalPid */
	char *name, *command;
};

/* A task of asyncio. */
struct dump_task {
	int64_t pid, tid; /* globalPid; globalTid of its loop's thread, 0: not known */
	int64_t task;     /* address */
	char *name, *state, *waits_for; /* NULL: not known; it does not wait */
	int64_t awaits;                 /* task that it awaits itself, 0: none */
	uint32_t stack;                 /* index; WHY_NONE: none */
	uint32_t deadlock;              /* number of the cycle, 0: none */
	uint32_t awaiters, shown;       /* how many tasks wait for it; of the printer */
};

struct dump_edge {
	uint32_t awaiter, task; /* indices of tasks */
};

struct dump {
	struct why why;
	WHY_LIST(dump_process, processes);
	WHY_LIST(dump_thread,
		 threads); /* those of cycles first, as why has them; threads that run last */
	WHY_LIST(dump_stack, stacks);
	WHY_LIST(dump_task,
		 tasks); /* tasks that await each other first; else by process and address */
	WHY_LIST(dump_edge, edges); /* by awaiter */
};

/* 0, or -1 after one sentence in @why_text. */
int dump_read(struct dump *d, sqlite3 *db, char *why_text, size_t why_len);
void dump_free(struct dump *d);

/* Of dump_read(): a SQLite code. */
int dump_read_tasks(struct dump *d, sqlite3 *db);
/* Index of the stack, which is read later; WHY_NONE: no memory. */
uint32_t dump_stack_of(struct dump *d, int64_t id);
/* The tree of tasks: below each task the tasks that it waits for. */
void dump_put_tasks(FILE *out, struct dump *d);
/* " (file:line)", or " (module)" where the line is not known: NULL and 0; nothing where neither is. */
void dump_put_place(FILE *out, const char *file, int64_t line, const char *module);
void dump_put_frames(FILE *out, const struct dump_stack *s, int indent);

/* @columns of the terminal; 0: it is none. */
void dump_put_text(FILE *out, struct dump *d, size_t columns);
/* 0, or -1: no memory. */
int dump_put_json(FILE *out, const struct dump *d, const char *report, const struct bounds *b);
/* The process of a thread; NULL: the report does not know it. */
const struct dump_process *dump_process_of(const struct dump *d, int64_t tid);
