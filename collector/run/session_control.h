/*
 * session_control.h - what commands, keys and signals do to a running collection (struct collector).
 *
 * Questions come in through control_server.h; recording begins and ends through capture.h. A command that asks for a report
 * is answered when that report is complete.
 */
#ifndef SL_STEER_H
#define SL_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/session/control_server.h"
#include "collector/options/event_options.h"
#include "collector/run/hotkey.h"
#include "collector/kernel/sched/sched.h"
#include "collector/session/sessions.h"

struct collector;
struct profile_options;

struct steer {
	struct control control;
	struct profile_options *options; /* the collector's: `start` adds to them */
	const char *kind;                /* "profile", "launch", ...: what began the session */
	char name[SESSION_NAME_MAX];
	enum sched_mode cpuctxsw, sample; /* what the kernel was asked for when the session began */
	struct event_options events;
	bool syscalls;
	int64_t since_s;     /* CLOCK_REALTIME, when the session began */
	bool is_armed;       /* something other than a command begins the next capture */
	bool has_told_key;   /* whoever waits for the end knows of the hotkey */
	bool has_shut_down;  /* by a command: */
	int kill_signal;     /* its --kill */
	uint32_t report_cnt; /* complete ones */
	char *reports;       /* paths of those that no `stop` was told, a line each; malloc'd */
	uint32_t refused_said;
	struct hotkey hotkey; /* of our terminal, if we have one */
	int hotkey_fd;        /* what the loop watches of it, -1 */
};

struct steer_ask {
	struct profile_options *options;
	const char *kind;
	const char *name; /* pattern, NULL: made up */
	pid_t pid;        /* for a name that is made up, and %p */
};

/* From here on commands are heard. 0, or -errno and a sentence in @why. */
int steer_open(struct collector *c, const struct steer_ask *ask, char *why, size_t why_len);
/* Everything that waits is served. */
void steer_serve(struct collector *c);
/* Takes the hotkey from our terminal, which is the program's, too (--capture-range=hotkey). */
void steer_take_key(struct collector *c);
/* Something was typed. */
void steer_key(struct collector *c);
/* Once per round of the loop. */
void steer_tick(struct collector *c);
/* We are going to be stopped: the terminal is given back. */
void steer_yield(struct collector *c);
/* True: the signal was for us (--capture-range=hotkey, --flight), and has been obeyed. */
bool steer_signal(struct collector *c, int sig);
/* The hotkey: begins to record, or ends it. */
void steer_toggle(struct collector *c);
/* The session is over, reports are complete (@err 0): whoever waits is told. To be called after collect_finish(). */
void steer_end(struct collector *c, int err);

/* ---- called by capture.c ---- */

/* Recording has begun. */
void steer_began(struct collector *c);
/* A capture_report_fn; @to: the collector. */
void steer_report(void *to, const char *report, int err);

#endif
