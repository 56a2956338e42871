/*
 * sessions.h - which sessions exist, and their names.
 *
 * A session is a directory (session.h); its file "name" has its name. One user's live sessions have different names.
 * Sessions are found where session_create() puts them, and, where that was a report's folder, by the sockets that the
 * kernel knows. A session is alive when a process listens on its command socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/session/command.h"
#include "collector/session/control_server.h"
#include "collector/session/session.h"

#define SESSION_NAME_MAX 64 /* bytes with the end */

struct session_entry {
	char dir[SESSION_DIR_MAX];
	char name[SESSION_NAME_MAX];
	uid_t owner;
	pid_t pid; /* of the collector, as it sees itself */
	bool is_alive;
	bool is_held; /* dead, but its records are kept: for `sightline recover` */
};

struct session_appearance {
	const char *pattern; /* of the name: %p: @pid, %q{VAR}, %h; NULL, "": KIND-PID */
	const char *kind;
	pid_t pid;
	char *name; /* the resulting name; SESSION_NAME_MAX */
	struct control *control;
	control_fn *ask; /* serves its commands, for @to */
	void *to;
};

/*
 * Gives @s its name and opens its command socket, in one step: a name counts while its session answers, and between
 * the two another could take it. One that is made up gets a number where it is taken. 0; -EEXIST (taken by another),
 * -EINVAL, ...: a sentence in @why.
 */
int session_appear(const struct session *s, const struct session_appearance *a, char *why,
		   size_t why_len);

/*
 * All sessions of this user, or of all users (@all; others' only for root); live ones first, then
 * by name. malloc'd. Removes the files of dead sessions.
 */
size_t sessions_scan(struct session_entry **list, bool all);

/*
 * Prints a line for each session beside @own whose collector was killed together with its keeper,
 * names its report, and removes the session's files.
 */
void sessions_report_dead(const struct session *own);

/* How many of this user's sessions are alive. */
size_t sessions_alive(void);

/* Finds the session of this user whose tree has process @pid, although no process above it is in a session. */
bool session_of_orphan(uint32_t pid, struct session_entry *found);

/*
 * The one that is meant: by its name, its directory or, with @name NULL, the only live one. 0, or an exit status
 * after one line on stderr that names those there are. @cmd: the command's name.
 */
int session_choose(const char *name, const char *cmd, struct session_entry *found);

/* As command_ask() with one line on stderr when there is no answer: then SL_EXIT_FAIL; else the answer's status. */
int session_ask(const struct session_entry *e, const char *cmd, struct command *p, int timeout_ms);
