/*
 * replay_jobs.c - jobs: the work of a thread for the thread that started it, or woke it last, until it ends or waits for another.
 *
 * A thread that sleeps until a result is ready leaves no edge to the thread that makes the result: the recording has only the end
 * of jobs during the sleep. Without the sleep, the thread would still have to wait for these jobs.
 */
#include "exporters/why/answer/replay_internal.h"

/* A wait for a lock is part of a job, and so is a wait for a job that @thread gave to another thread. */
static bool is_within_job(const struct run *r, uint32_t thread, const struct why_wake *wake)
{
	return r->tracks[thread].is_inner || wake->cause.reason == WHY_LOCK ||
	       wake->cause.reason == WHY_GIL ||
	       (wake->waker != WHY_NONE && r->tracks[wake->waker].works_for == thread);
}

void replay_job_begins(struct run *r, uint32_t thread, uint32_t by)
{
	struct track *k = &r->tracks[thread];

	if (!k->is_asking) {
		if (k->works_for != WHY_NONE)
			r->tracks[k->works_for].jobs--;
		k->works_for = by;
		r->tracks[by].jobs++;
	}
	k->is_asking = false;
}

void replay_job_pauses(struct run *r, uint32_t thread, bool is_last)
{
	struct track *k = &r->tracks[thread], *to;

	k->is_asking = is_within_job(r, thread, &k->wake);
	if (k->works_for == WHY_NONE || k->is_asking || (k->wake.waker == WHY_NONE && !is_last) ||
	    replay_is_end(r, thread, k))
		return;
	to = &r->tracks[k->works_for];
	to->done_at = k->at;
	for (size_t v = 0; v < r->cnt; v++) {
		int64_t *done = &r->done[(size_t)k->works_for * r->cnt + v];
		int64_t now = r->now[(size_t)thread * r->cnt + v];

		*done = *done > now ? *done : now;
	}
	to->jobs--;
	k->works_for = WHY_NONE;
}

bool replay_has_jobs(const struct run *r, uint32_t thread)
{
	const struct track *k = &r->tracks[thread];

	return k->jobs || (k->done_at > k->at && k->done_at <= k->end);
}

int64_t replay_jobs_done(const struct run *r, uint32_t thread, size_t v)
{
	const struct track *k = &r->tracks[thread];

	return k->done_at > k->at && k->done_at <= k->end ? r->done[(size_t)thread * r->cnt + v]
							  : INT64_MIN;
}
