/* health_clock.c - arithmetic of health_clock.h. */
#include "collector/health/health_clock.h"

#define SLEW_PER 1000    /* a thousandth: twice NTP's largest slew */
#define NOISE_NS 1000000 /* of reading two clocks */

static int64_t difference(const struct clock_pair *p)
{
	return (int64_t)((uint64_t)p->its - (uint64_t)p->mono);
}

/* How far the clock was set. */
static int64_t jump(const struct clock_pair *a, const struct clock_pair *b)
{
	return (int64_t)((uint64_t)difference(b) - (uint64_t)difference(a));
}

bool health_clock_jumps(const struct clock_pair *a, const struct clock_pair *b)
{
	int64_t j = jump(a, b), span = b->mono - a->mono, most = span / SLEW_PER + NOISE_NS;

	return j > most || j < -most;
}

int64_t health_clock_line(const struct clock_pair *a, const struct clock_pair *b, int64_t its)
{
	int64_t span = b->its - a->its;

	if (span <= 0)
		return (int64_t)((uint64_t)b->mono + (uint64_t)its - (uint64_t)b->its);
	/* Also a little outside: samples of the batch before may end later than its pair. */
	return (int64_t)((uint64_t)a->mono + (uint64_t)(int64_t)((__int128)(its - a->its) *
								 (b->mono - a->mono) / span));
}

/*
 * Times of samples rise by one period, and once by the jump more: where a step is nearer to the jump than to the step
 * before it. A small jump back and forth looks like late samples: then it is at the end, where it costs least.
 */
size_t health_clock_set_at(const struct clock_pair *a, const struct clock_pair *b,
			   const int64_t *its, size_t cnt, size_t stride)
{
	int64_t j = jump(a, b), before = a->its,
		usual = cnt ? (b->mono - a->mono) / (int64_t)cnt : 0;

	for (size_t i = 0; i < cnt; i++) {
		int64_t step = its[i * stride] - before, off = step - usual - j,
			plain = step - usual;

		before = its[i * stride];
		if ((off < 0 ? -off : off) < (plain < 0 ? -plain : plain))
			return i;
	}
	return cnt;
}
