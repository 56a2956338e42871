/*
 * session_control.h - effects of commands, keys and signals on a running collection (struct
 * collector).
 *
 * Questions come in through control_server.h; recording begins and ends through capture.h. A command that asks for a report
 * is answered when that report is complete.
 */
#pragma once

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

/* Events requested from the kernel when the session began; later requests can only leave some out. */
struct session_kernel {
	enum sched_mode cpuctxsw, sample;
	struct event_options events;
	bool syscalls;
};

struct session_control {
	struct control server;
	struct profile_options *options; /* the collector's: `start` adds to them */
	const char *kind;                /* the command that began the session */
	char name[SESSION_NAME_MAX];
	struct session_kernel kernel;
	int64_t since_s;     /* CLOCK_REALTIME, when the session began */
	bool is_armed;       /* something other than a command begins the next capture */
	bool has_sent_key;   /* clients that wait for the end know of the hotkey */
	bool has_shut_down;  /* by a command: */
	int kill_signal;     /* its --kill */
	uint32_t report_cnt; /* complete ones */
	char *reports; /* paths of reports that no `stop` has been answered with, a line each; malloc'd */
	uint32_t refused;     /* connections refused when a note was made of them */
	struct hotkey hotkey; /* of the collector's terminal, if it has one */
	int hotkey_fd;        /* the hotkey's descriptor in the loop, -1 */
};

struct session_control_ask {
	struct profile_options *options;
	const char *kind;
	const char *name; /* pattern, NULL: made up */
	pid_t pid;        /* for a name that is made up, and %p */
};

/* Makes c->control and serves commands from here on. 0, or -errno and a sentence in @why. */
int session_control_open(struct collector *c, const struct session_control_ask *ask, char *why,
			 size_t why_len);
/* Takes the hotkey from the terminal, which the program uses, too (--capture-range=hotkey). */
void session_control_take_key(struct collector *c);
/* Once per round of the loop. */
void session_control_tick(struct collector *c);
/* Gives the terminal back: the collector is about to be stopped. */
void session_control_yield(struct collector *c);
/* True: the signal was for the collector (--capture-range=hotkey, --flight), and has been obeyed. */
bool session_control_signal(struct collector *c, int sig);
/* The session is over, reports are complete (@err 0): answers all clients. After collect_finish(). */
void session_control_end(struct collector *c, int err);
