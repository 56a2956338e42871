/* limit.c - the largest gain of a report as the limit of its findings. */
#include "exporters/analyze/limit.h"

#include <string.h>

#define SURE 0.6 /* confidence of a gain */

/* Is so much won for sure? Fewer calls that sync a file are; that another call or its result is needed, no record shows. */
static bool is_sure(const struct why *y, const struct why_gain *g)
{
	return g->severity == GAIN_SEVERE ||
	       (g->action == GAIN_BATCH && g->culprit != WHY_NONE && !g->is_up_to &&
		g->sure >= SURE && why_main_reason(&y->culprits[g->culprit]) == WHY_FSYNC &&
		(double)y->of_reason[WHY_UNKNOWN] <= WHY_UNKNOWN_MOST * (double)y->ns);
}

/* What is neither the GPU's nor the tracer's. */
static int64_t of_host(int64_t ns, const int64_t *of_reason)
{
	return ns - of_reason[WHY_GPU] - of_reason[WHY_GPU_KERNEL] - of_reason[WHY_TRACER];
}

/* No action is tried on what computes without a line, and on a range that is all of the time: the whole of it may be won. */
static int64_t untried(const struct why *y)
{
	int64_t most = 0, host = of_host(y->ns, y->of_reason);

	for (size_t i = 0; i < y->culprits_cnt; i++) {
		const struct why_culprit *c = &y->culprits[i];
		int64_t ns = c->place != PLACE_NONE
				     ? of_host(c->ns, c->of_reason)
				     : c->of_reason[WHY_COMPUTE] + c->of_reason[WHY_KERNEL] +
					       c->of_reason[WHY_TOUCH];

		if (!why_is_change(y, c) && ns > most)
			most = ns;
	}
	return most < host ? most : host;
}

struct gain_limit findings_limit_of(const struct why *y)
{
	struct gain_limit l = {.is_known = y->has_replay,
			       .is_sync_known = y->has_replay && y->model.has_gpu_stacks};

	/* Without a line that is worth a replay, no more is won than the time that is neither the GPU's nor the tracer's. */
	if (!y->gains_cnt)
		l.upper = of_host(y->ns, y->of_reason);
	for (size_t i = 0; i < y->gains_cnt; i++) {
		const struct why_gain *g = &y->gains[i];

		if (g->upper > l.upper)
			l.upper = g->upper;
		if (g->lower > l.lower && is_sure(y, g))
			l.lower = g->lower;
		if (g->upper > l.sync && g->action == GAIN_SYNC)
			l.sync = g->upper;
	}
	if (l.upper < untried(y))
		l.upper = untried(y);
	return l;
}

bool findings_have_limit(const struct db_filter *filter)
{
	return !filter || (!filter->nvtx_cnt && !filter->pid_cnt);
}

int findings_limit_report(struct findings *fs, size_t first, const struct analysis *a, char *why,
			  size_t why_len)
{
	struct gain_limit limit;
	bool claims = false;
	sqlite3 *db;
	struct why y;
	int rc;

	for (size_t i = first; i < fs->cnt; i++)
		claims |= fs->list[i].severity != SEVERITY_INFO && fs->list[i].cost_ns >= 0;
	/* A rule with a time of its own is about that time. */
	if (!claims || !findings_have_limit(a->base) || !a->own_text || strcmp(a->own_text, "\n"))
		return 0;
	db = db_read_open(a->input, why, why_len);
	if (!db)
		return -1;
	rc = why_run(&y, db, a->base, &(struct why_ask){.wall = &a->wall}, why, why_len);
	if (rc == 0) {
		limit = findings_limit_of(&y);
		findings_limit(fs, first, &limit, wall_ns(&a->wall));
	}
	why_free(&y);
	sqlite3_close(db);
	return rc;
}
