/*
 * model.h - the events of a report that the walk needs, in memory, by thread and in order of time: context switches, outermost
 * calls, samples, GPU work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/read/db_read.h"
#include "exporters/read/id_map.h"
#include "exporters/read/wall.h"
#include "exporters/why/model/tuples.h"

#define WHY_NONE    UINT32_MAX /* no thread, stack, name, object */
#define WHY_NO_TIME INT64_MIN

struct why_switch {
	int64_t time;
	int64_t wakeup; /* of a switch in: when the thread was runnable; WHY_NO_TIME: not known */
	uint32_t waker; /* of a switch in: a thread; WHY_NONE: an interrupt, or not known */
	bool is_in;
	bool is_preempted; /* of a switch out: still runnable */
	bool is_on_disk;   /* of a switch out: an uninterruptible wait, for a device */
	bool is_end;       /* of a switch out: the thread has ended */
};

struct why_call {
	int64_t start, end;
	uint32_t what;        /* why_what() */
	uint32_t correlation; /* of a CUDA call: the id of the work it started; 0: none */
};

/* A call of the kernel that a thread was in when the recording ended before it. */
struct why_open {
	int64_t time; /* of the look */
	uint32_t thread, name, object, stack;
	uint32_t owner; /* number of the thread that it waits for; WHY_NONE: not known */
	bool is_lock;   /* the owner has a lock */
	bool is_gil;    /* which is that of Python */
};

/* A time in which context switches were lost. */
struct why_loss {
	int64_t start, end;
};

/* Name, stack and object of a call, each combination stored once. */
struct why_what {
	uint32_t name, stack, object; /* numbers in the model's maps; object: path or peer */
	uint32_t has_result;          /* the call returned a value other than 0 */
};

/* The object of the call that begins at @start: a lock by its address, or a socket by its file. */
struct why_object {
	int64_t start;
	int64_t object;
	uint32_t owner; /* number of the thread that had the lock then; WHY_NONE: not known */
	bool is_lock;   /* a semaphore that a thread both waits on and posts */
};

/* An end of a connection: its file; file and process at the other end, and the time when that end is closed. */
struct why_end {
	int64_t file, other, pid, until;
};

enum why_does {
	DOES_SIGNAL =
		1, /* wakes threads that wait at the object: posts a semaphore, signals a condition, comes to a barrier */
	DOES_TAKE = 2,    /* takes a lock, after a wait for it */
	DOES_SEND = 4,    /* writes into a pipe, to a peer */
	DOES_RECEIVE = 8, /* the opposite */
};

/* A call on an object that other threads may wait at. Only in reports without wakers. */
struct why_use {
	uint64_t object; /* why_lock_key() and the like */
	int64_t start, end;
	uint32_t thread;
	uint32_t does; /* enum why_does, joined */
};

struct why_sample {
	int64_t time;
	uint32_t stack;
};

/* From @time on, the innermost NVTX range of a thread has this name; WHY_NONE: there is no range. */
struct why_range {
	int64_t time;
	uint32_t name;
};

struct why_range_name {
	char *text;
	uint32_t stem;     /* the name with # for numbers; WHY_NONE: it has none */
	uint32_t variants; /* names that have this stem */
};

/* A page fault of the thread, over at @time. */
struct why_fault {
	int64_t time;
	uint32_t stack, object; /* the file; WHY_NONE: not known */
};

/* A request to a block device; @reach: when it and all before it are over. */
struct why_io {
	int64_t start, end, reach;
	uint32_t disk; /* number of an object */
};

#define WHY_LIST(type, name) \
	struct type *name;   \
	size_t name##_cnt;   \
	size_t name##_room

struct why_thread {
	int64_t tid; /* globalTid */
	uint32_t process;
	int64_t birth; /* first switch, or start of its process */
	WHY_LIST(why_switch, switches);
	WHY_LIST(why_call, calls);     /* of libc; outermost calls only */
	WHY_LIST(why_call, gpu);       /* of CUDA and the libraries above it, likewise */
	WHY_LIST(why_call, system);    /* of the kernel */
	WHY_LIST(why_sample, samples); /* on a CPU */
	WHY_LIST(why_sample, offs);    /* stacks with which it left the CPU */
	WHY_LIST(why_object, objects);
	WHY_LIST(why_fault, faults);
	WHY_LIST(why_io, ios);       /* requests of the thread */
	WHY_LIST(why_range, ranges); /* only where stacks are missing */
	bool is_looked_at;           /* it was there at the look at all threads */
};

struct why_process {
	int64_t pid; /* globalPid >> 24 */
	int64_t parent, start, end;
	char *exe, *command; /* path, arguments; NULL: not known */
	uint32_t main_thread;
	bool traced;
	bool is_killed; /* by a signal */
	bool is_near;   /* its calls are read: a wait of the focus thread may lead there */
};

enum why_work {
	WORK_KERNEL,
	WORK_GRAPH, /* a whole CUDA graph */
	WORK_COPY,
	WORK_TO_HOST, /* a copy whose result the host may wait for */
	WORK_FILL
};

/* A kernel, copy, fill or graph. */
struct why_op {
	int64_t start, end;
	uint32_t kind;   /* why_kind() */
	uint32_t launch; /* index into launches; WHY_NONE: not known */
};

/* Name, place and type of an operation, each combination stored once. */
struct why_kind {
	uint32_t name; /* number of a text, as of calls */
	uint32_t
		device; /* number of the GPU in the report; CUDA's number in the process if it is not known */
	uint32_t stream, process;
	uint32_t work; /* enum why_work */
};

/* The call that started an operation (why_launch_call()), and the outermost library call around it. */
struct why_launch {
	uint32_t correlation, thread;
	uint32_t call;       /* index into the gpu calls of the thread */
	uint32_t inner : 30; /* index into inner; WHY_OUTERMOST: the outermost call itself */
	uint32_t over : 2;   /* enum why_over */
};
#define WHY_OUTERMOST 0x3fffffff

enum why_over { /* the work that a call started */
	LAUNCH_UNKNOWN,
	LAUNCH_IS_OVER, /* all of it ended before the call did */
	LAUNCH_GOES_ON
};

/* A GPU by CUDA's number of it in a process. */
struct why_device {
	int64_t pid;
	uint32_t ordinal, gpu;
};

/* A message to a peer, which may have ended a wait of another thread. */
struct why_send {
	int64_t start, end;
	uint32_t thread, object;
	int64_t file; /* fileAccessId, 0: not known */
};

struct why_model {
	sqlite3 *db;
	struct wall wall;
	bool has_switches, has_samples, has_calls, has_peers;
	bool follows_calls; /* no wakers were recorded: waits are followed by what calls say */
	bool has_gpu_calls, has_gpu_stacks; /* of calls of CUDA */
	bool has_go;                        /* a program of Go: its goroutines change threads */
	struct id_map tids, pids, stacks, names, objects;
	WHY_LIST(why_thread, threads);
	WHY_LIST(why_process, processes);
	size_t processes_seen; /* of them, known before calls are read: is_near decides about calls of these alone */
	struct tuples whats, kinds;
	WHY_LIST(why_range_name, range_names);
	WHY_LIST(why_op, ops); /* in order of start */
	int64_t *reach;        /* by block of operations: when it and all before it are over */
	WHY_LIST(why_launch, launches); /* in order of process, correlation */
	WHY_LIST(why_call, inner);      /* nested calls of gpu with a correlation id */
	WHY_LIST(why_device, devices);
	WHY_LIST(why_send, sends); /* in order of start */
	WHY_LIST(why_end, ends);   /* in order of file */
	WHY_LIST(why_use, uses);   /* in order of object, then of start */
	uint8_t *does;             /* with uses: of calls on descriptors, by number of a name */
	WHY_LIST(why_io, ios);     /* of the kernel's journals, and flushes */
	int64_t cpus;              /* of the machine; 0: not known */
	int64_t messages;          /* calls that wrote to pipes and sockets, short ones included */
	int64_t lost;              /* events that the report counts as lost */
	WHY_LIST(why_open, opens);
	bool is_look;               /* a look at one moment is all that was recorded */
	bool has_looks;             /* all threads of the program were looked at */
	WHY_LIST(why_loss, losses); /* in order; none overlaps another */
	struct {
		bool taken; /* samples were recorded, perhaps none in the part that is read */
		char *refused,
			*no_python; /* why there are none, or none of Python; NULL: not known */
	} samples;
	uint32_t root; /* main thread of the root process; WHY_NONE: none is known */
};

/* The part of a report that is read. */
struct why_scope {
	const struct db_filter *filter; /* of the wall time; NULL: none */
	const struct wall *wall;        /* NULL: it is read */
	int64_t thread; /* globalTid or tid that the walk begins with; 0: the root */
	bool is_all;    /* calls of all processes, wherever the walk begins */
};

/* Reads the model from a report; filters of @db apply. SQLite's result code. */
int why_model_read(struct why_model *m, sqlite3 *db, const struct why_scope *scope);
void why_model_free(struct why_model *m);
/* The text of error @rc; lack of memory in this program is no error of @db. */
const char *why_error_text(sqlite3 *db, int rc);

/*
 * The thread that made a thread: the one that woke it first, else its process's main thread, or that of the parent process.
 * WHY_NONE: not known, or without switches.
 */
uint32_t why_maker(const struct why_model *m, uint32_t thread);
/* The number of a thread, a new one if it has none; WHY_NONE: no memory. */
uint32_t why_model_thread(struct why_model *m, int64_t tid);
/* The number of a known thread, or WHY_NONE. */
uint32_t why_model_find(const struct why_model *m, int64_t tid);
/* Main thread of the root process; WHY_NONE: none is known. */
uint32_t why_model_root(const struct why_model *m);

static inline const struct why_what *why_what(const struct why_model *m, const struct why_call *c)
{
	return (const struct why_what *)tuples_at(&m->whats, c->what);
}

static inline const struct why_kind *why_kind(const struct why_model *m, const struct why_op *o)
{
	return (const struct why_kind *)tuples_at(&m->kinds, o->kind);
}

/* Is the operation a kernel or a graph? Other operations may run beside a copy or a fill. */
static inline bool why_computes(const struct why_model *m, const struct why_op *o)
{
	uint32_t work = why_kind(m, o)->work;

	return work == WORK_KERNEL || work == WORK_GRAPH;
}

static inline const struct why_call *why_launch_call(const struct why_model *m,
						     const struct why_launch *l)
{
	return l->inner == WHY_OUTERMOST ? &m->threads[l->thread].gpu[l->call]
					 : &m->inner[l->inner];
}

/* The last of @cnt elements of @size at @list whose time (their first member) is at most @time; @cnt: none. */
size_t why_last(const void *list, size_t cnt, size_t size, int64_t time);
/* The object of a call; NULL: not recorded, or @c is NULL. */
const struct why_object *why_object_of(const struct why_thread *t, const struct why_call *c);
/* Names of objects in uses: a lock of a process by its address, a pipe by the number of its path, a socket or an eventfd by its file; signals. */
uint64_t why_lock_key(uint32_t process, int64_t address);
uint64_t why_pipe_key(uint32_t object);
uint64_t why_file_key(int64_t file);
uint64_t why_signal_key(void);
/* The last use of @object, one of @does, by a thread other than @thread, that begins by @to and ends after @from; NULL: none. */
const struct why_use *why_last_use(const struct why_model *m, uint64_t object, uint32_t does,
				   uint32_t thread, int64_t from, int64_t to);
/* Is the other end of a connection recorded, too? */
bool why_has_end(const struct why_model *m, int64_t file);
/* May a message sent over socket @file arrive in process @pid at @time, at the socket that a call @waits_on (NULL: any)? */
bool why_reaches(const struct why_model *m, int64_t file, int64_t time, int64_t pid,
		 const struct why_object *waits_on);
/* The launch of a process with a correlation id; WHY_NONE: none. */
uint32_t why_find_launch(const struct why_model *m, uint32_t process, uint32_t correlation);
/* The index of the first operation that is not over at @time; all before it are over. */
size_t why_reach(const struct why_model *m, int64_t time);
