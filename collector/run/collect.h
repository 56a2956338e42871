/*
 * collect.h - the life of a collection: everything between "the report exists" and "the report is complete".
 *
 *   collect_open()     report, session directory, keeper, clock, kernel events
 *   collect_watch()    the root process, once its pid is known
 *   collect_run()      until the end (collect_loop.c)
 *   collect_finish()   last records, totals, losses, end mark
 */
#pragma once

#include "collector/capture/capture.h"
#include "collector/collect/collector.h"

struct collect_ask {
	const struct profile_options *options;
	const char *report;  /* NULL: nothing is recorded before a command names one */
	const char *preload; /* libtrace.so */
	uint32_t root;       /* pid of the first process, 0 not known yet */
	uint32_t
		first_gate; /* where running processes enter the session (inject.h); 0: they are started in it */
	bool is_quiet;
	bool is_late; /* the program need not wait for sources that may be opened late */
};

/* @c: all zero; it is big, and most of it is not touched here. 0, or -errno and a sentence in @why. */
int collect_open(struct collector *c, const struct collect_ask *ask, char *why, size_t why_len);

/*
 * For a report that another collector left behind (cmd_recover.c): collect_prepare() first of all, and once the clock
 * and the model are filled, collect_resume(). @listen_fd, @keeper_fd: as in struct session, -1 when they are gone. 0 or
 * -errno.
 */
int collect_prepare(struct collector *c, const struct profile_options *options);
void collect_resume(struct collector *c, int listen_fd, int keeper_fd);

/* The first process: to be called before it execs. */
void collect_watch(struct collector *c, uint32_t root, bool is_child);

/* Signals of @fd (signalfd) are handled by the loop; -1: none are. */
void collect_take_signals(struct collector *c, int fd);
void collect_run(struct collector *c);
/* Takes a snapshot, kernel events, records; commits when it is time. Returns the number of rows taken. */
size_t collect_tick(struct collector *c);

/* Everything down to the end mark; frees the report. 0 or -errno. */
int collect_finish(struct collector *c);
/* Stops recording and sends @sig (0: none) to each process of the tree. */
void collect_end_tree(struct collector *c, int sig);
/* Gives everything up: the report is removed, too (@keep_report: not). */
void collect_abandon(struct collector *c, bool keep_report);

/* ---- for collect_loop.c: event sources that are opened late ---- */

void collect_late_begin(struct collector *c);
void collect_late_tick(struct collector *c);
void collect_late_end(struct collector *c);

/* ---- for collect_open.c ---- */

void collect_watch_proc(void *ctx, struct proc *p); /* for model.watch */
