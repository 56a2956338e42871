/* build.c - the walk over a report, and the lanes of its events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporters/view/build/files.h"
#include "collector/base/now.h"
#include "exporters/read/sql_rows.h"
#include "exporters/view/build/live.h"

#define FIRST_NS   300000000 /* until something is to be seen */
#define ANOTHER_NS 1000000000

int64_t view_first_part = 200000;
/* Beyond it, nanoseconds are not apart in the reals of the page. */
#define CLOCK_MAX (INT64_C(1) << 52)

static const char no_room[] = "out of memory, or no room for the side file";

static int on_track(void *self, struct tl_track *t)
{
	return view_track_of(self, t) ? 0 : -1;
}

/* Names of tables are constants: the same place is the same table. */
static int source_of(struct view_builder *b, const char *table)
{
	size_t at = (uintptr_t)table / 8 % VIEW_SOURCES;

	if (b->table[at] != table) {
		int source = view_source_of(b->v, table ? table : "OSRT_API");

		if (source < 0)
			return -1;
		b->table[at] = table;
		b->source[at] = source;
	}
	return b->source[at];
}

/* Most names have small numbers. */
static uint32_t name_of(struct view_builder *b, const struct tl_text *text)
{
	uint32_t *known;

	if (text->id <= 0 || text->id >= VIEW_NEAR)
		return view_name_of(b->v, text);
	known = &b->near[text->id];
	if (*known == 0) {
		uint32_t name = view_name_of(b->v, text);

		if (name == UINT32_MAX)
			return name;
		*known = name + 1;
	}
	return *known - 1;
}

/* Adds a new event to the row of its file; beyond the limit of files, events have no row. */
static int put_file(struct view_builder *b, int64_t path, const struct view_event *e)
{
	struct view_row *row = view_file_row(b->v, b->db, path);

	return row ? view_live_put(b->live, row, VIEW_ADDED, e) : 0;
}

static int on_slice(struct view_builder *b, const struct tl_event *e, int source)
{
	struct view_store *v = b->v;
	struct view_event out = {
		.start = view_time(v, e->ts), .row = e->row, .source = (uint8_t)source};

	out.end = out.start;
	if (e->kind != TL_SLICE) {
		out.flags = VIEW_INSTANT;
	} else if (e->dur == TL_OPEN) {
		out.flags = VIEW_OPEN;
		out.end = VIEW_TIME_MAX;
	} else {
		out.end = view_time(v, e->ts + e->dur);
	}
	if (e->flow_in || e->flow_out)
		out.flags |= VIEW_FLOW;
	if (e->kind == TL_SAMPLE)
		out.name = e->frame_cnt > 0 ? name_of(b, &e->frames[0].symbol) : 0;
	else
		out.name = name_of(b, &e->name);
	if (out.name == UINT32_MAX)
		return -1;
	if (out.end != VIEW_TIME_MAX && out.end > b->last)
		b->last = out.end;
	if (b->files && view_files_add(b->files, e, &out) < 0)
		return -1;
	if (b->live && e->path >= 0 && put_file(b, e->path, &out) < 0)
		return -1;
	return view_track_slice(b, e, &out);
}

/* Rates of new calls are added to the earlier rates; values computed from several samples replace the earlier values. */
static enum view_how how_of(const struct view_builder *b, const struct tl_event *e,
			    const struct view_lane *lane)
{
	int metrics = view_source_of(b->v, "GPU_METRICS");

	if (e->activity == TL_ACT_IO || e->activity == TL_ACT_MEMORY)
		return VIEW_ON_TOP;
	return strncmp(e->table, "SL_TL_", 6) == 0 && !(lane->sources >> metrics & 1) ? VIEW_INSTEAD
										      : VIEW_ADDED;
}

static int on_value(struct view_builder *b, const struct tl_event *e, int source)
{
	const struct view_track *t = e->track->of_sink;
	struct view_event out = {.start = b->now,
				 .end = b->now,
				 .row = e->value,
				 .source = (uint8_t)source,
				 .flags = e->is_real ? VIEW_REAL : 0};

	if (e->is_real)
		memcpy(&out.row, &e->real, sizeof(out.row));
	if (!t->lane)
		return -1;
	if (b->live)
		return view_live_put(b->live, t->group, how_of(b, e, t->lane), &out);
	return view_lane_value(b->v, t->lane, b->now, e->is_real, out.row, source);
}

static int on_event(void *self, const struct tl_event *e)
{
	struct view_builder *b = self;
	struct view_store *v = b->v;
	int source = source_of(b, e->table);

	if (source < 0)
		return -1;
	if (e->ts >= b->until)
		return 0;
	if (!v->has_origin) {
		pthread_rwlock_wrlock(&v->lock);
		/* The report's own clock, as in all commands and tables. */
		v->origin = e->ts > -CLOCK_MAX && e->ts < CLOCK_MAX ? 0 : e->ts;
		v->has_origin = true;
		pthread_rwlock_unlock(&v->lock);
	}
	b->now = view_time(v, e->ts);
	b->has_all |= e->activity == TL_ACT_NVTX_KERNEL;
	/* Where a curve ends nothing needs to have happened. */
	if (e->kind != TL_VALUE || !e->is_real || !isnan(e->real))
		b->last = b->now > b->last ? b->now : b->last;
	b->first = b->now < b->first ? b->now : b->first;
	switch (e->kind) {
	case TL_VALUE:
		return on_value(b, e, source);
	case TL_SCHED:
		return view_states_switch(b, e, source);
	default:
		return on_slice(b, e, source);
	}
}

/* While the timeline's tracks are still there. */
static int on_end(void *self)
{
	return view_states_end(self);
}

/* Of no event yet, the span is empty. */
static void put_span(const struct view_builder *b, struct view_store *v)
{
	v->first = b->first <= b->last ? b->first : 0;
	v->last = b->first <= b->last ? b->last : 0;
}

/* The index of the whole report replaces the index of its first part; rows, lanes and names have the same numbers in both. */
static void show(struct view_builder *b)
{
	struct view_store *v = b->shown, *first = b->v;

	view_store_take(v, first);
	b->v = v;
	b->shown = NULL;
	view_store_free(first);
}

static int on_progress(void *self, uint64_t done, uint64_t total)
{
	struct view_builder *b = self;
	struct view_store *v = b->v;
	int64_t now = mono_ns();

	if (__atomic_load_n(b->stop, __ATOMIC_RELAXED))
		return -1;
	if (b->live)
		return 0;
	if (now - b->published < (b->publications ? ANOTHER_NS : FIRST_NS))
		return 0;
	b->published = now;
	b->publications++;
	if (view_lanes_publish(v, false) < 0)
		return -1;
	pthread_rwlock_wrlock(&v->lock);
	v->events = done;
	put_span(b, v);
	v->indexed = b->has_all ? v->last : b->now;
	v->progress = total > done ? 0.95 * (double)done / (double)total : 0.95;
	pthread_rwlock_unlock(&v->lock);
	if (b->shown && v->indexed >= b->shown->indexed)
		show(b);
	return 0;
}

/* The colors that the program gave its ranges, by name; the last one of several counts. */
static void take_colors(struct view_builder *b)
{
	static const char sql[] =
		"SELECT DISTINCT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)), "
		"color & 0xFFFFFF FROM NVTX_EVENTS WHERE rowid > ?1 AND color IS NOT NULL AND "
		"color <> 0 LIMIT 100000";
	struct view_store *v = b->v;
	sqlite3_stmt *stmt = NULL;
	int64_t after = INT64_MIN, upto;

	if (sqlite3_prepare_v2(b->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
	if (b->live)
		view_live_rows(b->live, "NVTX_EVENTS", &after, &upto);
	sqlite3_bind_int64(stmt, 1, after);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct tl_text text = {0, (const char *)sqlite3_column_text(stmt, 0),
				       (size_t)sqlite3_column_bytes(stmt, 0)};
		uint32_t name = text.text ? view_name_of(v, &text) : UINT32_MAX;

		if (name == UINT32_MAX)
			continue;
		pthread_rwlock_wrlock(&v->lock);
		v->names[name].color = 1u << 24 | (uint32_t)sqlite3_column_int64(stmt, 1);
		pthread_rwlock_unlock(&v->lock);
	}
	sqlite3_finalize(stmt);
}

/* @part: of the rows; 0: all. How many events, or -1. */
static int64_t run(struct view_builder *b, double part, char *why, size_t len)
{
	static const struct tl_sink sink = {on_track, on_event, on_end};
	/* Ranges projected onto the GPU come after all else: they have lanes of their own. */
	struct tl_options options = {.activities = TL_ACT_ALL,
				     .no_args = true,
				     .ends = b->bounds == NULL,
				     .ranges_last = true,
				     .part = part,
				     .rows = b->bounds ? view_live_rows : NULL,
				     .of_rows = b->bounds,
				     .goes_on = b->live != NULL,
				     .progress = on_progress,
				     .of_progress = b};
	int64_t events = -1;
	bool is_whole = part <= 0 && !b->live, ok;

	/* Rates, metrics and samples need all rows of a table. */
	if (part > 0)
		options.activities &= ~(TL_ACT_IO | TL_ACT_METRIC | TL_ACT_SAMPLE);
	/* Projected ranges would join new rows with earlier ones. */
	if (b->live)
		options.activities &= ~TL_ACT_NVTX_KERNEL;
	b->published = mono_ns();
	b->first = INT64_MAX;
	b->last = INT64_MIN;
	b->states = view_states_new(b, part <= 0);
	b->near = calloc(VIEW_NEAR, sizeof(*b->near));
	b->files = is_whole ? view_files_new() : NULL;
	ok = b->states && b->near && (b->files || !is_whole);
	if (ok)
		events = timeline_run(b->db, &options, &sink, b, why, len);
	if (events >= 0 && b->files && view_files_end(b->files, b) < 0)
		events = -1;
	if (events < 0 && !*why)
		snprintf(why, len, "%s", no_room);
	view_tracks_free(b);
	view_states_free(b->states);
	view_files_free(b->files);
	free(b->near);
	return events;
}

int view_walk(struct view_builder *b, char *why, size_t len)
{
	int64_t events = run(b, 0, why, len);
	struct view_store *v;

	if (events < 0)
		return -1;
	take_colors(b);
	v = b->v;
	pthread_rwlock_wrlock(&v->lock);
	v->events = (uint64_t)events;
	put_span(b, v);
	if (b->too_deep > 0)
		snprintf(v->message, sizeof(v->message),
			 "%llu events nest deeper than %d levels and are left out",
			 (unsigned long long)b->too_deep, VIEW_DEPTH_MAX);
	else if (events == 0)
		snprintf(v->message, sizeof(v->message), "the report has no events to show");
	pthread_rwlock_unlock(&v->lock);
	if (view_lanes_publish(v, b->bounds == NULL) < 0) {
		snprintf(why, len, "%s", no_room);
		return -1;
	}
	if (b->shown)
		show(b);
	return 0;
}

int view_walk_on(struct view_builder *b, char *why, size_t len)
{
	struct view_store *v = b->v;
	int64_t events;

	/* Texts that are made up have other numbers in each run. */
	map_free(&v->name_of_id);
	events = run(b, 0, why, len);
	if (events < 0)
		return -1;
	if (view_live_take(b->live, v) < 0) {
		snprintf(why, len, "%s", no_room);
		return -1;
	}
	take_colors(b);
	pthread_rwlock_wrlock(&v->lock);
	if (b->first <= b->last) {
		v->first = v->events == 0 || b->first < v->first ? b->first : v->first;
		v->last = v->events == 0 || b->last > v->last ? b->last : v->last;
	}
	v->events += (uint64_t)events;
	pthread_rwlock_unlock(&v->lock);
	return 0;
}

/* ---- a first part, while the whole of a large report is looked through for rows that are late ---- */

static int64_t number_of(sqlite3 *db, const char *sql, const char *table, int64_t row)
{
	char *text = sqlite3_mprintf(sql, table, row);
	sqlite3_stmt *stmt = NULL;
	int64_t number = INT64_MIN;

	if (text && (stmt = sql_first(db, text)) != NULL &&
	    sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(text);
	return number;
}

/* The share of rows with about view_first_part events; *@until: up to when it has all tables. 0: the report is small. */
static double part_of(sqlite3 *db, int64_t *until)
{
	double all = 0, part;

	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		int64_t rows = number_of(db, "SELECT max(rowid) FROM main.\"%w\"", d->table, 0);

		all += rows > 0 ? (double)rows : 0;
	}
	if (all < 10 * (double)view_first_part)
		return 0;
	part = (double)view_first_part / all;
	*until = INT64_MAX;
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		int64_t rows = number_of(db, "SELECT max(rowid) FROM main.\"%w\"", d->table, 0);
		int64_t start = number_of(db, "SELECT start FROM main.\"%w\" WHERE rowid = %lld",
					  d->table, (int64_t)((double)rows * part));

		/* The share of a short table may have no row. */
		if (start != INT64_MIN && (double)rows * part >= 100 && start < *until)
			*until = start;
	}
	return *until < INT64_MAX ? part : 0;
}

/* True: @v shows it. */
bool view_show_part(struct view_store *v, sqlite3 *db, const bool *stop)
{
	struct view_builder b = {.db = db, .stop = stop, .until = INT64_MAX};
	bool is_kept = false, ok = false;
	char why[VIEW_WHY] = "";
	int64_t until = INT64_MAX;
	double part = part_of(db, &until);

	if (part <= 0)
		return false;
	b.v = view_store_new(v->path);
	if (b.v && (b.v->side = view_side_create(v->path, &is_kept)) != NULL) {
		b.until = until;
		ok = run(&b, part, why, sizeof(why)) > 0 && view_lanes_publish(b.v, true) == 0;
	}
	if (ok) {
		put_span(&b, b.v);
		b.v->indexed = b.v->last = view_time(b.v, until);
		b.v->progress = 0;
		view_store_take(v, b.v);
	}
	view_store_free(b.v);
	return ok;
}
