/*
 * gains.h - gains: an action at a culprit, replayed, with bounds of the time it saves.
 *
 * A gain is never the time of a call, the life of a process or the idle time of a GPU: it is by how much earlier the focus
 * thread comes to the end when the recording is replayed with the action.
 */
#pragma once

#include "exporters/why/walk/walk.h"

#define WHY_UNKNOWN_MOST 0.20 /* of the time is not recorded: no gain is sure */

enum gain_action {
	GAIN_REMOVE,   /* the culprit's spans are gone */
	GAIN_UNLOCK,   /* likewise; others waited for a lock meanwhile */
	GAIN_TOGETHER, /* waits of several threads or processes, one after the other: all at once */
	GAIN_LEVEL,    /* threads that do the same get equal parts */
	GAIN_SYNC,     /* calls that wait for the GPU no longer wait */
	GAIN_BATCH,    /* many calls, each with a cost of its own: fewer, each for more */
};

enum gain_severity {
	GAIN_NOTE,
	GAIN_BAD,
	GAIN_SEVERE,
};

struct why_gain {
	uint32_t culprit; /* index; WHY_NONE: none, of GAIN_SYNC */
	uint32_t place;
	uint64_t culprits;    /* a bit for each culprit at the line */
	int64_t lower, upper; /* ns; lower 0: nothing is sure */
	double sure;          /* as of culprits */
	uint32_t cnt;         /* threads or processes of GAIN_TOGETHER, GAIN_LEVEL */
	uint32_t
		part_of; /* index of the better-ranked gain that has all of its time; WHY_NONE: none */
	enum gain_action action;
	enum gain_severity severity;
	bool is_of_messages; /* GAIN_BATCH: of messages between threads or processes */
	bool is_up_to; /* the bounds are too far apart, or the replay is not good enough, for more than a bound */
};

extern const char *const gain_severity_names[];
const char *gain_action_name(enum gain_action action); /* for programs */
