/*
 * trigger_watch.h - reads records as they arrive, for triggers: each once, long before it is drained, and without
 * taking it. Only the few words that a trigger needs are decoded.
 */
#pragma once

#include "collector/collect/arenas.h"
#include "collector/options/trigger.h"

struct trigger_watch;

/* @why: a sentence. @since: beginning of the event that fired, ticks; 0: the event has no beginning. */
typedef void trigger_fire_fn(void *to, const char *why, uint64_t since);

/* NULL without memory. @ts stays the caller's. */
struct trigger_watch *trigger_watch_new(struct triggers *ts, trigger_fire_fn *fire, void *to);
/* Everything that came since the last time. */
void trigger_watch_round(struct trigger_watch *w, struct arenas *as);
/* Everything of one thread that came since the last time. */
void trigger_watch_thread(struct trigger_watch *w, struct arenas *as, struct arena *a,
			  struct thread *t);
void trigger_watch_free(struct trigger_watch *w);
/* The next trigger from *@i on of whose ranges none has come to an end: of a name or a domain that the program does not use. NULL: no more. */
const struct trigger *trigger_watch_in_vain(const struct trigger_watch *w, uint32_t *i);
/* Steps and pace of ranks are written to @fd (trigger_late.h). */
void trigger_watch_late_to(struct trigger_watch *w, int fd);

/* ---- trigger_gpu.c: how busy GPUs are ---- */

struct trigger_gpu;

struct trigger_gpu *trigger_gpu_new(struct triggers *ts, trigger_fire_fn *fire, void *to);
/* A SL_SHAPE_GPU record of process number @image of arena @arena. */
void trigger_gpu_record(struct trigger_gpu *g, uint32_t arena, uint32_t image, uint32_t pid,
			const struct call *c);
void trigger_gpu_free(struct trigger_gpu *g);
