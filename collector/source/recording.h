/* recording.h - the part of a collection that event sources see, and how they write into its report. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/capture_window.h"
#include "collector/base/clock_map.h"
#include "collector/options/profile_options.h"
#include "collector/source/event_source.h"

struct arenas;
struct db;
struct loop;
struct open_waits;
struct sample;
struct sample_losses;
struct sched;
struct sched_ops;

/* The report that is being written. */
struct open_report {
	const char *path; /* absolute */
	char *path_own;   /* the same where it is malloc'd, else NULL */
	struct db *db;
	int64_t zero_real;      /* Unix time at session time 0, ns */
	struct windows windows; /* of it; events outside are dropped */
	int64_t next_from_mono; /* the next report begins then; INT64_MAX: not known yet */
	bool is_session; /* no report yet, but the session's database, from which the next one is made */
	bool is_busy;      /* rows came since the last commit */
	bool is_quiet;     /* no messages on stderr */
	int64_t locked_at; /* CLOCK_MONOTONIC: another program has locked it since then; 0: none */
	bool has_said_disk_full, has_said_removed, has_said_locked;
};

/* Session ns, if nothing else is given. */
struct clocks {
	struct clock_map map;
	int64_t now;
	int64_t tick_at; /* CLOCK_MONOTONIC of the last tick */
	int64_t committed_at, reaped_at, totals_at, clock_at, beat_at;
	int64_t alone_at; /* the program's processes were all gone then; 0: they are not */
	bool is_past; /* the rings are those of an earlier boot or of dead processes: no snapshots */
};

/* The program. */
struct root {
	uint32_t pid;
	pid_t child;   /* its pid if it is the collector's child, else 0 */
	int status;    /* wait status, -1 unknown */
	int signal_fd; /* signalfd; -1: signals are not handled (bare preload) */
	bool is_gone;
	bool is_attached;   /* not children of the collector: signals end the collection */
	bool has_unwatched; /* there are processes without a pidfd */
	struct {
		int64_t due; /* CLOCK_MONOTONIC; 0: not any more; INT64_MAX: some time after the loop begins */
	} late;              /* opening of event sources that may be opened late */
	struct open_waits *waits; /* waits/open_waits.h; NULL: none was looked for */
};

/* A GPU that is sampled, or used by a process. */
struct gpu_seen {
	const char *name, *bus; /* bus NULL: not known */
	uint64_t memory;        /* bytes; 0: not known */
	int32_t major, minor;   /* -1: not known */
};

/* The flight recorder's memory: takes events in place of the report. */
struct event_memory {
	int (*switches)(void *to, struct sched *from);            /* as sched_poll() */
	void (*samples)(void *to, struct sample *from, bool all); /* as sample_poll() */
	struct sample_losses (*losses)(const void *to);           /* as sample_losses() */
	void *to;
};

struct recording {
	const struct event_sources *sources;
	void *state[EVENT_SOURCES]; /* of each; NULL: it is not open */
	const struct profile_options *options;
	struct loop *loop;
	struct open_report *report;
	const struct clocks *clocks;
	const struct root *root;
	struct {
		struct event_rows *pending; /* of each kind, until the commit */
		struct event_rows dead
			[ROWS_KINDS]; /* in commits that failed, without a row in SL_LOST_EVENTS yet */
		uint64_t written;     /* switches of this report, until the last commit */
		uint64_t switches_lost; /* of this report, as far as noted */
	} rows;
	/* Destination of context switches, and of lives of processes. */
	struct {
		const struct sched_ops *ops;
		void *to;
	} tree;
	struct {
		int64_t (*number)(struct arenas *to, const uint8_t uuid[16], uint32_t index);
		void (*write)(struct arenas *to, int64_t id, const struct gpu_seen *seen);
		struct arenas *to;
	} gpus;
	const struct event_memory *memory; /* NULL: into the report */
	size_t stacks_most;                /* of samples, that are known again; 0: a million */
	struct sched *sched;               /* the process tree as the kernel sees it, NULL: not */
	struct sample *sample;             /* NULL: no CPU samples */
	uint64_t sample_cnt;               /* rows of samples */
};

/* A diagnostic of this severity, also on stderr. */
enum {
	SAY_INFO = 1,
	SAY_WARNING = 2
};
void recording_say(struct recording *r, int severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a warning; about a recording that is on only by default (@is_default), information, and not on stderr. */
void recording_say_asked(struct recording *r, bool is_default, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Both functions with a va_list. */
void recording_vsay(struct recording *r, int severity, bool is_quiet, const char *format,
		    va_list ap);
/* A number in META_DATA_CAPTURE. */
void recording_number(struct recording *r, const char *name, int64_t value);
/* Notes the loss of @cnt @what. */
void recording_lost(struct recording *r, const char *what, uint64_t cnt);
/* @rows are in the report. */
void recording_wrote(struct recording *r, enum row_kind kind, const struct event_rows *rows);
/* Rows of the commit that failed wait until recording_lost_rows() writes them into SL_LOST_EVENTS, by kind, with the reason @why; the sum. */
void recording_failed(struct recording *r);
uint64_t recording_lost_rows(struct recording *r, const char *why);
/* The windows of the report; where @wants is false, those of a report without events. */
const struct windows *recording_windows(const struct recording *r, bool wants);
/* 12345678 as "12,345,678". */
const char *recording_grouped(uint64_t n, char text[32]);
