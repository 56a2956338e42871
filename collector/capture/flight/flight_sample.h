/*
 * flight_sample.h - CPU samples of the last moments, in memory (flight recorder).
 *
 * A sample is unwound when it comes; what goes into the report otherwise goes into parts here. Each part is whole by
 * itself, as reports are: what its samples refer to (stacks, mappings, code of Python) is told in it again. So parts
 * are forgotten as they are, and with them the stacks that nobody refers to any more.
 */
#ifndef SL_FLIGHT_SAMPLE_H
#define SL_FLIGHT_SAMPLE_H

#include "collector/base/clock_map.h"
#include "collector/report/db_map.h"
#include "collector/capture/flight/flight_ring.h"
#include "collector/kernel/sample/sample.h"

struct flight_part;

struct flight_sample {
	struct sample *sample;
	int64_t part_ns;     /* length of a part, at most */
	uint64_t part_bytes; /* the same */
	struct flight_part *first, *last;
	struct db_map codes; /* that the last part has */
	uint64_t bytes;      /* of all parts */
	bool is_torn; /* something for which there was no memory is missing in the last part */
	struct sample_losses seen; /* of which the parts know */
	struct sample_losses told; /* in reports, all together */
	uint64_t lost;             /* samples for which there was no memory, not told yet */
};

/* So many stacks are known again, where @bytes are all there is. */
size_t flight_sample_stacks(uint64_t bytes);
/* Parts of a recorder of @ns and @bytes. */
void flight_sample_open(struct flight_sample *q, struct sample *sample, int64_t ns, uint64_t bytes);
void flight_sample_release(struct flight_sample *q);

/* As sample_poll(); at @now, CLOCK_MONOTONIC. */
void flight_sample_poll(struct flight_sample *q, int64_t now, bool all);

/* What it takes, and that by which stacks are known again. */
uint64_t flight_sample_bytes(const struct flight_sample *q);
/* Adds the parts to @ages. */
void flight_sample_look(const struct flight_sample *q, const struct clock_map *clock,
			struct flight_ages *ages);
/* Forgets what is older, in parts; @mono: CLOCK_MONOTONIC. */
void flight_sample_forget(struct flight_sample *q, int64_t mono);

/* Samples in [@from, @to), CLOCK_MONOTONIC, with what they refer to; counts what was lost meanwhile in q->told. */
void flight_sample_tell(struct flight_sample *q, int64_t from, int64_t to,
			const struct sample_sink *sink);

#endif
