/* sched_calls.h - system calls of the tree, the user half of bpf/syscalls.bpf.c; for sched_bpf.c alone. */
#pragma once

#include "collector/kernel/sched/sched_internal.h"

struct calls;

/* @flags: the map of ctxsw.bpf.c. NULL and a sentence in @why. */
struct calls *calls_open(const struct sched *s, int flags, char *why, size_t why_len);
/* One stream per CPU for sched_merge(): the time of its first record, of the next one, and all that were taken. */
uint64_t calls_begin(struct calls *c, unsigned cpu);
uint64_t calls_take(struct sched *s, struct calls *c, unsigned cpu);
void calls_end(struct calls *c);
/* Recording begins or ends. */
void calls_record(struct calls *c, bool on, uint64_t ns);
/* Sums of calls too short for a record, of the window being delivered; all sums (@over) or sums that are due. */
void calls_tell_sums(struct sched *s, struct calls *c, bool over);
unsigned calls_fill(const struct calls *c);
uint64_t calls_lost(const struct calls *c);
void calls_stop(struct calls *c);
void calls_close(struct calls *c);
