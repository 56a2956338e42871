/*
 * async_tasks.h - tasks of asyncio in the memory of a process: coroutines, what each waits for, and which tasks wait for it. Of CPython 3.8
 * to 3.15 with its module _asyncio; tasks that are written in Python itself (asyncio.tasks._PyTask) are not found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_python_outside.h"

#define ASYNC_FRAMES 64u /* coroutines of a task that await each other, at most */

struct async_task {
	uint64_t task;                /* its address */
	uint32_t tid;                 /* the thread of its loop; 0: not known */
	bool is_running, is_ready;    /* ready: it waits for its turn alone */
	uint64_t future;              /* that it waits for; 0: none */
	bool is_gather;               /* that future is one of asyncio.gather() */
	uint64_t frame[ASYNC_FRAMES]; /* of its coroutines, the outermost first */
	uint32_t frames;
	char *name; /* NULL: it cannot be read */
};

/* @awaiter goes on when @task, among others perhaps, is done. */
struct async_edge {
	uint64_t awaiter, task;
};

struct async_tasks {
	struct async_task *list; /* by address */
	size_t cnt, room;
	struct async_edge *edges;
	size_t edges_cnt, edges_room;
	bool has_more; /* than are in the list */
};

/* Those of the process; *@a is to be released. */
void async_tasks_read(struct async_tasks *a, struct pyoutside *python, uint32_t pid);
void async_tasks_release(struct async_tasks *a);
/* The task at that address; NULL: it is none of these. */
const struct async_task *async_task_at(const struct async_tasks *a, uint64_t task);
