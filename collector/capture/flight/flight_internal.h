/* flight_internal.h - state of the flight recorder; for flight*.c alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/capture/capture.h"
#include "collector/collect/collector.h"
#include "collector/capture/flight/flight_ring.h"
#include "collector/capture/flight/flight_store.h"
#include "collector/capture/trigger_watch.h"

#define SECOND_NS INT64_C(1000000000)

enum flight_state {
	FLIGHT_READY,
	FLIGHT_DUMPING, /* a report is being written */
	FLIGHT_OVER,    /* nothing can be written any more */
};

/* Why a window does not begin earlier. */
enum flight_limit {
	LIMIT_TIME,
	LIMIT_START, /* of the session */
	LIMIT_DUMP,  /* earlier events are in the previous report */
	LIMIT_MEMORY,
};

/* A requested report. */
struct flight_request {
	bool is_there, overwrite;
	enum capture_source source;
	int64_t due;       /* CLOCK_MONOTONIC */
	int64_t since;     /* start of the event that it must contain, 0: none */
	char reason[1024]; /* several, if they came together */
	char *report;
};

struct flight {
	enum flight_state state;
	int64_t ns;
	struct {
		uint64_t bytes;
		bool is_full;            /* memory is full: chunks go back at once */
		struct flight_ages ages; /* scratch */
		int64_t resident_at;
	} memory;
	struct {
		/* Everything that ended later is in memory. */
		int64_t mono;   /* CLOCK_MONOTONIC */
		uint64_t ticks; /* the same, to the tick; 0: not so exactly */
		enum flight_limit limit;
	} whole;
	struct {
		struct triggers list;
		struct trigger_watch *watch;
	} trigger;
	struct flight_store store;
	struct event_memory sources; /* whose events go there */
	int64_t stop;                /* --duration, CLOCK_MONOTONIC; 0 none */
	struct flight_request request;
	struct {
		struct flight_request request;
		uint64_t to;     /* ticks: end of the window that is being written */
		int64_t to_mono; /* the same */
		bool reads_all;  /* meanwhile: later events are not kept */
		enum flight_limit limit;
		int64_t whole; /* ns */
	} dump;
	struct {
		int64_t at, crashed; /* CLOCK_MONOTONIC of the last; 0 none */
		uint64_t cnt, held_off;
		int64_t oom_kills; /* of the machine, when last looked at; -1: not known */
		bool has_ended;    /* every process of the program has */
	} done;
	bool is_failure_noted;
};

/* Requests that come together are one. */
void flight_request_add(struct flight *f, enum capture_source source, const char *reason,
			int64_t due);
void flight_request_clear(struct flight_request *w);
/* A trigger_fire_fn; for model.ended. */
void flight_triggered(void *to, const char *why, uint64_t since);
void flight_process_ended(void *ctx, struct proc *p);
