/*
 * session.h - the session directory: how traced processes find the collector.
 *
 * Layout and control file are those of preload/wire/session.h. The directory may stand in /dev/shm or
 * /tmp, so it must be private (0700) and short: a socket's path has to fit into 107 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/session.h"
#include "preload/wire/wire.h"

#define SESSION_DIR_MAX 88 /* with "/keeper" appended a socket address still fits */

struct session {
	char dir[SESSION_DIR_MAX];
	struct sl_session *control; /* mapped */
	int listen_fd;              /* hellos of programs */
	int keeper_fd; /* `recover` finds the keeper there; the keeper accepts once the collector is gone */
	uint64_t noted; /* hash of the report's path in the folder; 0: none */
};

#define SESSION_VARIABLE_MAX (SESSION_DIR_MAX + 36)

/* The value of SIGHTLINE_SESSION for programs of the session in @dir. -errno: it cannot be theirs. */
int session_variable(const char *dir, char *value, size_t size);
/* Cuts the value of SIGHTLINE_SESSION down to the session's folder. */
void session_variable_cut(char *value);

/*
 * Makes the directory, the control file with the contents of @settings, and the listening sockets. @report: path of
 * the report, whose folder is the last place to try. 0, or -errno and a sentence in @why.
 */
int session_create(struct session *s, const struct sl_session *settings, const char *report,
		   char *why, size_t why_len);

/* SIGHTLINE_SESSIONS: the one folder in which sessions are made and looked for; NULL: the usual ones. */
const char *session_base(void);

/*
 * The session's folder @dir: called sightline-UID-HEX, no link, of this user, who alone can change it. The descriptor, or
 * -errno: -EPERM when it is anything else.
 */
int session_folder_open(const char *dir);

/* Maps the control file of a session that another collector has left behind; no listening sockets. */
int session_adopt(struct session *s, const char *dir);

/* Path in the session's folder of the collector's database while nothing is recorded. malloc'd. */
char *session_db_path(const struct session *s);

/*
 * The path of libtrace.so, @preload, as LD_PRELOAD can have it: where it has a space, a colon or a dollar sign, that of the link
 * in the session's folder @dir. False: that cannot be one, either.
 */
bool session_preload(const char *dir, const char *preload, char *path, size_t size);
/* Whether sessions are made in a folder where session_preload() finds a link. */
bool session_can_link(const char *preload);

/* Marks the session as ended, and removes the directory. */
void session_remove(struct session *s);

/* Writes into the session's folder which report it writes; "": none. For sessions_report_dead(). */
void session_note_report(struct session *s, const char *report);

/* Removes a session directory with its own files; nothing where session_folder_open() refuses. */
void session_unlink(const char *dir);
