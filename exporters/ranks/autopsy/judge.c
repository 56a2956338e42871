/*
 * judge.c - the rank that the others wait for, or that died first.
 *
 * A rank waits where the last collective that it has joined lacks other ranks of the communicator. A missing rank may wait itself,
 * in another collective: the cause is at the end of such a way, or, where the ways lead in a circle, the one that most wait for. A rank that
 * others do not wait for is the cause where it ended badly before all others; but not if it had waited itself, as those do that give
 * up after a time. Where all were ended together, the cause is the one whose threads wait for each other, or that was elsewhere than all
 * the others.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/why/model/frame.h"

#define HANG_NS     INT64_C(1000000000) /* a shorter wait is none of a hang */
#define BEFORE_NS   INT64_C(100000000)  /* so much earlier is first */
#define TOGETHER_NS INT64_C(8000000000) /* ends that one command has caused */

/* The place of a rank in the order of a communicator. */
struct place {
	int64_t comm, seq, size;
	size_t rank; /* index */
};

struct judging {
	struct autopsy *a;
	AUTOPSY_LIST(place, places); /* in order of comm */
	size_t *stuck_of; /* by rank: index + 1 of the collective in which it waits; 0: none */
	int64_t restart;  /* of the last attempt */
};

static bool is_bad(const struct autopsy_rank *k)
{
	return k->life.status != AUTOPSY_NONE && k->life.status != 0;
}

static bool counts(const struct judging *j, const struct autopsy_rank *k)
{
	return k->id.restart == j->restart;
}

/* ---- collectives that lack ranks ---- */

static int by_comm(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool list_places(struct judging *j)
{
	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		const struct autopsy_rank *k = &j->a->ranks[i];

		for (size_t n = 0; counts(j, k) && n < k->joined_cnt; n++) {
			if (!grow(&j->places, j->places_cnt, &j->places_room, sizeof(*j->places)))
				return false;
			j->places[j->places_cnt++] = (struct place){
				k->joined[n].comm, k->joined[n].seq, k->joined[n].size, i};
		}
	}
	if (j->places_cnt)
		qsort(j->places, j->places_cnt, sizeof(*j->places), by_comm);
	return true;
}

static size_t first_place(const struct judging *j, int64_t comm)
{
	return search_first(i, 0, j->places_cnt, j->places[i].comm < comm);
}

static bool add_number(struct autopsy_number **list, size_t *cnt, size_t *room, int64_t number)
{
	if (!grow(list, *cnt, room, sizeof(**list)))
		return false;
	(*list)[(*cnt)++].rank = number;
	return true;
}

/* The collective in which the rank is; NULL: it has joined none, or the last is done. */
static const struct autopsy_joined *last_of(const struct autopsy_rank *k)
{
	const struct autopsy_joined *last = NULL;

	for (size_t i = 0; i < k->joined_cnt; i++)
		if (k->joined[i].call != AUTOPSY_NONE && (!last || k->joined[i].call > last->call))
			last = &k->joined[i];
	return last && last->end == AUTOPSY_NONE ? last : NULL;
}

static size_t stuck_with(const struct autopsy *a, int64_t comm, int64_t seq)
{
	for (size_t i = 0; i < a->stuck_cnt; i++)
		if (a->stuck[i].comm == comm && a->stuck[i].seq == seq)
			return i;
	return SIZE_MAX;
}

/* A collective that lacks no rank is not kept. */
static bool add_stuck(struct judging *j, const struct autopsy_joined *x)
{
	struct autopsy_stuck s = {.comm = x->comm, .seq = x->seq, .size = x->size, .op = x->op};
	size_t known = 0;
	bool ok = true;

	for (size_t i = first_place(j, x->comm);
	     ok && i < j->places_cnt && j->places[i].comm == x->comm; i++) {
		known++;
		ok = j->places[i].seq < x->seq
			     ? add_number(&s.missing, &s.missing_cnt, &s.missing_room,
					  (int64_t)j->places[i].rank)
			     : add_number(&s.in, &s.in_cnt, &s.in_room, (int64_t)j->places[i].rank);
	}
	s.unknown = x->size > (int64_t)known ? (size_t)x->size - known : 0;
	if (ok && s.missing_cnt + s.unknown &&
	    grow(&j->a->stuck, j->a->stuck_cnt, &j->a->stuck_room, sizeof(s))) {
		j->a->stuck[j->a->stuck_cnt++] = s;
		return true;
	}
	ok = ok && !(s.missing_cnt + s.unknown);
	free(s.in);
	free(s.missing);
	return ok;
}

static bool find_stuck(struct judging *j)
{
	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		struct autopsy_rank *k = &j->a->ranks[i];
		const struct autopsy_joined *x = counts(j, k) ? last_of(k) : NULL;
		size_t at = x ? stuck_with(j->a, x->comm, x->seq) : SIZE_MAX;

		if (x && at == SIZE_MAX && !add_stuck(j, x))
			return false;
		at = x ? stuck_with(j->a, x->comm, x->seq) : SIZE_MAX;
		if (at == SIZE_MAX)
			continue;
		j->stuck_of[i] = at + 1;
		k->verdict.role = AUTOPSY_WAITS;
		k->verdict.in = x;
	}
	return true;
}

/* ---- waits for other ranks ---- */

static bool is_missing(const struct autopsy_stuck *s, size_t rank)
{
	/* In order, as the places are. */
	size_t low = search_first(i, 0, s->missing_cnt, s->missing[i].rank < (int64_t)rank);

	return low < s->missing_cnt && s->missing[low].rank == (int64_t)rank;
}

/* Ranks that wait for this one, also by others. @todo, @seen: room for all ranks. */
static size_t count_waiters(const struct judging *j, size_t rank, size_t *todo, bool *seen)
{
	size_t cnt = 1;

	memset(seen, 0, j->a->ranks_cnt * sizeof(*seen));
	seen[rank] = true;
	todo[0] = rank;
	for (size_t at = 0; at < cnt; at++)
		for (size_t s = 0; s < j->a->stuck_cnt; s++) {
			if (!is_missing(&j->a->stuck[s], todo[at]))
				continue;
			for (size_t i = 0; i < j->a->ranks_cnt; i++)
				if (j->stuck_of[i] == s + 1 && !seen[i]) {
					seen[i] = true;
					todo[cnt++] = i;
				}
		}
	return cnt - 1;
}

static size_t count_direct(const struct judging *j, size_t rank)
{
	size_t cnt = 0;

	for (size_t s = 0; s < j->a->stuck_cnt; s++) {
		if (!is_missing(&j->a->stuck[s], rank))
			continue;
		for (size_t i = 0; i < j->a->ranks_cnt; i++)
			cnt += j->stuck_of[i] == s + 1;
	}
	return cnt;
}

/* The rank has waited for so long that it was a hang, at its end. */
static bool has_hung(const struct autopsy_rank *k)
{
	return k->verdict.in && k->life.end != AUTOPSY_NONE &&
	       k->life.end - k->verdict.in->call >= HANG_NS;
}

/* It ended badly, and the ranks that wait for it went on for a while. */
static bool is_survived(const struct judging *j, size_t rank)
{
	const struct autopsy_rank *k = &j->a->ranks[rank];

	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		int64_t end = j->a->ranks[i].life.end;

		if (j->stuck_of[i] && is_missing(&j->a->stuck[j->stuck_of[i] - 1], rank) &&
		    end != AUTOPSY_NONE && end - BEFORE_NS < k->life.end)
			return false;
	}
	return is_bad(k);
}

/* SIZE_MAX: no rank waits for another one, or not for long. */
static size_t most_waited_for(struct judging *j)
{
	struct autopsy *a = j->a;
	size_t *todo = calloc(a->ranks_cnt + 1, sizeof(*todo)), best = SIZE_MAX;
	bool *seen = calloc(a->ranks_cnt + 1, sizeof(*seen)), any_idle = false;
	size_t most = 0, direct = 0;
	bool hang = false;

	for (size_t i = 0; i < a->ranks_cnt; i++)
		hang |= has_hung(&a->ranks[i]) ||
			(a->ranks[i].verdict.in && a->ranks[i].life.end == AUTOPSY_NONE);
	for (size_t i = 0; todo && seen && i < a->ranks_cnt; i++) {
		size_t own = count_direct(j, i), all = own ? count_waiters(j, i, todo, seen) : 0;
		bool is_idle = own && !j->stuck_of[i];

		a->ranks[i].verdict.waiters = all;
		if (!own || !(hang || is_survived(j, i)))
			continue;
		if (best == SIZE_MAX || (is_idle && !any_idle) ||
		    (is_idle == any_idle && (all > most || (all == most && own > direct)))) {
			best = i;
			most = all;
			direct = own;
			any_idle |= is_idle;
		}
	}
	free(todo);
	free(seen);
	return best;
}

/* ---- ends ---- */

static size_t first_dead(const struct judging *j)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		const struct autopsy_rank *k = &j->a->ranks[i];

		if (counts(j, k) && is_bad(k) && k->life.end != AUTOPSY_NONE &&
		    (first == SIZE_MAX || k->life.end < j->a->ranks[first].life.end))
			first = i;
	}
	return first;
}

static bool is_from_outside(int64_t status)
{
	static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (status == signals[i] || status == (128 + signals[i]) << 8)
			return true;
	return false;
}

/* All were ended from outside, one soon after the other: by one command, which ended a hang. */
static bool ended_together(const struct judging *j)
{
	int64_t first = INT64_MAX, second = INT64_MAX, last = INT64_MIN;
	size_t cnt = 0;

	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		const struct autopsy_rank *k = &j->a->ranks[i];

		if (!counts(j, k))
			continue;
		if (k->life.status == AUTOPSY_NONE || k->life.end == AUTOPSY_NONE)
			continue;
		if (!is_from_outside(k->life.status))
			return false;
		if (k->life.end < first) {
			second = first;
			first = k->life.end;
		} else if (k->life.end < second) {
			second = k->life.end;
		}
		last = k->life.end > last ? k->life.end : last;
		cnt++;
	}
	return cnt > 1 && second - first < HANG_NS && last - first < TOGETHER_NS;
}

/* ---- the thread of a rank ---- */

size_t autopsy_frame_of(const struct autopsy_stack *s)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < s->cnt; i++) {
		const char *name = s->list[i].module ? frame_base_of(s->list[i].module) : "";
		bool is_gpu = strncmp(name, "libnccl", 7) == 0 || strncmp(name, "libcud", 6) == 0 ||
			      strncmp(name, "libcupti", 8) == 0;

		/* A header's or a library's line is better than none. */
		if (s->list[i].rank < RANK_SYSTEM || is_gpu)
			continue;
		if (best == SIZE_MAX || s->list[i].rank > s->list[best].rank)
			best = i;
	}
	return best;
}

static const struct autopsy_thread *thread_of(const struct autopsy_thread *list, size_t cnt,
					      int64_t tid)
{
	for (size_t i = 0; i < cnt; i++)
		if (list[i].tid == tid && list[i].stack.cnt)
			return &list[i];
	return NULL;
}

/* A thread that waits, over owners of locks, for itself; the main thread if it is one. */
static const struct autopsy_thread *in_cycle(const struct autopsy_rank *k)
{
	for (size_t i = 0; i < k->waits_cnt; i++) {
		const struct autopsy_thread *at = &k->waits[i];

		for (size_t steps = 0; at && at->owner && steps <= k->waits_cnt; steps++) {
			if (at->owner == k->waits[i].tid)
				return &k->waits[i];
			at = thread_of(k->waits, k->waits_cnt, at->owner);
		}
	}
	return NULL;
}

static int64_t quality(const struct autopsy_thread *t)
{
	size_t i = t ? autopsy_frame_of(&t->stack) : SIZE_MAX;

	return i == SIZE_MAX ? -1 : t->stack.list[i].rank;
}

/* Where it was at its end: at its death; where that has no line of Python, and an earlier look has one, there. */
static const struct autopsy_thread *where(const struct autopsy_rank *k)
{
	const struct autopsy_thread *at = thread_of(k->deaths, k->deaths_cnt, k->id.pid), *t;

	if (k->deaths_cnt && (!at || !is_from_outside(k->life.status)) && k->deaths[0].stack.cnt)
		at = &k->deaths[0];
	t = thread_of(k->waits, k->waits_cnt, k->id.pid);
	if (quality(t) > quality(at))
		at = t;
	for (size_t i = 0; i < k->last_cnt; i++)
		if (quality(&k->last[i]) > quality(at) ||
		    (quality(&k->last[i]) == quality(at) && quality(at) >= RANK_PYTHON_LIBRARY &&
		     k->last[i].time > at->time))
			at = &k->last[i];
	return at;
}

static void place_all(struct autopsy *a)
{
	for (size_t i = 0; i < a->ranks_cnt; i++) {
		struct autopsy_rank *k = &a->ranks[i];
		const struct autopsy_thread *cycle = in_cycle(k);

		k->verdict.is_cycle = cycle != NULL;
		k->verdict.thread = cycle ? cycle : where(k);
		k->verdict.frame =
			k->verdict.thread ? autopsy_frame_of(&k->verdict.thread->stack) : SIZE_MAX;
	}
}

static bool is_same_text(const char *x, const char *y)
{
	return x && y ? strcmp(x, y) == 0 : x == y;
}

static bool is_same_place(const struct autopsy_rank *x, const struct autopsy_rank *y)
{
	const struct autopsy_frame *f, *g;

	if (x->verdict.frame == SIZE_MAX || y->verdict.frame == SIZE_MAX)
		return x->verdict.frame == y->verdict.frame;
	f = &x->verdict.thread->stack.list[x->verdict.frame];
	g = &y->verdict.thread->stack.list[y->verdict.frame];
	return f->line == g->line && is_same_text(f->function, g->function) &&
	       is_same_text(f->file, g->file);
}

/* It got no further for a while, or its main thread was in a call for long. */
static bool stood_still(const struct autopsy_rank *k)
{
	if (thread_of(k->waits, k->waits_cnt, k->id.pid))
		return true;
	return k->life.progress > k->life.start && k->life.end != AUTOPSY_NONE &&
	       k->life.end - k->life.progress >= HANG_NS;
}

/* The rank whose place least others have, where most are in one place, and stand still there. */
static size_t odd_one(const struct judging *j)
{
	size_t odd = SIZE_MAX, least = SIZE_MAX, most = 0, all = 0, still = 0;

	for (size_t i = 0; i < j->a->ranks_cnt; i++) {
		size_t same = 0;

		if (!counts(j, &j->a->ranks[i]))
			continue;
		all++;
		still += stood_still(&j->a->ranks[i]);
		for (size_t k = 0; k < j->a->ranks_cnt; k++)
			same += counts(j, &j->a->ranks[k]) &&
				is_same_place(&j->a->ranks[i], &j->a->ranks[k]);
		most = same > most ? same : most;
		if (same < least) {
			least = same;
			odd = i;
		}
	}
	return most * 2 > all && still * 2 > all && least * 4 <= all ? odd : SIZE_MAX;
}

/* ---- the verdict ---- */

static size_t first_cycle(const struct judging *j)
{
	for (size_t i = 0; i < j->a->ranks_cnt; i++)
		if (counts(j, &j->a->ranks[i]) && j->a->ranks[i].verdict.is_cycle)
			return i;
	return SIZE_MAX;
}

/* The rank ended badly before @other did, and had not waited for others. */
static bool died_before(const struct autopsy_rank *k, const struct autopsy_rank *other)
{
	return !has_hung(k) &&
	       (other->life.end == AUTOPSY_NONE || k->life.end < other->life.end - BEFORE_NS);
}

static size_t choose(struct judging *j)
{
	struct autopsy *a = j->a;
	size_t waited = most_waited_for(j), dead = first_dead(j), cause = SIZE_MAX;

	if (waited != SIZE_MAX && dead != SIZE_MAX && dead != waited &&
	    died_before(&a->ranks[dead], &a->ranks[waited]) &&
	    !is_from_outside(a->ranks[dead].life.status))
		waited = SIZE_MAX;
	if (waited != SIZE_MAX) {
		const struct autopsy_rank *k = &a->ranks[waited];

		a->reason = j->stuck_of[waited] ? AUTOPSY_ELSEWHERE : AUTOPSY_NOT_JOINED;
		if (waited == dead && !ended_together(j))
			a->reason = AUTOPSY_DIED;
		if (k->life.status == 0)
			a->reason = AUTOPSY_LEFT;
		return waited;
	}
	if (dead != SIZE_MAX && !ended_together(j)) {
		a->reason = AUTOPSY_DIED;
		return dead;
	}
	cause = first_cycle(j);
	if (cause != SIZE_MAX) {
		a->reason = AUTOPSY_DEADLOCK;
		return cause;
	}
	cause = odd_one(j);
	a->reason = cause == SIZE_MAX ? AUTOPSY_UNKNOWN : AUTOPSY_DIFFERS;
	return cause;
}

static int by_role(const void *a, const void *b)
{
	const struct autopsy_rank *x = a, *y = b;

	if ((x->verdict.role == AUTOPSY_CAUSE) != (y->verdict.role == AUTOPSY_CAUSE))
		return x->verdict.role == AUTOPSY_CAUSE ? -1 : 1;
	if (x->id.rank != y->id.rank)
		return x->id.rank < y->id.rank ? -1 : 1;
	return (x->id.restart < y->id.restart) - (x->id.restart > y->id.restart);
}

/* Indices become numbers of ranks. */
static void name_ranks(struct autopsy *a)
{
	for (size_t s = 0; s < a->stuck_cnt; s++) {
		for (size_t i = 0; i < a->stuck[s].in_cnt; i++)
			a->stuck[s].in[i].rank = a->ranks[a->stuck[s].in[i].rank].id.rank;
		for (size_t i = 0; i < a->stuck[s].missing_cnt; i++)
			a->stuck[s].missing[i].rank = a->ranks[a->stuck[s].missing[i].rank].id.rank;
	}
}

bool autopsy_judge(struct autopsy *a)
{
	struct judging j = {.a = a};
	size_t cause;
	bool ok;

	for (size_t i = 0; i < a->ranks_cnt; i++)
		if (a->ranks[i].id.restart > j.restart)
			j.restart = a->ranks[i].id.restart;
	j.stuck_of = calloc(a->ranks_cnt + 1, sizeof(*j.stuck_of));
	place_all(a);
	ok = j.stuck_of && list_places(&j) && find_stuck(&j);
	if (ok) {
		cause = choose(&j);
		if (cause != SIZE_MAX)
			a->ranks[cause].verdict.role = AUTOPSY_CAUSE;
		name_ranks(a);
		if (a->ranks_cnt)
			qsort(a->ranks, a->ranks_cnt, sizeof(*a->ranks), by_role);
	}
	free(j.places);
	free(j.stuck_of);
	return ok;
}
