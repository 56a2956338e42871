/*
 * flight_ring.h - the rings as the flight recorder's memory: their size, and up to when they must be drained to shrink.
 *
 * Undrained records stay in the rings, so the recorder decides only a time in ticks: calls that
 * ended before it are drained (and dropped, when no window is open), later calls stay. All threads
 * share that time: a report then has every call of all threads since.
 */
#pragma once

#include "collector/collect/arenas.h"

/* Memory that is freed once everything that ended by @ticks is drained. */
struct flight_age {
	uint64_t ticks;
	uint64_t bytes;
};

struct flight_ages {
	struct flight_age *at;
	size_t cnt, cap;
};

/* Without memory nothing is added, and less is freed than could be. */
void flight_ages_add(struct flight_ages *ages, uint64_t ticks, uint64_t bytes);
/* The time by which @bytes of those from @first on are freed; the last one if all are not enough; 0: none. */
uint64_t flight_ages_pick(struct flight_ages *ages, size_t first, uint64_t bytes);

/* Bytes of the chunks of all threads; *@fixed: bytes that cannot be freed while the threads live. */
uint64_t flight_used(const struct arenas *as, uint64_t *fixed);

/* Whether an arena is about to run out of chunks or slots. */
bool flight_is_short(const struct arenas *as);

/* Adds the chunks of all rings to @ages. Returns up to when to drain so that no arena runs short; 0: none does. */
uint64_t flight_look(struct arenas *as, struct flight_ages *ages);

/* Resident bytes of the arenas. */
uint64_t flight_resident(const struct arenas *as);
/* Gives about so many bytes of unused chunks back to the system. Returns the bytes given. */
uint64_t flight_trim(struct arenas *as, uint64_t bytes);
