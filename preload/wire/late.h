/*
 * late.h - request and answer of a process that libtrace.so is brought into while it runs: one struct in memory of the
 * process, which the collector writes before and reads afterwards.
 *
 * A thread of the process calls sightline_enter(), which joins the session, patches the slots of the loaded objects, connects to
 * the session's socket (SL_HELLO_ATTENDS) and stays there until the connection closes. Then it restores the slots, and returns.
 */
#pragma once

#include <stdint.h>

#include "preload/wire/session.h"

/*
 * Gates of a session that is entered late begin with a number that grows from session to session, below this; a process refuses
 * an older one.
 */
#define SL_GATE_MASK 0x3fffffffu

enum sl_late_state {
	SL_LATE_NOT_YET = 0,
	SL_LATE_FAILED = 1, /* @error is the reason; nothing is changed */
	SL_LATE_IN = 2,     /* calls are led to the wrappers */
	SL_LATE_LEFT = 3,   /* and no more */
};

enum sl_late_error {
	SL_LATE_NO_ERROR = 0,
	SL_LATE_NO_LIBRARY,   /* dlopen() refuses it */
	SL_LATE_NO_ENTRY,     /* it is another version of the library */
	SL_LATE_IN_SESSION,   /* it belongs to a session */
	SL_LATE_NO_CLOCK,     /* reading the clock faults (prctl PR_SET_TSC) */
	SL_LATE_NO_SESSION,   /* the session's folder cannot be entered from here */
	SL_LATE_NO_ARENA,     /* no memory for records, or the collector does not answer */
	SL_LATE_NO_SLOTS,     /* no memory for the values of slots */
	SL_LATE_NO_COLLECTOR, /* the collector has gone */
};

struct sl_late {
	uint32_t state;      /* enum sl_late_state; release, pairs with the collector's read */
	uint32_t error;      /* enum sl_late_error */
	uint32_t patched_ns; /* SL_LATE_IN: how long the walks through the slots have taken */
	uint32_t restored;   /* SL_LATE_LEFT: slots that led to a wrapper */
	char variable[sizeof(SL_SESSION_ENV) + 200]; /* the value of SIGHTLINE_SESSION */
};

/* Exported by libtrace.so for this alone. Returns when the session is left. */
int sightline_enter(struct sl_late *late);
