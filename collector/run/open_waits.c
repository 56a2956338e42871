/*
 * open_waits.c - reads /proc/PID/task/TID/syscall, and of a wait for a lock its owner: the C library keeps the number of the thread
 * that has a mutex behind the mutex, and that of a thread that others join in the word that they wait on.
 */
#include "collector/run/open_waits.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/collect/collector.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/kernel/sample/sample_waiting.h"
#include "collector/kernel/sched/sched.h"
#include "collector/report/db_ids.h"
#include "collector/run/file_locks.h"

#define THREADS_MOST \
	4096 /* of all processes together: the end of a recording must not wait for long */
#define STACKS_MOST 256 /* likewise */
#define LOOKS_MOST  128 /* threads that are looked at while the program runs */
#define LOOK_NS     INT64_C(1000000000)
#define CONTENDED   2 /* of a mutex of glibc: others wait for it */
/* Words of a mutex of glibc: the lock itself, how often its owner has it, the owner, how many have it, the kind. */
enum {
	COUNT_WORD = 1,
	OWNER_WORD,
	USERS_WORD,
	KIND_WORD,
	MUTEX_WORDS
};
#define TID_MOST  (1u << 22)
#define KIND_MOST 3u /* PTHREAD_MUTEX_ADAPTIVE_NP */

struct open_call {
	uint32_t pid, tid;
	long number;
	unsigned long long args[3], sp, pc;
};

/* A thread, as it was when it was looked at last. */
struct look {
	struct open_call call;
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

static bool read_line(char *line, size_t len, const char *name, uint32_t pid, uint32_t tid)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", proc_root(), pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, line, len - 1);
	close(fd);
	line[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* Is the thread in a system call? "running" stands there instead, or -1 where it waits for something else. */
static bool read_call(struct open_call *c)
{
	char line[256];

	return read_line(line, sizeof(line), "syscall", c->pid, c->tid) &&
	       sscanf(line, "%ld %llx %llx %llx %*x %*x %*x %llx %llx", &c->number, &c->args[0],
		      &c->args[1], &c->args[2], &c->sp, &c->pc) == 6 &&
	       c->number >= 0;
}

static bool is_stopped(uint32_t pid, uint32_t tid)
{
	char line[512];
	const char *end;

	return read_line(line, sizeof(line), "stat", pid, tid) && (end = strrchr(line, ')')) &&
	       (end[1] == ' ' && (end[2] == 'T' || end[2] == 't'));
}

/* A thread of the process; that of the call itself may have the lock that it waits for. */
static bool is_thread(const struct open_call *c, uint32_t tid)
{
	char line[16];

	return tid && read_line(line, sizeof(line), "stat", c->pid, tid);
}

/*
 * The owner behind a mutex, which may have ended: it counts where the rest of the mutex is plausible. Behind other locks lies
 * something else.
 */
static bool is_mutex_owner(const struct open_call *c, const uint32_t words[MUTEX_WORDS])
{
	return is_thread(c, words[OWNER_WORD]) ||
	       (words[OWNER_WORD] && words[OWNER_WORD] <= TID_MOST && !words[COUNT_WORD] &&
		words[USERS_WORD] == 1 && words[KIND_WORD] <= KIND_MOST);
}

/* The thread that the wait at @c is for, as far as the memory of the process shows one; 0: none. @is_lock: it has a lock, or is to end. */
static uint32_t owner_of_futex(const struct open_call *c, bool *is_lock)
{
	uint32_t words[MUTEX_WORDS] = {0};
	struct iovec here = {words, sizeof(words)};
	struct iovec there = {(void *)(uintptr_t)c->args[0], sizeof(words)};
	unsigned op = (unsigned)c->args[1] & FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)c->args[2];

	if (process_vm_readv((pid_t)c->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(words))
		return 0;
	*is_lock = true;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return words[0] & FUTEX_TID_MASK;
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return 0;
	/* A robust mutex is its owner's number, with marks. */
	if (value & FUTEX_WAITERS && value == words[0])
		return value & FUTEX_TID_MASK;
	if (value == CONTENDED && words[0] == CONTENDED)
		return is_mutex_owner(c, words) ? words[OWNER_WORD] : 0;
	*is_lock = false;
	return value == words[0] && is_thread(c, value) ? value : 0;
}

/* Does the call wait for a file that its first argument names? */
static bool is_of_file(long number)
{
	static const long calls[] = {SYS_read,     SYS_write,   SYS_readv,   SYS_writev,
				     SYS_recvfrom, SYS_sendto,  SYS_recvmsg, SYS_sendmsg,
				     SYS_accept,   SYS_accept4, SYS_connect, SYS_flock,
				     SYS_fcntl};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == number)
			return true;
	return false;
}

static int64_t path_of(struct collector *c, const struct open_call *call)
{
	char path[96], target[512];
	ssize_t len;

	if (!is_of_file(call->number))
		return DB_NULL;
	snprintf(path, sizeof(path), "%s/%u/fd/%llu", proc_root(), call->pid, call->args[0]);
	len = readlink(path, target, sizeof(target));
	return len > 0 ? db_string(c->report.db, target, (size_t)len) : DB_NULL;
}

/* The wait for a lock on a file, by flock(), or by fcntl(). */
static bool is_for_file_lock(const struct open_call *c)
{
	return c->number == SYS_flock ||
	       (c->number == SYS_fcntl && (c->args[1] == F_SETLKW || c->args[1] == F_OFD_SETLKW));
}

/* The child of @pid that lives, where there is one alone; 0: there are none, or several. */
static uint32_t only_child(const struct collector *c, uint32_t pid)
{
	uint32_t child = 0;

	for (const struct proc *p = c->model.procs; p; p = p->links.next) {
		if (p->flags.is_gone || p->parent_pid != pid)
			continue;
		if (child)
			return 0;
		child = p->pid;
	}
	return child;
}

/* The process that a call waits for; 0: not known, or it waits for none. */
static uint32_t awaited_process(const struct collector *collector, const struct open_call *c)
{
	if (c->number == SYS_wait4 && (int32_t)c->args[0] > 0)
		return (uint32_t)c->args[0];
	if (c->number == SYS_waitid && c->args[0] == P_PID)
		return (uint32_t)c->args[1];
	if ((c->number == SYS_wait4 && (int32_t)c->args[0] == -1) ||
	    (c->number == SYS_waitid && c->args[0] == P_ALL))
		return only_child(collector, c->pid);
	return 0;
}

/* globalTid of the thread that the wait is for; DB_NULL: not known. *@lock: address of a lock, or inode of a locked file. */
static int64_t owner_of(const struct collector *collector, const struct open_call *c, int64_t *lock)
{
	bool is_lock = false;
	uint32_t tid;

	if (is_for_file_lock(c)) {
		uint64_t inode = file_lock_inode(c->pid, c->args[0]);

		*lock = (int64_t)inode;
		tid = file_lock_owner(c->pid, inode);
		return tid ? GLOBAL_TID(tid, tid) : DB_NULL;
	}
	if (c->number == SYS_futex && (tid = owner_of_futex(c, &is_lock))) {
		if (is_lock)
			*lock = (int64_t)c->args[0];
		return GLOBAL_TID(c->pid, tid);
	}
	tid = awaited_process(collector, c);
	return tid ? GLOBAL_TID(tid, tid) : DB_NULL;
}

/* Of a thread that waits in the same call still, once its stack is read. */
static int64_t stack_of(struct collector *c, const struct open_call *call)
{
	struct open_waits *waits = c->root.waits;
	struct sample_report to = sample_report_of(&c->recording);
	const struct sample_sink sink = sample_report_sink(&to);
	const struct sample_wait wait = {call->pid, call->tid, call->pc, call->sp,
					 (uint64_t)mono_ns()};
	struct open_call after = {.pid = call->pid, .tid = call->tid};
	int64_t stack;

	if (!waits || c->recording.memory)
		return DB_NULL;
	if (!waits->stacks)
		waits->stacks = sample_waiting_open(c->recording.sample,
						    c->options->kernel.python_sampling);
	stack = waits->stacks ? sample_waiting_stack(waits->stacks, &sink, &wait) : DB_NULL;
	return stack != DB_NULL && read_call(&after) && after.number == call->number &&
			       after.sp == call->sp && after.pc == call->pc
		       ? sample_report_stack(&to, stack)
		       : DB_NULL;
}

static void write_call(struct collector *c, const struct open_call *call, bool with_stack)
{
	struct db_row_SL_OPEN_WAITS row = {.timestamp = c->clocks.now,
					   .globalTid = GLOBAL_TID(call->pid, call->tid)};
	static const char stopped[] = "stopped by a signal";
	char buffer[32];
	const char *name = stopped;

	row.object = row.pathId = row.ownerTid = row.stackId = DB_NULL;
	if (call->number >= 0) {
		name = sched_call_name((unsigned)call->number, false, buffer);
		row.pathId = path_of(c, call);
		row.ownerTid = owner_of(c, call, &row.object);
		row.stackId = with_stack ? stack_of(c, call) : DB_NULL;
	}
	row.nameId = db_string(c->report.db, name, strlen(name));
	db_put_SL_OPEN_WAITS(c->report.db, &row);
}

/* False: it is in no call. The number of the call is -1 where a signal has stopped it. */
static bool look_at(struct open_call *call)
{
	if (!is_stopped(call->pid, call->tid))
		return read_call(call);
	call->number = -1;
	return true;
}

/* Calls @each for each thread of the process until there are @left no more. */
static void for_threads(struct collector *c, uint32_t pid, unsigned *left,
			void (*each)(struct collector *c, struct open_call *call, unsigned left))
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%u/task", proc_root(), pid);
	dir = opendir(path);
	while (dir && *left && (e = readdir(dir))) {
		struct open_call call = {.pid = pid, .tid = (uint32_t)strtoul(e->d_name, NULL, 10)};

		if (!isdigit((unsigned char)*e->d_name))
			continue;
		--*left;
		if (look_at(&call))
			each(c, &call, *left);
	}
	if (dir)
		closedir(dir);
}

static void for_processes(struct collector *c, unsigned left,
			  void (*each)(struct collector *c, struct open_call *call, unsigned left))
{
	for (struct proc *p = c->model.procs; p && left; p = p->links.next)
		if (!p->flags.is_gone && (p->flags.is_traced || p->flags.in_tree))
			for_threads(c, p->pid, &left, each);
}

static bool begin(struct collector *c)
{
	if (c->root.waits && c->root.waits->db != c->report.db)
		open_waits_close(c);
	if (c->report.db && !c->root.waits)
		c->root.waits = calloc(1, sizeof(*c->root.waits));
	if (!c->root.waits)
		return false;
	c->root.waits->db = c->report.db;
	return true;
}

/* ---- at the end ---- */

static void write_thread(struct collector *c, struct open_call *call, unsigned left)
{
	write_call(c, call, THREADS_MOST - left <= STACKS_MOST);
}

void open_waits_write(struct collector *c)
{
	if (begin(c))
		for_processes(c, THREADS_MOST, write_thread);
}

/* ---- while the program runs ---- */

static bool is_same(const struct open_call *a, const struct open_call *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->number == b->number &&
	       a->args[0] == b->args[0] && a->sp == b->sp && a->pc == b->pc;
}

static void compare_thread(struct collector *c, struct open_call *call, unsigned left)
{
	struct open_waits *waits = c->root.waits;
	struct look *l = NULL;

	(void)left;
	for (size_t i = 0; i < waits->cnt && !l; i++)
		if (waits->list[i].call.tid == call->tid)
			l = &waits->list[i];
	if (!l && waits->cnt < LOOKS_MOST)
		l = &waits->list[waits->cnt++];
	if (!l)
		return;
	if (!is_same(&l->call, call))
		*l = (struct look){.call = *call, .since = c->clocks.now};
	l->is_seen = true;
	if (l->is_told || c->clocks.now - l->since < LOOK_NS)
		return;
	l->is_told = true;
	write_call(c, call, true);
}

void open_waits_look(struct collector *c)
{
	struct open_waits *waits;
	size_t kept = 0;

	if (!begin(c) || c->clocks.now - c->root.waits->looked_at < LOOK_NS)
		return;
	waits = c->root.waits;
	waits->looked_at = c->clocks.now;
	for (size_t i = 0; i < waits->cnt; i++)
		waits->list[i].is_seen = false;
	for_processes(c, LOOKS_MOST, compare_thread);
	for (size_t i = 0; i < waits->cnt; i++)
		if (waits->list[i].is_seen)
			waits->list[kept++] = waits->list[i];
	waits->cnt = kept;
}

void open_waits_close(struct collector *c)
{
	if (c->root.waits)
		sample_waiting_close(c->root.waits->stacks);
	free(c->root.waits);
	c->root.waits = NULL;
}
