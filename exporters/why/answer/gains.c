/* gains.c - the actions tried at each culprit, and the bounds by their replays. */
#include "exporters/why/answer/gains.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/why/answer/replay.h"
#include "exporters/why/walk/reason.h"

#define CULPRITS    6      /* tried: the ones with most time */
#define SYNCS       3      /* places of waits for the GPU, likewise */
#define LEAST       0.01   /* of the time looked at: a culprit with less is not tried */
#define GOOD        0.02   /* likewise: with a larger error of the replay, gains are only bounds */
#define WIDE        3      /* upper bound by lower: no more than "up to" */
#define MANY        10     /* pieces */
#define MESSAGES    100    /* fewer are no stream of messages */
#define PER_MESSAGE 250000 /* ns at most, of a stream */
#define LEFT        0.45   /* share of the calls left by GAIN_BATCH: less than half */
#define UNEVEN      1.4    /* the longest part by the mean */
#define LOOKS       0.9 /* of the time at a culprit: sleeps and polls; of these: others work meanwhile */
#define AGAIN       3   /* sleeps and polls: fewer are no loop */
#define WHOLE       0.9 /* of the time looked at: all of it */
#define SURE        0.6
#define SEVERE      0.10
#define BAD         0.02

const char *const gain_severity_names[] = {"info", "bad", "severe"};

const char *gain_action_name(enum gain_action action)
{
	static const char *const names[] = {"remove", "unlock", "together",
					    "level",  "sync",   "batch"};

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

/* ---- actions ---- */

/* How the threads at a culprit follow each other. */
struct shape {
	uint32_t threads;
	int64_t all, sum, longest; /* of their spans at the culprit; without computing */
	int64_t lives, from, to; /* from the first to the last span of each: together, and of all */
};

/* The sum of a thread at the lines of a gain. */
static struct replay_sum sum_of(const struct why *y, const struct replay *r,
				const struct why_gain *g, size_t thread)
{
	struct replay_sum sum = {.first = INT64_MAX, .last = INT64_MIN};

	for (size_t k = 0; k < r->culprits; k++) {
		const struct replay_sum *s = &r->sums[k * y->model.threads_cnt + thread];

		if (!(g->culprits >> k & 1) || !s->cnt)
			continue;
		sum.ns += s->ns;
		sum.waits += s->waits;
		sum.looks += s->looks;
		sum.timed += s->timed;
		sum.asked += s->asked;
		sum.first = least(sum.first, s->first);
		sum.last = most(sum.last, s->last);
	}
	return sum;
}

/* A thread that waits for much less than the longest has no part in the work: it starts the other threads, or waits for them. */
static bool has_part(const struct replay_sum *s, const struct shape *of)
{
	return s->waits && 50 * s->waits >= of->longest;
}

static struct shape shape_of(const struct why *y, const struct replay *r, const struct why_gain *g)
{
	struct shape s = {.from = INT64_MAX, .to = INT64_MIN};

	for (size_t i = 0; i < y->model.threads_cnt; i++)
		s.longest = most(s.longest, sum_of(y, r, g, i).waits);
	for (size_t i = 0; i < y->model.threads_cnt; i++) {
		struct replay_sum sum = sum_of(y, r, g, i);

		s.all += sum.ns;
		if (!has_part(&sum, &s))
			continue;
		s.threads++;
		s.sum += sum.waits;
		s.lives += sum.last - sum.first;
		s.from = least(s.from, sum.first);
		s.to = most(s.to, sum.last);
	}
	return s;
}

/* Did a thread wait for a lock on the way to the culprit? */
static bool is_behind_lock(const struct why *y, const struct why_culprit *c)
{
	for (uint32_t hop = c->part.hop; hop; hop = y->walk.hops[hop].parent)
		if (y->walk.hops[hop].cause.reason == WHY_LOCK)
			return true;
	return false;
}

/* An action better than removal; GAIN_REMOVE: none. @keep, @of_thread: the share of the spans that is left. */
static enum gain_action choose(const struct why *y, const struct replay *r, struct why_gain *g,
			       double *keep, double *of_thread)
{
	struct shape s = shape_of(y, r, g);
	struct replay_sum own = sum_of(y, r, g, y->focus);

	/* Computing needs CPUs, which the recording does not give away. */
	if (s.threads < 2 || 2 * s.sum < s.all)
		return GAIN_REMOVE;
	g->cnt = s.threads;
	/* The focus thread starts the others itself, and waits for them. */
	if (s.lives <= s.to - s.from && has_part(&own, &s))
		return GAIN_REMOVE;
	if (s.lives <= s.to - s.from) {
		*keep = (double)s.longest / (double)s.sum;
		return GAIN_TOGETHER;
	}
	if ((double)s.longest * s.threads < UNEVEN * (double)s.sum)
		return GAIN_REMOVE;
	for (size_t i = 0; i < y->model.threads_cnt; i++) {
		struct replay_sum sum = sum_of(y, r, g, i);

		of_thread[i] =
			has_part(&sum, &s) ? (double)s.sum / s.threads / (double)sum.waits : 1;
	}
	return GAIN_LEVEL;
}

/*
 * Does a thread look at the culprit, again and again, for what others do for it meanwhile? Nothing but the time between their end
 * and the next look can be won.
 */
static bool looks_for_jobs(const struct why *y, const struct replay *r, const struct why_gain *g)
{
	struct replay_sum all = {0};

	/* Threads of a GPU's driver work for the one that gives the GPU work, which waits for the GPU elsewhere. */
	for (size_t i = 0; i < y->model.threads_cnt && !y->model.ops_cnt; i++) {
		struct replay_sum sum = sum_of(y, r, g, i);

		all.ns += sum.ns;
		all.looks += sum.looks;
		all.timed += sum.timed;
		all.asked += sum.asked;
	}
	return all.looks >= AGAIN && (double)all.timed >= LOOKS * (double)all.ns &&
	       (double)all.asked >= LOOKS * (double)all.timed;
}

/* ---- replays ---- */

struct tries {
	struct replay_edit edits[REPLAY_EDITS];
	size_t gain[REPLAY_EDITS]; /* the gain of each edit */
	size_t cnt;
};

static struct replay_edit *add_try(struct tries *t, size_t gain)
{
	t->gain[t->cnt] = gain;
	t->edits[t->cnt] =
		(struct replay_edit){.sync = REPLAY_ANY, .keep = 1, .without_tracer = true};
	return &t->edits[t->cnt++];
}

/* The first two edits, without a culprit: as recorded; without the tracer's time, which all others are compared with. */
static void add_nothing(struct tries *t)
{
	add_try(t, 0)->without_tracer = false;
	add_try(t, 0);
}

/* The lines of main() that compute are one culprit, but not one change. */
static bool is_whole(const struct why *y, const struct why_gain *g)
{
	const char *function = y->walk.places.list[g->place].function;

	return function && strcmp(function, "main") == 0;
}

/* Many calls, each with a cost of its own: the fix is fewer and larger calls. */
static bool is_many(const struct why_culprit *c)
{
	uint32_t reason = why_cost_of(c);

	return c->part.cnt >= MANY &&
	       (reason == WHY_FSYNC || reason == WHY_GPU_CALL || reason == WHY_GPU_LAUNCH ||
		reason == WHY_GPU_LATENCY || reason == WHY_GPU_COPY);
}

/* Samples of a computing loop are spread over its lines; a call has the exact line. */
static bool is_exact(const struct why *y, const struct why_gain *g)
{
	const struct why_culprit *c = g->culprit == WHY_NONE ? NULL : &y->culprits[g->culprit];

	return c && (c->is_of_processes || why_cost_of(c) != WHY_COMPUTE);
}

/*
 * The share of the computing time that may be needed: a line of compiled code that calls nothing can perhaps be made faster, but
 * no record shows by how much. A call can be removed, and interpreted code can be compiled.
 */
static double needed(const struct why *y, const struct why_gain *g)
{
	int64_t itself = 0, computes = 1;

	for (size_t i = 0; i < 64 && i < y->culprits_cnt; i++)
		if (g->culprits >> i & 1) {
			itself += y->culprits[i].itself;
			computes += why_weight(&y->culprits[i]);
		}
	return itself < computes ? (double)itself / (double)computes : 1;
}

/* The cautious and the bold variant of one action. */
static void add_tries(const struct why *y, struct tries *t, size_t gain, const struct why_gain *g,
		      double keep, const double *of_thread)
{
	double rest = g->action == GAIN_REMOVE ? needed(y, g) : 0;

	for (unsigned bold = 0; bold < 2; bold++) {
		struct replay_edit *e = add_try(t, gain);

		e->culprits = g->action == GAIN_SYNC ? 0 : g->culprits;
		e->sync = g->action == GAIN_SYNC ? g->place : REPLAY_ANY;
		e->keep = bold ? keep : g->action == GAIN_BATCH ? LEFT : rest > keep ? rest : keep;
		e->of_thread = of_thread;
		e->without_cpu_waits = e->keeps_order = e->with_imports = bold;
		e->keeps_jobs = !bold;
		e->only_lines = (!bold || is_exact(y, g)) && is_whole(y, g);
	}
}

/* Replays all; the first two tries of a gain are its bounds. */
static int replay_all(struct why *y, struct replay *r, const struct tries *t)
{
	int rc;

	r->edits = t->edits;
	r->cnt = t->cnt;
	rc = replay_run(y, r);
	for (size_t k = 2; k + 1 < t->cnt && rc == SQLITE_OK; k += 2) {
		int64_t a = r->end[1] - r->end[k], b = r->end[1] - r->end[k + 1];

		/* Whatever a replay comes to: no more can be won than there is. */
		y->gains[t->gain[k]].lower = least(most(0, least(a, b)), y->ns);
		y->gains[t->gain[k]].upper = least(most(0, most(a, b)), y->ns);
	}
	return rc;
}

static bool add_gain(struct why *y, const struct why_gain *g)
{
	if (!grow(&y->gains, y->gains_cnt, &y->gains_room, sizeof(*g)))
		return false;
	y->gains[y->gains_cnt++] = *g;
	return true;
}

/* A comprehension belongs to its function: "f.<locals>.<genexpr>" to "f". */
static bool is_within(const char *inner, const char *outer)
{
	size_t len = strlen(outer);

	return strncmp(inner, outer, len) == 0 && strncmp(inner + len, ".<locals>.<", 11) == 0;
}

static bool computes(const struct why_culprit *c)
{
	return why_main_reason(c) == WHY_COMPUTE;
}

/* Would one change concern both culprits? */
static bool is_same_line(const struct why *y, const struct why_culprit *a,
			 const struct why_culprit *b)
{
	const struct place *x = &y->walk.places.list[a->place], *z = &y->walk.places.list[b->place];

	if (!x->file || !z->file || strcmp(x->file, z->file) != 0)
		return false;
	return x->line == z->line ||
	       (x->function && z->function && computes(a) && computes(b) &&
		(is_within(x->function, z->function) || is_within(z->function, x->function)));
}

static size_t looked_at(const struct why *y)
{
	size_t cnt = 0;

	while (cnt < y->culprits_cnt && cnt < 64 &&
	       (double)why_weight(&y->culprits[cnt]) >= LEAST * (double)y->ns)
		cnt++;
	return cnt;
}

bool why_is_change(const struct why *y, const struct why_culprit *c)
{
	bool is_all = (double)c->ns >= WHOLE * (double)y->ns;

	if (c->place == PLACE_NONE)
		return (c->part.cause.name != WHY_NONE || c->part.cause.place != PLACE_NONE) &&
		       !is_all;
	return !is_all || y->walk.places.list[c->place].file ||
	       y->walk.places.list[c->place].function;
}

/* A gain for each culprit that is not at the line of a larger one. */
static int list_gains(struct why *y, size_t cnt)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < cnt && y->gains_cnt < CULPRITS; i++) {
		const struct why_culprit *c = &y->culprits[i];
		struct why_gain g = {
			.culprit = i, .place = c->place, .sure = c->sure, .upper = c->ns};

		if (seen >> i & 1 || !why_is_change(y, c) || why_is_idle(y, c))
			continue;
		for (uint32_t k = i; k < cnt; k++)
			if (k == i || (!(seen >> k & 1) && is_same_line(y, c, &y->culprits[k])))
				g.culprits |= UINT64_C(1) << k;
		seen |= g.culprits;
		g.action = is_behind_lock(y, c)             ? GAIN_UNLOCK
			   : why_cost_of(c) == WHY_GPU_SYNC ? GAIN_SYNC
			   : is_many(c)                     ? GAIN_BATCH
							    : GAIN_REMOVE;
		if (!add_gain(y, &g))
			return SQLITE_NOMEM;
	}
	return SQLITE_OK;
}

/* The bounds of each gain when its culprit is removed. */
static int remove_all(struct why *y, struct replay *r)
{
	struct tries t = {0};
	int rc;

	add_nothing(&t);
	for (size_t i = 0; i < y->gains_cnt; i++)
		add_tries(y, &t, i, &y->gains[i], 0, NULL);
	rc = replay_all(y, r, &t);
	y->replay_error = r->end[0] - (y->from + y->ns);
	return rc;
}

static bool is_tried(const struct why *y, uint32_t sync)
{
	for (size_t i = 0; i < y->gains_cnt; i++)
		if (y->gains[i].place == sync)
			return true;
	return false;
}

/* The places where the thread waits longest for its GPU. */
static int add_syncs(struct why *y, struct replay *r, struct tries *t)
{
	for (unsigned n = 0; n < SYNCS; n++) {
		struct why_gain g = {.culprit = WHY_NONE, .sure = 1, .action = GAIN_SYNC};
		struct replay_sync *best = NULL;

		for (size_t i = 0; i < r->syncs_cnt; i++)
			if (!is_tried(y, r->syncs[i].place) && (!best || r->syncs[i].ns > best->ns))
				best = &r->syncs[i];
		if (!best || (double)best->ns < LEAST * (double)y->ns)
			break;
		g.place = best->place;
		add_tries(y, t, y->gains_cnt, &g, 1, NULL);
		if (!add_gain(y, &g))
			return SQLITE_NOMEM;
	}
	return SQLITE_OK;
}

/* ---- messages ---- */

/* Is the call one of a pipe or a socket? */
static bool is_message(struct why *y, const struct why_call *c)
{
	uint32_t reason = reason_of_call(&y->walk, c);

	return reason == WHY_PIPE || reason == WHY_SOCKET || reason == WHY_SOCKET_ANY;
}

/*
 * How many messages threads got in the time: waits that another thread ended; calls, of which a message has two; or a part of all
 * that were sent, short ones included.
 */
static int64_t messages(struct why *y, int64_t from, int64_t to)
{
	int64_t waits = 0, calls = 0;

	for (size_t i = 0; i < y->model.threads_cnt; i++) {
		const struct why_thread *t = &y->model.threads[i];
		size_t k = search_first(n, 0, t->switches_cnt, t->switches[n].time < from);

		for (; k < t->switches_cnt && t->switches[k].time < to; k++)
			waits += t->switches[k].waker != WHY_NONE;
		k = search_first(n, 0, t->calls_cnt, t->calls[n].start < from);
		for (; k < t->calls_cnt && t->calls[k].start < to; k++)
			calls += is_message(y, &t->calls[k]);
	}
	return most(most(waits, calls / 2),
		    (int64_t)((double)y->model.messages * (double)(to - from) / (double)y->ns));
}

/*
 * The time in which a line exchanges so many messages that the most of it is the cost of each: calls, wake-ups, switches of threads.
 * False: it does not.
 */
static bool exchanges(struct why *y, const struct replay *r, const struct why_gain *g,
		      int64_t *from, int64_t *to)
{
	uint32_t reason = g->culprit == WHY_NONE ? WHY_GPU : why_cost_of(&y->culprits[g->culprit]);

	if (reason != WHY_KERNEL && reason != WHY_NO_CPU && reason != WHY_COMPUTE &&
	    (reason < WHY_SOCKET || reason > WHY_QUEUE) && reason != WHY_POLL && reason != WHY_GIL)
		return false;
	*from = INT64_MAX;
	*to = INT64_MIN;
	for (size_t i = 0; i < y->model.threads_cnt; i++) {
		struct replay_sum sum = sum_of(y, r, g, i);

		*from = least(*from, sum.first);
		*to = most(*to, sum.last);
	}
	return *to > *from && messages(y, *from, *to) >= (*to - *from) / PER_MESSAGE &&
	       *to - *from >= MESSAGES * PER_MESSAGE;
}

/* The bounds of each gain of a line that exchanges many messages, were they fewer, each for more; where removal wins less. */
static int join_messages(struct why *y, struct replay *first)
{
	struct replay r = {.culprits = first->culprits};
	struct tries t = {0};
	struct why_gain *old = calloc(y->gains_cnt + 1, sizeof(*old));
	int rc = old ? SQLITE_OK : SQLITE_NOMEM;

	add_nothing(&t);
	for (size_t i = 0; i < y->gains_cnt && old; i++) {
		struct why_gain *g = &y->gains[i];
		int64_t from, to;

		old[i] = *g;
		if (g->action != GAIN_REMOVE || !exchanges(y, first, g, &from, &to))
			continue;
		g->action = GAIN_BATCH;
		g->is_of_messages = true;
		add_tries(y, &t, i, g, 0, NULL);
		for (size_t k = t.cnt - 2; k < t.cnt; k++) {
			t.edits[k].from = from;
			t.edits[k].to = to;
			t.edits[k].keeps_jobs = false;
		}
	}
	if (rc == SQLITE_OK && t.cnt > 2)
		rc = replay_all(y, &r, &t);
	for (size_t i = 0; i < y->gains_cnt && old; i++)
		if (rc != SQLITE_OK || y->gains[i].upper <= old[i].upper)
			y->gains[i] = old[i];
	replay_free(&r);
	free(old);
	return rc;
}

/* The bounds of each gain that has a better action than removal. */
static int improve(struct why *y, struct replay *first)
{
	size_t threads = y->model.threads_cnt, cnt = y->gains_cnt;
	double *of_thread = calloc(cnt * threads + 1, sizeof(*of_thread));
	struct replay r = {.culprits = first->culprits};
	struct tries t = {0};
	int rc = of_thread ? SQLITE_OK : SQLITE_NOMEM;

	add_nothing(&t);
	for (size_t i = 0; i < cnt && of_thread; i++) {
		double keep = 1, *by_thread = &of_thread[i * threads];
		struct why_gain *g = &y->gains[i];
		enum gain_action action = choose(y, first, g, &keep, by_thread);
		const struct why_culprit *c = &y->culprits[g->culprit];

		/* The walk has the time in which one stream went on alone, with work that could have been shared out. */
		if (why_cost_of(c) == WHY_GPU_UNEVEN) {
			g->action = GAIN_LEVEL;
			g->lower = g->upper = c->of_reason[WHY_GPU_UNEVEN];
			continue;
		}

		if (g->action == GAIN_SYNC)
			continue;
		if (action != GAIN_REMOVE) {
			g->action = action;
			add_tries(y, &t, i, g, keep, action == GAIN_LEVEL ? by_thread : NULL);
		} else if (looks_for_jobs(y, first, g)) {
			add_tries(y, &t, i, g, 0, NULL);
			t.edits[t.cnt - 1].keeps_jobs = true;
		}
	}
	if (rc == SQLITE_OK)
		rc = add_syncs(y, first, &t);
	if (rc == SQLITE_OK && t.cnt > 2)
		rc = replay_all(y, &r, &t);
	replay_free(&r);
	free(of_thread);
	return rc;
}

/* ---- ranks ---- */

/* A lower bound holds if the gain is no "up to", and if the way to the culprit and most of the time are recorded. */
static bool is_sure(const struct why *y, const struct why_gain *g)
{
	return !g->is_up_to && g->sure >= SURE &&
	       (double)y->of_reason[WHY_UNKNOWN] <= WHY_UNKNOWN_MOST * (double)y->ns;
}

/* A wait that another thread, a process or a peer ended, and no record shows which: what that one needed the time for is not known. */
static bool is_for_unknown(const struct why *y, const struct why_gain *g)
{
	return y->model.follows_calls && g->culprit != WHY_NONE &&
	       walk_waits_for_others(why_main_reason(&y->culprits[g->culprit]));
}

static void judge(const struct why *y, struct why_gain *g)
{
	double all = (double)y->ns;
	/* The recording does not show that removal is possible; nor that a wait can go, unless no result of it is needed. */
	bool keeps_work =
		g->action != GAIN_REMOVE && g->action != GAIN_BATCH && g->culprit != WHY_NONE;

	g->is_up_to = g->upper > WIDE * g->lower || !y->has_replay || is_for_unknown(y, g);
	g->severity = (double)g->lower >= SEVERE * all && is_sure(y, g) && keeps_work ? GAIN_SEVERE
		      : (double)(g->is_up_to ? g->upper : g->lower) >= BAD * all      ? GAIN_BAD
										      : GAIN_NOTE;
}

static int by_rank(const void *a, const void *b)
{
	const struct why_gain *x = a, *y = b;
	bool is_note = x->severity == GAIN_NOTE;

	if (is_note != (y->severity == GAIN_NOTE))
		return is_note ? 1 : -1;
	if (x->lower != y->lower)
		return x->lower < y->lower ? 1 : -1;
	if (x->upper != y->upper)
		return x->upper < y->upper ? 1 : -1;
	return (x->culprit > y->culprit) - (x->culprit < y->culprit);
}

int why_find_gains(struct why *y)
{
	struct replay r = {.culprits = looked_at(y)};
	int rc;

	if (!y->time.spans_cnt || (y->gpu && y->time.spans_cnt > 1) || y->model.has_go)
		return SQLITE_OK;
	rc = list_gains(y, r.culprits);
	/* Without context switches, no record shows which thread waits for which: the upper bound stays the culprit's time. */
	if (rc == SQLITE_OK && y->model.threads[y->focus].switches_cnt) {
		rc = remove_all(y, &r);
		if (rc == SQLITE_OK)
			rc = improve(y, &r);
		if (rc == SQLITE_OK)
			rc = join_messages(y, &r);
		replay_free(&r);
		y->has_replay =
			rc == SQLITE_OK && (double)llabs(y->replay_error) <= GOOD * (double)y->ns;
	}
	for (size_t i = 0; i < y->gains_cnt; i++)
		judge(y, &y->gains[i]);
	if (y->gains_cnt)
		qsort(y->gains, y->gains_cnt, sizeof(*y->gains), by_rank);
	return rc;
}
