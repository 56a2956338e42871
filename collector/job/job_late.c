/*
 * job_late.c - which rank is late: steps of the same number are compared, each by the time that the rank took by itself. No
 * clocks are compared.
 */
#include "collector/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define MISSING     8u    /* a rank that is so many steps behind is not waited for */
#define STALE_STEPS 1024u /* one that is so many behind has ended, and is not one of the ranks */

/* One rank in one step. */
struct one {
	int64_t own;
	const struct job_session *session;
	const struct job_series *series;
};

static int by_own(const void *a, const void *b)
{
	int64_t x = ((const struct one *)a)->own, y = ((const struct one *)b)->own;

	return x < y ? -1 : x > y;
}

static const int64_t *own_at(const struct job_series *k, uint32_t step)
{
	uint32_t back = k->last - step;

	return step <= k->last && back < k->cnt ? &k->own[k->cnt - 1 - back] : NULL;
}

/* Ranks that still make steps: those far behind the newest one have ended. */
static size_t steppers(struct job_session *const *sessions, size_t cnt, uint32_t most)
{
	size_t ranks = 0;

	for (size_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < sessions[i]->series_cnt; k++)
			ranks += most - sessions[i]->series[k].last < STALE_STEPS;
	return ranks;
}

static bool is_over(const struct job_limit *l, int64_t own, int64_t median)
{
	return l->medians > 0 ? (double)own > l->medians * (double)median : own - median > l->ns;
}

static void explain(const struct one *o, uint32_t step, int64_t median, size_t cnt, char *why,
		    size_t why_len)
{
	snprintf(why, why_len,
		 "%s on %s took %.1f ms by itself in step %u, the median of %zu ranks is %.1f ms",
		 o->series->name, o->session->host, (double)o->own / 1e6, step, cnt,
		 (double)median / 1e6);
}

/* The newest step of all ranks, and of the slowest that counts; 0: there is none. */
static uint32_t newest(struct job_session *const *sessions, size_t cnt, uint32_t *complete)
{
	uint32_t most = 0;

	for (size_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < sessions[i]->series_cnt; k++)
			if (sessions[i]->series[k].last > most)
				most = sessions[i]->series[k].last;
	*complete = most;
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < sessions[i]->series_cnt; k++) {
			uint32_t last = sessions[i]->series[k].last;

			if (most - last < MISSING && last < *complete)
				*complete = last;
		}
	return most;
}

bool job_late_find(struct job_late *l, const struct job_limit *limit,
		   struct job_session *const *sessions, size_t cnt, char *why, size_t why_len)
{
	uint32_t complete, most = newest(sessions, cnt, &complete);
	uint32_t first = most > JOB_STEPS ? most - JOB_STEPS + 1 : 1;
	struct one *all = NULL;
	size_t room = 0, ranks = steppers(sessions, cnt, most);
	bool found = false;

	/* The ranks began anew: torchrun restarts all of them together. */
	if (most < l->step)
		l->step = 0;
	if (first <= l->step)
		first = l->step + 1;
	for (uint32_t step = first; step && step <= complete && !found; step++) {
		size_t n = 0;

		for (size_t i = 0; i < cnt; i++)
			for (size_t k = 0; k < sessions[i]->series_cnt; k++) {
				const int64_t *own = own_at(&sessions[i]->series[k], step);

				if (own && grow(&all, n, &room, sizeof(*all)))
					all[n++] = (struct one){*own, sessions[i],
								&sessions[i]->series[k]};
			}
		l->step = step;
		/* Steps of a few ranks, where the others have gone on or are behind, are no comparison. */
		if (n < 2 || 2 * n <= ranks)
			continue;
		qsort(all, n, sizeof(*all), by_own);
		/* The lower median of an even number, so that one of two ranks can be late. */
		found = is_over(limit, all[n - 1].own, all[(n - 1) / 2].own);
		if (found)
			explain(&all[n - 1], step, all[(n - 1) / 2].own, n, why, why_len);
	}
	free(all);
	return found;
}
