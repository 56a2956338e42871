/*
 * collector.h - the state of one collection, in parts. Draining (pump.h) and accepting (intake.h)
 * are below the captures, which decide which events are kept (capture.h); the life cycle is above
 * them (run/collect.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/event_loop.h"
#include "collector/collect/arenas.h"
#include "collector/options/profile_options.h"
#include "collector/session/hello.h"
#include "collector/session/session.h"
#include "collector/source/recording.h"

struct capture;
struct collector;
struct flight;
struct hello;
struct session_control;

#define INTAKE_EXITS      8
#define INTAKE_ENDED      512
#define INTAKE_ATTENDANTS 256

/* Connections of traced programs. */
struct intake {
	int keeper;       /* socket of the ring keeper, -1 none */
	unsigned keepers; /* that were killed */
	int reserve_fd;   /* closed for a moment to accept and refuse when no descriptor is free */
	uint64_t turned_away; /* connections refused for that reason */
	int exits
		[INTAKE_EXITS]; /* connections of exiting root processes, closed after the commit */
	int exit_cnt;
	int attendants
		[INTAKE_ATTENDANTS]; /* connections of processes that were entered while they ran: they stay while these are open */
	int attendant_cnt;
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

/* How long records may wait before they become rows: run/drain_pacing.c. */
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

struct collector {
	const struct profile_options *options;
	struct session session;
	struct loop loop;
	struct open_report report;
	struct clocks clocks;
	struct recording recording; /* the part that event sources see */
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
