/*
 * pm_rate.c - the interval between samples. Turing and GA100 count it in cycles of the SYS clock, whose rate changes: the
 * samples' length shows it.
 */
#include "collector/probe/pm_session.h"

#define GUESS_HZ     1400000000 /* of the SYS clock */
#define LEAST_NS     1000
#define LEAST_CYCLES 20000
#define ENOUGH       20 /* samples, for a mean */
#define NS           1000000000

void pm_rate_init(struct pm_rate *r, const char *chip, int64_t hz)
{
	const struct pm_family *f = pm_family_of(chip);
	enum pm_trigger t = f ? f->trigger : PM_TIME;

	*r = (struct pm_rate){.hz = hz, .period = NS / hz};
	r->trigger = t == PM_TIME ? PM_TRIGGER_TIME : PM_TRIGGER_SYSCLK;
	r->append = t == PM_CYCLES_KEEP_OLDEST ? PM_KEEP_OLDEST : PM_KEEP_LATEST;
	r->interval = (uint64_t)(t == PM_TIME ? NS / hz : GUESS_HZ / hz);
	if (r->interval < (t == PM_TIME ? LEAST_NS : LEAST_CYCLES))
		r->interval = t == PM_TIME ? LEAST_NS : LEAST_CYCLES;
	r->is_measured = t == PM_TIME;
	if (r->is_measured)
		r->period = (int64_t)r->interval;
}

bool pm_rate_other(struct pm_rate *r)
{
	if (r->trigger == PM_TRIGGER_TIME) {
		r->trigger = PM_TRIGGER_SYSCLK;
		r->interval = (uint64_t)(GUESS_HZ / r->hz);
		r->is_measured = false;
		return true;
	}
	if (r->append == PM_KEEP_LATEST) {
		r->append = PM_KEEP_OLDEST;
		return true;
	}
	return false;
}

bool pm_rate_seen(struct pm_rate *r, unsigned cnt, int64_t ns)
{
	int64_t want = NS / r->hz, mean, off;
	uint64_t interval;

	if (r->trigger == PM_TRIGGER_TIME || cnt < ENOUGH)
		return false;
	mean = ns / cnt;
	if (mean <= 0)
		return false;
	off = mean > want ? mean - want : want - mean;
	/* Keeps a rate that is up to a fifth off; at first, up to a fiftieth, as another start is worth it. */
	if (off * (r->is_measured ? 5 : 50) <= want) {
		r->period = mean;
		r->is_measured = true;
		return false;
	}
	interval = (uint64_t)((double)r->interval * (double)want / (double)mean);
	if (interval < LEAST_CYCLES)
		interval = LEAST_CYCLES;
	r->is_measured = true;
	r->period = (int64_t)((double)mean * (double)interval / (double)r->interval);
	if (interval == r->interval)
		return false;
	r->interval = interval;
	return true;
}
