/* session_now.h - which report a session writes at the moment: for commands that read reports. */
#pragma once

struct session_now {
	char dir[108]; /* asked again by it */
	unsigned owner;
	char name[64];
	char report[4096]; /* absolute; "": nothing is recorded at present */
};

/* The session called @name, NULL: the only one. 0, or an exit status after one line on stderr. */
int session_now(const char *name, const char *cmd, struct session_now *s);
/* Asks it again. 0; -1: it has ended. */
int session_now_again(struct session_now *s);
