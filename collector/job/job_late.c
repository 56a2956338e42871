/*
 * job_late.c - keeps the last steps of all ranks, and compares each step when all ranks have made it.
 *
 * A rank of which no step has come for PATIENCE_NS is not waited for; after STALE_NS it is none of the ranks. While ranks come,
 * nothing is compared: the first ones would be all ranks there are.
 */
#include "collector/job/job_late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define HISTORY     512u /* steps of each rank */
#define PATIENCE_NS INT64_C(10000000000)
#define STALE_NS    INT64_C(60000000000)
#define SETTLE_NS   INT64_C(3000000000)
#define CALM_STEPS  64u /* not late, before an event is over */
#define NONE        INT64_C(-1)

struct rank {
	char name[JOB_NAME], host[JOB_NAME];
	char session[JOB_MEMBER];
	uint32_t last; /* step */
	int64_t heard; /* it came then */
	uint32_t streak;
	struct {
		bool is_known;
		uint32_t steps; /* not late since */
		int64_t at;     /* late then */
	} event;
	int64_t own[HISTORY]; /* ns by step, NONE: did not come */
};

struct job_late {
	struct rank **ranks;
	size_t cnt, room;
	size_t next;       /* where the rank after the one before is, mostly */
	uint32_t step;     /* compared last */
	int64_t joined;    /* the last time a rank came that was not there */
	struct held *held; /* room for one of each rank */
	size_t held_room;
};

/* A rank that has the step. */
struct held {
	int64_t own;
	struct rank *rank;
};

struct job_late *job_late_new(void)
{
	return calloc(1, sizeof(struct job_late));
}

void job_late_free(struct job_late *l)
{
	for (size_t i = 0; l && i < l->cnt; i++)
		free(l->ranks[i]);
	if (l) {
		free(l->ranks);
		free(l->held);
	}
	free(l);
}

/* ---- history ---- */

static struct rank *find(struct job_late *l, const char *session, const char *name)
{
	for (size_t i = 0; i < l->cnt; i++) {
		size_t at = (l->next + i) % l->cnt;

		if (strcmp(l->ranks[at]->name, name) == 0 &&
		    strcmp(l->ranks[at]->session, session) == 0) {
			l->next = at + 1;
			return l->ranks[at];
		}
	}
	return NULL;
}

static void clear(struct rank *r)
{
	r->last = r->streak = 0;
	for (size_t i = 0; i < HISTORY; i++)
		r->own[i] = NONE;
}

static struct rank *make(struct job_late *l, const char *session, const char *name)
{
	struct rank *r = calloc(1, sizeof(*r));

	if (!r || !grow(&l->ranks, l->cnt, &l->room, sizeof(struct rank *))) {
		free(r);
		return NULL;
	}
	clear(r);
	snprintf(r->session, sizeof(r->session), "%s", session);
	snprintf(r->name, sizeof(r->name), "%s", name);
	l->ranks[l->cnt++] = r;
	return r;
}

/* torchrun restarts all ranks together. */
static void begin_anew(struct job_late *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		clear(l->ranks[i]);
	l->step = 0;
}

static void add_steps(struct rank *r, const struct job_series *k)
{
	uint32_t first = k->last - k->cnt + 1;
	uint32_t from = r->last + 1 > first ? r->last + 1 : first, gap = r->last + 1;

	if (from > HISTORY && gap < from - HISTORY)
		gap = from - HISTORY;
	for (; gap < from; gap++)
		r->own[gap % HISTORY] = NONE;
	for (uint32_t step = from; step <= k->last && step; step++)
		r->own[step % HISTORY] = k->own[step - first];
	r->last = k->last;
}

static void take_series(struct job_late *l, const char *name, const struct job_session *s,
			const struct job_series *k, int64_t now)
{
	struct rank *r = find(l, name, k->name);

	if (!r)
		r = make(l, name, k->name);
	if (!r || k->last == r->last)
		return;
	if (k->last < r->last) {
		begin_anew(l);
		l->joined = now;
	}
	if (!r->heard || now - r->heard > PATIENCE_NS)
		l->joined = now;
	r->heard = now;
	snprintf(r->host, sizeof(r->host), "%s", s->host);
	add_steps(r, k);
}

void job_late_take(struct job_late *l, const char *name, const struct job_session *s, int64_t now)
{
	for (size_t i = 0; i < s->series_cnt; i++)
		if (s->series[i].cnt)
			take_series(l, name, s, &s->series[i], now);
}

static int64_t own_at(const struct rank *r, uint32_t step)
{
	return step <= r->last && r->last - step < HISTORY ? r->own[step % HISTORY] : NONE;
}

/* The sessions of ranks that have ended do not come back. */
static void forget_stale(struct job_late *l, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		if (now - l->ranks[i]->heard > STALE_NS)
			free(l->ranks[i]);
		else
			l->ranks[kept++] = l->ranks[i];
	}
	l->cnt = kept;
}

/* The newest step that all ranks have made which are waited for; 0: none. */
static uint32_t complete(const struct job_late *l, int64_t now)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < l->cnt; i++)
		if (now - l->ranks[i]->heard <= PATIENCE_NS && l->ranks[i]->last < least)
			least = l->ranks[i]->last;
	return least == UINT32_MAX ? 0 : least;
}

/* ---- one step ---- */

static int by_own(const void *a, const void *b)
{
	int64_t x = ((const struct held *)a)->own, y = ((const struct held *)b)->own;

	return x < y ? -1 : x > y;
}

static bool is_over(const struct job_limit *l, int64_t own, int64_t median)
{
	if (l->medians > 0)
		return (double)own > l->medians * (double)median && own - median > l->floor_ns;
	return own - median > l->ns;
}

static void follow(struct rank *r, bool is_late, const struct job_limit *limit, int64_t now)
{
	if (is_late) {
		r->streak += r->streak < UINT32_MAX;
		r->event.steps = 0;
		r->event.at = now;
		return;
	}
	r->streak = 0;
	if (r->event.is_known && ++r->event.steps >= CALM_STEPS &&
	    now - r->event.at > limit->calm_ns)
		r->event.is_known = false;
}

/* The latest of the ranks that have been late for long enough, and no event yet. NULL: none. */
static const struct held *judge(struct job_late *l, const struct job_limit *limit, size_t n,
				int64_t now)
{
	const struct held *found = NULL;
	/* The lower median of an even number, so that one of two ranks can be late. */
	int64_t median = l->held[(n - 1) / 2].own;

	for (size_t i = 0; i < n; i++) {
		struct rank *r = l->held[i].rank;

		follow(r, is_over(limit, l->held[i].own, median), limit, now);
		if (r->streak && r->streak >= limit->steps && !r->event.is_known)
			found = &l->held[i];
	}
	return found;
}

static size_t hold(struct job_late *l, uint32_t step)
{
	size_t n = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		int64_t own = own_at(l->ranks[i], step);

		if (own != NONE && grow(&l->held, n, &l->held_room, sizeof(*l->held)))
			l->held[n++] = (struct held){own, l->ranks[i]};
	}
	if (n)
		qsort(l->held, n, sizeof(*l->held), by_own);
	return n;
}

/* ---- whose reports matter ---- */

/* The number in "rank 7"; -1: another name. */
static int64_t number_of(const struct rank *r)
{
	char *end;
	long long n;

	if (strncmp(r->name, "rank ", 5) != 0 || r->name[5] < '0' || r->name[5] > '9')
		return -1;
	n = strtoll(r->name + 5, &end, 10);
	return *end ? -1 : n;
}

/* The rank before the late one (@way -1), or the one after it (1). NULL: none. */
static const struct rank *beside(const struct job_late *l, size_t n, const struct rank *late,
				 int way)
{
	const struct rank *best = NULL;
	int64_t own = number_of(late);

	for (size_t i = 0; own >= 0 && i < n; i++) {
		const struct rank *r = l->held[i].rank;
		int64_t is = number_of(r);

		if (is >= 0 && (is - own) * way > 0 && (!best || (is - number_of(best)) * way < 0))
			best = r;
	}
	return best;
}

/* One that took about the median and is not in @to, on another host where there is one. NULL: none. */
static const struct rank *healthy(const struct job_late *l, size_t n, const struct rank *late,
				  const char *to)
{
	const struct rank *here = NULL;
	size_t middle = (n - 1) / 2;

	for (size_t i = 0; i < n; i++) {
		const struct rank *r = l->held[i <= middle ? middle - i : i].rank;

		if (job_request_is_to(to, r->session))
			continue;
		if (strcmp(r->host, late->host) != 0)
			return r;
		here = here ? here : r;
	}
	return here;
}

/* The name of a rank as one word. */
static void word_of(char *to, size_t room, const char *name)
{
	snprintf(to, room, "%s", name);
	for (; *to; to++)
		if (*to == ' ' || *to == '/')
			*to = '_';
}

/* Adds the session to RANK/SESSION/..., unless it is there. */
static void add_member(char *to, size_t room, const struct rank *r)
{
	size_t len = strlen(to);

	if (r && !job_request_is_to(to, r->session) && len + strlen(r->session) + 2 <= room)
		snprintf(to + len, room - len, "/%s", r->session);
}

static void describe(const struct job_late *l, const struct job_limit *limit, size_t n,
		     const struct held *late, struct job_event *event)
{
	const struct rank *r = late->rank;
	char row[48] = "";

	if (limit->steps > 1)
		snprintf(row, sizeof(row), " (%u in a row)", r->streak);
	snprintf(event->why, sizeof(event->why),
		 "%s on %s took %.1f ms by itself in step %u%s, the median of %zu ranks is %.1f ms",
		 r->name, r->host, (double)late->own / 1e6, l->step, row, n,
		 (double)l->held[(n - 1) / 2].own / 1e6);
	word_of(event->to, sizeof(event->to), r->name);
	add_member(event->to, sizeof(event->to), r);
	add_member(event->to, sizeof(event->to), beside(l, n, r, -1));
	add_member(event->to, sizeof(event->to), beside(l, n, r, 1));
	add_member(event->to, sizeof(event->to), healthy(l, n, r, event->to));
}

/* ---- all steps ---- */

void job_late_known(struct job_late *l, const char *to, int64_t now)
{
	size_t len = strcspn(to, "/"), session = to[len] ? strcspn(to + len + 1, "/") : 0;
	char name[JOB_NAME];

	for (size_t i = 0; session && i < l->cnt; i++) {
		struct rank *r = l->ranks[i];

		word_of(name, sizeof(name), r->name);
		if (strlen(name) != len || memcmp(name, to, len) != 0 ||
		    strlen(r->session) != session || memcmp(r->session, to + len + 1, session) != 0)
			continue;
		r->event.is_known = true;
		r->event.steps = 0;
		r->event.at = now;
	}
}

bool job_late_find(struct job_late *l, const struct job_limit *limit, int64_t now, bool is_held,
		   struct job_event *event)
{
	uint32_t all;

	forget_stale(l, now);
	if (now - l->joined < SETTLE_NS)
		return false;
	all = complete(l, now);
	if (all > HISTORY && l->step < all - HISTORY)
		l->step = all - HISTORY;
	while (l->step < all) {
		size_t n = hold(l, ++l->step);
		const struct held *late;

		/* Steps of a few ranks are no comparison. */
		if (n < 2 || 2 * n <= l->cnt)
			continue;
		late = judge(l, limit, n, now);
		if (!late || is_held)
			continue;
		late->rank->event.is_known = true;
		describe(l, limit, n, late, event);
		return true;
	}
	return false;
}
