/* wait.h - waits for room in the rings. */
#pragma once

#include <stdbool.h>

#include "preload/wire/arena.h"

#pragma GCC visibility push(hidden)

/*
 * Waits, as --on-full allows, until @take succeeds. Taking is the only reliable test: another one might
 * succeed although there is nothing to take, and the wait would never end.
 */
bool sl_wait_for(struct sl_arena *a, bool (*take)(struct sl_arena *, void *), void *what);

#pragma GCC visibility pop
