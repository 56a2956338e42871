/* wall.c - the wall time of a report. */
#include "exporters/read/wall.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char roots_sql[] =
	"WITH image AS (SELECT globalPid, parentGlobalPid, start, end FROM SL_PROCESS_TREE "
	"WHERE %s), "
	"root AS (SELECT DISTINCT globalPid FROM image WHERE parentGlobalPid IS NULL OR "
	"parentGlobalPid NOT IN (SELECT globalPid FROM image)), "
	/* The last image of a process has the end of the process. */
	"last AS (SELECT globalPid, min(start) AS start, "
	"(SELECT i.end FROM image i WHERE i.globalPid = root.globalPid ORDER BY i.start DESC, "
	"i.end IS NULL LIMIT 1) AS end "
	"FROM root JOIN image USING (globalPid) GROUP BY globalPid) "
	"SELECT count(*), min(start), max(coalesce(end, 9223372036854775807)) FROM last";

/* Tables of events of the traced programs. */
static const struct {
	const char *table, *span;
} event_tables[] = {
	{"CUPTI_ACTIVITY_KIND_RUNTIME", "min(start), max(max(start), max(end))"},
#define GPU_WORK(kind, name, table, columns) {#table, "min(start), max(end)"},
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
	{"OSRT_API", "min(start), max(max(start), max(end))"},
	{"SYSCALL", "min(start), max(end)"},
	/* Marks and ranges; names of domains and categories are no events. */
	{"NVTX_EVENTS WHERE eventType IN (34, 59, 60)",
	 "min(start), coalesce(max(max(start), max(end)), max(start))"},
	{"MPI_COLLECTIVES_EVENTS", "min(start), max(end)"},
	{"MPI_P2P_EVENTS", "min(start), max(end)"},
};

/* Switches may be of the whole machine: used only where there is nothing else. */
static const char switches_sql[] = "SELECT count(*), min(start), max(start) FROM SCHED_EVENTS";

/* One row: a number of things, their first start, their last end. */
static int read_span(sqlite3 *db, const char *sql, int64_t *cnt, int64_t *start, int64_t *end)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	*cnt = 0;
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		*cnt = sqlite3_column_int64(stmt, 0);
		*start = sqlite3_column_int64(stmt, 1);
		*end = sqlite3_column_int64(stmt, 2);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_roots(sqlite3 *db, const struct db_filter *f, struct wall *w)
{
	sqlite3_str *where = sqlite3_str_new(db);
	char *condition, *sql;
	int64_t cnt;
	int rc;

	if (f && f->pid_cnt) {
		sqlite3_str_appendall(where, "globalPid >> 24 & 16777215 IN (");
		for (size_t i = 0; i < f->pid_cnt; i++)
			sqlite3_str_appendf(where, "%s%lld", i ? ", " : "", (long long)f->pid[i]);
		sqlite3_str_appendall(where, ")");
	} else {
		/* A program without traced calls (static) has a tree all the same. */
		sqlite3_str_appendall(where,
				      "traced = 1 OR NOT EXISTS (SELECT 1 FROM SL_PROCESS_TREE "
				      "WHERE traced = 1) AND kind <> 0");
	}
	condition = sqlite3_str_finish(where);
	sql = condition ? sqlite3_mprintf(roots_sql, condition) : NULL;
	sqlite3_free(condition);
	if (!sql)
		return SQLITE_NOMEM;
	rc = read_span(db, sql, &cnt, &w->start, &w->end);
	sqlite3_free(sql);
	if (rc == SQLITE_OK && cnt)
		w->basis = cnt > 1 ? WALL_ROOTS : WALL_ROOT;
	return rc;
}

/* Did a pass over the table leave its span? */
static bool is_known(sqlite3 *db, const char *table)
{
	char sql[160];
	int64_t cnt = 0, none;

	snprintf(sql, sizeof(sql), "SELECT count(*), 0, 0 FROM temp.event_spans WHERE name = '%s'",
		 table);
	return read_span(db, sql, &cnt, &none, &none) == SQLITE_OK && cnt;
}

static int read_all_spans(sqlite3 *db, int64_t *cnt, int64_t *start, int64_t *end)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	int rc;

	sqlite3_str_appendall(sql, "WITH span(first, last) AS (");
	for (size_t i = 0; i < sizeof(event_tables) / sizeof(*event_tables); i++) {
		sqlite3_str_appendall(sql, i ? " UNION ALL " : "");
		if (is_known(db, event_tables[i].table))
			sqlite3_str_appendf(
				sql, "SELECT first, last FROM temp.event_spans WHERE name = '%s'",
				event_tables[i].table);
		else
			sqlite3_str_appendf(sql, "SELECT %s FROM %s", event_tables[i].span,
					    event_tables[i].table);
	}
	sqlite3_str_appendall(sql, ") SELECT count(first), min(first), max(last) FROM span");
	text = sqlite3_str_finish(sql);
	rc = text ? read_span(db, text, cnt, start, end) : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc;
}

static int read_events(sqlite3 *db, struct wall *w)
{
	int64_t cnt;
	int rc = read_all_spans(db, &cnt, &w->start, &w->end);

	if (rc == SQLITE_OK && !cnt)
		rc = read_span(db, switches_sql, &cnt, &w->start, &w->end);
	if (rc == SQLITE_OK && cnt)
		w->basis = WALL_EVENTS;
	return rc;
}

static void cut(struct wall *w, int64_t start, int64_t end)
{
	w->start = w->start > start ? w->start : start;
	w->end = w->end < end ? w->end : end;
	if (w->end < w->start)
		w->end = w->start;
}

/*
 * Processes that were there before the report began have times before it, and others no end. On another axis (Unix time
 * in exports of nsys) the recorded span has no place.
 */
static int cut_to_recorded(sqlite3 *db, struct wall *w)
{
	int64_t cnt, start, end;
	int rc = read_span(db, "SELECT count(*), min(start), max(end) FROM SL_CAPTURES", &cnt,
			   &start, &end);

	if (rc != SQLITE_OK || (w->basis != WALL_ROOT && w->basis != WALL_ROOTS))
		return rc;
	if (w->recorded && w->start < w->recorded && w->end > 0)
		cut(w, 0, w->recorded);
	if (cnt && w->start < end && w->end > start)
		cut(w, start, end);
	return SQLITE_OK;
}

/* A process that had not ended when the report was cut off: until its last event. */
static int close_end(sqlite3 *db, struct wall *w)
{
	struct wall events = {0};
	int rc;

	if (w->end != INT64_MAX)
		return SQLITE_OK;
	rc = read_events(db, &events);
	w->end = events.basis && events.end > w->start ? events.end : w->start;
	return rc;
}

static void cut_to_filter(const struct db_filter *f, struct wall *w)
{
	int64_t start = INT64_MAX, end = INT64_MIN;

	for (size_t i = 0; f && i < f->time_cnt; i++) {
		start = f->time[i].start < start ? f->time[i].start : start;
		end = f->time[i].end > end ? f->time[i].end : end;
	}
	if (f && f->time_cnt)
		cut(w, start, end);
}

int wall_read(sqlite3 *db, const struct db_filter *f, struct wall *w)
{
	int64_t cnt, none;
	int rc;

	*w = (struct wall){.basis = WALL_NONE};
	rc = read_span(db, "SELECT count(duration), 0, max(duration) FROM ANALYSIS_DETAILS", &cnt,
		       &none, &w->recorded);
	w->recorded = cnt && w->recorded > 0 && w->recorded < INT64_MAX / 4 ? w->recorded : 0;
	/* With a filter by ranges, only the shown events count. */
	if (rc == SQLITE_OK && !(f && f->nvtx_cnt))
		rc = read_roots(db, f, w);
	if (rc == SQLITE_OK && w->basis == WALL_NONE)
		rc = read_events(db, w);
	if (rc == SQLITE_OK && w->basis == WALL_NONE && w->recorded) {
		w->basis = WALL_RECORDED;
		w->end = w->recorded;
	}
	if (rc == SQLITE_OK)
		rc = cut_to_recorded(db, w);
	if (rc == SQLITE_OK)
		rc = close_end(db, w);
	cut_to_filter(f, w);
	w->start = wall_time(w->start);
	w->end = wall_time(w->end);
	if (w->end < w->start)
		w->end = w->start;
	return rc;
}

bool wall_is_of_events(sqlite3 *db, const struct db_filter *f)
{
	struct wall w = {.basis = WALL_NONE};

	return (f && f->nvtx_cnt) ||
	       (read_roots(db, f, &w) == SQLITE_OK && (w.basis == WALL_NONE || w.end == INT64_MAX));
}

int wall_table(sqlite3 *db, const struct db_filter *f, struct wall *w)
{
	int rc = wall_read(db, f, w);
	char *sql;

	if (rc != SQLITE_OK)
		return rc;
	sql = sqlite3_mprintf("DROP TABLE IF EXISTS temp.wall;"
			      "CREATE TEMP TABLE wall(start INTEGER, end INTEGER, ns INTEGER);"
			      "INSERT INTO temp.wall SELECT %lld, %lld, %lld WHERE %d",
			      (long long)w->start, (long long)w->end,
			      (long long)(w->end - w->start), w->basis != WALL_NONE);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

const char *wall_basis_text(enum wall_basis basis)
{
	switch (basis) {
	case WALL_ROOT:
		return "life of the root process";
	case WALL_ROOTS:
		return "from the start of the first root process to the end of the last";
	case WALL_EVENTS:
		return "from the first to the last event";
	case WALL_RECORDED:
		return "time that was recorded";
	default:
		return "nothing recorded";
	}
}
