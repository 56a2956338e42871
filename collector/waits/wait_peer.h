/* wait_peer.h - the other end of a pipe or a socket, and the process that has it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_PEER_MAX 256

struct wait_peer {
	char text[WAIT_PEER_MAX]; /* "process 4711 (postgres) has the other end"; "": not known */
	uint32_t
		pid; /* the process that alone has the other end, besides that of the thread itself; 0: none, or several */
	bool is_local; /* no network is between the ends */
	bool has_self; /* the thread's own process has it */
	bool is_alone; /* no other process has it: the descriptors of all were seen */
};

/*
 * Of descriptor @fd of process @pid, by its link in /proc (@target), as "pipe:[4711]". @reads: the thread waits to read from it. Looks
 * through descriptors of all processes that this user may see.
 */
void wait_peer_find(struct wait_peer *peer, uint32_t pid, int64_t fd, const char *target,
		    bool reads);

/*
 * In a table as /proc/net/tcp has it: the inode of the other end of the socket @inode, 0: it is not of this machine. @text gets
 * "127.0.0.1:80 to 127.0.0.1:5000". False: the table has no such socket.
 */
bool wait_peer_in_table(const char *table, uint64_t inode, uint64_t *other, char *text, size_t len);
