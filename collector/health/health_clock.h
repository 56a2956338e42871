/*
 * health_clock.h - from the clock of a stream's samples to CLOCK_MONOTONIC.
 *
 * Samples come in batches; behind each batch stands a pair of both clocks, read when the batch was. The samples' clock may
 * be CLOCK_REALTIME, which NTP slews (by 500 ppm at most) and a user sets. So between two pairs it is a straight line;
 * where their difference jumps, the clock was set in between: samples up to the jump belong to the first pair, those
 * after it to the second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_pair {
	int64_t its, mono;
};

/* Has the clock been set between the two? */
bool health_clock_jumps(const struct clock_pair *a, const struct clock_pair *b);
/* CLOCK_MONOTONIC at @its, on the line through both; or, where the clock was set, at the distance from one of them. */
int64_t health_clock_line(const struct clock_pair *a, const struct clock_pair *b, int64_t its);
/*
 * For the samples of a batch between pairs that jump: the first of @cnt times (in order of arrival, every @stride) that was
 * read after the clock was set; @cnt: none was.
 */
size_t health_clock_set_at(const struct clock_pair *a, const struct clock_pair *b,
			   const int64_t *its, size_t cnt, size_t stride);
