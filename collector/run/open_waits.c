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

#include "collector/base/proc.h"
#include "collector/collect/collector.h"
#include "collector/kernel/sched/sched.h"
#include "collector/report/db_ids.h"

#define THREADS_MOST \
	4096         /* of all processes together: the end of a recording must not wait for long */
#define CONTENDED  2 /* of a mutex of glibc: others wait for it */
#define OWNER_WORD 2 /* behind the lock itself and a count */

struct open_call {
	uint32_t pid, tid;
	long number;
	unsigned long long args[3];
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
	       sscanf(line, "%ld %llx %llx %llx", &c->number, &c->args[0], &c->args[1],
		      &c->args[2]) == 4 &&
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

/* The thread that the wait at @c is for, as far as the memory of the process shows one; 0: none. @is_lock: it has a lock, or is to end. */
static uint32_t owner_of_futex(const struct open_call *c, bool *is_lock)
{
	uint32_t words[OWNER_WORD + 1] = {0};
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
	if (value == CONTENDED && words[0] == CONTENDED)
		return is_thread(c, words[OWNER_WORD]) ? words[OWNER_WORD] : 0;
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

/* globalTid of the thread that the wait is for; DB_NULL: not known. @is_lock: as above. */
static int64_t owner_of(const struct open_call *c, bool *is_lock)
{
	uint32_t tid;

	if (c->number == SYS_futex && (tid = owner_of_futex(c, is_lock)))
		return GLOBAL_TID(c->pid, tid);
	if (c->number == SYS_wait4 && (int32_t)c->args[0] > 0)
		return GLOBAL_TID(c->args[0], c->args[0]);
	if (c->number == SYS_waitid && c->args[0] == P_PID)
		return GLOBAL_TID(c->args[1], c->args[1]);
	return DB_NULL;
}

static void write_thread(struct collector *c, struct open_call *call)
{
	struct db_row_SL_OPEN_WAITS row = {.timestamp = c->clocks.now,
					   .globalTid = GLOBAL_TID(call->pid, call->tid)};
	static const char stopped[] = "stopped by a signal";
	char buffer[32];
	const char *name = stopped;
	bool is_lock = false;

	row.object = row.pathId = row.ownerTid = DB_NULL;
	if (!is_stopped(call->pid, call->tid)) {
		if (!read_call(call))
			return;
		name = sched_call_name((unsigned)call->number, false, buffer);
		row.pathId = path_of(c, call);
		row.ownerTid = owner_of(call, &is_lock);
		if (is_lock)
			row.object = (int64_t)call->args[0];
	}
	row.nameId = db_string(c->report.db, name, strlen(name));
	db_put_SL_OPEN_WAITS(c->report.db, &row);
}

static void write_process(struct collector *c, uint32_t pid, unsigned *left)
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
		write_thread(c, &call);
	}
	if (dir)
		closedir(dir);
}

void open_waits_write(struct collector *c)
{
	unsigned left = THREADS_MOST;

	if (!c->report.db)
		return;
	for (struct proc *p = c->model.procs; p && left; p = p->links.next)
		if (!p->flags.is_gone && (p->flags.is_traced || p->flags.in_tree))
			write_process(c, p->pid, &left);
}
