/* handover.h - a trace for ui.perfetto.dev, which takes files from one address of this machine alone. */
#pragma once

#include <stddef.h>

/* Called once it listens, with the address for the browser. */
typedef void view_handover_ready(void *ctx, const char *address);

/* Serves @file until it has been read once, or a signal. 0, or -1 after one sentence in @why. */
int view_handover(const char *file, view_handover_ready *ready, void *ctx, char *why, size_t len);
