/*
 * collect.h - one collection: everything between "the report exists" and "the report is complete".
 *
 *   collect_open()     report, session directory, keeper, clock, context switches
 *   collect_watch()    the root process, once its pid is known
 *   loop_run()         until the end (loop.c)
 *   collect_finish()   last records, totals, losses, end mark
 */
#ifndef SL_COLLECT_H
#define SL_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/collect/arenas.h"
#include "collector/capture/capture.h"
#include "collector/kernel/counters/counters.h"
#include "collector/options/profile_options.h"
#include "collector/kernel/sample/sample.h"
#include "collector/session/session.h"
#include "collector/run/session_control.h"

struct flight;

struct collector {
	int64_t tick_at;   /* CLOCK_MONOTONIC of the last round */
	size_t sched_rows; /* context switches it had */
	const struct profile_options *options;
	const char *report; /* absolute */
	struct db *db;
	struct session session;
	struct clock_map clock;
	struct model model;
	struct arenas arenas;
	struct sched *sched;
	struct sample *sample; /* CPU samples; NULL: none */
	uint64_t sample_cnt;   /* rows of them */
	struct counters *counters;
	int counters_timer;     /* -1: none */
	uint64_t counters_lost; /* of the reports before */
	int keeper;             /* socket, -1 none */
	int epoll;
	int signal_fd;  /* -1: signals are not ours to handle (bare preload) */
	int leaving[8]; /* connections of roots that wait for the commit */
	int leaving_cnt;
	pid_t child; /* the program, when it is our child; else 0 */
	uint32_t root;
	bool root_is_gone;
	int root_status;    /* wait status, -1 unknown */
	bool has_unwatched; /* processes without a pidfd */
	bool is_busy;       /* something came in since the last commit */
	bool is_attached; /* to processes that are no children of ours: signals end the collection */
	bool is_past;     /* what is read is over: no snapshots */
	bool is_quiet;    /* nobody reads our stderr */
	bool is_over;     /* the loop shall end */
	bool was_cut;     /* by --duration or a signal: the program may still run */
	bool said_disk_full;
	uint64_t sched_lost, sched_dead;              /* of this report */
	uint64_t sched_told;                          /* rows until the last commit */
	uint64_t sched_lost_before;                   /* of those before */
	uint64_t calls_lost, calls_lost_before;       /* system calls, likewise */
	struct sample_losses samples, samples_before; /* CPU samples, likewise */
	int64_t sched_dead_first, sched_dead_last;
	int64_t now, committed_at, reaped_at, totals_at, clock_at, beat_at,
		alone_at; /* session ns */
	struct capture capture;
	struct flight *flight; /* NULL: no recorder */
	struct steer steer;
	int64_t zero_real; /* Unix time at session time 0, ns */
	unsigned idle_rounds;
	int reserve_fd;       /* given up to turn away whom there is no descriptor for */
	uint64_t turned_away; /* hellos for which there was none */
	int uptime;           /* /proc/uptime, -1 none */
	unsigned free_looks;  /* consecutive looks at it that found a processor free */
	int64_t looked_at, idle_ns;
};

struct collect_ask {
	const struct profile_options *options;
	const char *report;  /* NULL: nothing is recorded before somebody says where to */
	const char *preload; /* libtrace.so */
	uint32_t root;       /* pid of the first process, 0 not known yet */
	bool is_quiet;
};

/* @c: all zero; it is big, and most of it is not touched here. 0, or -errno and a sentence in @why. */
int collect_open(struct collector *c, const struct collect_ask *ask, char *why, size_t why_len);

/*
 * As collect_open() for a report that another collector left behind (cmd_recover.c). @c->clock has
 * been filled; @listen_fd: of the session, -1 when it is gone.
 */
void collect_resume(struct collector *c, int listen_fd);

/* The first process: to be called before it execs. */
void collect_watch(struct collector *c, uint32_t root, bool is_child);

/* A new arena: by hello, or from the keeper. */
void collect_arena(struct collector *c, int fd, uint32_t id, uint32_t pid, uint32_t claimed);

/* May what there is to take wait, for nothing presses? */
bool collect_can_wait(struct collector *c);
/* Takes what can be taken now: snapshot, switches, records; commits when it is time. Rows taken. */
size_t collect_tick(struct collector *c);

/* What the kernel has to say; events handled. */
int collect_poll(struct collector *c);
/* CPU samples, but for the youngest; @all: up to this moment. */
void collect_samples(struct collector *c, bool all);
/* Rows of them have gone into the report: as many as @r counts. */
void collect_sampled(struct collector *c, const struct sample_report *r);
/* What the kernel has lost of this report. */
void collect_losses(struct collector *c);
/* Brings c->now up to date. */
void collect_now(struct collector *c);
/* The report, or its time 0, is another: what recover and the keeper need to know. */
void collect_setup_changed(struct collector *c);
/* Notes all clocks in the report, and in the map from ticks. */
void collect_clocks(struct collector *c);
/* Records up to this moment, from everybody. */
void collect_drain(struct collector *c);
/* Commits now. */
void collect_commit(struct collector *c);

/* Everything down to the end mark; frees the report. 0 or -errno. */
int collect_finish(struct collector *c);
/* Stops recording and sends @sig (0: none) to each process of the tree. */
void collect_end_tree(struct collector *c, int sig);
/* Gives everything up: the report is removed, too (@keep_report: not). */
void collect_abandon(struct collector *c, bool keep_report);

/* ---- loop.c ---- */

enum {
	LOOP_LISTEN = 1,
	LOOP_SIGNAL,
	LOOP_PEER,
	LOOP_PROC,
	LOOP_COMMAND,
	LOOP_KEY,
	LOOP_SAMPLE,
	LOOP_COUNTERS
};

void loop_add(struct collector *c, int fd, unsigned kind, void *what);
void loop_watch_proc(void *ctx, struct proc *p); /* for model.watch */
void loop_watch_ring(void *ctx, int fd);         /* for sample_ask.on_ring */
void loop_run(struct collector *c);
/* Accepts every hello that waits. */
void loop_accept(struct collector *c);

/* ---- collect_counters.c: event counters, if they are asked for; @mono: CLOCK_MONOTONIC, 0: now ---- */

void collect_counters_open(struct collector *c);
void collect_counters_follow(struct collector *c, uint32_t root, bool is_child);
/* Recording begins, and ends. */
void collect_counters_begin(struct collector *c, int64_t mono);
void collect_counters_end(struct collector *c, int64_t mono);
/* It is time to read them. */
void collect_counters_tick(struct collector *c);
/* What was read becomes rows. */
void collect_counters(struct collector *c);
/* What this report lacks. */
void collect_counters_say(struct collector *c);
/* The next report begins. */
void collect_counters_renew(struct collector *c);
void collect_counters_close(struct collector *c);

/* ---- notes.c ---- */

/* What the report says about the machine, the run and itself. */
void notes_begin(struct collector *c);
void notes_command(struct collector *c, int argc, char **argv);
/* What was lost, and what could not be traced: rows, a diagnostic, one line each on stderr. */
void notes_end(struct collector *c);
void notes_say(struct collector *c, int severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
