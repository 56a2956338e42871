/*
 * top.h - sightline top: the state of a recording, once a second.
 *
 *   top_read.c    sums of a growing report (SL_LIVE_*), at two moments
 *   top_totals.c  the same sums of a finished report, from its rows
 *   top_health.c  the last samples of GPUs and of the machine
 *   top_rows.c    the activity between them: rows, sorted, filtered
 *   top_text.c    lines of text, and JSON
 *   top_screen.c  on a terminal, where there is ncurses
 *
 * A report is opened for each look and closed again: so its writer can restart its log and finish it at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/slots.h"

#define TOP_SUMS    5
#define TOP_COLUMNS 8

/* ---- sums ---- */

enum top_kind {
	TOP_THREAD,
	TOP_CALL,
	TOP_FILE,
	TOP_GPU,
	TOP_KINDS
};

/* Indices of sums, by kind. */
enum {
	THREAD_CPU,
	THREAD_OFF,
	THREAD_SWITCHES,
	THREAD_CALLS,
	THREAD_CALL_NS
};
enum {
	CALL_CNT,
	CALL_NS,
	CALL_BYTES,
	CALL_ERRORS
};
enum {
	FILE_CNT,
	FILE_READ,
	FILE_WRITTEN,
	FILE_NS
};
enum {
	GPU_BUSY,
	GPU_KERNELS,
	GPU_KERNEL_NS,
	GPU_COPIES,
	GPU_BYTES
};

/* SL_LIVE_CALLS.kind */
enum {
	CALL_OSRT,
	CALL_CUDA,
	CALL_LIBRARY
};

struct top_item {
	int64_t id;       /* 0: from rows */
	int64_t pid, tid; /* GPU: pid its number */
	char *text;       /* function, path, GPU; NULL: none */
	uint8_t part;     /* call: CALL_*; file: 1 folder, 2 calls too short for a file */
	bool has_switches, is_on, is_over;
	bool has_name_only;               /* thread: neither switches nor calls of libc */
	int64_t cpu_ns, off_ns, switched; /* up to there; later time is in the sums */
	int64_t until, until_before;      /* GPU: where the sums reach, -1 unknown */
	int64_t now[TOP_SUMS], before[TOP_SUMS];
};

struct top_set {
	struct top_item *item;
	size_t cnt, cap;
	struct slots by_id;
};

struct top_name {
	int64_t id; /* pid, or globalTid */
	char *text;
};

enum top_status {
	TOP_WAITING, /* nothing has been summed up yet */
	TOP_RECORDING,
	TOP_PAUSED,   /* nothing is recorded at present */
	TOP_FINISHED, /* or from nsys: the sums are those of the whole report */
	TOP_LEFT,     /* its collector is gone */
};

struct top {
	const char *path;    /* NULL: none at present */
	const char *session; /* that writes it; NULL: not known */
	char *program;
	enum top_status status;
	bool is_foreign;              /* written by nsys: no short calls, no files */
	bool has_totals;              /* the sums are those of a report that is finished */
	bool is_sampled;              /* rates are known: two moments have been looked at */
	bool is_idle;                 /* nothing has changed for a while */
	int64_t round;                /* of the collector, 0 none */
	int64_t since, resumed, time; /* session ns: sums began, recording went on, sums reach */
	int64_t before;               /* time of the sums before */
	int64_t start_clock;          /* CLOCK_MONOTONIC of session time 0 */
	int64_t events, events_before, processes;
	int64_t lost,
		unreported; /* all; of these, context switches that the kernel did not report */
	int64_t behind;     /* ns: age of the oldest record that is no row yet */
	struct top_set set[TOP_KINDS];
	struct top_name *process, *thread; /* sorted by id */
	size_t process_cnt, thread_cnt;
	unsigned looks;                               /* since names were read, */
	size_t named;                                 /* when there were so many threads */
	char missing[512];                            /* names of missing data; "" nothing */
	char gpus[1024], metrics[1024], machine[512]; /* sampled last, as text; "": nothing */
};

void top_init(struct top *t, const char *path);
void top_free(struct top *t);
/* Forgets all of the report; the next one is @path. */
void top_restart(struct top *t, const char *path);

/* Looks at the report. 0: done (also when nothing is new); -1: cannot be read, and a sentence in @why. */
int top_read(struct top *t, char *why, size_t why_len);
/* From the rows of a finished report; @db: struct sqlite3. */
struct sqlite3;
int top_read_totals(struct top *t, struct sqlite3 *db, char *why, size_t why_len);

void top_read_names(struct top *t, struct sqlite3 *db);
/* Reads the last samples (top_health.c). */
void top_read_health(struct top *t, struct sqlite3 *db, int64_t now);
/* The item with this id, made when new; NULL: no memory. */
struct top_item *top_item(struct top_set *set, int64_t id);
const char *top_process_name(const struct top *t, int64_t pid);
const char *top_thread_name(const struct top *t, int64_t pid, int64_t tid);

/* Seconds between the two moments. */
double top_interval(const struct top *t);

/* ---- views ---- */

enum top_view {
	VIEW_PROCESSES,
	VIEW_THREADS,
	VIEW_FUNCTIONS,
	VIEW_FILES,
	VIEW_CUDA,
	VIEW_GPUS,
	VIEW_CNT
};

enum top_unit {
	UNIT_PERCENT, /* ns of time: share of a second; total in s */
	UNIT_TIME,    /* ns: ms per s; total in s */
	UNIT_COUNT,   /* per s */
	UNIT_BYTES,   /* MB per s */
	UNIT_AVERAGE  /* of the column before, by the one before that: us */
};

struct top_column {
	const char *head, *total_head;
	const char *key, *total_key; /* in JSON */
	enum top_unit unit;
};

struct top_view_info {
	const char *name; /* for --view, and in JSON */
	const char *title, *text_head;
	struct top_column column[TOP_COLUMNS];
	unsigned columns;
};
extern const struct top_view_info top_views[VIEW_CNT];
/* The view with this name, -1: none. */
int top_view_of(const char *name);

struct top_row {
	int64_t pid, tid; /* -1: all, or none */
	const char *text, *process;
	uint8_t part;
	int64_t delta[TOP_COLUMNS], sum[TOP_COLUMNS];
	bool is_known[TOP_COLUMNS];
	double rate[TOP_COLUMNS], total[TOP_COLUMNS]; /* in the unit's; NAN: not known */
	double interval;                              /* s */
};

#define SORT_TEXT (-1)

struct top_ask {
	enum top_view view;
	bool by_process; /* functions and files apart for each process */
	bool totals;     /* since the recording began, instead of rates */
	int sort;        /* column, SORT_TEXT */
	bool reverse;
	const char *filter; /* part of a name, a path or a number; NULL: all */
};

struct top_rows {
	struct top_row *row;
	size_t cnt, cap;
};

/* Fills @rows, which may hold those of the look before. False: no memory. */
bool top_rows(const struct top *t, const struct top_ask *ask, struct top_rows *rows);
void top_rows_free(struct top_rows *rows);

/* ---- text ---- */

/* A line of the table, its heading with @row NULL, cut to @width columns. malloc'd, NULL: no memory. */
char *top_line(const struct top_ask *ask, const struct top_row *row, size_t width);
/* The head above the table: line @i; false: there is no such line. @warn: in red. */
bool top_head(const struct top *t, unsigned i, char *text, size_t size, bool *warn);
void top_print(FILE *out, const struct top *t, const struct top_ask *ask, size_t most,
	       size_t width);
void top_print_json(FILE *out, const struct top *t, const char *filter);

/* ---- screen ---- */

struct top_watch {
	struct top *top;
	struct top_ask ask;
	double interval; /* s */
	int64_t count;   /* looks, 0: until q */
	/*
	 * The report that a session writes at the moment, malloc'd in @path. 1; 0: none at present; -1: the session
	 * has ended. NULL: one report is watched, and no other.
	 */
	int (*next)(void *to, char **path);
	void *next_to;
};
/* An exit status. */
int top_screen(struct top_watch *w);
bool top_has_screen(void);
