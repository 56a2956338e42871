/* session_join.h - joins the session: once per process image, and once per forked child. Messages to the collector. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

bool sl_process_start(void); /* idempotent; false when this process is not traced */
bool sl_process_child(void); /* in a forked child: a new process number, same arena */
void sl_announce(void);      /* writes the IMAGE record */

/*
 * For a library that came late, by dlopen() (late.c), and so has joined no session yet: joins the one of @variable, as
 * SIGHTLINE_SESSION has it. Returns an enum sl_late_error.
 */
int sl_process_enter(const char *variable);
/* Leaves that session: no thread records from now on. Another one may be joined. */
void sl_process_leave(void);

/*
 * Bare preload: starts a detached collector and waits until it is ready. Returns the session directory
 * (static storage), or NULL and a reason in *why.
 */
const char *sl_start_collector(const char *own_path, const char **why);

#pragma GCC visibility pop
