/* drain_internal.h - shared by drain.c and drain_totals.c alone. */
#pragma once

#include "collector/collect/arenas.h"

/* The thread's name, when it has another than before. */
void drain_name_thread(struct arenas *as, struct thread *t, const struct sl_slot *slot);
enum drain_totals_when {
	DRAIN_NOW,
	DRAIN_REPORT_ENDS,
	DRAIN_THREAD_ENDS
};
/* Name and totals, when they have changed; totals by file only when the report or the thread ends. */
void drain_thread_totals(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t,
			 enum drain_totals_when when);
/* Losses without a record in a ring: of a thread, and of threads that had no slot. */
void drain_thread_losses(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t);
void drain_unslotted(struct arenas *as, struct arena *a);
