/*
 * control_server.h - the collector's end of the command socket (command.h).
 *
 * Any number may connect, say nothing, half of something or nonsense: the session goes on as if they had not. Nothing
 * here waits; who is silent for CONTROL_SILENT_MS is hung up on, and when all places are taken the longest silent
 * one goes. Only the session's user and root are heard.
 *
 * control_fd() becomes readable when there is something to do; control_serve() then does it and hands questions to
 * the function given. Each is answered once: at once, or kept and answered later by what it waits for.
 */
#ifndef SL_CONTROL_H
#define SL_CONTROL_H

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
	char *what;       /* malloc'd; what exactly, e.g. a report's path. NULL: anything */
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
	uint32_t nonsense; /* no packet of ours, silent, or one too many */
	uid_t last_refused;
	/* Big, and not touched before somebody asks. */
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
/* Says something to all that wait for it, who go on waiting: two words. */
void control_tell(struct control *k, int waits_for, const char *what, const char *text);
/* Its socket, for the caller to answer and close; it is no client any more. */
int control_take(struct control *k, int client);
/* Answers all that wait for it (@what NULL: whatever they wait for). How many. */
int control_answer_kept(struct control *k, int waits_for, const char *what, int status,
			const char *text);

#endif
