/*
 * event_list.h - countable events: those of the CPU's own counters (its PMU), and of the kernel.
 *
 * Events that every kernel knows by name have fixed numbers; events that the CPU's driver lists in
 * sysfs follow, with numbers that hold for this machine. Whether one works here is asked of the
 * kernel when it matters: in a virtual machine there is mostly no PMU, and perf_event_paranoid or a
 * container may refuse all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum event_kind {
	EVENT_CORE, /* --cpu-core-events */
	EVENT_OS,   /* --os-events */
};

struct event_def {
	unsigned id; /* as the help shows it */
	enum event_kind kind;
	bool in_kernel; /* happens nowhere else: counts nothing without the right to see the kernel */
	char name[56], about[88];
	uint32_t type; /* of perf_event_attr, as the rest */
	uint64_t config[3];
};

struct event_list {
	struct event_def *list;
	size_t cnt;
};

#define EVENT_SYSFS       "/sys/bus/event_source/devices"
#define EVENT_SYSFS_FIRST 100u /* number of the first of these */
#define EVENT_RAW_ID      10000u
#define EVENT_MOST        16u /* at a time */

/* All that have a name; @sysfs: EVENT_SYSFS. 0 or -ENOMEM. */
int event_list_make(struct event_list *l, enum event_kind kind, const char *sysfs);
void event_list_free(struct event_list *l);

/* By number, name, or (core events) rHEX, as the CPU's manual has it. False: there is no such event. */
bool event_find(const struct event_list *l, enum event_kind kind, const char *word, size_t len,
		struct event_def *found);

/* Events to count: at most EVENT_MOST, each once, core events first. */
struct event_choice {
	struct event_def event[EVENT_MOST];
	unsigned cnt;
};

/*
 * From the texts of both options; NULL: none of that kind. 0; -ENOENT: @why has the unknown one, -E2BIG: too many;
 * -ENOTSUP: the machine lacks it (tested only where @probe). @why names the option.
 */
int event_choose(struct event_choice *c, const char *core, const char *os, bool probe, char *why,
		 size_t why_len);

/* perf_event_open for counting; @group: -1 none. -errno. */
struct event_how {
	pid_t tid;
	int cpu, group;
	bool no_kernel; /* events inside the kernel are left out */
	bool inherit, disabled, at_exec;
};
int event_open(const struct event_def *e, const struct event_how *how);

/* The event whose every so many trigger a CPU sample: reference cycles, else cycles. False: there is neither. */
bool event_of_samples(struct event_def *e, uint64_t period);

/* kernel.perf_event_paranoid; 2 where it cannot be read. */
int event_paranoid(void);

/* Prints the output of --cpu-core-events=help and --os-events=help. */
void event_help(enum event_kind kind);
