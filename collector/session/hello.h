/* hello.h - messages of traced programs to the session's socket (preload/wire/session.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

struct hello {
	enum sl_hello_kind kind;
	uint32_t pid;     /* pid of the sender, in this PID namespace */
	uint32_t claimed; /* its own view */
	uint32_t uid;
	uint32_t range; /* see struct sl_hello */
	uint64_t arena, pid_ns;
	int fd; /* the arena, or -1 */
};

#define HELLO_SILENT 64

/* Connections without a hello so far, the oldest first: programs send theirs at once. */
struct hello_silent {
	struct {
		int sock;
		int64_t since; /* CLOCK_MONOTONIC, ns */
	} at[HELLO_SILENT];
	unsigned cnt;
	uint64_t closed; /* ever: for lack of a hello */
};

/* One more, or one that is there already. Of too many the oldest goes: its socket, which the caller closes; -1: none. */
int hello_silent_add(struct hello_silent *s, int sock);
void hello_silent_forget(struct hello_silent *s, int sock);
/* The oldest, forgotten, if it has been silent for too long: the caller closes it. -1: none. */
int hello_silent_late(struct hello_silent *s);

/* A connection of the listening socket, non-blocking. -1: none waits. */
int hello_accept(int listen_fd);
/* The socket's other side, by the kernel. False: not a process of this PID namespace. */
bool hello_sender(int sock, uint32_t *pid, uint32_t *uid);
/* Receives from @sock: 1 a hello, 0 nothing yet, -1 hung up, or garbage, -2 no room for the descriptor of the hello. */
int hello_receive(int sock, struct hello *hello);
