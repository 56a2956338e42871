/*
 * perf_rings.h - the rings that perf's events write into, one for each CPU: the events of a CPU share its ring.
 *
 * The clock of a record depends on the events: the reader merges the rings by time (sched_perf.c, sample_events.c).
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_RINGS_FORMAT_LOST (1u << 4) /* PERF_FORMAT_LOST, Linux 6.0 */

struct perf_lost_record { /* PERF_RECORD_LOST */
	struct perf_event_header header;
	uint64_t id, lost;
};

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL: CPU without events */
	int fd;                            /* of the event that owns it */
	uint64_t head, tail;
};

struct perf_rings {
	struct perf_ring *ring;
	unsigned cpus;
	size_t bytes, least; /* of data in each; a power of two; no less will do */
	bool is_mapped;      /* one is: the size stands */
	char *scratch;       /* a record that wraps around the ring's end */
};

/* Highest number of an online CPU, plus one. */
unsigned perf_cpu_cnt(void);

/* Size of each CPU's ring for samples with stacks: by the machine's memory, and the memory that may be locked. */
size_t perf_rings_bytes(unsigned cpus, size_t least);
/* 0 or -ENOMEM. */
int perf_rings_init(struct perf_rings *rs, unsigned cpus, size_t bytes, size_t least);
void perf_rings_release(struct perf_rings *rs);

/* The event, or -errno. */
int perf_rings_event(struct perf_event_attr *attr, pid_t tid, int cpu);
/* Records that the kernel could not write (of events with PERF_RINGS_FORMAT_LOST), with or without a LOST record. */
uint64_t perf_rings_event_lost(int fd);
/* Returns the event's count. */
uint64_t perf_rings_event_cnt(int fd);
/* A number in /proc/sys/kernel. */
long perf_rings_setting(const char *name, long otherwise);

/*
 * Calls @one for each thread of @pid, again and again until it returns 0 for all: threads may start threads meanwhile.
 * @one returns 1 for a thread that was new to it, 0, or -errno, which ends it. 0 or -errno; -ESRCH: there is no process.
 */
int perf_follow_threads(pid_t pid, int (*one)(void *ctx, pid_t pid, uint32_t tid), void *ctx);

/* Lets an event of @cpu write into its ring. 1: that is new; 0; or -errno. */
int perf_rings_join(struct perf_rings *rs, unsigned cpu, int fd);

/* Notes the present ends of the rings; then the first record of a CPU that was not taken yet, NULL: none. */
void perf_rings_look(struct perf_rings *rs);
const struct perf_event_header *perf_rings_first(struct perf_rings *rs, unsigned cpu);
void perf_rings_take(struct perf_rings *rs, unsigned cpu);
/* Gives back the room of taken records. */
void perf_rings_done(struct perf_rings *rs);
/* How full the fullest is, in per cent. */
unsigned perf_rings_fill(const struct perf_rings *rs);
