/* tl_internal.h - the shared header of the timeline: names, tracks, sources, correlations. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/map.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"

#define TL_NONE INT64_MIN /* NULL among numbers */
/* ---- names (tl_names.c) ---- */

struct tl_names;
struct tl_names *tl_names_new(sqlite3 *db);
void tl_names_free(struct tl_names *n);
/* Between events: forgets all when they have become too many. True: it did. */
bool tl_names_trim(struct tl_names *n);
/* The text of a StringIds id; without the version after it where @api. */
struct tl_text tl_name(struct tl_names *n, int64_t string_id, bool api);
/* A text that @make writes for @key; @maker is the number of the maker, a small one. Made once. */
typedef void tl_maker(struct tl_names *n, int64_t key, char *buf, size_t len);
struct tl_text tl_name_made(struct tl_names *n, int maker, tl_maker *make, int64_t key);
/* The label of @value in an ENUM table; the number where it has none. */
struct tl_text tl_name_enum(struct tl_names *n, int at, const char *table, int64_t value);
tl_maker tl_make_memcpy, tl_make_memset, tl_make_sync;

/* ---- correlation (tl_flows.c) ---- */

/* The calls that started GPU work: bits by (process, correlation id). */
struct tl_flows;
/* NULL: no memory. Before the first event it has to know which work there is, and to be settled. */
struct tl_run;
struct tl_source_def;
struct tl_flows *tl_flows_new(const struct tl_run *r);
/* Is a table's work asked for that is not known yet? Then tl_flows_work() for each row, and tl_flows_have(); or all by a read. */
bool tl_flows_want(const struct tl_flows *f, const struct tl_source_def *def);
void tl_flows_work(struct tl_flows *f, sqlite3_value *global, sqlite3_value *correlation);
void tl_flows_have(struct tl_flows *f, const struct tl_source_def *def);
/* Reads a table that is wanted. 0, -1: no memory, or an error of sqlite3_errmsg(db). */
int tl_flows_read(struct tl_flows *f, const struct tl_run *r, const struct tl_source_def *def);
int tl_flows_settle(struct tl_flows *f);
/* The globalPid of GPU work that has none. */
int64_t tl_flows_process(struct tl_flows *f);
void tl_flows_free(struct tl_flows *f);
/* A call: the flow's id if it started work that is exported, and no call before it did, else 0. Remembers it. */
uint64_t tl_flow_out(struct tl_flows *f, int64_t global, int64_t correlation);
/* GPU work: the flow's id if its call came by, else 0. */
uint64_t tl_flow_in(struct tl_flows *f, int64_t global, int64_t correlation);
/* How many pieces of work a flow leads to. */
uint32_t tl_flow_count(struct tl_flows *f, uint64_t flow);

/* ---- tracks (tl_tracks.c) ---- */

struct tl_tracks;
struct tl_tracks *tl_tracks_new(sqlite3 *db, struct tl_names *names, const struct tl_sink *sink,
				void *self);
void tl_tracks_free(struct tl_tracks *t);
/* Sets the name that the program itself gives a thread. */
int tl_tracks_name_thread(struct tl_tracks *t, int64_t global, const char *name);
/* All announce new tracks. NULL: no memory, or the sink stopped. */
struct tl_track *tl_track_process(struct tl_tracks *t, int64_t global);
struct tl_track *tl_track_thread(struct tl_tracks *t, int64_t global);
struct tl_track *tl_track_gil(struct tl_tracks *t, int64_t global);
/* A track of a thread, or with @device >= 0 of that device of its process. */
struct tl_track *tl_track_made(struct tl_tracks *t, int64_t thread, int64_t device,
			       const char *name);
struct tl_track *tl_track_async(struct tl_tracks *t, int64_t global);
struct tl_track *tl_track_device(struct tl_tracks *t, int64_t global, int64_t device);
/* The number of the GPU that the process means by the device. */
int64_t tl_tracks_gpu(struct tl_tracks *t, int64_t global, int64_t device);
struct tl_track *tl_track_stream(struct tl_tracks *t, int64_t global, int64_t device,
				 int64_t context, int64_t stream);
struct tl_track *tl_track_projected(struct tl_tracks *t, int64_t thread, int64_t global,
				    int64_t device, int64_t context, int64_t stream);
struct tl_track *tl_track_machine(struct tl_tracks *t);
struct tl_track *tl_track_cpu(struct tl_tracks *t, int64_t cpu);
/* @key identifies a counter of its parent. */
struct tl_track *tl_track_counter(struct tl_tracks *t, struct tl_track *parent, int64_t key,
				  const char *name, const char *unit);
/* The lane on which a slice from @ts to @end fits. */
struct tl_track *tl_track_lane(struct tl_tracks *t, struct tl_track *track, int64_t ts,
			       int64_t end);

/* ---- sources (tl_source.c) ---- */

struct tl_arg_def {
	char key[32];
	char kind;      /* as in timeline.def; '@' */
	int col;        /* of the statement */
	char table[48]; /* of '@' */
	int at;         /* place of '@' among all enumerations */
	bool again;     /* the same key as the one before: only one of them counts */
};

#define TL_COLS  24
#define TL_BOUND 80

struct tl_source {
	const struct tl_source_def *def;
	const int64_t *
		row; /* numbers of the current row, TL_NONE for NULL: up to where arguments begin */
	int64_t own[TL_COLS], scanned[TL_COLS];
	int col_cnt;
	char bound[TL_BOUND]; /* "rowid <= N AND ", or nothing */
	struct tl_rows *rows; /* all rows; or, where more than numbers and a text is wanted, */
	sqlite3_stmt *scan;   /* this */
	sqlite3_stmt *fetch;  /* the one with a number */
	sqlite3_stmt *stmt;   /* on the current row: one of these two; NULL: rows is */
	const int64_t *ahead; /* of rows or scan: the row whose turn has not come */
	struct tl_late *late; /* rows that lie after their place in time, by time */
	size_t late_cnt, late_at;
	uint64_t *is_late; /* by the number of the row */
	int64_t late_row;  /* the last one */
	bool scan_done;
	int64_t ts, dur; /* of the current row, without shift */
	int64_t end;     /* as merged: INT64_MAX when open */
	bool instant;
	int key_col, corr_col, name_col, name_cols;
	char name_kind;
	int maker;
	tl_maker *make;
	struct tl_text constant;
	int arg_cnt;
	struct tl_arg_def *args;
	void *state; /* of the place's own: I/O, memory */
};

struct tl_run {
	sqlite3 *db;
	const struct tl_options *opt;
	const struct tl_sink *sink;
	void *self;
	struct tl_names *names;
	struct tl_tracks *tracks;
	struct tl_flows *flows;
	struct map domains, categories; /* (process, domain[, category]) -> place in texts + 1 */
	char **texts;
	size_t text_cnt;
	bool has_before;          /* SL_TL_BEFORE is there */
	struct map sums, metrics; /* GPU memory in use by counter; (type, metric) -> counter */
	struct tl_stacks *stacks; /* of samples; NULL: they are not asked for */
	bool own_stacks;          /* all kinds of events share the numbers of stacks */
	bool has_gil;             /* there is the domain of Python's lock */
	struct tl_projector *projector; /* of this run's own events; NULL: it has none */
	struct tl_spans *spans;         /* the projected ranges */
	struct tl_source *source;
	size_t source_cnt;
	uint64_t events, total;
	uint32_t args_for; /* activities whose arguments are read */
	struct tl_arg args[TL_ARGS_MAX];
	bool stopped; /* the sink stopped it, or the user */
	char *why;
	size_t why_len;
};

/* 1: made and on its first row, 0: nothing in it, -1: failed (sqlite3_errmsg). */
int tl_source_open(struct tl_run *r, const struct tl_source_def *def, struct tl_source *s);
void tl_source_close(struct tl_source *s);
/* The next row: 1, 0 at the end, -1. */
int tl_source_step(struct tl_source *s);
void tl_source_args(struct tl_run *r, struct tl_source *s, struct tl_event *e);
struct tl_text tl_source_name(struct tl_run *r, struct tl_source *s);

static inline int64_t tl_key(const struct tl_source *s, int i)
{
	return s->row[s->key_col + i];
}

/* Reads the next row that is not late: 1, 0 at the end, -1. */
int tl_source_ahead(struct tl_source *s);
/* Decodes the row that the statement is on. */
void tl_source_decode(const struct tl_source *s, sqlite3_stmt *stmt, int64_t *row);

/* ---- rows, many at a time (tl_rows.c) ---- */

/*
 * The callback that sl_tl_each(?1, ...) in a statement calls with the values after the first; true: the statement gives this
 * row.
 */
struct tl_each {
	bool (*row)(struct tl_each *e, int cnt, sqlite3_value **values);
};
int tl_each_begin(sqlite3 *db);
/* Frees @sql. 0, -1. */
int tl_each_prepare(sqlite3 *db, struct tl_each *e, char *sql, sqlite3_stmt **stmt);

/* "@columns" begins with a comma; the value of @text_col (-1: none) is a text. NULL: no memory, or the database's error. */
struct tl_rows *tl_rows_new(sqlite3 *db, const struct tl_source *s, int text_col,
			    const char *columns, const char *where);
void tl_rows_free(struct tl_rows *r);
/* SQLite's result codes. The row stays until the next one is asked for. */
int tl_rows_next(struct tl_rows *r, const int64_t **row);
struct tl_text tl_rows_text(const struct tl_rows *r, const int64_t *row);

/* tl_late.c: finds late rows (s->late), and work for r->flows. 1: they are few enough to be fetched one by one, 0: not, -1: failed. */
int tl_late_find(struct tl_run *r, struct tl_source *s, const char *start, const char *end);
extern uint32_t tl_late_max; /* so many are few enough; tests make it small */
static inline bool tl_is_late(const struct tl_source *s, int64_t row)
{
	return s->late_cnt > 0 && row >= 0 && row <= s->late_row &&
	       s->is_late[row >> 6] >> (row & 63) & 1;
}
/* The row that comes next becomes s->stmt. SQLITE_ROW, SQLITE_DONE, an error. */
int tl_late_step(struct tl_source *s);
void tl_late_free(struct tl_source *s);
/* Puts the current row on its track and hands it to the sink. 0, or -1. (tl_place.c) */
int tl_place_row(struct tl_run *r, struct tl_source *s);
int tl_emit(struct tl_run *r, struct tl_event *e);
int tl_names_of_domains(struct tl_run *r);

/* ---- frames of samples (tl_stacks.c) ---- */
int tl_stacks_open(struct tl_run *r); /* 0, or -1 */
void tl_stacks_close(struct tl_run *r);
bool tl_stacks_any(const struct tl_run *r); /* the report has stacks of samples */
/* Frames, and the number of the stack where samples share them, into @e. 0, or -1. */
int tl_stacks_frames(struct tl_run *r, int64_t sample, int64_t stack, struct tl_event *e);
/* Between events: forgets all when it has become too much, or when the texts of the frames are gone. */
void tl_stacks_trim(struct tl_run *r, bool no_texts);

/* ---- bytes per second (tl_io.c) ---- */
int tl_io_open(struct tl_run *r, struct tl_source *s); /* as tl_source_open */
int tl_io_step(struct tl_source *s);
int tl_io_row(struct tl_run *r, struct tl_source *s, struct tl_event *e);
void tl_io_close(struct tl_source *s);

/* ---- slices that no table has (tl_made.c) ---- */
int tl_made_open(const struct tl_made *made, size_t track,
		 struct tl_source *s); /* as tl_source_open */
int tl_made_step(struct tl_source *s);
int tl_made_row(struct tl_run *r, struct tl_source *s, struct tl_event *e);
void tl_made_close(struct tl_source *s);

/* Numbers of rows that a run reads of a table, as a condition that others follow: tl_options.part, rows. */
void tl_bound(const struct tl_run *r, const char *table, char *buf, size_t len);

/* The whole of a run; r->db, opt, sink, self, args_for, why are set. 0, or -1. (timeline.c) */
int tl_run(struct tl_run *r);

/* ---- event counters (tl_counters.c): fills the temporary table SL_TL_EVENTS. 0, or -1. ---- */
int tl_counters(struct tl_run *r);
/* Likewise of GPUs and of the machine: fills SL_TL_COUNTERS, SL_TL_GAPS. And a row of the one. */
int tl_samples(struct tl_run *r);
int tl_sample_row(struct tl_run *r, struct tl_source *s, struct tl_event *e);
/* The track of a GPU metric. */
struct tl_track *tl_metric_track(struct tl_run *r, int64_t type, int64_t metric);

/* ---- memory (tl_memory.c): fills the temporary table SL_TL_BEFORE. 0, or -1. ---- */
int tl_memory(struct tl_run *r);
/* Bytes of a kind that a process had on its device when the recording began. */
int64_t tl_memory_before(struct tl_run *r, int64_t process, int64_t device, int64_t kind);

/* ---- ranges on the GPU (tl_project.c) ---- */

/* The activities that the projection is made of. */
#define TL_ACT_PROJECTED (TL_ACT_NVTX | TL_ACT_CUDA_API | TL_ACT_KERNEL | TL_ACT_GPU_MEM)

/* Fills r->spans: by a run of its own, or, from tl_projector_new() to tl_projector_end(), by the events of this one. 0, or -1. */
int tl_project(struct tl_run *r);
struct tl_projector *tl_projector_new(struct tl_run *r, struct tl_spans *to);
int tl_projector_event(struct tl_projector *p, const struct tl_event *e);
int tl_projector_end(struct tl_projector *p); /* frees it */

/* ---- spans, sorted by their start (tl_spans.c) ---- */

struct tl_span {
	int64_t start, end; /* end: INT64_MAX when open */
	int64_t row;        /* of NVTX_EVENTS; 0: not known */
	int64_t operations;
	struct tl_text name, domain; /* domain: without text where there is none */
	int64_t thread;
	const struct tl_track *stream; /* of any run */
};
struct tl_spans;
struct tl_spans *tl_spans_new(void);
void tl_spans_free(struct tl_spans *s);
/* A span that encloses another at the same times is added after it. 0, -1. */
int tl_spans_add(struct tl_spans *s, const struct tl_span *span);
/* As tl_source_open; nothing is added after it. */
int tl_spans_open(struct tl_run *r, struct tl_source *s);
int tl_spans_step(struct tl_source *s);
int tl_spans_row(struct tl_run *r, struct tl_source *s, struct tl_event *e);
