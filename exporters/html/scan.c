/* scan.c - the span of time of the page, and the common part of the passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/html/scan.h"
#include "exporters/sql/functions.h"

/* ---- shared ---- */

int scan_fail(struct scan *s, int rc)
{
	rc &= 0xFF;
	if (rc == 0 || rc == SQLITE_NOMEM)
		snprintf(s->why, sizeof(s->why), "out of memory");
	else
		snprintf(s->why, sizeof(s->why), "%s%s", sqlite3_errmsg(s->db),
			 rc == SQLITE_CORRUPT ? " (the file is damaged)" : "");
	return -1;
}

sqlite3_stmt *scan_prepare(struct scan *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK) {
		scan_fail(s, rc);
		return NULL;
	}
	return stmt;
}

int scan_number(struct scan *s, const char *sql, int64_t none, int64_t *value)
{
	sqlite3_stmt *stmt = scan_prepare(s, sql);
	int rc;

	*value = none;
	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		*value = sqlite3_column_int64(stmt, 0);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		scan_fail(s, rc);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

int64_t scan_time(sqlite3_stmt *stmt, int column)
{
	int64_t most = INT64_MAX / 4, at = sqlite3_column_int64(stmt, column);

	return at > most ? most : at < -most ? -most : at;
}

struct process *scan_process(struct scan *s, int64_t gpid)
{
	long i = id_map_add(&s->pids, gpid);

	if (i < 0)
		return NULL;
	if ((size_t)i == s->process_cnt) {
		/* Doubling: the count is a power of two exactly when there is no room. */
		if ((s->process_cnt & (s->process_cnt - 1)) == 0) {
			size_t room = s->process_cnt ? 2 * s->process_cnt : 1;
			struct process *more = reallocarray(s->processes, room, sizeof(*more));

			if (!more)
				return NULL;
			s->processes = more;
		}
		memset(&s->processes[i], 0, sizeof(s->processes[i]));
		s->processes[i].pid = gpid;
		s->process_cnt++;
	}
	return &s->processes[i];
}

/* ---- the axis ---- */

/*
 * Spans and numbers of calls that others ask for, too: the wall time (read/wall.h) and the thread with most calls
 * (why/model/model_near.c) where the report has no process tree. The tables are those of analyze (rules/shared/event_spans.sql).
 */
static int make_seen(struct scan *s)
{
	static const char sql[] =
		"CREATE TEMP TABLE IF NOT EXISTS event_spans(name TEXT, first INTEGER, last "
		"INTEGER);"
		"CREATE TEMP TABLE IF NOT EXISTS thread_calls(name TEXT, globalTid INTEGER, n "
		"INTEGER);"
		"CREATE TEMP TABLE IF NOT EXISTS scan_calls(calls INTEGER, last INTEGER)";
	int rc = sql_functions(s->db, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : scan_fail(s, rc);
}

/* One pass over a table of calls for both. The table's name stands in four places at most. */
static const char see_calls[] =
	"DELETE FROM temp.scan_calls;"
	"INSERT INTO temp.scan_calls SELECT sl_sums(globalTid, start, 0), max(end) FROM %s;"
	"INSERT INTO temp.thread_calls SELECT '%s', k0, n FROM temp.scan_calls CROSS JOIN "
	"sl_hist_rows(calls) WHERE k0 IS NOT NULL;"
	"INSERT INTO temp.event_spans SELECT '%s', min(least), max(max(most), max(last)) "
	"FROM temp.scan_calls CROSS JOIN sl_hist_rows(calls)";
static const char see_events[] =
	"INSERT INTO temp.event_spans SELECT '%s', min(start), max(end) FROM %s";

static int see(struct scan *s, const char *table, const char *how)
{
	char *sql = sqlite3_mprintf(how, table, table, table, table);
	int rc = sql ? sqlite3_exec(s->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : scan_fail(s, rc);
}

struct event_table {
	const char *table, *start, *end;
	const char
		*see; /* of a report without a process tree; NULL: nothing else asks for the span */
};

/* Widens [from, to] by the events of a table. */
static int widen(struct scan *s, const struct event_table *t, int64_t *from, int64_t *to)
{
	const char *see_how = s->has_tree ? NULL : t->see;
	char sql[256];
	sqlite3_stmt *stmt;
	int rc;

	if (!db_read_has(s->db, t->table))
		return 0;
	if (see_how && see(s, t->table, see_how) < 0)
		return -1;
	if (see_how)
		snprintf(sql, sizeof(sql),
			 "SELECT min(first), max(last) FROM temp.event_spans WHERE name = '%s'",
			 t->table);
	else
		snprintf(sql, sizeof(sql), "SELECT min(%s), max(%s) FROM %s", t->start, t->end,
			 t->table);
	stmt = scan_prepare(s, sql);
	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		if (sqlite3_column_type(stmt, 0) != SQLITE_NULL && scan_time(stmt, 0) < *from)
			*from = scan_time(stmt, 0);
		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL && scan_time(stmt, 1) > *to)
			*to = scan_time(stmt, 1);
		rc = SQLITE_DONE;
	}
	if (rc != SQLITE_DONE)
		scan_fail(s, rc);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

static int find_events(struct scan *s, int64_t *from, int64_t *to)
{
	static const struct event_table events[] = {
#define GPU_WORK(kind, name, table, columns) {#table, "start", "end", see_events},
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", see_calls},
		{"OSRT_API", "start", "end", see_calls},
		{"SYSCALL", "start", "end", see_events},
		{"SCHED_EVENTS", "start", "start", NULL},
		{"COMPOSITE_EVENTS", "start", "start", NULL},
		{"CUDA_GPU_MEMORY_USAGE_EVENTS", "start", "start", NULL},
		{"OSRT_FILE_ACCESS_EVENTS", "startedAt", "endedAt", NULL},
		{"SL_PROCESS_TREE", "start", "end", NULL},
		/* Ranges may have been opened long before anything else was recorded: only if alone. */
		{"NVTX_EVENTS", "start", "coalesce(end, start)", NULL},
	};
	size_t cnt = sizeof(events) / sizeof(events[0]);

	*from = INT64_MAX;
	*to = INT64_MIN;
	for (size_t i = 0; i < cnt; i++) {
		if (i + 1 == cnt && *from <= *to)
			break;
		/* The time of processes is not that of a part: they lived before and after the part. */
		if (s->part && strcmp(events[i].table, "SL_PROCESS_TREE") == 0)
			continue;
		if (widen(s, &events[i], from, to) < 0)
			return -1;
	}
	return 0;
}

/*
 * The session where it is mostly covered by events; else (a part cut out of a report, a capture range,
 * times since 1970) the events: shares of a span in which nothing was recorded would say nothing.
 */
static int find_axis(struct scan *s)
{
	int64_t from, to;
	bool whole;
	int rc;

	if (make_seen(s) < 0 ||
	    scan_number(s, "SELECT max(duration) FROM ANALYSIS_DETAILS", 0, &s->session_ns) < 0 ||
	    find_events(s, &from, &to) < 0)
		return -1;
	rc = wall_read(s->db, s->filter, &s->wall);
	if (rc != SQLITE_OK)
		return scan_fail(s, rc);
	s->session_ns = s->session_ns > INT64_MAX / 4 ? 0 : s->session_ns;
	if (from > to) {
		from = 0;
		to = s->session_ns;
	}
	whole = !s->part && s->session_ns > 0 && to - from >= s->session_ns / 4 &&
		from < s->session_ns && to - s->session_ns <= s->session_ns / 4;
	if (whole && from > 0)
		from = 0;
	if (whole && to < s->session_ns)
		to = s->session_ns;
	if (to <= from)
		to = from + 1;
	s->axis = (struct axis){from, to, (double)(to - from) / CURVE_BINS};
	return 0;
}

/* Processes that only made calls, where they are in no process tree. */
static int find_callers(struct scan *s)
{
	static const struct {
		const char *table, *from;
	} tables[] = {
		{"CUPTI_ACTIVITY_KIND_RUNTIME",
		 "temp.thread_calls WHERE name = 'CUPTI_ACTIVITY_KIND_RUNTIME' AND globalTid > 0"},
		{"NVTX_EVENTS", "NVTX_EVENTS WHERE globalTid > 0"},
		{"OSRT_API", "temp.thread_calls WHERE name = 'OSRT_API' AND globalTid > 0"},
		{"SYSCALL", "SYSCALL WHERE globalTid > 0"},
	};
	int rc = SQLITE_DONE;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == SQLITE_DONE; i++) {
		char sql[160];
		int64_t last = -1;
		sqlite3_stmt *stmt;

		if (!db_read_has(s->db, tables[i].table))
			continue;
		snprintf(sql, sizeof(sql), "SELECT globalTid >> 24 FROM %s", tables[i].from);
		stmt = scan_prepare(s, sql);
		if (!stmt)
			return -1;
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			int64_t gpid = sqlite3_column_int64(stmt, 0);

			if (gpid != last && !scan_process(s, gpid)) {
				rc = SQLITE_NOMEM;
				break;
			}
			last = gpid;
		}
		if (rc != SQLITE_DONE)
			scan_fail(s, rc);
		sqlite3_finalize(stmt);
	}
	return rc == SQLITE_DONE ? 0 : -1;
}

int scan_report(struct scan *s)
{
	s->has_tree = db_read_has(s->db, "SL_PROCESS_TREE");
	if (find_axis(s) < 0 || scan_gpu(s) < 0 || scan_cpu(s) < 0 || scan_io(s) < 0)
		return -1;
	return s->has_tree ? 0 : find_callers(s);
}

void scan_free(struct scan *s)
{
	for (size_t i = 0; i < s->gpu_cnt; i++) {
		curve_free(&s->gpus[i].kernels);
		curve_free(&s->gpus[i].copies);
		free(s->gpus[i].memory);
	}
	for (size_t i = 0; i < s->process_cnt; i++)
		curve_free(&s->processes[i].cpu);
	free(s->gpus);
	free(s->processes);
	id_map_free(&s->pids);
	curve_free(&s->read_curve);
	curve_free(&s->write_curve);
}
