/*
 * flight_totals.h - totals of short calls (struct sl_agg) as they were some moments ago, so that a report of the last
 * 30 s has about the totals of these, and not those since the program's start (flight recorder).
 *
 * min and max cannot be taken back: they stay those since the thread began.
 */
#ifndef SL_FLIGHT_TOTALS_H
#define SL_FLIGHT_TOTALS_H

#include "collector/collect/arenas.h"

#define FLIGHT_TOTALS 8u /* moments that are remembered of each thread */

struct agg_past;

/* Notes every thread's totals; @mono: CLOCK_MONOTONIC. FLIGHT_TOTALS times in the length of a window, say. */
void flight_totals_note(struct arenas *as, int64_t mono);
/* Takes off @g, of @hook, what was so at the last moment noted before @mono. */
void flight_totals_since(const struct thread *t, int64_t mono, unsigned hook, struct sl_agg *g);

#endif
