/* build.c - the walk over a report, and what of it goes where. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "exporters/read/db_read.h"
#include "exporters/view/build.h"

#define FIRST_NS   300000000 /* until something is to be seen */
#define ANOTHER_NS 1000000000
#define WHY        512

int64_t view_first_part = 200000;
static const char no_room[] = "out of memory, or no room for the side file";

static int64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

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
	return view_track_slice(b, e, &out);
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
		v->origin = e->ts;
		v->has_origin = true;
		pthread_rwlock_unlock(&v->lock);
	}
	b->now = view_time(v, e->ts);
	b->has_all |= e->activity == TL_ACT_NVTX_KERNEL;
	b->last = b->now > b->last ? b->now : b->last;
	b->first = b->now < b->first ? b->now : b->first;
	switch (e->kind) {
	case TL_VALUE: {
		const struct view_track *t = e->track->of_sink;
		int64_t value = e->value;

		if (e->is_real)
			memcpy(&value, &e->real, sizeof(value));
		return view_lane_value(v, t->lane, b->now, e->is_real, value, source);
	}
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

/* What was made of a part gives way to what is made of all; rows, lanes and names have the same numbers in both. */
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
	int64_t now = clock_ns();

	if (__atomic_load_n(b->stop, __ATOMIC_RELAXED))
		return -1;
	if (now - b->published < (b->publications ? ANOTHER_NS : FIRST_NS))
		return 0;
	b->published = now;
	b->publications++;
	if (view_lanes_publish(v, false) < 0)
		return -1;
	pthread_rwlock_wrlock(&v->lock);
	v->events = done;
	v->first = b->first;
	v->last = b->last;
	v->indexed = b->has_all ? v->last : b->now;
	v->progress = total > done ? 0.95 * (double)done / (double)total : 0.95;
	pthread_rwlock_unlock(&v->lock);
	if (b->shown && v->indexed >= b->shown->indexed)
		show(b);
	return 0;
}

static void fail(struct view_store *v, const char *what)
{
	pthread_rwlock_wrlock(&v->lock);
	v->state = VIEW_FAILED;
	snprintf(v->message, sizeof(v->message), "%s", what);
	v->generation++;
	pthread_rwlock_unlock(&v->lock);
}

/* Numbers of the last rows: a report that grew is another one. */
static uint64_t rows_of(sqlite3 *db)
{
	uint64_t hash = 1;

	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", d->table);
		sqlite3_stmt *stmt = NULL;

		if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
		    sqlite3_step(stmt) == SQLITE_ROW)
			hash = tl_hash(hash * 31 + (uint64_t)sqlite3_column_int64(stmt, 0));
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
	return hash;
}

/* What the program gave its ranges, by name; where one has several, the last counts. */
static void take_colors(struct view_builder *b)
{
	static const char sql[] =
		"SELECT DISTINCT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)), "
		"color & 0xFFFFFF FROM NVTX_EVENTS WHERE color IS NOT NULL AND color <> 0 LIMIT "
		"100000";
	struct view_store *v = b->v;
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(b->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
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
				     .ranges_last = true,
				     .part = part,
				     .progress = on_progress,
				     .of_progress = b};
	int64_t events = -1;

	/* These need a look at the whole of a table. */
	if (part > 0)
		options.activities &= ~(TL_ACT_IO | TL_ACT_METRIC | TL_ACT_SAMPLE);
	b->published = clock_ns();
	b->states = view_states_new(b->v, part > 0 ? NULL : b->db);
	b->near = calloc(VIEW_NEAR, sizeof(*b->near));
	if (b->states && b->near)
		events = timeline_run(b->db, &options, &sink, b, why, len);
	if (events < 0 && !*why)
		snprintf(why, len, "%s", no_room);
	view_tracks_free(b);
	view_states_free(b->states);
	free(b->near);
	return events;
}

static int walk(struct view_builder *b, char *why, size_t len)
{
	int64_t events = run(b, 0, why, len);
	struct view_store *v;

	if (events < 0)
		return -1;
	take_colors(b);
	v = b->v;
	pthread_rwlock_wrlock(&v->lock);
	v->events = (uint64_t)events;
	v->first = b->first;
	v->last = b->last;
	if (b->too_deep > 0)
		snprintf(v->message, sizeof(v->message),
			 "%llu events nest deeper than %d levels and are left out",
			 (unsigned long long)b->too_deep, VIEW_DEPTH_MAX);
	else if (events == 0)
		snprintf(v->message, sizeof(v->message), "the report has no events to show");
	pthread_rwlock_unlock(&v->lock);
	if (view_lanes_publish(v, true) < 0) {
		snprintf(why, len, "%s", no_room);
		return -1;
	}
	if (b->shown)
		show(b);
	return 0;
}

/* ---- a first part, while the whole of a large report is looked through for rows that are late ---- */

static int64_t number_of(sqlite3 *db, const char *sql, const char *table, int64_t row)
{
	char *text = sqlite3_mprintf(sql, table, row);
	sqlite3_stmt *stmt = NULL;
	int64_t number = INT64_MIN;

	if (text && sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(text);
	return number;
}

/* Which part of the rows is about view_first_part events, and up to when all tables are in it; 0: the report is small. */
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

		/* Of short tables there may be none. */
		if (start != INT64_MIN && (double)rows * part >= 100 && start < *until)
			*until = start;
	}
	return *until < INT64_MAX ? part : 0;
}

/* True: @v shows it. */
static bool show_part(struct view_store *v, sqlite3 *db, const bool *stop)
{
	struct view_builder b = {.db = db, .stop = stop, .until = INT64_MAX};
	bool is_kept = false, ok = false;
	char why[WHY] = "";
	int64_t until;
	double part = part_of(db, &until);

	if (part <= 0)
		return false;
	b.v = view_store_new(v->path);
	if (b.v && (b.v->side = view_side_create(v->path, &is_kept)) != NULL) {
		b.until = until;
		ok = run(&b, part, why, sizeof(why)) > 0 && view_lanes_publish(b.v, true) == 0;
	}
	if (ok) {
		b.v->indexed = b.v->last = view_time(b.v, until);
		b.v->progress = 0;
		view_store_take(v, b.v);
	}
	view_store_free(b.v);
	return ok;
}

/* The whole of the report, as it is now, is there. */
static void ready(struct view_store *v, enum view_state state)
{
	pthread_rwlock_wrlock(&v->lock);
	v->state = state;
	v->progress = 1;
	v->indexed = v->last;
	v->generation++;
	pthread_rwlock_unlock(&v->lock);
}

/* The earlier side file, if it is one of this report. */
static int take(struct view_store *v, const struct view_identity *id)
{
	struct view_store *found = view_store_new(v->path);
	uint8_t *dir = NULL;
	size_t len;
	int rc = -1;

	if (found && (found->side = view_side_open(v->path, id, &dir, &len)) != NULL)
		rc = view_directory_read(found, dir, len);
	free(dir);
	if (rc == 0) {
		view_store_take(v, found);
		ready(v, VIEW_READY);
	}
	view_store_free(found);
	return rc;
}

/* @is_live: the report still grows, so that the index is of no use later. */
static int make(struct view_store *v, sqlite3 *db, const struct view_identity *id, bool is_live,
		const bool *stop)
{
	struct view_builder b = {.v = v, .db = db, .stop = stop, .until = INT64_MAX};
	struct view_side *side;
	char why[WHY] = "";
	uint8_t *dir;
	size_t len;
	bool is_kept = !is_live;

	if (!is_live && v->row_cnt == 0 && show_part(v, db, stop)) {
		b.shown = v;
		b.v = view_store_seeded(v);
	}
	side = b.v ? view_side_create(v->path, &is_kept) : NULL;
	if (!side) {
		if (b.shown)
			view_store_free(b.v);
		fail(v, "there is no folder where the index of the report could be written");
		return -1;
	}
	pthread_rwlock_wrlock(&b.v->lock);
	b.v->side = side;
	pthread_rwlock_unlock(&b.v->lock);
	if (walk(&b, why, sizeof(why)) < 0) {
		if (b.shown)
			view_store_free(b.v);
		fail(v, why);
		return -1;
	}
	dir = is_kept ? view_directory_write(v, &len) : NULL;
	if (dir)
		view_side_finish(side, id, dir, len);
	free(dir);
	return 0;
}

/* ---- a report that grows ---- */

/* The collector holds a lock on its report as long as it lives. To be asked before SQLite opens the file. */
static bool has_writer(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return is_held;
}

static bool pause_ns(int64_t ns, const bool *stop)
{
	for (int64_t until = clock_ns() + ns; clock_ns() < until;) {
		if (__atomic_load_n(stop, __ATOMIC_RELAXED))
			return false;
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	return true;
}

/* The index anew, of the report as it is now; rows, lanes and names keep their numbers. */
static void renew(struct view_store *v, sqlite3 *db, const struct view_identity *id, bool is_live,
		  const bool *stop)
{
	struct view_store *next = view_store_seeded(v);

	if (next && make(next, db, id, is_live, stop) == 0) {
		view_store_take(v, next);
		ready(v, is_live ? VIEW_LIVE : VIEW_READY);
	}
	view_store_free(next);
}

static void note(struct view_store *v, const char *what)
{
	pthread_rwlock_wrlock(&v->lock);
	if (strcmp(v->message, what) != 0) {
		snprintf(v->message, sizeof(v->message), "%s", what);
		v->generation++;
	}
	pthread_rwlock_unlock(&v->lock);
}

/* The report as it is now against what is shown; the index anew where that is of use. False: it could not be read. */
static bool look_again(struct view_store *v, uint64_t *rows, bool is_live, bool is_wanted,
		       const bool *stop)
{
	struct view_identity id;
	char why[WHY];
	sqlite3 *db = db_read_open(v->path, why, sizeof(why));

	if (!db || view_identity_of(v->path, &id) < 0) {
		note(v, db ? "the report is gone: what is shown is as it was" : why);
		sqlite3_close(db);
		return false;
	}
	id.rows = rows_of(db);
	id.activities = TL_ACT_ALL;
	if (id.rows != *rows || is_wanted)
		renew(v, db, &id, is_live, stop);
	*rows = id.rows;
	sqlite3_close(db);
	return true;
}

/*
 * As long as the report is written to: what came is shown a second later, or as much later as keeps this to a third of a CPU.
 * Each time all is made anew, for a call is written when it has ended, after others that began later.
 */
static void follow(struct view_store *v, uint64_t *rows, const bool *stop)
{
	int64_t took = 0;

	for (bool is_live = true;
	     is_live && pause_ns(took > 500000000 ? 2 * took : ANOTHER_NS - took, stop);) {
		int64_t start = clock_ns();

		is_live = has_writer(v->path);
		if (!look_again(v, rows, is_live, !is_live, stop))
			is_live = false;
		took = clock_ns() - start;
	}
}

/* Of a finished report: whether it is still there, and its index whole. */
static void guard(struct view_store *v, struct view_identity id, const bool *stop)
{
	while (pause_ns(ANOTHER_NS, stop)) {
		struct view_identity now;

		if (__atomic_load_n(&v->is_damaged, __ATOMIC_RELAXED) &&
		    look_again(v, &id.rows, false, true, stop))
			__atomic_store_n(&v->is_damaged, false, __ATOMIC_RELAXED);
		if (view_identity_of(v->path, &now) < 0)
			note(v, "the report is gone: what is shown is as it was");
		else if (now.size != id.size || now.head_crc != id.head_crc)
			note(v, "the report was changed: what is shown is as it was; start again "
				"to see it");
	}
}

int view_build(struct view_store *v, const bool *stop)
{
	struct view_identity id;
	char why[WHY];
	bool is_live = has_writer(v->path);
	sqlite3 *db = db_read_open(v->path, why, sizeof(why));
	int rc = -1;

	if (!db || view_identity_of(v->path, &id) < 0) {
		fail(v, db ? "the report is gone" : why);
		sqlite3_close(db);
		return -1;
	}
	id.rows = rows_of(db);
	id.activities = TL_ACT_ALL;
	if (!is_live)
		rc = take(v, &id);
	if (rc < 0) {
		rc = make(v, db, &id, is_live, stop);
		if (rc == 0)
			ready(v, is_live ? VIEW_LIVE : VIEW_READY);
	}
	v->rows_then = id.rows;
	sqlite3_close(db);
	return rc;
}

void view_watch(struct view_store *v, const bool *stop)
{
	struct view_identity id;
	uint64_t rows = v->rows_then;

	if (v->state == VIEW_LIVE)
		follow(v, &rows, stop);
	if (v->state == VIEW_FAILED || view_identity_of(v->path, &id) < 0)
		return;
	id.rows = rows;
	guard(v, id, stop);
}
