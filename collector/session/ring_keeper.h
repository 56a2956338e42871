/*
 * ring_keeper.h - a small process that holds the rings when the collector is killed.
 *
 * Arenas are anonymous memory: with the program and the collector gone, unread records would be, too. The keeper has
 * a descriptor of each, sleeps (no CPU), and when the collector ends without KEEPER_DONE it accepts arenas itself,
 * until `sightline recover` takes them over, or all traced processes have ended: then it writes them next to the
 * report and ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/clock_map.h"

#define KEEPER_RINGS ".rings" /* folder: the report's path with this appended */
#define KEEPER_CLOCK "clock"  /* in it: one struct keeper_end, taken after the last record */

/* Connections after the collector's death, whose programs, if they were any, have no arena here. */
struct keeper_refused {
	uint64_t strangers, /* not of the traced tree, or not sound */
		ended; /* of processes of which nothing showed any more whether they were of it */
};

struct keeper_end {
	struct clock_snapshot clock;
	struct keeper_refused refused;
};

enum keeper_kind {
	KEEPER_SETUP,
	KEEPER_ARENA,
	KEEPER_GONE,
	KEEPER_LISTEN,  /* with a descriptor: the socket for hellos */
	KEEPER_RECOVER, /* with a descriptor: the socket that `recover` connects to */
	KEEPER_DONE,
	KEEPER_BEFORE, /* with a descriptor: a socket to the keeper before, which has all until KEEPER_TAKEN */
	KEEPER_TAKEN, /* the keeper before may end, for this one has all */
	KEEPER_SPOOL /* with a descriptor: segment id of the spool (model/spool.h); without: it is gone */
};

struct keeper_message {
	uint32_t kind; /* enum keeper_kind */
	uint32_t id, peer_pid,
		claimed_pid; /* ARENA; SETUP: peer_pid is the first process, claimed_pid 1: it was attached to */
	struct keeper_refused refused; /* DONE */
	char dir[96];                  /* SETUP: from here on nothing else is sent */
	char report[3900]; /* SETUP; "": nothing is recorded; with it a descriptor of its folder */
};
#define KEEPER_GONE_MOST 512u /* ids in one message */

/* Starts it; the socket that talks to it, or -errno. Call before anything big is in memory. */
int keeper_start(void);
/* 0 or -errno. @fd: passed along, -1 none. */
int keeper_send(int sock, const struct keeper_message *m, int fd);
/* The arenas of these ids are read, and gone: at most KEEPER_GONE_MOST. 0 or -errno. */
int keeper_send_gone(int sock, const uint32_t *ids, uint32_t cnt);
/* As recvmsg(): bytes, 0 at the end, -errno. *fd: -1 when none came. */
ssize_t keeper_receive(int sock, struct keeper_message *m, int *fd);
