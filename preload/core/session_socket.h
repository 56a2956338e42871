/* session_socket.h - messages to the session's collector. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/*
 * Connects to the session's socket, within @limit_ms (0: no bound); the descriptor, or a negative errno. @is_checked: the folder is the
 * session's, as it was just looked at.
 */
long sl_session_connect(unsigned limit_ms, bool is_checked);
/* Sends a hello. @fd: attached descriptor, -1: none. Returns a negative errno on failure. */
long sl_send_hello(long sock, enum sl_hello_kind kind, uint32_t range, int fd);

#pragma GCC visibility pop
