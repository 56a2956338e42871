/*
 * sample_events.h - perf's events that take the samples, and the rings that they write into.
 *
 * Events that are inherited can only write into a ring per CPU: so there is one event per thread
 * and CPU, as in sched_perf.c, and the events of a CPU share its ring. A thread that is started
 * while its process is being followed may get two: that of its parent, and its own. A sample names
 * its event; a thread with an event of its own counts by that. System-wide, and where eBPF drops
 * samples outside of the tree, there is one event per CPU: context switches and new threads then
 * cost nothing more, and threads that live for less than a period have their share of samples.
 *
 * Events of CPUs also count major page faults, and each takes a sample: it costs nothing where there is none. Events of
 * threads do not: there would be as many again.
 *
 * Where samples may pause, there are two of each: one takes samples or does not, the other reports
 * lives of processes and mappings (a disabled event reports nothing). Outside of captures that
 * costs a context switch as much as an event that counts nothing, and nothing else.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/kernel/sample/sample.h"

#define SAMPLE_TID_MOST (1u << 22)

struct sample_id { /* at the end of all records but samples */
	uint32_t pid, tid;
	uint64_t ns, id;
	uint32_t cpu, reserved;
};

struct sample_record { /* PERF_RECORD_SAMPLE for our sample_type */
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t ns, address; /* of a fault */
	uint64_t id;
	uint32_t cpu, reserved;
	uint64_t cnt,
		chain[]; /* of the kernel; behind it registers and memory of the user's part */
};

struct sample_events;

struct sample_program {
	int fd;                     /* eBPF to be run at each sample, -1 none */
	bool is_tree;               /* it drops samples of others: events may be those of CPUs */
	const uint64_t *fault_runs; /* how often page faults have run it; NULL: no program */
};
/* Totals, monotonic. */
struct sample_events_losses {
	uint64_t samples, faults; /* the ring had no room */
	uint64_t missed;          /* faults at which the kernel did not run the program */
	uint64_t throttled;       /* samples, by the rate that was asked for */
};
/* NULL: unavailable; @why as sample_open(). */
struct sample_events *sample_events_open(const struct sample_ask *ask,
					 struct sample_program program, char *why, size_t why_len);
/* True: the events are per CPU, and records of all processes come. */
bool sample_events_of_cpus(const struct sample_events *es);
void sample_events_close(struct sample_events *es);
/* All threads of @pid. @at_exec: it will exec, nothing before counts. 0 or -errno; -ESRCH: it is gone. */
int sample_events_follow(struct sample_events *es, pid_t pid, bool at_exec);

/*
 * Notes the present records; sample_events_next() returns them one by one, up to @until
 * (CLOCK_MONOTONIC), in the order of time.
 */
void sample_events_look(struct sample_events *es);
const struct perf_event_header *sample_events_next(struct sample_events *es, uint64_t until);
/* Gives the rings' room back. */
void sample_events_done(struct sample_events *es);

/* A sample that a major page fault has taken; @id: as the record has it. */
bool sample_events_is_fault(const struct sample_events *es, uint64_t id);
/* A sample that another event has, too. */
bool sample_events_is_double(const struct sample_events *es, uint32_t tid, uint64_t id);
/* A number that is free again may come back with another thread. */
void sample_events_ended(struct sample_events *es, uint32_t tid);
struct sample_events_losses sample_events_losses(struct sample_events *es);
unsigned sample_events_fill(const struct sample_events *es);
/*
 * No samples are taken until it resumes (@pause false), in all threads and those that are started
 * meanwhile; lives of processes are still reported. Without ask.pauses, nothing happens.
 */
void sample_events_pause(struct sample_events *es, bool pause);
/* Stops taking samples; records in the rings can still be read. */
void sample_events_stop(struct sample_events *es);
