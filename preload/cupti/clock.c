/*
 * clock.c - times of CUPTI's records on CLOCK_MONOTONIC.
 *
 * CUPTI counts on CLOCK_REALTIME, on WSL on CLOCK_MONOTONIC_RAW. No clock is registered with it (known_bad.def): some
 * versions lose the times of kernels then, in others some records keep the clock of before, and it cannot be withdrawn. Where
 * another client has registered one, a callback for the same clock as before replaces it.
 *
 * Wall clock and CLOCK_MONOTONIC run at the same rate. Their difference is constant until the wall clock is set, or the
 * machine was suspended. So every measurement narrows the same interval, and one that does not overlap it starts an epoch.
 * CUPTI takes the times of calls when they are made, and converts the GPU's when it hands them over: records are young, so
 * of the epochs that a time can belong to it is the one that makes it the latest. Another client can register a clock:
 * what belongs to no epoch is on CLOCK_MONOTONIC, or of no known clock.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"

#include <time.h>

#define EPOCHS   8u
#define SLOP_NS  2000         /* of a measurement, by which epochs differ at least */
#define NOTED_NS 1000000      /* a smaller step is no matter for a note */
#define LEAD_NS  60000000000u /* by which a record may be older than the start of CUPTI */
#define AHEAD_NS 10000000000u /* ... or its time lie in the future */

/* Offsets: CLOCK_MONOTONIC minus CUPTI's clock. */
struct epoch {
	uint64_t
		until; /* atomic: the first one that does not fit this epoch; UINT64_MAX: none yet */
	uint64_t measured; /* when the interval was narrowed last */
	int64_t low, high;
	int64_t offset; /* atomic: the middle */
};
/* Only the newest one changes, but for @until. */
static struct epoch epochs[EPOCHS];
static uint32_t epoch_cnt; /* atomic */
static uint32_t measuring; /* atomic */
static clockid_t its_clock = CLOCK_REALTIME;
static uint64_t begun;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void note_step(int64_t by, uint64_t within)
{
	double s = (double)by / 1e9;

	if (by > -NOTED_NS && by < NOTED_NS)
		return;
	status_record(SL_GPU_STATUS_LIMITED, 0,
		      "The wall clock was set by %+.3f s, or the machine slept, and CUPTI counts "
		      "on it: the GPU's work of "
		      "the %.1f s before this may be misplaced by as much",
		      s, (double)within / 1e9);
}

/* Called by one thread at a time. */
static void add_epoch(uint64_t now, int64_t low, int64_t high)
{
	uint32_t cnt = epoch_cnt;
	struct epoch *before = cnt ? &epochs[cnt - 1] : NULL;
	struct epoch *e = &epochs[cnt < EPOCHS ? cnt : EPOCHS - 1];
	int64_t offset = low + (high - low) / 2, by = before ? before->offset - offset : 0;
	uint64_t fitted = before ? before->measured : 0;

	/* Clocks that are set all the time: the last epoch is the current one, and records of those between have no times. */
	e->measured = now;
	e->low = low;
	e->high = high;
	__atomic_store_n(&e->until, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&e->offset, offset, __ATOMIC_RELAXED);
	if (before && before != e)
		__atomic_store_n(&before->until, now, __ATOMIC_RELAXED);
	if (cnt < EPOCHS)
		__atomic_store_n(&epoch_cnt, cnt + 1, __ATOMIC_RELEASE);
	if (before)
		note_step(by, now - fitted);
}

/* CLOCK_MONOTONIC_RAW is not disciplined: the difference changes by 500 ppm at most. */
static int64_t drift(uint64_t ns)
{
	return its_clock == CLOCK_REALTIME ? 0 : (int64_t)(ns >> 11);
}

void clock_measure(void)
{
	uint64_t before, its, after;
	int64_t low, high, wider;
	struct epoch *e;

	if (__atomic_exchange_n(&measuring, 1, __ATOMIC_ACQUIRE))
		return;
	before = guest.host->now();
	its = read_clock(its_clock);
	after = guest.host->now();
	low = (int64_t)(before - its);
	high = (int64_t)(after - its);
	e = epoch_cnt ? &epochs[epoch_cnt - 1] : NULL;
	wider = e ? drift(after - e->measured) : 0;
	if (!e || low > e->high + wider + SLOP_NS || high < e->low - wider - SLOP_NS) {
		add_epoch(after, low, high);
	} else {
		e->low = low > e->low - wider ? low : e->low - wider;
		e->high = high < e->high + wider ? high : e->high + wider;
		/* Rounding can leave nothing in between. */
		if (e->high < e->low)
			e->high = e->low;
		e->measured = after;
		__atomic_store_n(&e->offset, e->low + (e->high - e->low) / 2, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&measuring, 0, __ATOMIC_RELEASE);
}

/* Asks CUPTI for the time, as its headers name the clock by the platform. */
void clock_start(void)
{
	uint64_t its = 0, raw, now;

	begun = guest.host->now();
	if (begun < LEAD_NS)
		begun = LEAD_NS;
	if (guest.cupti.GetTimestamp && guest.cupti.GetTimestamp(&its) == CUPTI_OK) {
		raw = read_clock(CLOCK_MONOTONIC_RAW);
		now = guest.host->now();
		if (its_clock == CLOCK_REALTIME && distance(its, raw) < AHEAD_NS &&
		    distance(its, raw) < distance(its, now)) {
			its_clock = CLOCK_MONOTONIC_RAW;
			__atomic_store_n(&epoch_cnt, 0, __ATOMIC_RELEASE);
		}
	}
	for (int i = 0; i < 5; i++)
		clock_measure();
}

/* The timestamp callback: called on any thread, frequently. */
static uint64_t timestamp(void)
{
	return read_clock(its_clock);
}

void clock_replace(void)
{
	static uint32_t is_noted;

	if (!guest.cupti.ActivityRegisterTimestampCallback ||
	    guest.cupti.ActivityRegisterTimestampCallback(timestamp) != CUPTI_OK)
		status_record(
			SL_GPU_STATUS_LIMITED, 0,
			"The program's profiler has registered a clock with CUPTI, which keeps "
			"it: the GPU's work has no times");
	if (!begun)
		begun = guest.host->now();
	begun = begun < LEAD_NS ? LEAD_NS : begun;
	for (int i = 0; i < 5; i++)
		clock_measure();
	if (known_bad(BAD_TIMESTAMP_CALLBACK) &&
	    !__atomic_exchange_n(&is_noted, 1, __ATOMIC_RELAXED))
		status_record(
			SL_GPU_STATUS_LIMITED, 0,
			"The program's profiler has registered a clock with CUPTI, which cannot "
			"be withdrawn: with this version of CUPTI (API %u) kernels can have no "
			"times, and are counted as lost",
			guest.version);
}

uint64_t clock_mono(uint64_t t, uint64_t now)
{
	uint32_t cnt = __atomic_load_n(&epoch_cnt, __ATOMIC_ACQUIRE);
	/* With one epoch there is no doubt. Of several, the one before explains a time in the future better. */
	uint64_t limit = now + (cnt > 1 ? SL_CUDA_SLACK_NS : AHEAD_NS), latest = 0;

	if (!t)
		return 0;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct epoch *e = &epochs[i];
		uint64_t mono = t + (uint64_t)__atomic_load_n(&e->offset, __ATOMIC_RELAXED);
		uint64_t until = __atomic_load_n(&e->until, __ATOMIC_RELAXED);

		if (mono >= begun - LEAD_NS && mono <= (until < limit ? until : limit) &&
		    mono > latest)
			latest = mono;
	}
	if (!latest && t >= begun - LEAD_NS && t <= now + AHEAD_NS)
		latest = t;
	return latest;
}
