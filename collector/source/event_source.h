/*
 * event_source.h - functions that a collection calls for one source of events besides the rings:
 * context switches, CPU samples, requests to block devices, counters, GPUs. Each has a state of its
 * own (@self). Members that a source has no use for are NULL. The list of sources:
 * collect/event_sources.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/event_rows.h"

struct profile_options;
struct recording;

/* Events that the collector reads itself, so that recover cannot resume them; in the order of their bits, with their names. */
#define FROM_KERNEL(EVENTS)                  \
	EVENTS(SAMPLES, "CPU samples")       \
	EVENTS(SWITCHES, "context switches") \
	EVENTS(CALLS, "system calls")        \
	EVENTS(COUNTERS, "event counters")

enum {
#define EVENTS(events, name) FROM_KERNEL_BIT_##events,
	FROM_KERNEL(EVENTS)
#undef EVENTS
};

enum {
#define EVENTS(events, name) FROM_KERNEL_##events = 1 << FROM_KERNEL_BIT_##events,
	FROM_KERNEL(EVENTS)
#undef EVENTS
};

/* A process to be followed, with all threads it has and whatever it will start. */
struct source_process {
	uint32_t pid;
	bool is_child;   /* of the collector: it waits, and will exec */
	bool is_running; /* a process that `attach` names, or a descendant */
};

struct event_source {
	const char *name;
	struct {
		bool be_held; /* the flight recorder can keep its events; else the source is not opened with it */
		bool be_late; /* it may be opened while the program runs: collect/event_sources.h */
	} can;
	size_t bytes; /* of the state; it is all zero when it is opened */
	/* With the collection, before the program runs. False: there are no events; a note has the reason. */
	bool (*open)(void *self, struct recording *r);
	struct {
		/* Before there is a report: may begin, in a thread of its own, what open() then waits for. */
		void (*prepare)(void *self, const struct profile_options *options);
		/* Waits until the first event can come, where the options ask for it in words. */
		void (*ready)(void *self);
	} start;
	/* Returns 0, or -errno where nothing can be recorded of the process. A source that goes on without it notes that, and returns 0. */
	int (*follow)(void *self, const struct source_process *p);
	/* Windows begin and end at @mono. An end without a beginning is nothing. */
	struct {
		void (*before_begin)(void *self); /* the gate is still closed */
		void (*begin)(void *self, int64_t mono);
		void (*before_end)(void *self); /* the gate is still open */
		void (*end)(void *self, int64_t mono);
		/* Has everything come up to @mono, or is it not worth waiting any longer? */
		bool (*has_come)(const void *self, int64_t mono);
	} capture;
	/* Writes rows of new events. @all: the report ends here, no event waits for later ones. Returns the events handled. */
	int (*poll)(void *self, bool all);
	/* Fill level of the fullest buffer, in per cent: how long the next poll can wait. */
	unsigned (*fill)(const void *self);
	/* FROM_KERNEL_* of the events that the options of now ask for. */
	unsigned (*kinds)(const void *self);
	/* Notes the report's losses. */
	void (*note_losses)(void *self);
	/* The next report begins. */
	void (*rotate)(void *self);
	/* The session ends: takes the last events, before the last capture is closed. */
	void (*finish)(void *self);
	/* Stops recording; recorded events can still be polled. */
	void (*stop)(void *self);
	void (*close)(void *self);
};

#define EVENT_SOURCES 16u /* at most; the others are NULL */

struct event_sources {
	/* Opened and called in this order, stopped and closed in the other: later ones use earlier ones. */
	const struct event_source *list[EVENT_SOURCES];
};
