/*
 * collector.h - the state of one collection, in parts. What drains (pump.h) and what accepts (intake.h) is below the
 * captures, which decide what is kept (capture.h); the life cycle is above them (run/collect.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/event_loop.h"
#include "collector/collect/arenas.h"
#include "collector/kernel/counters/counters.h"
#include "collector/kernel/sample/sample.h"
#include "collector/options/profile_options.h"
#include "collector/session/hello.h"
#include "collector/session/session.h"

struct block;
struct capture;
struct collector;
struct flight;
struct health;
struct hello;
struct host;
struct session_control;

/* The report that is being written. */
struct open_report {
	const char *path; /* absolute */
	char *path_own;   /* the same where it is malloc'd, else NULL */
	struct db *db;
	int64_t zero_real;      /* Unix time at session time 0, ns */
	struct windows windows; /* of it; events outside are dropped */
	int64_t next_from_mono; /* the next report begins then; INT64_MAX: not known yet */
	bool is_session;        /* no report yet, but what the next one is made from */
	bool is_busy;           /* rows came since the last commit */
	bool is_quiet;          /* no messages on stderr */
	int64_t locked_at; /* CLOCK_MONOTONIC: another program has locked it since then; 0: none */
	bool has_said_disk_full, has_said_removed, has_said_locked;
};

/* Session ns, if nothing else is given. */
struct clocks {
	struct clock_map map;
	int64_t now;
	int64_t tick_at; /* CLOCK_MONOTONIC of the last tick */
	int64_t committed_at, reaped_at, totals_at, clock_at, beat_at;
	int64_t alone_at; /* the program's processes were all gone then; 0: they are not */
	bool is_past; /* the rings are those of an earlier boot or of dead processes: no snapshots */
};

/* Takes switches and samples in place of the report (flight recorder). */
struct kernel_sink {
	int (*switches)(struct collector *c); /* events taken */
	void (*samples)(struct collector *c, bool all);
	struct sample_losses (*losses)(const struct collector *c);
};

struct kernel_side {
	struct {
		struct sched *open;         /* NULL: neither switches nor system calls */
		uint64_t lost, lost_before; /* of this report, of those before */
		uint64_t calls_lost, calls_lost_before; /* system calls, likewise */
		uint64_t written;                       /* rows until the last commit */
		uint64_t dead; /* rows lost while the disk was full, also of samples and counters */
		int64_t dead_first, dead_last;
	} sched;
	struct {
		struct sample *open; /* NULL: no CPU samples */
		uint64_t cnt;        /* rows */
		struct sample_losses losses, losses_before;
	} sample;
	struct {
		struct counters *open; /* NULL: no event counters */
		int timer;             /* -1: none */
		uint64_t lost_before;
	} counters;
	struct {
		struct host *open; /* NULL: no counters of the machine */
		int timer;         /* -1: none */
		uint64_t lost_before;
	} host;
	struct {
		struct block *open; /* NULL: no requests to block devices */
		uint64_t lost_before;
	} block;
	struct health *health;          /* NULL: GPUs are not sampled */
	const struct kernel_sink *sink; /* NULL: into the report */
};

#define INTAKE_EXITS 8
#define INTAKE_ENDED 512

/* Connections of traced programs. */
struct intake {
	int keeper;       /* socket of the ring keeper, -1 none */
	unsigned keepers; /* that were killed */
	int reserve_fd;   /* closed for a moment to accept and refuse when no descriptor is free */
	uint64_t turned_away; /* connections refused for that reason */
	int exits
		[INTAKE_EXITS]; /* connections of exiting root processes, closed after the commit */
	int exit_cnt;
	struct hello_silent silent;
	struct {
		int sock;
		uint32_t pid;
		int64_t since; /* CLOCK_MONOTONIC */
	} ended[INTAKE_ENDED]; /* of other users' processes that have ended, until the kernel's events show whose they are */
	unsigned ended_cnt;
	/* A program asks to begin or end a capture: closes @sock when it may go on. NULL: no captures. */
	void (*on_capture)(struct collector *c, int sock, const struct hello *h);
};

/* How long records may wait before they become rows: run/pace.c. */
struct pace {
	int uptime;           /* /proc/uptime, -1 none */
	unsigned free_looks;  /* consecutive reads of it with a free CPU */
	unsigned idle_rounds; /* consecutive ticks without rows */
	int64_t looked_at, idle_ns;
	int64_t watched_at; /* when another process had the report open */
	bool is_behind;     /* the spool was filled too far: records become rows at once */
	unsigned move_ms;   /* until rings are looked at again */
	uint32_t last_id;   /* of arenas, when rows were made last */
};

/* The program. */
struct root {
	uint32_t pid;
	pid_t child;   /* its pid if it is the collector's child, else 0 */
	int status;    /* wait status, -1 unknown */
	int signal_fd; /* signalfd; -1: signals are not handled (bare preload) */
	bool is_gone;
	bool is_attached;   /* not children of the collector: signals end the collection */
	bool has_unwatched; /* there are processes without a pidfd */
};

struct collector {
	const struct profile_options *options;
	struct session session;
	struct loop loop;
	struct open_report report;
	struct clocks clocks;
	struct kernel_side kernel;
	struct model model;
	struct arenas arenas;
	struct intake intake;
	struct pace pace;
	struct root root;
	struct capture *capture;
	struct flight *flight;           /* NULL: no flight recorder */
	struct session_control *control; /* NULL: no commands */
	enum {
		RUN_GOES_ON,
		RUN_ENDS, /* with the program */
		RUN_CUT   /* by --duration, a command or a signal: the program may still run */
	} end;
};
