/*
 * watch.c - the index of a report: an existing side file, or a new one; then checks whether the report stays the same, or grows.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/hash.h"
#include "collector/base/now.h"
#include "collector/base/plain_file.h"
#include "collector/base/report_watch.h"
#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"
#include "exporters/view/build/build.h"
#include "exporters/view/build/live.h"

#define ANOTHER_NS 1000000000
/* Between two looks at a growing report: with the delay until rows are written, less than a second. */
#define FOLLOW_NS 400000000

static void fail(struct view_store *v, const char *what)
{
	pthread_rwlock_wrlock(&v->lock);
	v->state = VIEW_FAILED;
	snprintf(v->message, sizeof(v->message), "%s", what);
	v->generation++;
	pthread_rwlock_unlock(&v->lock);
}

/* A hash of the last row numbers of all tables: it changes when a report grows. */
static uint64_t rows_of(sqlite3 *db)
{
	uint64_t hash = 1;

	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", d->table);
		sqlite3_stmt *stmt = NULL;

		if (sql && (stmt = sql_first(db, sql)) != NULL)
			hash = hash_u64(hash * 31 + (uint64_t)sqlite3_column_int64(stmt, 0));
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
	return hash;
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

/* Takes the earlier side file, if it is of this report. */
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
	char why[VIEW_WHY] = "";
	uint8_t *dir;
	size_t len;
	bool is_kept = !is_live;

	if (!is_live && v->row_cnt == 0 && view_show_part(v, db, stop)) {
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
	if (is_live)
		b.bounds = view_live_new(db);
	b.v->live = b.bounds;
	b.v->free_live = view_live_free;
	if (view_walk(&b, why, sizeof(why)) < 0) {
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

static bool pause_ns(int64_t ns, const bool *stop)
{
	for (int64_t until = mono_ns() + ns; mono_ns() < until;) {
		if (__atomic_load_n(stop, __ATOMIC_RELAXED))
			return false;
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	return true;
}

/* Makes the index anew, of the present report; rows, lanes and names keep their numbers. */
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

/* Notes a report that no collector writes, and that none has finished. */
static void note_unfinished(struct view_store *v, sqlite3 *db)
{
	if (db_read_is_unfinished(db))
		note(v,
		     "the recording was not finished, as its collector was killed: what it had not "
		     "written yet is missing, and stacks have no names; 'sightline recover' ends "
		     "it");
}

/* Ranges projected onto the GPU need all work in them: they follow when the report has twice as many rows. */
static bool has_projected(const struct view_store *v)
{
	bool has_stream = false, has_nvtx = false;

	for (uint32_t i = 0; i < v->row_cnt; i++) {
		has_stream |= v->rows[i]->kind == VIEW_STREAM;
		has_nvtx |= v->rows[i]->kind == VIEW_NVTX;
	}
	return has_stream && has_nvtx;
}

/* Adds new rows to the existing index. False: the index is to be made anew. */
static bool go_on(struct view_store *v, sqlite3 *db, const bool *stop)
{
	struct view_builder b = {.v = v,
				 .db = db,
				 .stop = stop,
				 .until = INT64_MAX,
				 .bounds = v->live,
				 .live = v->live};
	char why[VIEW_WHY] = "";

	if (!v->live || view_live_next(v->live, db) < 0 ||
	    (has_projected(v) && view_live_has_doubled(v->live)))
		return false;
	if (view_live_new_rows(v->live) == 0)
		return true;
	if (view_walk_on(&b, why, sizeof(why)) < 0)
		return __atomic_load_n(stop, __ATOMIC_RELAXED);
	if (has_projected(v))
		note(v, "ranges on the GPU are as of some time ago while the recording goes on");
	ready(v, VIEW_LIVE);
	return true;
}

/* Brings the index up to date with the report, or makes it anew where needed. False: the report could not be read. */
static bool look_again(struct view_store *v, uint64_t *rows, bool is_live, bool is_wanted,
		       const bool *stop)
{
	struct view_identity id;
	char why[VIEW_WHY];
	sqlite3 *db = db_read_open(v->path, why, sizeof(why));

	if (!db || view_identity_of(v->path, &id) < 0) {
		note(v, db ? "the report is gone: what is shown is as it was" : why);
		sqlite3_close(db);
		return false;
	}
	id.rows = rows_of(db);
	id.activities = TL_ACT_ALL;
	if (is_live ? !go_on(v, db, stop) : id.rows != *rows || is_wanted)
		renew(v, db, &id, is_live, stop);
	if (!is_live)
		note_unfinished(v, db);
	*rows = id.rows;
	sqlite3_close(db);
	return true;
}

/* Rows are made at once where a report is read, and not when a processor is free. */
static int watch(const char *path)
{
	struct flock l = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = REPORT_WATCH_AT, .l_len = 1};
	struct stat st;
	int fd = plain_file_open(path, true, &st);

	if (fd >= 0)
		fcntl(fd, F_OFD_SETLK, &l);
	return fd;
}

/*
 * As long as the report is written to: shows new rows within a second, or as much later as keeps this thread to a third of a CPU.
 */
static void follow(struct view_store *v, uint64_t *rows, const bool *stop)
{
	int64_t wait = FOLLOW_NS;
	int fd = watch(v->path);

	for (bool is_live = true; is_live && pause_ns(wait, stop);) {
		int64_t start = mono_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		is_live = db_read_has_writer(v->path);
		if (!look_again(v, rows, is_live, !is_live, stop))
			is_live = false;
		/* Only own CPU time counts: time taken by other programs makes no wait longer. */
		wait = FOLLOW_NS - (mono_ns() - start);
		cpu = 2 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
		wait = wait > cpu ? wait : cpu;
	}
	if (fd >= 0)
		close(fd);
}

/* Checks that a finished report still exists, and that its index is whole. */
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
	char why[VIEW_WHY];
	bool is_live = db_read_has_writer(v->path);
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
	if (!is_live && rc == 0)
		note_unfinished(v, db);
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
