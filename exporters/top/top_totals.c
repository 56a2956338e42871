/*
 * top_totals.c - totals of a finished report: its rows are added up. The same for reports of nsys, as far as
 * they have such rows.
 */
#include "exporters/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/read/io_direction.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/functions.h"

static char *text_of(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? strdup(text) : NULL;
}

/* The id that people know, of a packed id of a thread or process. */
#define PID(column) column " >> 24 & 0xffffff"

/* ---- threads ---- */

/* Off the CPU without the wait of a new thread for its first (lastCpu IS NULL): sums while recording begin with a switch, too. */
static const char switches[] =
	"SELECT globalTid, coalesce(sum(end - start) FILTER (WHERE state = 'running'), 0), "
	"coalesce(sum(end - start) FILTER (WHERE state <> 'running' AND NOT open AND lastCpu IS "
	"NOT NULL), 0), "
	"count(*) FILTER (WHERE state <> 'runnable' OR preempted) "
	"FROM sl_thread_states WHERE globalTid & 0xffffff000000 GROUP BY globalTid";
/* nsys may have rows of their own for where a call began (31) and ended (32): these are no calls. */
#define IS_CALL "coalesce(eventClass, 27) NOT IN (31, 32)"

/* Calls inside others are in those. */
static const char thread_calls[] =
	"SELECT globalTid, sum(n), sum(ns) FROM (SELECT globalTid, count(*) AS n, "
	"sum(CASE WHEN nestingLevel > 0 THEN 0 ELSE end - start END) AS ns FROM OSRT_API "
	"WHERE " IS_CALL " GROUP BY 1 "
	"UNION ALL SELECT globalTid, sum(count + lostCount), sum(totalNs + lostTotalNs) FROM "
	"SL_OSRT_TOTALS GROUP BY 1) GROUP BY 1";

/* Processes of which nothing but work for GPUs was recorded have names all the same. */
static const char gpu_threads[] =
	"SELECT DISTINCT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid IS NOT NULL "
	"UNION SELECT DISTINCT globalTid FROM NVTX_EVENTS WHERE globalTid IS NOT NULL "
	"AND eventType IN (34, 59, 60)";

static struct top_item *thread_item(struct top *t, sqlite3_stmt *s)
{
	int64_t tid = sqlite3_column_int64(s, 0);
	struct top_item *i = top_item(&t->set[TOP_THREAD], tid);

	if (!i)
		return NULL;
	i->pid = tid >> 24 & 0xffffff;
	i->tid = tid & 0xffffff;
	i->is_over = true;
	return i;
}

static void take_switches(struct top *t, sqlite3_stmt *s)
{
	struct top_item *i = thread_item(t, s);

	if (!i)
		return;
	i->has_switches = true;
	i->now[THREAD_CPU] = sqlite3_column_int64(s, 1);
	i->now[THREAD_OFF] = sqlite3_column_int64(s, 2);
	i->now[THREAD_SWITCHES] = sqlite3_column_int64(s, 3);
}

static void take_thread_calls(struct top *t, sqlite3_stmt *s)
{
	struct top_item *i = thread_item(t, s);

	if (!i)
		return;
	i->now[THREAD_CALLS] = sqlite3_column_int64(s, 1);
	i->now[THREAD_CALL_NS] = sqlite3_column_int64(s, 2);
}

static void take_gpu_thread(struct top *t, sqlite3_stmt *s)
{
	size_t cnt = t->set[TOP_THREAD].cnt;
	struct top_item *i = thread_item(t, s);

	if (i && t->set[TOP_THREAD].cnt > cnt)
		i->has_name_only = true;
}

/* ---- calls ---- */

static const char osrt_calls[] = "SELECT " PID(
	"globalTid") " AS pid, 0, sum(n), sum(ns), sum(bytes), sum(bad), value FROM ("
		     "SELECT globalTid, nameId, count(*) AS n, sum(end - start) AS ns, "
		     "sum(bytesDone) AS bytes, "
		     "count(errnum) AS bad FROM OSRT_API WHERE " IS_CALL " GROUP BY 1, 2 "
		     "UNION ALL SELECT globalTid, nameId, sum(count + lostCount), sum(totalNs + "
		     "lostTotalNs), "
		     "sum(bytes), sum(errorCount) FROM SL_OSRT_TOTALS GROUP BY 1, 2) "
		     "LEFT JOIN StringIds ON StringIds.id = nameId GROUP BY pid, nameId";
/* cuFile's return the bytes they moved. */
#define LIBRARY_CALLS(table, kind)                                                             \
	"SELECT " PID("globalTid") " AS pid, " kind ", count(*), sum(end - start), 0, "        \
				   "sum(returnValue < 0 OR (returnValue > 0 AND value NOT IN " \
				   "('cuFileRead', 'cuFileWrite'))), value FROM " table        \
				   " LEFT JOIN StringIds ON StringIds.id = nameId "            \
				   "GROUP BY pid, nameId"

static void take_call(struct top *t, sqlite3_stmt *s)
{
	struct top_item *i = top_item(&t->set[TOP_CALL], -1 - (int64_t)t->set[TOP_CALL].cnt);

	if (!i)
		return;
	i->pid = sqlite3_column_int64(s, 0);
	i->part = (uint8_t)sqlite3_column_int(s, 1);
	for (int k = 0; k < 4; k++)
		i->now[k] = sqlite3_column_int64(s, 2 + k);
	i->text = text_of(s, 6);
}

/* ---- files ---- */

static const char file_calls[] = "SELECT " PID(
	"o.globalTid") " AS pid, pathId, f.value, p.value, count(*), sum(bytesDone), "
		       "sum(end - start), library, io FROM OSRT_API o JOIN StringIds p ON p.id = "
		       "pathId JOIN StringIds f ON f.id = o.nameId LEFT JOIN SL_FUNCTIONS s ON "
		       "s.nameId = o.nameId WHERE fileAccessId IS NOT NULL GROUP BY pid, pathId, "
		       "o.nameId";
static const char short_file_calls[] = "SELECT " PID(
	"globalTid") " AS pid, -1, value, NULL, sum(count + lostCount), sum(bytes), "
		     "sum(totalNs + lostTotalNs), library, io FROM SL_OSRT_TOTALS t JOIN "
		     "StringIds ON StringIds.id = t.nameId LEFT JOIN SL_FUNCTIONS s "
		     "ON s.nameId = t.nameId GROUP BY pid, t.nameId";

static void take_file(struct top *t, sqlite3_stmt *s)
{
	int64_t pid = sqlite3_column_int64(s, 0), path = sqlite3_column_int64(s, 1);
	enum io_direction way = io_direction_of(s, 2, 7);
	struct top_item *i;

	/* Short calls count if their function is for files only; sockets share the other functions. */
	if (path < 0 && way == IO_NONE)
		return;
	i = top_item(&t->set[TOP_FILE], path * (INT64_C(1) << 24) + pid);
	if (!i)
		return;
	i->pid = pid;
	i->part = path < 0 ? 2 : 0;
	if (!i->text)
		i->text = text_of(s, 3);
	i->now[FILE_CNT] += sqlite3_column_int64(s, 4);
	if (way != IO_NONE)
		i->now[way == IO_IN ? FILE_READ : FILE_WRITTEN] += sqlite3_column_int64(s, 5);
	i->now[FILE_NS] += sqlite3_column_int64(s, 6);
}

/* ---- GPUs ---- */

/* Kernels, copies and the rest of each device in the order of time. */
static const char gpu_work[] =
	"SELECT coalesce(d.gpuId, w.deviceId), g.name, w.start, w.end, w.kind = 'kernel', "
	"w.kind = 'memcpy', iif(w.kind = 'memcpy', w.bytes, 0) FROM SL_GPU_WORK w "
	"LEFT JOIN TARGET_INFO_CUDA_DEVICE d ON d.cudaId = w.deviceId AND "
	"d.pid = (w.globalPid >> 24 & 0xffffff) LEFT JOIN TARGET_INFO_GPU g ON g.id = d.gpuId "
	"ORDER BY 1, w.start";

static void take_gpu(struct top *t, sqlite3_stmt *s)
{
	int64_t gpu = sqlite3_column_int64(s, 0), start = sqlite3_column_int64(s, 2);
	int64_t end = sqlite3_column_int64(s, 3);
	bool is_kernel = sqlite3_column_int(s, 4);
	struct top_item *i = top_item(&t->set[TOP_GPU], gpu);

	if (!i)
		return;
	i->pid = gpu;
	if (!i->text)
		i->text = text_of(s, 1);
	i->now[GPU_KERNELS] += is_kernel;
	i->now[GPU_KERNEL_NS] += is_kernel ? end - start : 0;
	i->now[GPU_COPIES] += sqlite3_column_int(s, 5);
	i->now[GPU_BYTES] += sqlite3_column_int64(s, 6);
	/* Busy up to there. */
	if (start < i->until)
		start = i->until;
	if (end > start) {
		i->now[GPU_BUSY] += end - start;
		i->until = end;
	}
}

/* ---- all ---- */

static const struct {
	const char *table; /* which must be there; NULL: a view stands for it */
	const char *sql;
	void (*take)(struct top *t, sqlite3_stmt *s);
} sources[] = {
	{NULL, switches, take_switches},
	{NULL, thread_calls, take_thread_calls},
	{NULL, gpu_threads, take_gpu_thread},
	{NULL, osrt_calls, take_call},
	{NULL, LIBRARY_CALLS("CUPTI_ACTIVITY_KIND_RUNTIME", "1"), take_call},
	{"CUDNN_EVENTS", LIBRARY_CALLS("CUDNN_EVENTS", "2"), take_call},
	{"CUBLAS_EVENTS", LIBRARY_CALLS("CUBLAS_EVENTS", "2"), take_call},
	{"SL_LIBRARY_API", LIBRARY_CALLS("SL_LIBRARY_API", "2"), take_call},
	{NULL, file_calls, take_file},
	{NULL, short_file_calls, take_file},
	{NULL, gpu_work, take_gpu},
};

static int64_t one_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = 0;

	stmt = sql_first(db, sql);
	if (stmt)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

/* Data that the report lacks is marked, to distinguish it from 0. */
static void say_missing(struct top *t, sqlite3 *db)
{
	const char *comma = "";
	static const struct {
		const char *what, *name;
	} wanted[] = {
		{"SCHED_EVENTS", "context switches (CPU, off CPU)"},
		{"OSRT_API", "calls into the C library"},
		{"OSRT_API.pathId", "files"},
	};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && at < sizeof(t->missing); i++) {
		if (db_read_has(db, wanted[i].what))
			continue;
		at += (size_t)snprintf(t->missing + at, sizeof(t->missing) - at, "%s%s",
				       at ? ", " : "not in this report: ", wanted[i].name);
		comma = ", ";
	}
	if (t->is_foreign && at < sizeof(t->missing))
		snprintf(t->missing + at, sizeof(t->missing) - at, "%s%s",
			 *comma ? ", " : "not in this report: ", "calls below the threshold");
}

int top_read_totals(struct top *t, sqlite3 *db, char *why, size_t why_len)
{
	t->has_totals = true;
	t->before = 0;
	t->time = one_number(db, "SELECT duration FROM ANALYSIS_DETAILS");
	if (sql_functions(db, NULL) != SQLITE_OK) {
		snprintf(why, why_len, "%s: %s", t->path, sqlite3_errmsg(db));
		return -1;
	}
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		sqlite3_stmt *stmt = NULL;
		int rc;

		if (sources[i].table && !db_read_has(db, sources[i].table))
			continue;
		rc = sqlite3_prepare_v2(db, sources[i].sql, -1, &stmt, NULL);
		while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			sources[i].take(t, stmt);
			rc = SQLITE_OK;
		}
		sqlite3_finalize(stmt);
		if (rc == SQLITE_DONE)
			continue;
		snprintf(why, why_len, "%s: %s", t->path, sqlite3_errmsg(db));
		return -1;
	}
	top_read_names(t, db);
	t->lost = one_number(db, "SELECT sum(count) FROM SL_LOST_EVENTS");
	t->unreported = one_number(db, "SELECT sum(count) FROM SL_LOST_EVENTS WHERE what LIKE "
				       "'context switches: %by the kernel'");
	t->is_sampled = true;
	say_missing(t, db);
	return 0;
}
