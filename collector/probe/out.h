/* out.h - the way out of sl-gpu: made by main.c; the functions for sources are in source.h. */
#pragma once

#include "collector/probe/source.h"

/* NULL: @ring is too small or cannot be mapped, or memory is out. @over: a request to end (out_is_over()). */
struct out *out_open(int socket, int ring);
/* The collector wants an end. */
void out_end(struct out *o);
/* The reason of the newest stream of hardware metrics of a GPU. */
void out_reason(struct out *o, unsigned gpu, char reason[SOURCE_WHY]);
/* Sends a message as it is. */
void out_send(struct out *o, const void *message, size_t bytes);
/* The calling thread ends: it is not watched any more. */
void out_leave(struct out *o);
/* Sleeps until @when (out_now()), or until out_end(), in steps that keep the thread alive for the collector. */
void out_sleep(struct out *o, int64_t when);
