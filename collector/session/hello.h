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

/* A connection of the listening socket, non-blocking. -1: none waits. */
int hello_accept(int listen_fd);
/* Its other side, as the kernel knows it. False: not a process of this PID namespace. */
bool hello_sender(int sock, uint32_t *pid, uint32_t *uid);
/* What came over it: 1 a hello, 0 nothing yet, -1 hung up, or garbage, -2 its descriptor found no place here. */
int hello_receive(int sock, struct hello *hello);
