/*
 * flight_ring.h - the flight recorder's memory: what the rings hold, and up to when they would have to be read for
 * them to hold less.
 *
 * The rings are the memory: what is not read stays in them. So all that is to be decided is a moment, in ticks: what
 * ended before it is read (and dropped, when no window is open), the rest stays. One moment for all threads: a report
 * then has everything since, of everybody.
 */
#ifndef SL_FLIGHT_RING_H
#define SL_FLIGHT_RING_H

#include "collector/collect/arenas.h"

/* Something that would be free once all that ended by @ticks has been read. */
struct flight_age {
	uint64_t ticks;
	uint64_t bytes;
};

struct flight_ages {
	struct flight_age *at;
	size_t cnt, cap;
};

/* Without memory nothing is added: then less is freed than could be. */
void flight_ages_add(struct flight_ages *ages, uint64_t ticks, uint64_t bytes);
/* The moment by which @bytes of those from @first on become free; the last one if all are not enough; 0: none. */
uint64_t flight_ages_pick(struct flight_ages *ages, size_t first, uint64_t bytes);

/* Bytes of the chunks that threads have, all arenas together; and those of them that cannot be taken from them. */
uint64_t flight_used(const struct arenas *as, uint64_t *fixed);

/* Is an arena about to run out of chunks or slots? */
bool flight_is_short(const struct arenas *as);

/*
 * Adds the chunks of all rings to @ages. Ticks: to be read up to so that no arena runs out of chunks or slots; 0: none
 * is about to.
 */
uint64_t flight_look(struct arenas *as, struct flight_ages *ages);

/* Bytes of memory that the arenas really take. */
uint64_t flight_resident(const struct arenas *as);
/* Gives about so many bytes of chunks that nobody uses back to the system. Bytes. */
uint64_t flight_trim(struct arenas *as, uint64_t bytes);

#endif
