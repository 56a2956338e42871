/* gains.c - which actions are tried at which culprits, and what the replays say. */
#include "exporters/why/gains.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/why/replay.h"

#define CULPRITS 6    /* tried: those with most time */
#define SYNCS    3    /* places of waits for the GPU, likewise */
#define LEAST    0.01 /* of the time looked at: a culprit with less is not tried */
#define GOOD     0.02 /* of it: no gain follows from a replay of nothing that is more wrong */
#define WIDE     3    /* upper bound by lower: no more than "up to" */
#define UNEVEN   1.4  /* the longest part by the mean */
#define SURE     0.6
#define SEVERE   0.10
#define BAD      0.02

const char *const gain_severity_names[] = {"note", "bad", "severe"};

const char *gain_action_name(enum gain_action action)
{
	static const char *const names[] = {"remove", "unlock", "together", "level", "sync"};

	return names[action];
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- what could be done ---- */

/* How the threads that a culprit's time is of follow each other. */
struct shape {
	uint32_t threads;
	int64_t all, sum, longest; /* of their spans at the culprit; without computing */
	int64_t lives, from, to; /* from the first to the last span of each: together, and of all */
};

/* A thread that waits for much less than the longest has no part in it: it starts the others, or waits for them. */
static bool has_part(const struct replay_sum *s, const struct shape *of)
{
	return s->waits && 50 * s->waits >= of->longest;
}

static struct shape shape_of(const struct why *y, const struct replay *r, size_t culprit)
{
	const struct replay_sum *sums = &r->sums[culprit * y->model.threads_cnt];
	struct shape s = {.from = INT64_MAX, .to = INT64_MIN};

	for (size_t i = 0; i < y->model.threads_cnt; i++)
		s.longest = most(s.longest, sums[i].waits);
	for (size_t i = 0; i < y->model.threads_cnt; i++) {
		s.all += sums[i].ns;
		if (!has_part(&sums[i], &s))
			continue;
		s.threads++;
		s.sum += sums[i].waits;
		s.lives += sums[i].last - sums[i].first;
		s.from = least(s.from, sums[i].first);
		s.to = most(s.to, sums[i].last);
	}
	return s;
}

/* Did another thread than its own wait for it, and for a lock? */
static bool is_behind_lock(const struct why *y, const struct why_culprit *c)
{
	for (uint32_t hop = c->part.hop; hop; hop = y->walk.hops[hop].parent)
		if (y->walk.hops[hop].cause.reason == WHY_LOCK)
			return true;
	return false;
}

/* The better action than to do without; GAIN_REMOVE: none. @keep, @of_thread: what is left of the spans. */
static enum gain_action choose(const struct why *y, const struct replay *r, size_t culprit,
			       struct shape *s, double *keep, double *of_thread)
{
	const struct replay_sum *sums = &r->sums[culprit * y->model.threads_cnt];

	*s = shape_of(y, r, culprit);
	/* Computing needs CPUs, which the recording does not give away. */
	if (s->threads < 2 || 2 * s->sum < s->all)
		return GAIN_REMOVE;
	/* The focus thread starts the others itself, and waits for them. */
	if (s->lives <= s->to - s->from && has_part(&sums[y->focus], s))
		return GAIN_REMOVE;
	if (s->lives <= s->to - s->from) {
		*keep = (double)s->longest / (double)s->sum;
		return GAIN_TOGETHER;
	}
	if ((double)s->longest * s->threads < UNEVEN * (double)s->sum)
		return GAIN_REMOVE;
	for (size_t i = 0; i < y->model.threads_cnt; i++)
		of_thread[i] = has_part(&sums[i], s)
				       ? (double)s->sum / s->threads / (double)sums[i].waits
				       : 1;
	return GAIN_LEVEL;
}

/* ---- replays ---- */

struct tries {
	struct replay_edit edits[REPLAY_EDITS];
	size_t cnt;
};

static struct replay_edit *add_try(struct tries *t)
{
	t->edits[t->cnt] =
		(struct replay_edit){.culprit = REPLAY_ANY, .sync = REPLAY_ANY, .keep = 1};
	return &t->edits[t->cnt++];
}

/* The cautious and the bold variant of one action. */
static void add_tries(struct tries *t, uint32_t culprit, double keep, const double *of_thread)
{
	for (unsigned bold = 0; bold < 2; bold++) {
		struct replay_edit *e = add_try(t);

		e->culprit = culprit;
		e->keep = keep;
		e->of_thread = of_thread;
		e->without_cpu_waits = e->keeps_order = bold;
	}
}

/* The bounds of the gain whose tries begin at @first. */
static void set_bounds(const struct replay *r, size_t first, struct why_gain *g)
{
	int64_t a = r->end[0] - r->end[first], b = r->end[0] - r->end[first + 1];

	g->lower = most(0, least(a, b));
	g->upper = most(0, most(a, b));
}

static size_t tried(const struct why *y)
{
	size_t cnt = 0;

	while (cnt < y->culprits_cnt && cnt < CULPRITS &&
	       (double)y->culprits[cnt].ns >= LEAST * (double)y->ns)
		cnt++;
	return cnt;
}

static bool add_gain(struct why *y, const struct why_gain *g)
{
	if (!grow(&y->gains, y->gains_cnt, &y->gains_room, sizeof(*g)))
		return false;
	y->gains[y->gains_cnt++] = *g;
	return true;
}

/* What is left of each culprit's time when all do without it. */
static int remove_all(struct why *y, struct replay *r, struct tries *t)
{
	int rc;

	for (uint32_t i = 0; i < r->culprits; i++)
		add_tries(t, i, 0, NULL);
	r->edits = t->edits;
	r->cnt = t->cnt;
	rc = replay_run(y, r);
	y->replay_error = r->end[0] - y->to;
	for (uint32_t i = 0; i < r->culprits && rc == SQLITE_OK; i++) {
		const struct why_culprit *c = &y->culprits[i];
		struct why_gain g = {.culprit = i, .place = c->place, .sure = c->sure};

		g.action = is_behind_lock(y, c) ? GAIN_UNLOCK : GAIN_REMOVE;
		set_bounds(r, 1 + 2 * i, &g);
		if (!add_gain(y, &g))
			rc = SQLITE_NOMEM;
	}
	return rc;
}

/* The places where the thread waits longest for its GPU. */
static int add_syncs(struct why *y, struct replay *r, struct tries *t)
{
	for (unsigned n = 0; n < SYNCS; n++) {
		struct replay_sync *best = NULL;

		for (size_t i = 0; i < r->syncs_cnt; i++)
			if (!best || r->syncs[i].ns > best->ns)
				best = &r->syncs[i];
		if (!best || (double)best->ns < LEAST * (double)y->ns)
			break;
		for (unsigned i = 0; i < 2; i++)
			add_try(t)->sync = best->place;
		if (!add_gain(y, &(struct why_gain){.culprit = WHY_NONE,
						    .place = best->place,
						    .sure = 1,
						    .action = GAIN_SYNC}))
			return SQLITE_NOMEM;
		best->ns = 0;
	}
	return SQLITE_OK;
}

static struct why_gain *gain_of(struct why *y, const struct replay_edit *e)
{
	size_t i = 0;

	while (i < y->gains_cnt &&
	       (e->sync == REPLAY_ANY
			? y->gains[i].culprit != e->culprit
			: y->gains[i].place != e->sync || y->gains[i].action != GAIN_SYNC))
		i++;
	return &y->gains[i];
}

/* Where something better is known than to do without: what that gives. */
static int improve(struct why *y, struct replay *first)
{
	size_t threads = y->model.threads_cnt;
	double *of_thread = calloc(first->culprits * threads + 1, sizeof(*of_thread));
	struct replay r = {.culprits = first->culprits};
	struct tries t = {0};
	int rc = of_thread ? SQLITE_OK : SQLITE_NOMEM;

	add_try(&t);
	for (uint32_t i = 0; i < first->culprits && of_thread; i++) {
		struct shape s;
		double keep = 1, *by_thread = &of_thread[i * threads];
		enum gain_action action = choose(y, first, i, &s, &keep, by_thread);

		if (action == GAIN_REMOVE)
			continue;
		y->gains[i].action = action;
		y->gains[i].cnt = s.threads;
		add_tries(&t, i, keep, action == GAIN_LEVEL ? by_thread : NULL);
	}
	if (rc == SQLITE_OK)
		rc = add_syncs(y, first, &t);
	r.edits = t.edits;
	r.cnt = t.cnt;
	if (rc == SQLITE_OK && t.cnt > 1)
		rc = replay_run(y, &r);
	for (size_t k = 1; k < t.cnt && rc == SQLITE_OK; k += 2)
		set_bounds(&r, k, gain_of(y, &t.edits[k]));
	replay_free(&r);
	free(of_thread);
	return rc;
}

static int by_rank(const void *a, const void *b)
{
	const struct why_gain *x = a, *y = b;

	if (x->lower != y->lower)
		return x->lower < y->lower ? 1 : -1;
	if (x->upper != y->upper)
		return x->upper < y->upper ? 1 : -1;
	return (x->culprit > y->culprit) - (x->culprit < y->culprit);
}

/* ---- ranks ---- */

bool gain_is_sure(const struct why *y, const struct why_gain *g)
{
	return !g->is_up_to && g->sure >= SURE &&
	       (double)y->of_reason[WHY_UNKNOWN] <= WHY_UNKNOWN_MOST * (double)y->ns;
}

static void judge(const struct why *y, struct why_gain *g)
{
	double all = (double)y->ns;

	g->is_up_to = g->upper > WIDE * g->lower || !y->has_replay;
	/* To do without is no fix that the recording can know to be possible. */
	g->severity =
		(double)g->lower >= SEVERE * all && gain_is_sure(y, g) && g->action != GAIN_REMOVE
			? GAIN_SEVERE
		: (double)(g->is_up_to ? g->upper : g->lower) >= BAD * all ? GAIN_BAD
									   : GAIN_NOTE;
}

/* Without context switches, nothing is known of what waits for what: no more can be won than the time on the way. */
static int bound_gains(struct why *y, size_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct why_culprit *c = &y->culprits[i];
		struct why_gain g = {
			.culprit = i, .place = c->place, .upper = c->ns, .sure = c->sure};

		if (!add_gain(y, &g))
			return SQLITE_NOMEM;
		judge(y, &y->gains[i]);
	}
	return SQLITE_OK;
}

int why_find_gains(struct why *y)
{
	struct replay r = {.culprits = tried(y)};
	struct tries t = {0};
	int rc;

	/* Of many spans, what lies between them would have to be left out. */
	if (y->time.spans_cnt != 1)
		return SQLITE_OK;
	if (!y->model.threads[y->focus].switches_cnt)
		return bound_gains(y, r.culprits);
	add_try(&t);
	rc = remove_all(y, &r, &t);
	if (rc == SQLITE_OK)
		rc = improve(y, &r);
	replay_free(&r);
	if (rc != SQLITE_OK)
		return rc;
	y->has_replay = (double)llabs(y->replay_error) <= GOOD * (double)y->ns;
	for (size_t i = 0; i < y->gains_cnt; i++)
		judge(y, &y->gains[i]);
	if (y->gains_cnt)
		qsort(y->gains, y->gains_cnt, sizeof(*y->gains), by_rank);
	return SQLITE_OK;
}
