/*
 * sockets.h - limits on the number of connections, and on the time of each.
 *
 * The library's time limits are about silence: a client that sends a byte now and then would keep a connection for ever. So
 * the sockets of this process are listed, and a socket without a request in time is shut down. Sockets of other users have few
 * places until the token comes over them: beyond these, the oldest socket of the user with most of them is shut down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VIEW_CONNECTIONS 32
#define VIEW_STRANGERS   16
#define VIEW_SLOW_NS \
	INT64_C(10000000000) /* for a request, from the connection's beginning or the reply before */
#define VIEW_IDLE_NS INT64_C(60000000000)  /* of a connection that had a request with the token */
#define VIEW_SEND_NS INT64_C(120000000000) /* to take a reply */

struct view_socket {
	int fd;
	ino_t inode;
	int64_t since;
	uid_t uid; /* of the other end */
	enum {
		SOCKET_READING,
		SOCKET_WORKING,
		SOCKET_SENDING
	} what;
	bool is_known; /* the token came over it */
	bool is_there, is_shut;
};

struct view_sockets {
	struct view_socket list[2 * VIEW_CONNECTIONS];
	int cnt;
};

/* Shuts down sockets that took too long. Returns the number of connections left, without connections of strangers. */
int view_sockets_look(struct view_sockets *s, int64_t now);
/* Notes a new state of the connection of @fd. */
void view_sockets_note(struct view_sockets *s, int fd, int what, bool is_known, int64_t now);
