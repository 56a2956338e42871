/*
 * db_rotate.c - rotates to a new report: keeps strings, processes, threads and images, drops events.
 *
 * Ids of strings, rows of processes, threads and images keep their numbers, so that the collector's
 * memory stays true; this connection's memory of them moves over instead of being read again.
 */
#include "collector/report/db_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tables that are kept; where: which rows (NULL all); times: columns on the session's axis. */
static const struct {
	const char *name, *where, *times[2];
} KEPT[] = {
	{"StringIds", NULL, {0}},
	{"META_DATA_CAPTURE",
	 "name NOT IN ('START_TRIGGER', 'STOP_TRIGGER') AND name NOT LIKE 'SL_CAPTURE%'",
	 {0}},
	{"TARGET_INFO_SYSTEM_ENV", NULL, {0}},
	{"SL_PROCESS_TREE", NULL, {"start", "end"}},
	{"PROCESSES", NULL, {0}},
	{"ThreadNames", NULL, {0}},
	{"OSRT_FILE_ACCESS_DESCRIPTORS", "closedAt = 0", {"openedAt"}},
	{"SL_SOCKETS",
	 "fileAccessId IN (SELECT fileAccessId FROM old.OSRT_FILE_ACCESS_DESCRIPTORS WHERE "
	 "closedAt = 0)",
	 {0}},
	{"SL_RANK_VARIABLES", NULL, {0}},
	{"SL_NCCL_COMMUNICATORS", "end IS NULL", {"start"}},
	/* Names of categories, threads and domains. */
	{"NVTX_EVENTS", "eventType IN (33, 39, 75, 76)", {"start"}},
	{"NVTX_PAYLOAD_SCHEMAS", NULL, {0}},
	{"NVTX_PAYLOAD_SCHEMA_ENTRIES", NULL, {0}},
	{"NVTX_PAYLOAD_ENUMS", NULL, {0}},
	{"NVTX_PAYLOAD_ENUM_ENTRIES", NULL, {0}},
	{"TARGET_INFO_NVTX_CUDA_DEVICE", NULL, {0}},
	{"TARGET_INFO_NVTX_CUDA_STREAM", NULL, {0}},
	{"SL_NVTX_NAMES", NULL, {"start"}},
	{"TARGET_INFO_GPU", NULL, {0}},
	{"TARGET_INFO_CUDA_DEVICE", NULL, {0}},
	{"TARGET_INFO_CUDA_CONTEXT_INFO", NULL, {0}},
	{"TARGET_INFO_CUDA_STREAM", NULL, {0}},
	/* Rows of samplers that go on. */
	{"TARGET_INFO_GPU_METRICS", NULL, {0}},
	{"SL_GPU_METRIC_SETS", NULL, {"start"}},
	{"SL_COUNTERS", NULL, {0}},
	/* Rows of graphs that were made before, and run now. */
	{"CUDA_GRAPH_NODE_EVENTS", NULL, {"start", "end"}},
	{"CUDA_GRAPH_EVENTS", NULL, {"start", "end"}},
	{"SL_STATE", "key <> ''", {0}},
};
#define KEPT_CNT (sizeof(KEPT) / sizeof(KEPT[0]))

/* Diagnostics from a time without a report belong to the next one. */
static const struct {
	const char *name, *times[2];
} SAID[] = {
	{"DIAGNOSTIC_EVENT", {"timestamp"}},
	{"PROFILER_OVERHEAD", {"start", "end"}},
};
#define SAID_CNT (sizeof(SAID) / sizeof(SAID[0]))

/* Written before anything referred to them. */
static const struct {
	const char *name, *times[2];
} AHEAD[] = {
	{"SL_RAW_STACKS", {"since"}},
	{"SL_MODULES", {"since"}},
};
#define AHEAD_CNT (sizeof(AHEAD) / sizeof(AHEAD[0]))

/* Deletes processes that had ended before the report began, except ancestors of others. */
static const char prune[] =
	"DELETE FROM main.SL_PROCESS_TREE WHERE end < %lld AND globalPid NOT IN ("
	"WITH RECURSIVE kept(pid) AS (SELECT globalPid FROM main.SL_PROCESS_TREE "
	"WHERE end IS NULL OR end >= %lld UNION"
	" SELECT t.parentGlobalPid FROM main.SL_PROCESS_TREE t JOIN kept ON t.globalPid = kept.pid"
	" WHERE t.parentGlobalPid IS NOT NULL) SELECT pid FROM kept)";
static const char prune_names[] = "DELETE FROM main.%s WHERE (%s >> 24) NOT IN (SELECT globalPid "
				  ">> 24 FROM main.SL_PROCESS_TREE)";

static int run(struct db *db, char *sql)
{
	int rc = sql ? sqlite3_exec(db->sql, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return db_fail(db, rc);
}

/* The columns of @table, quoted, for rows to keep their rowids. malloc'd by SQLite. */
static char *columns(struct db *db, const char *table)
{
	sqlite3_stmt *stmt;
	char *list = NULL;

	if (sqlite3_prepare_v2(
		    db->sql, "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info(?)",
		    -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		list = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return list;
}

static int copy_table(struct db *db, const struct db *old, const char *name, const char *where)
{
	char *list;
	int err;

	if (!db_table_exists(old, name))
		return 0;
	err = db_table_need(db, name);
	list = err ? NULL : columns(db, name);
	if (err)
		return err;
	err = run(db,
		  list ? sqlite3_mprintf(
				 "INSERT OR REPLACE INTO main.%s(rowid, %s) SELECT rowid, %s"
				 " FROM old.%s%s%s ORDER BY rowid",
				 name, list, list, name, where ? " WHERE " : "", where ? where : "")
		       : NULL);
	sqlite3_free(list);
	return err;
}

static int shift_table(struct db *db, const char *name, const char *const times[2], int64_t shift)
{
	int err = 0;

	if (!shift || !db_table_exists(db, name))
		return 0;
	for (int i = 0; i < 2 && times[i] && !err; i++)
		err = run(db, sqlite3_mprintf("UPDATE main.%s SET \"%s\" = \"%s\" - %lld", name,
					      times[i], times[i], (long long)shift));
	return err;
}

static int shift_all(struct db *db, int64_t shift)
{
	int err = 0;

	for (size_t i = 0; i < KEPT_CNT && !err; i++)
		err = shift_table(db, KEPT[i].name, KEPT[i].times, shift);
	for (size_t i = 0; i < SAID_CNT && !err; i++)
		err = shift_table(db, SAID[i].name, SAID[i].times, shift);
	for (size_t i = 0; i < AHEAD_CNT && !err; i++)
		err = shift_table(db, AHEAD[i].name, AHEAD[i].times, shift);
	return err;
}

static int prune_all(struct db *db, int64_t begin)
{
	int err;

	if (!db_table_exists(db, "SL_PROCESS_TREE"))
		return 0;
	err = run(db, sqlite3_mprintf(prune, (long long)begin, (long long)begin));
	if (!err && db_table_exists(db, "PROCESSES"))
		err = run(db, sqlite3_mprintf(prune_names, "PROCESSES", "globalPid"));
	if (!err && db_table_exists(db, "ThreadNames"))
		err = run(db, sqlite3_mprintf(prune_names, "ThreadNames", "globalTid"));
	return err;
}

static int copy_all(struct db *db, const struct db *old, unsigned also)
{
	int err = db_begin(db);

	for (size_t i = 0; i < KEPT_CNT && !err; i++)
		if (also & DB_NEXT_FILES ||
		    strcmp(KEPT[i].name, "OSRT_FILE_ACCESS_DESCRIPTORS") != 0)
			err = copy_table(db, old, KEPT[i].name, KEPT[i].where);
	for (size_t i = 0; i < SAID_CNT && !err && also & DB_NEXT_SAID; i++)
		err = copy_table(db, old, SAID[i].name, NULL);
	return err;
}

/* Moves the memory of the rows that came along. */
static void move_memory(struct db *db, struct db *old)
{
	struct db_ops *to = &db->ops, *from = &old->ops;

	db_strings_free(db);
	db->strings = old->strings;
	memset(&old->strings, 0, sizeof(old->strings));
	to->process = from->process;
	to->thread = from->thread;
	to->image = from->image;
	to->process_cnt = from->process_cnt;
	to->thread_cnt = from->thread_cnt;
	to->image_cnt = from->image_cnt;
	to->images.cap = from->images.cap;
	to->images.start = from->images.start;
	to->state = from->state;
	to->ids = from->ids;
	from->process = from->thread = from->image = (struct db_map){0};
	from->images.start = NULL;
	from->state = NULL;
	db_nvtx_move(db, old);
}

int db_retime(struct db *db, int64_t shift, int64_t utc_epoch_ns, int64_t system_clock_ns)
{
	int err = db_commit(db, 0);

	if (!err)
		err = db_begin(db);
	if (!err)
		err = prune_all(db, shift);
	if (!err)
		err = shift_all(db, shift);
	/* Overhead from before has no place on the time axis; diagnostics have. */
	if (!err && db_table_exists(db, "PROFILER_OVERHEAD"))
		err = run(db,
			  sqlite3_mprintf("DELETE FROM main.PROFILER_OVERHEAD WHERE start < 0"));
	if (!err)
		err = db_session_start(db, utc_epoch_ns, system_clock_ns);
	db->time.end = 0;
	if (err)
		return db_commit(db, 0); /* reports the error, and begins anew */
	for (int64_t i = 0; i < db->ops.image_cnt; i++)
		db->ops.images.start[i] -= shift;
	return db_commit(db, 0);
}

struct db *db_next(struct db *old, const struct db_open *how, unsigned also, char *why,
		   size_t why_len)
{
	struct db_open next = *how;
	struct db *db;
	char *sql;
	int err;

	/* The old report is attached by its path. */
	if (!db_is_in_place(old)) {
		snprintf(why, why_len, "%s: was removed, replaced or moved while it was written",
			 old->path);
		return NULL;
	}
	next.is_next = true;
	db = db_open(&next, why, why_len);
	if (!db)
		return NULL;
	sql = sqlite3_mprintf("ATTACH %Q AS old", old->path);
	err = sql ? db_errno(sqlite3_exec(db->sql, sql, NULL, NULL, NULL)) : -1;
	sqlite3_free(sql);
	if (!err)
		err = copy_all(db, old, also);
	if (!err)
		err = db_commit(db, 0);
	if (!err)
		err = db_exec(db, "DETACH old");
	if (!err) {
		move_memory(db, old);
		return db;
	}
	snprintf(why, why_len, "%s: %s", how->path, sqlite3_errmsg(db->sql));
	db_abandon(db);
	db_unlink(how->path);
	return NULL;
}
