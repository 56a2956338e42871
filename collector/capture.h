/*
 * capture.h - when events are kept, and which report they go to.
 *
 * A session is recording or it is not. What it records between two moments is a window; a report has one window, or
 * several with --capture-range-end=pause. The moment counts, in ticks: calls that began in a window are kept, whatever
 * the programs' threads wrote a little earlier or later is not. NVTX ranges that reach into a window are cut to it and
 * say so (SL_NVTX_CLIPPED).
 *
 * Between windows everything that tells who is who is followed, in the report that comes next: it exists from the
 * beginning (struct collector.db), has no events yet, and gets its name and its time 0 when recording begins.
 *
 * To begin is quick: the gate opens first (session.h), what is to be done in the report follows. To end likewise.
 */
#ifndef SL_CAPTURE_H
#define SL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/capture_options.h"

struct collector;
struct hello;

enum capture_state {
	CAPTURE_IDLE, /* nothing is recorded; a capture may begin */
	CAPTURE_ON,
	CAPTURE_PAUSED, /* as IDLE, and what comes goes into the same report */
	CAPTURE_ENDING, /* the gate is closed; what is in the rings is being read */
	CAPTURE_OVER,   /* no capture will begin any more */
};

enum capture_source {
	CAPTURE_SOURCE_START, /* with the session */
	CAPTURE_SOURCE_DELAY,
	CAPTURE_SOURCE_CUDA,
	CAPTURE_SOURCE_NVTX,
	CAPTURE_SOURCE_HOTKEY, /* or a signal */
	CAPTURE_SOURCE_COMMAND,
	CAPTURE_SOURCE_TRIGGER,
	CAPTURE_SOURCE_DURATION,
	CAPTURE_SOURCE_EXIT, /* of the program */
};

/* [from, to) in ticks; to UINT64_MAX: still open. */
struct capture_window {
	uint64_t from, to;
};

struct capture_ask {
	enum capture_source source;
	const char *report; /* absolute path; NULL: the next one by -o */
	bool overwrite;
	int64_t past_ns;     /* the window begins so long ago (flight recorder); 0: now */
	int64_t duration_ns; /* ends by itself after that; 0: no bound */
};

/*
 * Begins to record. 0; -EALREADY: it does; -ESHUTDOWN: no further capture (CAPTURE_OVER); else -errno and a sentence
 * in @why: the report cannot be written, and nothing is recorded.
 */
int capture_begin(struct collector *c, const struct capture_ask *ask, char *why, size_t why_len);

/* Ends it: the gate closes now, the report is finished in the background. 0; -EALREADY: nothing is recorded. */
int capture_end(struct collector *c, enum capture_source source);

/* Ends it and throws the report away. 0; -EALREADY. */
int capture_cancel(struct collector *c);

/* Is it being recorded at this moment? */
bool capture_is_on(const struct collector *c);

/* Was this moment recorded? @ticks of an event's beginning. The hot path of the collector: rows.c and others. */
bool capture_has(const struct collector *c, uint64_t ticks);

/* Called for each report when it is complete (@err 0) or could not be completed; in the order of their ends. */
typedef void capture_report_fn(void *to, const char *report, int err);

#endif
