/*
 * capture.h - when events are kept, and which report they go to.
 *
 * A session is recording or it is not. The time in which it records is a window (capture_window.h);
 * a report has one window, or several with --capture-range-end=pause. A window is exact to the
 * tick: calls that began in it are kept, others are dropped, whenever their records arrive. NVTX
 * ranges that reach into a window are cut to it (SL_NVTX_CLIPPED).
 *
 * Between windows processes, threads and names are followed, in a report without events (open_report.db) from which
 * the next one is made when recording begins; that moment is its time 0.
 *
 * Beginning is quick: the gate opens first (session.h), the work in the report follows. Likewise the end: the gate
 * closes, and once the rings have been read up to that moment the report is completed. Meanwhile the next capture can
 * begin: its records wait in the rings.
 *
 *   capture.c          the states
 *   capture_ask.c      programs that begin and end captures
 *   capture_report.c   from one report to the next
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/options/capture_options.h"
#include "collector/base/capture_window.h"
#include "collector/model/arena.h"

struct collector;
struct hello;

enum capture_state {
	CAPTURE_IDLE, /* nothing is recorded; a capture may begin */
	CAPTURE_ON,
	CAPTURE_PAUSED, /* as IDLE; later windows go into the same report */
	CAPTURE_ENDING, /* the gate is closed; the rings are being emptied */
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

struct capture_ask {
	enum capture_source source;
	const char *report; /* absolute path, copied; NULL: the next one by -o */
	bool overwrite;
	uint64_t from;       /* ticks: the window began then (flight recorder); 0: it begins now */
	int64_t from_mono;   /* the same */
	int64_t duration_ns; /* ends by itself after that; 0: no bound */
};

/* Called for each report when it is complete (@err 0) or could not be completed; in the order of their ends. */
typedef void capture_report_fn(void *to, const char *report, int err);

/* Has opened the capture and not closed it. */
struct capture_opener {
	uint32_t pid, range; /* range 0: cudaProfilerStart */
};

/* A report that a child process completes. */
struct capture_finish {
	struct capture_finish *next;
	pid_t pid;
	bool is_done;
	int err;
	char *report;
};

/* Functions of a recorder that holds events back (flight.h), called by a capture. */
struct capture_recorder {
	/* Has everything come in, up to the end of the window? */
	bool (*is_read)(const struct collector *c);
	/* Writes the events that are not in the rings into the report. */
	void (*contents)(struct collector *c);
};

/* CLOCK_MONOTONIC, ns; 0: none. */
struct capture_times {
	int64_t began, ended;
	int64_t read;  /* all but CUPTI's records has been read since then */
	int64_t delay; /* --delay is over then */
	int64_t stop;  /* the capture ends by itself then */
};

/* Captures since the session began. */
struct capture_count {
	uint32_t begun, ended;
	uint32_t before; /* begun before the options were changed */
};

/* A capture that began while the report before is being completed. */
struct capture_queued {
	bool is_there;
	struct capture_ask ask;
	char *report;
	uint64_t from, to; /* ticks; to 0: while it goes on */
	int64_t from_mono, to_mono;
	enum capture_source ended;
};

/* Programs that begin captures and end them. */
struct capture_clients {
	struct capture_opener *opener;
	size_t openers, opener_cap;
	int *waiting; /* sockets of programs that wait for the report (:sync) */
	size_t waiting_cnt;
	/* Requests to begin while two reports are under way: repeated when one of them is done. */
	struct capture_held {
		int sock;
		uint32_t pid, range;
	} * held;
	size_t held_cnt;
};

struct capture_reports {
	char *first;                      /* name of the first one */
	struct capture_finish *finishing; /* oldest first */
	char **list;                      /* complete reports, for the user */
	size_t cnt;
	bool is_missing;                       /* one is not whole under its name */
	void (*on_begin)(struct collector *c); /* recording has begun; NULL: not called */
	capture_report_fn *on_report;          /* NULL: likewise */
	void *on_report_to;
};

struct capture {
	enum capture_state state;
	const struct capture_options *options; /* NULL: recover, which only reads on */
	enum capture_source begun, ended;      /* sources of its begin and end */
	bool has_begun;                        /* the report has a window */
	bool is_cancelled;
	bool is_stuck; /* there is no room for another report: this one stays open to the end */
	bool is_shutting_down; /* the program is ended, and the session with it */
	struct capture_times at;
	struct capture_count count;
	struct capture_queued next;
	struct capture_clients clients;
	struct capture_reports reports;
	struct sought_range sought;
	const struct capture_recorder *recorder; /* NULL: the rings have all */
};

/* Makes c->capture, in which nothing begins before capture_open(). 0 or -ENOMEM. */
int capture_new(struct collector *c);
/* Goes on with the windows of a collector that was killed (recover): nothing more begins. */
void capture_resume(struct collector *c);
/* With the session: begins to record, or waits for the begin that the options name. 0 or -errno. */
int capture_open(struct collector *c);
/*
 * The options were changed by `start`: they decide how the next capture begins. @new_output: -o was
 * given, too. 0, -ESHUTDOWN, -EALREADY.
 */
int capture_arm(struct collector *c, bool new_output);
/* Nothing but a command begins the next one. */
void capture_disarm(struct collector *c);
/* Called once per tick: begins and ends captures that are due. */
void capture_tick(struct collector *c);
/* Must the rings be read now? */
bool capture_is_urgent(struct collector *c);
/* The session ends: nothing is recorded from here on. Call capture_report_close() when all is read. */
void capture_close(struct collector *c);
void capture_release(struct collector *c);

/*
 * Begins to record. 0; -EALREADY: it does; -EBUSY: two reports before are not complete yet; -ESHUTDOWN: no further
 * capture (CAPTURE_OVER); else -errno and a sentence in @why: the report cannot be written, and nothing is recorded.
 */
int capture_begin(struct collector *c, const struct capture_ask *ask, char *why, size_t why_len);

/* Ends it: the gate closes now, the report is finished in the background. 0; -EALREADY: nothing is recorded. */
int capture_end(struct collector *c, enum capture_source source);

/* Ends it and discards the report. 0; -EALREADY. */
int capture_cancel(struct collector *c);

/* SL_HELLO_OPEN and SL_HELLO_CLOSE on @sock, which is closed when the program may go on. */
void capture_asked(struct collector *c, int sock, const struct hello *h);

/* Has CUPTI delivered its records up to the end of the capture? */
bool capture_gpu_is_read(const struct collector *c);
/* Repeats the requests that had to wait for a report. */
void capture_ask_again(struct collector *c);
/* Drops openers that have ended; ends a capture that has no opener left. */
void capture_drop_gone(struct collector *c);

/* Is it being recorded at this moment? */
bool capture_is_on(const struct collector *c);

/* ---- capture_report.c ---- */

/* The report begins at this moment: names it, moves time 0. 0, or -errno and a sentence. */
int capture_report_begin(struct collector *c, const struct capture_ask *ask, char *why,
			 size_t why_len);
/* One line: the program is ended with its range, and the option that lets it run on. */
void capture_say_shutdown(struct collector *c);
/* All is read: completes the report in a child and goes on with a successor. */
void capture_report_end(struct collector *c);
/* Writes the rows that are known only at the report's end. */
void capture_report_contents(struct collector *c);
/* Session ns at which the report ends. */
int64_t capture_report_length(const struct collector *c);
/* Children that have finished. @wait: all of them, now. */
void capture_report_done(struct collector *c, bool wait);
/* The last one, complete; or removed, where nothing was to be kept. 0 or -errno. */
int capture_report_close(struct collector *c, int64_t length);
