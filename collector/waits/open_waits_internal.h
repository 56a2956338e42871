/* open_waits_internal.h - between the files that write rows of SL_OPEN_WAITS. */
#pragma once

#include <stdbool.h>
#include <sys/syscall.h>

#include "collector/collect/collector.h"
#include "collector/kernel/sample/sample_waiting.h"
#include "collector/waits/thread_call.h"

#define LOOKS_MOST    128 /* threads that are looked at while the program runs */
#define OPEN_PATH_MAX 512
#define OPEN_NAME_MAX 64

/* A thread, as it was when it was looked at last. */
struct look {
	struct thread_call call;
	int64_t since; /* the call has been the same */
	bool is_told, is_seen;
};

struct open_waits {
	const struct db *db; /* the report that all this is of */
	struct sample_waiting *stacks;
	struct look list[LOOKS_MOST];
	size_t cnt;
	int64_t looked_at;
};

static inline bool open_waits_is_futex(const struct thread_call *c)
{
	return c->number == SYS_futex;
}

/* False: there is no report, or no memory. */
bool open_waits_begin(struct collector *c);
typedef void open_waits_each(struct collector *c, struct thread_call *call, unsigned left);
/* Calls @each for each thread of the recording's processes, @left at most; with the number of threads that may follow. */
void open_waits_threads(struct collector *c, unsigned left, open_waits_each *each);
/* As open_waits_threads(), with their numbers alone. */
void open_waits_list(struct collector *c, unsigned left, open_waits_each *each);
/* The path of the file that the call waits for. False: none. */
bool open_waits_path(const struct thread_call *call, char path[OPEN_PATH_MAX]);
/* globalTid of the thread that the wait is for; DB_NULL: not known. *@lock: address of a lock, or inode of a locked file; else unchanged. */
int64_t open_waits_owner(const struct collector *collector, const struct thread_call *c,
			 int64_t *lock);
/* NULL: no memory. */
struct sample_waiting *open_waits_stacks(struct collector *c);
/* SL_STACKS.id; DB_NULL: none, or the thread went on while it was read. */
int64_t open_waits_stack(struct collector *c, const struct thread_call *call);
/* Of the call, or of the state; in @buffer. */
const char *open_waits_name(const struct thread_call *call, char buffer[OPEN_NAME_MAX]);
/* Completes the row by time, thread, call and path, and writes it. */
void open_waits_put(struct collector *c, const struct thread_call *call,
		    struct db_row_SL_OPEN_WAITS *row);
/* Rows of SL_ASYNC_TASKS and SL_ASYNC_AWAITERS, of all processes of the recording. */
void open_tasks_write(struct collector *c);
