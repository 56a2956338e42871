/*
 * launch.h - starts the program as if it were run without Sightline.
 *
 * The child is forked first of all, while this process is still as the caller started it: descriptors, signal mask,
 * dispositions, limits and umask are then the caller's. It waits for the session's directory, and execs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collector/options/profile_options.h"

struct launch {
	pid_t pid;
	int go;     /* the child waits for a byte from this descriptor */
	int failed; /* its errno, when it cannot exec */
};

/* One line on stderr by errno of sl_find_program(), and the exit status of a shell. */
int launch_not_found(const char *name);

/* libtrace.so that belongs to this binary; malloc'd, NULL when there is none. */
char *launch_preload(void);
char *launch_preload_or_say(void); /* that there is none, on stderr */

/* Forks; the child waits. 0 or -errno. */
int launch_fork(struct launch *l, const struct profile_options *options, const char *program,
		char **argv, const char *preload);
/* Lets it exec with @session_dir in its environment. 0, or -errno of the exec. */
int launch_go(struct launch *l, const char *session_dir);
/* Ends the waiting child. */
void launch_cancel(struct launch *l);

/* Blocks the signals that the loop handles, ignores those that would end the collector; a signalfd. */
int launch_signals(void);
struct signalfd_siginfo;
/* Forwards a signal that was meant for the program. */
void launch_pass_on(pid_t program, const struct signalfd_siginfo *si);
/* The program was stopped by @sig: must the shell see this process stopped, too? */
bool launch_stops_us(pid_t program, int sig);
/* Stops ourselves as the program was stopped; returns when continued. */
void launch_stop_as(int sig);
/*
 * After collection has ended: waits for the program, passes signals on, stops as it is stopped. Returns its wait
 * status, or -1.
 */
int launch_wait(pid_t program);
/* Ends as the program did: the same exit status, or the same signal. */
int launch_exit_as(int wait_status);
