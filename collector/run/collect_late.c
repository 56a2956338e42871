/*
 * collect_late.c - opens event sources while the program runs.
 *
 * A program with a bare preload waits until the collector has answered, also one that a shell starts in a loop. CPU samples and
 * requests to block devices take as long to open as all else together. So they are opened once the program has shown that it lives
 * longer than the time between two samples, and the report has the time since when they are recorded. The process tree and context
 * switches are recorded from the start.
 */
#include "collector/run/collect.h"

#include <stdio.h>

#include "collector/base/now.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/collect/setup.h"

#define LATE_NS 5000000ll

/* "CPU samples, requests to block devices": those that are open. */
static const char *names_of(const struct recording *r, char text[256])
{
	size_t len = 0;

	text[0] = 0;
	for (unsigned i = 0; i < EVENT_SOURCES && r->sources->list[i] && len < 256; i++)
		if (r->sources->list[i]->can.be_late && r->state[i])
			len += (size_t)snprintf(text + len, 256 - len, "%s%s", len ? ", " : "",
						r->sources->list[i]->name);
	return text;
}

static void follow_tree(struct collector *c)
{
	for (const struct proc *p = c->model.procs; p; p = p->links.next) {
		const struct source_process one = {.pid = p->pid, .is_running = true};

		if (p->flags.in_tree && !p->flags.is_gone)
			sources_follow_late(&c->recording, &one);
	}
}

static void open_sources(struct collector *c)
{
	struct recording *r = &c->recording;
	char names[256];
	int64_t since;

	sources_open_late(r);
	/* Processes of which only the kernel's events are there yet. */
	pump_poll(c);
	follow_tree(c);
	since = mono_ns();
	if (capture_is_on(c))
		sources_begin_late(r, since);
	since -= c->clocks.map.zero;
	pump_now(c);
	if (!*names_of(r, names))
		return;
	recording_number(r, "SL_LATE_EVENTS:BEGIN", since);
	notes_say(c, SAY_INFO,
		  "%s begin %lld ms after the recording: a bare preload does not let the program "
		  "wait for them ('sightline profile' does)",
		  names, (long long)(since / 1000000));
	setup_changed(c);
}

void collect_late_begin(struct collector *c)
{
	if (c->root.late.due)
		c->root.late.due = mono_ns() + LATE_NS;
}

void collect_late_tick(struct collector *c)
{
	if (!c->root.late.due || !c->model.counts.alive || mono_ns() < c->root.late.due)
		return;
	c->root.late.due = 0;
	open_sources(c);
}

void collect_late_end(struct collector *c)
{
	const struct event_sources *all = c->recording.sources;

	if (!c->root.late.due)
		return;
	c->root.late.due = 0;
	for (unsigned i = 0; i < EVENT_SOURCES && all->list[i]; i++)
		if (all->list[i]->can.be_late)
			notes_say(c, SAY_INFO,
				  "no %s: the program ended before a bare preload opens them, "
				  "%lld ms after its start ('sightline profile' opens them before)",
				  all->list[i]->name, (long long)(LATE_NS / 1000000));
}
