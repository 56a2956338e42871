/*
 * sample.h - CPU samples: where the threads of a process tree are, so many times per second of their CPU time.
 *
 * perf_event_open's clock, which runs while a thread does; stacks by frame pointers. Nothing is done to the processes.
 */
#ifndef SL_SAMPLE_H
#define SL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct db;
struct windows;
struct sample;

/* What the rows of a poll were. */
struct sample_rows {
	size_t cnt;
	int64_t first, last; /* session ns */
};

/* NULL: there are none to be had. One sentence in @why then, and where the kernel's part is missing; else "". */
struct sample *sample_open(int64_t frequency, char *why, size_t why_len);

/* The threads of @pid, and what they will start. 0 or -errno; -ESRCH: it is gone. */
int sample_follow(struct sample *s, pid_t pid);

/* Samples that lie in @windows become rows; @zero: CLOCK_MONOTONIC at session time 0. */
struct sample_rows sample_poll(struct sample *s, struct db *db, const struct windows *windows,
			       int64_t zero);

/* How full the fullest ring is, in per cent. */
unsigned sample_fill(const struct sample *s);
/* Samples lost so far (total, monotonic). */
uint64_t sample_lost(const struct sample *s);
void sample_close(struct sample *s);

#endif
