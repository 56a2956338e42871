/*
 * capture_options.h - when to record: values of --capture-range, --delay, --flight and the like.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

/* Effect of the end of a capture range (--capture-range-end). */
enum capture_end_mode {
	CAPTURE_END_NONE,            /* nothing: recorded until the program ends */
	CAPTURE_END_STOP,            /* the report is written, the program goes on */
	CAPTURE_END_STOP_SHUTDOWN,   /* and the program is ended, by --kill */
	CAPTURE_END_REPEAT,          /* the next range makes another report */
	CAPTURE_END_REPEAT_SHUTDOWN, /* the same, and after the last one the program is ended */
	CAPTURE_END_PAUSE,           /* the next range goes into the same report (not in nsys) */
};

/* When the call that ends a range returns. */
enum capture_end_wait {
	CAPTURE_WAIT_DEFER, /* at once; reports are finished while the program runs on */
	CAPTURE_WAIT_SYNC,  /* when the report is finished */
	CAPTURE_WAIT_ASYNC, /* as DEFER */
};

struct capture_options {
	uint32_t by;    /* SL_CAPTURE_*: the requests of programs that begin captures; 0 none */
	bool by_hotkey; /* a key, or SIGUSR1 (begin) and SIGUSR2 (end) sent to the collector */
	char nvtx_range[SL_CAPTURE_NAME_BYTES];
	char nvtx_domain[SL_CAPTURE_NAME_BYTES]; /* as in struct sl_session */
	enum capture_end_mode end;
	enum capture_end_wait wait;
	int64_t repeat;     /* captures after which no further one begins; 0: no bound */
	int64_t delay_s;    /* nothing is recorded before */
	bool start_later;   /* until `sightline start` */
	const char *hotkey; /* "F1".."F12", or one character */
	/* Flight recorder: nothing is written but the last flight_ns, on occasion. 0: none. */
	int64_t flight_ns;
	int64_t flight_bytes; /* of records kept, all processes together */
	const char *triggers; /* --trigger, comma separated; NULL none */
};

/* As they were typed; NULL: not given. */
struct capture_words {
	const char *range, *range_end, *nvtx, *hotkey, *flight, *flight_size, *triggers;
	bool any_nvtx; /* the program is given ..._REGISTER_ONLY=0 */
	int64_t delay_s;
	bool start_later;
};

/* 0; -SL_EXIT_USAGE after one line that names @cmd ("profile"). Strings live as long as @words' do. */
int capture_options_read(struct capture_options *o, const struct capture_words *words,
			 const char *cmd);

/* Is @name=@value the variable that makes messages of NVTX count that are no registered strings? */
bool capture_is_any_nvtx(const char *name, const char *value);

/* True: something other than the program's start begins the first capture. */
static inline bool capture_waits(const struct capture_options *o)
{
	return o->by || o->by_hotkey || o->delay_s || o->start_later;
}

/* True: reports are base.1.sqlite, base.2.sqlite, ... as nsys names them. */
static inline bool capture_is_numbered(const struct capture_options *o)
{
	return o->end == CAPTURE_END_REPEAT || o->end == CAPTURE_END_REPEAT_SHUTDOWN;
}
