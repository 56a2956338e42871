/*
 * open_waits.c - rows of threads that wait, at the end of a recording and while it runs. Of a look at all threads: open_dump.c.
 */
#include "collector/waits/open_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/base/proc_numbers.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/kernel/sched/sched.h"
#include "collector/report/db_ids.h"
#include "collector/waits/file_locks.h"
#include "collector/waits/open_waits_internal.h"
#include "collector/waits/wait_owner.h"

#define THREADS_MOST \
	4096 /* of all processes together: the end of a recording must not wait for long */
#define STACKS_MOST 256 /* likewise */
#define LOOK_NS     INT64_C(1000000000)

/* The path of the file that a call waits for. */
bool open_waits_path(const struct thread_call *call, char path[OPEN_PATH_MAX])
{
	int64_t fd = thread_call_descriptor(call);
	char link[96];
	ssize_t len;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "%s/%u/fd/%lld", proc_root(), call->pid, (long long)fd);
	len = readlink(link, path, OPEN_PATH_MAX - 1);
	path[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* By the kernel's list of each thread; @cnt: of children. False: it has no such lists. */
static bool children_of(uint32_t pid, uint32_t *child, unsigned *cnt)
{
	struct proc_numbers threads = proc_numbers_open(pid, "task");
	char line[256];
	bool has_list = false;
	uint32_t tid;

	while (proc_numbers_next(&threads, &tid)) {
		char *at = line;
		unsigned long one;

		errno = 0;
		if (!thread_read(line, sizeof(line), "children", pid, tid)) {
			has_list |= errno == 0;
			continue;
		}
		has_list = true;
		for (char *end; (one = strtoul(at, &end, 10)) && end != at; at = end, ++*cnt)
			*child = (uint32_t)one;
	}
	proc_numbers_close(&threads);
	return has_list;
}

/* The child of @pid, where there is one alone; 0: there are none, or several. */
static uint32_t only_child(const struct collector *c, uint32_t pid)
{
	uint32_t child = 0;
	unsigned cnt = 0;

	if (children_of(pid, &child, &cnt))
		return cnt == 1 ? child : 0;
	for (const struct proc *p = c->model.procs; p; p = p->links.next) {
		if (p->flags.is_gone || p->parent_pid != pid)
			continue;
		if (child)
			return 0;
		child = p->pid;
	}
	return child;
}

int64_t open_waits_owner(const struct collector *collector, const struct thread_call *c,
			 int64_t *lock)
{
	bool is_lock = false, any;
	uint32_t tid, process = c->pid;

	if (wait_is_for_file_lock(c)) {
		uint64_t inode = file_lock_inode(c->pid, c->args[0]);

		*lock = (int64_t)inode;
		tid = file_lock_owner(c->pid, inode);
		return tid ? GLOBAL_TID(tid, tid) : DB_NULL;
	}
	if (open_waits_is_futex(c) && (tid = wait_owner_of_futex(c, &is_lock, &process))) {
		if (is_lock)
			*lock = (int64_t)c->args[0];
		return GLOBAL_TID(process, tid);
	}
	tid = wait_child(c, &any);
	if (any)
		tid = only_child(collector, c->pid);
	return tid ? GLOBAL_TID(tid, tid) : DB_NULL;
}

struct sample_waiting *open_waits_stacks(struct collector *c)
{
	struct open_waits *waits = c->root.waits;
	bool is_second = c->recording.memory != NULL;

	if (waits && !waits->stacks)
		waits->stacks = sample_waiting_open(is_second ? NULL : c->recording.sample,
						    c->options->kernel.python_sampling, is_second);
	return waits ? waits->stacks : NULL;
}

int64_t open_waits_stack(struct collector *c, const struct thread_call *call)
{
	struct sample_waiting *stacks = open_waits_stacks(c);
	struct sample_report to = sample_report_of(&c->recording);
	struct sample_second second = {sample_report_sink(&to)};
	bool is_second = c->recording.memory != NULL;
	const struct sample_sink sink = is_second ? sample_second_sink(&second) : second.first;
	const struct sample_wait wait = {call->pid, call->tid, call->pc, call->sp,
					 (uint64_t)mono_ns()};
	int64_t stack = stacks ? sample_waiting_stack(stacks, &sink, &wait) : DB_NULL;

	if (stack == DB_NULL || (call->sp && !thread_call_goes_on(call)))
		return DB_NULL;
	return sample_report_stack(&to, is_second ? stack | SAMPLE_SECOND : stack);
}

const char *open_waits_name(const struct thread_call *call, char buffer[OPEN_NAME_MAX])
{
	char number[32];

	if (call->number >= 0)
		snprintf(buffer, OPEN_NAME_MAX, "%s",
			 sched_call_name((unsigned)call->number, false, number));
	else
		snprintf(buffer, OPEN_NAME_MAX, "%s",
			 call->number == CALL_STOPPED ? "stopped by a signal"
			 : call->number == CALL_RUNS  ? "running"
						      : "outside of a system call");
	return buffer;
}

void open_waits_put(struct collector *c, const struct thread_call *call,
		    struct db_row_SL_OPEN_WAITS *row)
{
	char path[OPEN_PATH_MAX], buffer[OPEN_NAME_MAX];
	const char *name = open_waits_name(call, buffer);

	row->timestamp = c->clocks.now;
	row->globalTid = GLOBAL_TID(call->pid, call->tid);
	if (row->pathId == DB_NULL && open_waits_path(call, path))
		row->pathId = db_string(c->report.db, path, strlen(path));
	row->nameId = db_string(c->report.db, name, strlen(name));
	db_put_SL_OPEN_WAITS(c->report.db, row);
}

static void write_call(struct collector *c, const struct thread_call *call, bool with_stack)
{
	struct db_row_SL_OPEN_WAITS row = db_none_SL_OPEN_WAITS();

	if (call->number >= 0) {
		row.ownerTid = open_waits_owner(c, call, &row.object);
		row.stackId =
			with_stack && !c->recording.memory ? open_waits_stack(c, call) : DB_NULL;
	}
	open_waits_put(c, call, &row);
}

/* Calls @each for each thread of the process until there are @left no more. @reads: with its call. */
static void for_threads(struct collector *c, uint32_t pid, unsigned *left, open_waits_each *each,
			bool reads)
{
	struct proc_numbers threads = proc_numbers_open(pid, "task");
	struct thread_call call = {.pid = pid};

	while (*left && proc_numbers_next(&threads, &call.tid)) {
		--*left;
		if (!reads || thread_call_read(&call))
			each(c, &call, *left);
	}
	proc_numbers_close(&threads);
}

static void for_all(struct collector *c, unsigned left, open_waits_each *each, bool reads)
{
	for (struct proc *p = c->model.procs; p && left; p = p->links.next)
		if (!p->flags.is_gone && (p->flags.is_traced || p->flags.in_tree))
			for_threads(c, p->pid, &left, each, reads);
}

void open_waits_threads(struct collector *c, unsigned left, open_waits_each *each)
{
	for_all(c, left, each, true);
}

void open_waits_list(struct collector *c, unsigned left, open_waits_each *each)
{
	for_all(c, left, each, false);
}

bool open_waits_begin(struct collector *c)
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

static bool waits(const struct thread_call *call)
{
	return call->number >= 0 || call->number == CALL_STOPPED;
}

/* ---- at the end ---- */

static void write_thread(struct collector *c, struct thread_call *call, unsigned left)
{
	if (waits(call))
		write_call(c, call, THREADS_MOST - left <= STACKS_MOST);
}

void open_waits_write(struct collector *c)
{
	if (open_waits_begin(c))
		open_waits_threads(c, THREADS_MOST, write_thread);
}

/* ---- while the program runs ---- */

static void compare_thread(struct collector *c, struct thread_call *call, unsigned left)
{
	struct open_waits *list = c->root.waits;
	struct look *l = NULL;

	(void)left;
	if (!waits(call))
		return;
	for (size_t i = 0; i < list->cnt && !l; i++)
		if (list->list[i].call.tid == call->tid)
			l = &list->list[i];
	if (!l && list->cnt < LOOKS_MOST)
		l = &list->list[list->cnt++];
	if (!l)
		return;
	if (!thread_call_is_same(&l->call, call))
		*l = (struct look){.call = *call, .since = c->clocks.now};
	l->is_seen = true;
	if (l->is_told || c->clocks.now - l->since < LOOK_NS)
		return;
	l->is_told = true;
	write_call(c, call, true);
}

void open_waits_look(struct collector *c)
{
	struct open_waits *list;
	size_t kept = 0;

	if (!open_waits_begin(c) || c->clocks.now - c->root.waits->looked_at < LOOK_NS)
		return;
	list = c->root.waits;
	list->looked_at = c->clocks.now;
	for (size_t i = 0; i < list->cnt; i++)
		list->list[i].is_seen = false;
	open_waits_threads(c, LOOKS_MOST, compare_thread);
	for (size_t i = 0; i < list->cnt; i++)
		if (list->list[i].is_seen)
			list->list[kept++] = list->list[i];
	list->cnt = kept;
}

void open_waits_close(struct collector *c)
{
	if (c->root.waits)
		sample_waiting_close(c->root.waits->stacks);
	free(c->root.waits);
	c->root.waits = NULL;
}
