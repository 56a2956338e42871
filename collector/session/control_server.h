/*
 * control_server.h - the collector's end of the command socket (command.h).
 *
 * Any number of clients may connect, send nothing, half of a packet or nonsense: the session is not disturbed.
 * Nothing here waits; a client that is silent for CONTROL_SILENT_MS is disconnected, and when all places are taken
 * the longest silent one is. Only the session's user and root are served.
 *
 * control_fd() becomes readable when there is work; control_serve() does it and hands questions to
 * the function given. Each question is answered once: immediately, or kept until the event that it
 * waits for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/session/command.h"

#define CONTROL_CLIENTS   64
#define CONTROL_SILENT_MS 2000

struct control_client {
	int fd;           /* -1: free */
	int64_t since_ms; /* connected */
	int waits_for;    /* the caller's number; 0: has not asked yet */
	char *what;       /* malloc'd; the awaited object, e.g. a report's path. NULL: any */
};

/* @client: for control_answer() or control_keep(), one of which must be called before it returns. */
typedef void control_fn(void *to, int client, int cnt, char **word);

struct control {
	bool is_open;
	int silent_ms; /* CONTROL_SILENT_MS */
	int listen_fd, epoll, timer;
	control_fn *ask;
	void *to;
	struct control_client client[CONTROL_CLIENTS];
	uint32_t refused;  /* other users */
	uint32_t nonsense; /* not a packet of this protocol, silent, or one too many */
	uid_t last_refused;
	/* Big, and not touched before the first question. */
	struct command packet; /* the question being served */
	struct command reply;  /* the answer being written */
};

/* Makes the socket in @dir. 0 or -errno. */
int control_open(struct control *k, const char *dir, control_fn *ask, void *to);
int control_fd(const struct control *k);
void control_serve(struct control *k);
/* Hangs up on everybody. */
void control_close(struct control *k);

/* Answers and hangs up; @text: one line without its end, or lines of key=value. */
void control_answer(struct control *k, int client, int status, const char *text);
/* Lets it wait for @waits_for (not 0) and @what, which is copied; NULL: anything. */
void control_keep(struct control *k, int client, int waits_for, const char *what);
/* Sends two words to all clients that wait for @waits_for; they go on waiting. */
void control_tell(struct control *k, int waits_for, const char *what, const char *text);
/* Returns the client's socket, for the caller to answer and close; it is no client any more. */
int control_take(struct control *k, int client);
/* Answers all that wait for it (@what NULL: any object). Returns their number. */
int control_answer_kept(struct control *k, int waits_for, const char *what, int status,
			const char *text);
