/*
 * host_process.c - memory of the program's processes: of the followed one and of those below it, as /proc/PID/task/PID/children names
 * them. A child whose parent has ended is no longer found.
 */
#include "collector/health/host_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/report/db_ids.h"

#define PROCESSES_MOST 256 /* a reading must not take long */

struct process {
	pid_t pid;
	bool is_there; /* in the reading at hand */
	struct host_counter resident;
};

struct processes {
	pid_t root;
	struct process *list;
	size_t cnt, room;
};

static void *open_processes(struct host *h)
{
	(void)h;
	return calloc(1, sizeof(struct processes));
}

static void close_processes(void *state)
{
	struct processes *p = state;

	free(p->list);
	free(p);
}

static void follow_process(struct host *h, void *state, pid_t pid)
{
	struct processes *p = state;

	(void)h;
	p->root = pid;
	p->cnt = 0;
}

static struct process *process_of(struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->cnt; i++)
		if (p->list[i].pid == pid)
			return &p->list[i];
	if (p->cnt == PROCESSES_MOST || !grow(&p->list, p->cnt, &p->room, sizeof(*p->list)))
		return NULL;
	p->list[p->cnt] = (struct process){.pid = pid};
	return &p->list[p->cnt++];
}

/* statm: pages of the address space, then those in memory. */
static bool read_process(struct host *h, struct process *one)
{
	static const struct host_what what = {"Memory Resident", "B", HOST_LEVEL};
	const struct host_scope scope = {"process", GLOBAL_PID((uint32_t)one->pid), NULL};
	struct host_file file;
	char *text, *line;
	uint64_t pages;

	if (!host_file_open(h, &file, "/proc/%d/statm", (int)one->pid))
		return false;
	text = host_file_read(h, &file);
	line = text ? host_line(&text) : NULL;
	host_file_close(&file);
	/* The memory of a process that has ended is 0. */
	if (!line || !host_word(&line) || !host_number(&line, &pages) || !pages)
		return false;
	host_level(h, &one->resident, &scope, &what, (double)pages * (double)sysconf(_SC_PAGESIZE));
	return true;
}

/* Reads the processes whose number stands in the file, and those below each. */
static void read_children(struct host *h, struct processes *p, pid_t parent)
{
	struct host_file file;
	char *text, *line, *copy = NULL;
	uint64_t pid;

	if (!host_file_open(h, &file, "/proc/%d/task/%d/children", (int)parent, (int)parent))
		return;
	text = host_file_read(h, &file);
	line = text ? host_line(&text) : NULL;
	copy = line ? strdup(line) : NULL;
	host_file_close(&file);
	for (char *at = copy; at && host_number(&at, &pid) && pid && pid <= INT32_MAX;) {
		struct process *one = process_of(p, (pid_t)pid);

		if (!one || one->is_there)
			continue;
		one->is_there = read_process(h, one);
		if (one->is_there)
			read_children(h, p, (pid_t)pid);
	}
	free(copy);
}

static void read_processes(struct host *h, void *state)
{
	struct processes *p = state;
	struct process *root = p->root ? process_of(p, p->root) : NULL;
	size_t kept = 0;

	for (size_t i = 0; i < p->cnt; i++)
		p->list[i].is_there = false;
	if (root)
		root->is_there = read_process(h, root);
	if (root && root->is_there)
		read_children(h, p, p->root);
	/* Another process may get the number. */
	for (size_t i = 0; i < p->cnt; i++)
		if (p->list[i].is_there)
			p->list[kept++] = p->list[i];
	p->cnt = kept;
}

const struct host_source host_process = {.name = "processes",
					 .period = HOST_SLOW_NS,
					 .open = open_processes,
					 .follow = follow_process,
					 .read = read_processes,
					 .close = close_processes};
