/* replay_culprit.c - the culprit of a span of any thread, on the way of the focus thread or not. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/replay_internal.h"

/* Spans without a line of the program belong to the line that waits for them: one line for each process and cause. */
struct owner {
	struct why_cause cause;
	uint32_t process, culprit, line;
	bool is_in_child; /* of a process that is waited for at the line */
	int64_t ns;
};

static uint64_t hash_of(uint32_t process, const struct why_cause *c)
{
	const uint32_t words[] = {process, c->reason, c->place, c->name, c->object};

	return hash_bytes(0, words, sizeof(words));
}

static struct owner *find_owner(const struct run *r, uint64_t hash, uint32_t process,
				const struct why_cause *c)
{
	uint32_t at, i;

	for (i = slots_first(&r->owner_of, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&r->owner_of, hash, &at))
		if (r->owners[i].process == process &&
		    memcmp(&r->owners[i].cause, c, sizeof(*c)) == 0)
			return &r->owners[i];
	return NULL;
}

/* Stores an owner; of several culprits the one with most time is kept. False: no memory. */
static bool set_owner(struct run *r, const struct owner *like)
{
	uint64_t hash = hash_of(like->process, &like->cause);
	struct owner *o = find_owner(r, hash, like->process, &like->cause);

	if (o) {
		if (o->ns < like->ns)
			*o = *like;
		return true;
	}
	if (!grow(&r->owners, r->owners_cnt, &r->owners_room, sizeof(*like)) ||
	    !slots_add(&r->owner_of, hash, (uint32_t)r->owners_cnt))
		return false;
	r->owners[r->owners_cnt++] = *like;
	return true;
}

static uint32_t with_sums(const struct run *r, uint32_t culprit)
{
	return culprit < r->out->culprits ? culprit : REPLAY_ANY;
}

/* The culprit of a line. */
static uint32_t of_place(struct run *r, uint32_t place)
{
	uint32_t culprit = with_sums(r, r->y->culprit_of_place[place] - 1);

	r->is_joined = culprit != REPLAY_ANY && r->y->culprits[culprit].place != place;
	return culprit;
}

bool replay_prepare(struct run *r)
{
	const struct walk *w = &r->y->walk;

	if (!replay_prepare_gpu(r))
		return false;
	for (size_t i = 0; i < w->leaves_cnt; i++) {
		const struct why_leaf *l = &w->leaves[i];
		uint32_t culprit = with_sums(r, why_culprit_of(r->y, l));
		uint32_t process, line = why_line_of(r->y, l, &process);
		struct owner o;

		if (!why_is_blamed(r->y, &l->cause, line))
			continue;
		o = (struct owner){
			l->cause, l->process, culprit, line, why_is_in_child(r->y, l->hop, line),
			l->ns};
		if (!set_owner(r, &o))
			return false;
	}
	return true;
}

void replay_release(struct run *r)
{
	free(r->owners);
	slots_free(&r->owner_of);
	free(r->of_call);
	free(r->streams);
}

uint32_t replay_of_line(struct run *r, const struct why_cause *cause)
{
	if (cause->place == PLACE_NONE || cause->place >= r->y->places_cnt)
		return REPLAY_ANY;
	return of_place(r, cause->place);
}

/* A process is made at one line and waited for at another: its removal is one change. */
static void join_process(struct run *r, uint32_t culprit, bool is_of_it)
{
	if (r->is_joined && r->y->culprits[culprit].is_of_processes)
		r->is_joined = !is_of_it;
}

uint32_t replay_culprit(struct run *r, uint32_t process, const struct why_cause *cause)
{
	const struct owner *o;
	uint32_t culprit;

	r->is_joined = false;
	if (!why_is_blamed(r->y, cause, cause->place))
		return REPLAY_ANY;
	if (cause->place != PLACE_NONE && r->y->walk.places.list[cause->place].is_own) {
		culprit = replay_of_line(r, cause);
		join_process(r, culprit, reason_is_of_processes(&r->y->walk, cause->name));
		return culprit;
	}
	o = find_owner(r, hash_of(process, cause), process, cause);
	if (!o || o->culprit == REPLAY_ANY)
		return REPLAY_ANY;
	r->is_joined = o->line != r->y->culprits[o->culprit].place;
	join_process(r, o->culprit, o->is_in_child);
	return o->culprit;
}
