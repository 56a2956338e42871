/*
 * db_filter.h - shows reports, rules and exporters only a part of a report: a span of time, NVTX ranges,
 * processes.
 *
 * The parts that are left out are hidden by TEMP VIEWs over the event tables, so a query of a table
 * by its bare name gets what is kept and needs to know nothing of it. (main.TABLE is still all of it, and a view has no
 * rowid.) Filters of different kinds must all agree; of one kind, one is enough.
 *
 * Time, "START/END[,...]": an event that overlaps [START, END) is kept, in full. With a colon in front, it must also start in
 * it, with one after, end in it. Either side may be left out. Times are ns of the report's axis, or numbers with ns, us, ms,
 * s, m, h; a range of two such numbers may also be written "12s-15s".
 *
 * NVTX, "RANGE[@DOMAIN][/INDEX]": an event that overlaps the time of such a range is kept. A process that has such ranges is
 * looked at in the time of its own, every other (a worker that feeds it) in the time of all. Work on a GPU belongs to the
 * call that started it, not to the time at which it ran. Without @DOMAIN, ranges of
 * the default domain are meant, with @* those of all; INDEX counts from 0 in each process, in order of start.
 * A backslash takes the meaning from @ and /. Of several given, each adds its ranges.
 *
 * pid, "PID[,...]": events of these processes. Events without a process (metrics of a device) stay.
 *
 * Not left out by time and ranges: names (threads, domains, categories), descriptions (processes, devices,
 * files), diagnostics. Sums over the whole recording (SL_OSRT_TOTALS, SL_FILE_TOTALS) cannot be cut to a time: they are
 * hidden. Of SCHED_EVENTS the rows are kept that bound a time on a CPU that overlaps.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_filter_time {
	int64_t start, end; /* INT64_MIN, INT64_MAX: not bounded */
	bool starts_inside, ends_inside;
};

struct db_filter_nvtx {
	char *range, *domain; /* domain NULL: the default one, "*": all */
	int64_t index;        /* -1: all */
};

struct db_filter { /* all zero: keeps everything */
	struct db_filter_time *time;
	struct db_filter_nvtx *nvtx;
	int64_t *pid;
	size_t time_cnt, nvtx_cnt, pid_cnt;
};

/* The value of an option; NULL adds nothing. 0, or -1 after one sentence in @why. */
int db_filter_time(struct db_filter *f, const char *text, char *why, size_t why_len);
int db_filter_nvtx(struct db_filter *f, const char *text, char *why, size_t why_len);
int db_filter_pid(struct db_filter *f, const char *text, char *why, size_t why_len);

static inline bool db_filter_any(const struct db_filter *f)
{
	return f && f->time_cnt + f->nvtx_cnt + f->pid_cnt > 0;
}

/*
 * After db_read_open(), on each connection. 0, or -1 after one sentence in @why (no such range or process).
 * @f must outlive the connection's use.
 */
int db_filter_apply(sqlite3 *db, const struct db_filter *f, char *why, size_t why_len);

void db_filter_free(struct db_filter *f);

/* Options of the commands that take filters; targets of OPT_LIST, of OPT_STRING @nvtx. */
/* clang-format off */
#define DB_FILTER_OPTS(time, nvtx, pid)                                                                     \
	{0, "filter-time", OPT_LIST, NULL, "START/END[,...]",                                               \
	 "only what overlaps these times: ns, or with a unit, as in 12s-15s; a colon in front\n"            \
	 "or behind: only what starts or ends in them", time, NULL},                                        \
	{0, "filter-nvtx", OPT_STRING, NULL, "RANGE[@DOMAIN][/INDEX]",                                      \
	 "only what happened in such NVTX ranges, and what was started in them on a GPU;\n"                 \
	 "@* for any domain, INDEX counts from 0 in each process", nvtx, NULL},                             \
	{0, "filter-pid", OPT_LIST, NULL, "PID[,...]", "only what these processes did", pid, NULL}
/* clang-format on */
