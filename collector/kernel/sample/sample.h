/*
 * sample.h - CPU samples: where threads are, so many times per second of their CPU time, with their stacks; and where
 * they were when they left the CPU for long.
 *
 * perf_event_open's clock, which runs while a thread does; where eBPF knows the tree, that of each CPU, and samples of
 * others are dropped (sample_tree.h). A sample brings the registers and the upper part of the stack
 * along, from which its callers are found here (sample_unwind.h): programs need no frame pointers, and nothing is done to
 * the processes. The kernel's part of a stack comes from the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/kernel/sched/sched.h"
#include "collector/kernel/sample/sample_sink.h"

/*
 * As much of the stack as a record can hold (the kernel subtracts the rest of the record):
 * interpreters that import modules nest deeper than 32 KiB. No more is copied than there is: it
 * ends where the stack does. Outer frames are not read from the process later: a running thread may
 * have returned and called another function, and with recursion, equal words at the border do not
 * prove that the words behind them are equal.
 */
#define SAMPLE_STACK_BYTES 65528u

struct windows;
struct sample;

enum sample_python_ask {
	SAMPLE_NO_PYTHON,
	SAMPLE_PYTHON,      /* with Python's frames, where they are available */
	SAMPLE_PYTHON_LATE, /* likewise; what reads them may be loaded when there is a Python */
	SAMPLE_PYTHON_OUTSIDE /* without eBPF: each sample wakes the collector, which reads them then */
};

struct sample_ask {
	enum sched_mode scope;
	int64_t frequency;    /* 0: no samples */
	uint64_t period;      /* 0, or instead: every so many of the event below */
	uint32_t period_type; /* of perf_event_attr */
	uint64_t period_config;
	unsigned per_stack;   /* every so many of a thread's samples have a whole stack; 0: none */
	uint32_t stack_bytes; /* so much memory comes along with each */
	enum sample_python_ask python;
	bool pauses;        /* sample_pause() will be called: it begins paused */
	size_t stacks_most; /* so many are known again; 0: a million */
	/* Threads without a CPU for so long have the stack that they left it with; -1: none. */
	int64_t off_cpu_ns;
	const struct sched_maps *kernel; /* NULL: there is no eBPF */
	char *no_off_cpu;
	/* Descriptors of rings, to be polled edge-triggered: readable when it is time for sample_poll(). May be NULL. */
	void (*on_ring)(void *ctx, int fd);
	void *ctx;
};

/* Whether samples of the tree are taken by events of CPUs, if the kernel permits. */
static inline bool sample_is_of_cpus(const struct sample_ask *ask)
{
	return ask->scope == SCHED_MODE_TREE && ask->kernel;
}

/* Totals, monotonic. */
struct sample_losses {
	uint64_t samples;   /* written */
	uint64_t lost;      /* the kernel had no room */
	uint64_t throttled; /* it takes no more in a tick of its clock */
	uint64_t ended;     /* of threads that had no id any more */
	/* Samples of page faults lost: without room; without a run of the program that takes them. */
	uint64_t faults_full, faults_missed;
	uint64_t truncated; /* the stack is deeper than the memory that came along */
	uint64_t broken;    /* callers could not be found otherwise */
	uint64_t python;    /* Python's frames are missing: there was no room for them */
	uint64_t
		nameless; /* frames of Python without a name, of samples and of threads without a CPU */
	/* Threads without a CPU: written; lost to a full ring; to too many threads; the other two as above. */
	uint64_t away, away_full, away_crowd, away_truncated, away_broken;
};

/*
 * NULL: unavailable. One sentence in @why then, and where the kernel's part is missing; else "". In @no_python
 * likewise, if Python's frames were asked for; and in @ask->no_off_cpu.
 */
struct sample *sample_open(const struct sample_ask *ask, char *why, char *no_python,
			   size_t why_len);

/*
 * Samples the threads of @pid, and their later threads and children; system-wide they are sampled
 * anyway. @at_exec: the process waits, and will exec: samples before that do not count. 0 or
 * -errno; -ESRCH: it is gone.
 */
int sample_follow(struct sample *s, pid_t pid, bool at_exec);

/*
 * Writes rows of the samples within @windows (NULL: all). Samples younger than a millisecond wait, so that the order over
 * all CPUs is right; @all: they do not, and open off-CPU intervals are written, too.
 */
void sample_poll(struct sample *s, const struct sample_sink *sink, const struct windows *windows,
		 bool all);

/* CPU samples are left out, or no more; the others stay. */
void sample_leave_out(struct sample *s, bool samples);
/* Off-CPU intervals that begin while it is off are not recorded. */
void sample_record(struct sample *s, bool on);

/* How full the fullest ring is, in per cent. */
unsigned sample_fill(const struct sample *s);
struct sample_losses sample_losses(const struct sample *s);
/* Returns the version of an unknown Python that was met, once: 0x030f for 3.15; 0: none; or SAMPLE_PYTHON_NAMELESS. */
#define SAMPLE_PYTHON_NAMELESS 1u
uint32_t sample_unknown_python(struct sample *s);
/* Whether there are processes in which Python could not be looked for, once. */
bool sample_refused_python(struct sample *s);
/* Are Python's frames read from outside, without eBPF? */
bool sample_is_outside(const struct sample *s);
/* True, once: the reason why Python's frames are missing, in one sentence. */
bool sample_failed_python(struct sample *s, char *why, size_t why_len);
/* Sinks follow each other: the next one has no stacks yet. */
void sample_renew(struct sample *s);
/* Memory by which stacks are known again. */
size_t sample_bytes(const struct sample *s);
/*
 * No samples are taken until sample_pause(s, false), which takes some microseconds per thread and CPU: from its return on
 * every thread is sampled.
 */
void sample_pause(struct sample *s, bool pause);
/* Stops sampling; samples already taken can still be polled. */
void sample_stop(struct sample *s);
void sample_close(struct sample *s);

struct sample_files;
struct sample_spaces;
struct pyoutside;
/* For stacks that are taken otherwise: they stay those of @s. *@python: NULL where eBPF reads Python's frames. */
void sample_lend(struct sample *s, struct sample_files **files, struct sample_spaces **spaces,
		 struct pyoutside **python);
