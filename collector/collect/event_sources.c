/* event_sources.c - the event sources in the order of their opening, and loops over them. */
#include "collector/collect/event_sources.h"

#include <stdlib.h>

#include "collector/health/health.h"
#include "collector/health/host.h"
#include "collector/kernel/block/block.h"
#include "collector/kernel/counters/counters.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/kernel/sched/sched.h"

/*
 * GPUs come first: sl-gpu starts while the others open. Context switches come before samples and block requests, whose eBPF
 * programs use the maps of the process tree.
 */
const struct event_sources event_sources = {
	.list = {&health_source, &sched_source, &sample_source, &block_source, &counters_source,
		 &host_source},
};

#define HAS(r, i, member)       ((r)->state[i] && (r)->sources->list[i]->member)
#define CALL(r, i, member, ...) ((r)->sources->list[i]->member((r)->state[i], ##__VA_ARGS__))
/* Each source that is open and has the member. */
#define EACH(r, member, ...)                         \
	for (unsigned i = 0; i < EVENT_SOURCES; i++) \
		if (HAS(r, i, member))               \
	CALL(r, i, member, ##__VA_ARGS__)

#define EACH_LATE(r, member, ...)                                            \
	for (unsigned i = 0; i < EVENT_SOURCES; i++)                         \
		if (HAS(r, i, member) && (r)->sources->list[i]->can.be_late) \
	CALL(r, i, member, ##__VA_ARGS__)

/* @self: as it was prepared, or NULL. */
static void *open_one(struct recording *r, const struct event_source *source, void *self)
{
	if (!self)
		self = calloc(1, source->bytes);

	if (!self)
		recording_say(r, SAY_WARNING, "no %s: out of memory", source->name);
	else if (source->open(self, r))
		return self;
	free(self);
	return NULL;
}

static void open_those(struct recording *r, bool late)
{
	for (unsigned i = 0; i < EVENT_SOURCES && r->sources->list[i]; i++) {
		const struct event_source *source = r->sources->list[i];

		if (source->can.be_late == late &&
		    (!r->options->capture.flight_ns || source->can.be_held))
			r->state[i] = open_one(r, source, r->state[i]);
	}
}

void sources_prepare(struct recording *r)
{
	for (unsigned i = 0; i < EVENT_SOURCES && r->sources->list[i]; i++) {
		const struct event_source *source = r->sources->list[i];

		if (!source->start.prepare || source->can.be_late ||
		    (r->options->capture.flight_ns && !source->can.be_held))
			continue;
		r->state[i] = calloc(1, source->bytes);
		if (r->state[i])
			source->start.prepare(r->state[i], r->options);
	}
}

void sources_open(struct recording *r)
{
	open_those(r, false);
}

void sources_open_late(struct recording *r)
{
	open_those(r, true);
}

void sources_ready(struct recording *r)
{
	EACH(r, start.ready);
}

int sources_follow(struct recording *r, const struct source_process *p)
{
	int err = 0, one;

	for (unsigned i = 0; i < EVENT_SOURCES && !(err && p->is_running); i++) {
		one = HAS(r, i, follow) ? CALL(r, i, follow, p) : 0;
		err = err ? err : one;
	}
	return err;
}

void sources_follow_late(struct recording *r, const struct source_process *p)
{
	EACH_LATE(r, follow, p);
}

void sources_begin_late(struct recording *r, int64_t mono)
{
	EACH_LATE(r, capture.before_begin);
	EACH_LATE(r, capture.begin, mono);
}

void sources_before_begin(struct recording *r)
{
	EACH(r, capture.before_begin);
}

void sources_begin(struct recording *r, int64_t mono)
{
	EACH(r, capture.begin, mono);
}

void sources_before_end(struct recording *r)
{
	EACH(r, capture.before_end);
}

void sources_end(struct recording *r, int64_t mono)
{
	EACH(r, capture.end, mono);
}

bool sources_have_come(const struct recording *r, int64_t mono)
{
	for (unsigned i = 0; i < EVENT_SOURCES; i++)
		if (HAS(r, i, capture.has_come) && !CALL(r, i, capture.has_come, mono))
			return false;
	return true;
}

int sources_poll(struct recording *r, bool all)
{
	int events = 0;

	for (unsigned i = 0; i < EVENT_SOURCES; i++)
		if (HAS(r, i, poll))
			events += CALL(r, i, poll, all);
	return events;
}

unsigned sources_fill(const struct recording *r)
{
	unsigned fill, most = 0;

	for (unsigned i = 0; i < EVENT_SOURCES; i++) {
		fill = HAS(r, i, fill) ? CALL(r, i, fill) : 0;
		most = fill > most ? fill : most;
	}
	return most;
}

unsigned sources_kinds(const struct recording *r)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < EVENT_SOURCES; i++)
		if (HAS(r, i, kinds))
			kinds |= CALL(r, i, kinds);
	return kinds;
}

void sources_note_losses(struct recording *r)
{
	EACH(r, note_losses);
}

void sources_rotate(struct recording *r)
{
	EACH(r, rotate);
}

void sources_finish(struct recording *r)
{
	EACH(r, finish);
}

void sources_stop(struct recording *r)
{
	for (unsigned i = EVENT_SOURCES; i-- > 0;)
		if (HAS(r, i, stop))
			CALL(r, i, stop);
}

void sources_close(struct recording *r)
{
	for (unsigned i = EVENT_SOURCES; i-- > 0;) {
		if (HAS(r, i, close))
			CALL(r, i, close);
		free(r->state[i]);
		r->state[i] = NULL;
	}
}
