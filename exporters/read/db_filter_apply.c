/* db_filter_apply.c - finds the spans that a filter means, and puts views over the event tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/options.h"
#include "collector/base/search.h"
#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"

#define PURE (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)

/* ---- spans of NVTX ranges: by process, sorted, none touching another ---- */

struct span {
	int64_t process; /* globalTid >> 24 */
	int64_t start, end;
};

struct spans {
	struct span *each; /* by (process, start) */
	struct span *all;  /* of all processes together, by start */
	size_t each_cnt, all_cnt;
};

static void free_spans(void *p)
{
	struct spans *s = p;

	if (s) {
		free(s->each);
		free(s->all);
	}
	free(s);
}

static int by_process(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts spans, and joins spans that overlap or touch. */
static size_t merge(struct span *s, size_t cnt)
{
	size_t n = 0;

	qsort(s, cnt, sizeof(*s), by_process);
	for (size_t i = 0; i < cnt; i++) {
		if (n > 0 && s[n - 1].process == s[i].process && s[i].start <= s[n - 1].end) {
			if (s[i].end > s[n - 1].end)
				s[n - 1].end = s[i].end;
		} else {
			s[n++] = s[i];
		}
	}
	return n;
}

/* Does [start, end) overlap a span of those of @process? They are sorted, so the last that begins before @end decides. */
static bool overlaps(const struct span *s, size_t cnt, int64_t process, int64_t start, int64_t end)
{
	size_t low =
		search_first(i, 0, cnt,
			     s[i].process < process ||
				     (s[i].process == process &&
				      (s[i].start < end || (s[i].start == end && start == end))));

	return low > 0 && s[low - 1].process == process && s[low - 1].end > start;
}

static bool has_process(const struct spans *s, int64_t process)
{
	size_t low = search_first(i, 0, s->each_cnt, s->each[i].process < process);

	return low < s->each_cnt && s->each[low].process == process;
}

/* sl_in_ranges(process, start, end) */
static void in_ranges(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct spans *s = sqlite3_user_data(out);
	bool own = sqlite3_value_type(argv[0]) != SQLITE_NULL;
	int64_t process = sqlite3_value_int64(argv[0]), start = sqlite3_value_int64(argv[1]);
	int64_t end = sqlite3_value_int64(argv[2]);

	(void)argc;
	if (own && has_process(s, process))
		sqlite3_result_int(out, overlaps(s->each, s->each_cnt, process, start, end));
	else
		sqlite3_result_int(out, overlaps(s->all, s->all_cnt, 0, start, end));
}

/*
 * sl_launch(process, correlationId): both in one value, as an IN of two values is not looked up in an index.
 * A number where they fit (they do, save on machines with many VMs), else bytes.
 */
static void launch_key(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	int64_t pair[2] = {sqlite3_value_int64(argv[0]), sqlite3_value_int64(argv[1])};

	(void)argc;
	if (pair[0] >= 0 && pair[0] < INT64_C(1) << 31 && pair[1] < INT64_C(1) << 32)
		sqlite3_result_int64(out, pair[0] << 32 | pair[1]);
	else
		sqlite3_result_blob(out, pair, sizeof(pair), SQLITE_TRANSIENT);
}

/* The instances of one range: (process, start, end), those of the index that was asked for. */
static const char find_ranges[] =
	"WITH name AS MATERIALIZED (SELECT id FROM StringIds WHERE value = ?1), "
	"found AS (SELECT globalTid >> 24 AS process, start, coalesce(end, 9223372036854775807) AS "
	"end, row_number() OVER (PARTITION BY globalTid >> 24 ORDER BY start, end DESC) - 1 AS idx "
	"FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND (text = ?1 OR textId IN (SELECT id FROM "
	"name)) "
	"AND CASE WHEN ?2 IS NULL THEN coalesce(domainId, 0) = 0 WHEN ?2 = '*' THEN 1 "
	"ELSE (globalTid >> 24, domainId) IN (SELECT process, domain FROM SL_NVTX_DOMAINS WHERE "
	"name = "
	"?2) END) "
	"SELECT coalesce(process, 0), start, end FROM found WHERE ?3 < 0 OR idx = ?3";

/* Where else there are ranges of that name: a domain, or their number. */
static const char find_elsewhere[] =
	"SELECT coalesce((SELECT name FROM SL_NVTX_DOMAINS WHERE domain = n.domainId AND process = "
	"n.globalTid >> 24), n.domainId) FROM NVTX_EVENTS AS n "
	"WHERE eventType IN (59, 60) AND (text = ?1 OR textId IN (SELECT id FROM StringIds WHERE "
	"value "
	"= ?1)) ORDER BY coalesce(domainId, 0) = 0 DESC LIMIT 1";

static const char find_names[] =
	"SELECT DISTINCT coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
	"WHERE eventType IN (59, 60) LIMIT 10000";

static void say_missing(sqlite3 *db, const struct db_filter_nvtx *n, char *why, size_t why_len)
{
	sqlite3_stmt *stmt = NULL;
	char near[256] = "";

	if (sqlite3_prepare_v2(db, find_elsewhere, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(stmt, 1, n->range, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		const char *domain = (const char *)sqlite3_column_text(stmt, 0);

		if (n->index >= 0)
			snprintf(why, why_len, "there is no NVTX range '%s' with index %lld",
				 n->range, (long long)n->index);
		else
			snprintf(why, why_len,
				 "there is no NVTX range '%s' in %s%s%s; there is in %s%s",
				 n->range, n->domain ? "the domain '" : "the default domain",
				 n->domain ? n->domain : "", n->domain ? "'" : "",
				 domain && strcmp(domain, "0") != 0 ? "domain "
								    : "the default domain",
				 domain && strcmp(domain, "0") != 0 ? domain : "");
		sqlite3_finalize(stmt);
		return;
	}
	sqlite3_finalize(stmt);
	if (sqlite3_prepare_v2(db, find_names, -1, &stmt, NULL) == SQLITE_OK)
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(stmt, 0);

			if (name && sl_nearest(n->range, *near ? near : NULL, name) == name)
				snprintf(near, sizeof(near), "%s", name);
		}
	sqlite3_finalize(stmt);
	snprintf(why, why_len, "there is no NVTX range '%s'%s%s%s", n->range,
		 *near ? "; did you mean '" : "", near, *near ? "'?" : "");
}

static int find_spans(sqlite3 *db, const struct db_filter_nvtx *n, struct spans *s, char *why,
		      size_t why_len)
{
	sqlite3_stmt *stmt = NULL;
	size_t before = s->each_cnt, room = before;
	int rc = sqlite3_prepare_v2(db, find_ranges, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, n->range, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK && n->domain)
		rc = sqlite3_bind_text(stmt, 2, n->domain, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 3, n->index);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (s->each_cnt == room) {
			room = room ? room * 2 : 64;
			struct span *more = reallocarray(s->each, room, sizeof(*more));

			if (!more) {
				rc = SQLITE_NOMEM;
				break;
			}
			s->each = more;
		}
		s->each[s->each_cnt++] =
			(struct span){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
				      sqlite3_column_int64(stmt, 2)};
	}
	if (rc != SQLITE_DONE)
		snprintf(why, why_len, "%s",
			 rc == SQLITE_NOMEM ? "out of memory" : sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	if (rc == SQLITE_DONE && s->each_cnt == before)
		say_missing(db, n, why, why_len);
	return rc == SQLITE_DONE && s->each_cnt > before ? 0 : -1;
}

static int make_ranges(sqlite3 *db, const struct db_filter *f, char *why, size_t why_len)
{
	struct spans *s = calloc(1, sizeof(*s));
	int rc = 0;

	for (size_t i = 0; s && i < f->nvtx_cnt && rc == 0; i++)
		rc = find_spans(db, &f->nvtx[i], s, why, why_len);
	if (s && rc == 0) {
		s->all = calloc(s->each_cnt, sizeof(*s->all));
		for (size_t i = 0; s->all && i < s->each_cnt; i++)
			s->all[i] = (struct span){0, s->each[i].start, s->each[i].end};
	}
	if (rc < 0 || !s || !s->all) {
		if (rc == 0)
			snprintf(why, why_len, "out of memory");
		free_spans(s);
		return -1;
	}
	s->all_cnt = merge(s->all, s->each_cnt);
	s->each_cnt = merge(s->each, s->each_cnt);
	if (sqlite3_create_function_v2(db, "sl_in_ranges", 3, PURE, s, in_ranges, NULL, NULL,
				       free_spans) == SQLITE_OK &&
	    sqlite3_create_function_v2(db, "sl_launch", 2, PURE, NULL, launch_key, NULL, NULL,
				       NULL) == SQLITE_OK)
		return 0;
	snprintf(why, why_len, "%s", sqlite3_errmsg(db));
	return -1; /* SQLite has freed the spans */
}

/* ---- conditions ---- */

/* The columns of a table for time and process. Names as SQL. */
struct shape {
	const char *start, *end, *id; /* end NULL: a moment; id NULL: of no process */
	const char *open;             /* condition under which a row without end goes on for ever */
	bool launched;                /* on a GPU, by a call of the same correlationId */
};

static bool has(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static struct shape shape_of(sqlite3 *db, const char *table)
{
	struct shape s = {0};
	bool nvtx = strcmp(table, "NVTX_EVENTS") == 0;
	/* Samples have no end, threads without a CPU do. */
	bool either = strcmp(table, "COMPOSITE_EVENTS") == 0 && has(db, table, "end");

	s.start = has(db, table, "start")       ? "start"
		  : has(db, table, "startedAt") ? "startedAt"
		  : has(db, table, "timestamp") ? "timestamp"
						: NULL;
	s.end = nvtx || either              ? "coalesce(end, start)"
		: has(db, table, "end")     ? "end"
		: has(db, table, "endedAt") ? "endedAt"
					    : NULL;
	s.id = has(db, table, "globalTid")   ? "globalTid"
	       : has(db, table, "globalPid") ? "globalPid"
					     : NULL;
	s.open = nvtx ? "eventType IN (59, 60) AND end IS NULL" : NULL;
	s.launched = has(db, table, "correlationId") && has(db, table, "globalPid") &&
		     has(db, table, "deviceId") &&
		     has(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");
	return s;
}

/* Does [start, end) overlap one of the times? */
static void add_times(sqlite3_str *sql, const struct db_filter *f, const char *start,
		      const char *end)
{
	sqlite3_str_appendall(sql, "(0");
	for (size_t i = 0; i < f->time_cnt; i++) {
		const struct db_filter_time *t = &f->time[i];

		sqlite3_str_appendall(sql, " OR (1");
		if (t->end != INT64_MAX)
			sqlite3_str_appendf(sql, " AND %s < %lld", start, (long long)t->end);
		if (t->start != INT64_MIN && (t->starts_inside || !end))
			sqlite3_str_appendf(sql, " AND %s >= %lld", start, (long long)t->start);
		else if (t->start != INT64_MIN)
			sqlite3_str_appendf(sql, " AND (%s > %lld OR %s = %lld)", end,
					    (long long)t->start, start, (long long)t->start);
		if (t->ends_inside && end && t->end != INT64_MAX)
			sqlite3_str_appendf(sql, " AND %s <= %lld", end, (long long)t->end);
		sqlite3_str_appendall(sql, ")");
	}
	sqlite3_str_appendall(sql, ")");
}

static void add_ranges(sqlite3_str *sql, const struct shape *s, const char *start, const char *end)
{
	if (s->launched)
		sqlite3_str_appendall(sql, "CASE WHEN correlationId > 0 THEN sl_launch(globalPid "
					   ">> 24, correlationId) IN "
					   "(SELECT sl_launch(globalTid >> 24, correlationId) FROM "
					   "main.CUPTI_ACTIVITY_KIND_RUNTIME "
					   "WHERE correlationId > 0 AND sl_in_ranges(globalTid >> "
					   "24, start, end)) ELSE ");
	if (s->id)
		sqlite3_str_appendf(sql, "sl_in_ranges(%s >> 24, %s, %s)", s->id, start,
				    end ? end : start);
	else
		sqlite3_str_appendf(sql, "sl_in_ranges(NULL, %s, %s)", start, end ? end : start);
	if (s->launched)
		sqlite3_str_appendall(sql, " END");
}

static void add_pids(sqlite3_str *sql, const struct db_filter *f)
{
	sqlite3_str_appendall(sql, "(");
	for (size_t i = 0; i < f->pid_cnt; i++)
		sqlite3_str_appendf(sql, "%s%lld", i ? ", " : "", (long long)f->pid[i]);
	sqlite3_str_appendall(sql, ")");
}

/* Is the table one whose rows stand for themselves, whenever they were written? */
static bool is_description(const char *table)
{
	static const char *const names[] = {"DIAGNOSTIC_EVENT", "SL_PROCESS_TREE", "PROCESSES",
					    "ThreadNames",      "ProcessStreams",  "StringIds",
					    "SL_MODULES"}; /* start and end of addresses */

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], table) == 0)
			return true;
	return strncmp(table, "ENUM_", 5) == 0 || strncmp(table, "TARGET_INFO_", 12) == 0 ||
	       strncmp(table, "META_DATA_", 10) == 0 || strncmp(table, "sqlite_", 7) == 0;
}

/* A context switch counts with the time on a CPU that it bounds. */
static const char sched_from[] = "(SELECT *, CASE WHEN isSchedIn THEN start ELSE "
				 "coalesce(lag(start) OVER w, start) END AS sl_in, "
				 "CASE WHEN isSchedIn THEN coalesce(lead(start) OVER w, "
				 "9223372036854775807) ELSE start END AS "
				 "sl_out FROM main.SCHED_EVENTS WINDOW w AS (PARTITION BY "
				 "globalTid ORDER BY start, isSchedIn DESC))";

static int narrow(sqlite3 *db, const struct db_filter *f, const char *table)
{
	struct shape s = shape_of(db, table);
	bool sched = strcmp(table, "SCHED_EVENTS") == 0 && s.id;
	bool sums = strcmp(table, "SL_OSRT_TOTALS") == 0 ||
		    strcmp(table, "SL_SYSCALL_TOTALS") == 0 || strcmp(table, "SL_FILE_TOTALS") == 0;
	/* Variables belong to a process, at no time. */
	bool variables = strcmp(table, "SL_RANK_VARIABLES") == 0;
	bool spans = f->time_cnt + f->nvtx_cnt > 0 && !variables;
	sqlite3_str *sql;
	char *where;
	int rc;

	if (is_description(table) || (!s.start && !((sums || variables) && s.id)))
		return SQLITE_OK;
	sql = sqlite3_str_new(db);
	sqlite3_str_appendall(sql, sums && spans ? "0" : "1");
	if (spans && !sums) {
		const char *start = sched ? "sl_in" : s.start, *end = sched ? "sl_out" : s.end;

		if (s.open) {
			end = "CASE WHEN eventType IN (59, 60) THEN coalesce(end, "
			      "9223372036854775807) ELSE "
			      "coalesce(end, start) END";
			sqlite3_str_appendall(sql, " AND (eventType IN (33, 39, 75, 76) OR (1");
		}
		if (f->time_cnt) {
			sqlite3_str_appendall(sql, " AND ");
			add_times(sql, f, start, end);
		}
		if (f->nvtx_cnt) {
			sqlite3_str_appendall(sql, " AND ");
			add_ranges(sql, &s, start, end);
		}
		if (s.open)
			sqlite3_str_appendall(sql, "))");
	}
	if (f->pid_cnt && s.id) {
		sqlite3_str_appendf(sql, " AND (%s >> 24 & 16777215) IN ", s.id);
		add_pids(sql, f);
	} else if (f->pid_cnt && strcmp(table, "OSRT_FILE_ACCESS_EVENTS") == 0) {
		sqlite3_str_appendall(sql, " AND fileAccessId IN (SELECT fileAccessId FROM "
					   "OSRT_FILE_ACCESS_DESCRIPTORS WHERE processId IN ");
		add_pids(sql, f);
		sqlite3_str_appendall(sql, ")");
	}
	where = sqlite3_str_finish(sql);
	if (!where)
		return SQLITE_NOMEM;
	rc = strcmp(where, "1") == 0
		     ? SQLITE_OK
		     : db_read_narrow(db, table, sched && spans ? sched_from : NULL, where);
	sqlite3_free(where);
	return rc;
}

static int check_pids(sqlite3 *db, const struct db_filter *f, char *why, size_t why_len)
{
	int rc = 0;

	for (size_t i = 0; i < f->pid_cnt && rc == 0; i++) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(
			    db,
			    "SELECT count(*) > 0 AND NOT max(coalesce(pid = ?1, 0) OR "
			    "coalesce(globalPid >> 24 & 16777215 = ?1, 0)) FROM PROCESSES",
			    -1, &stmt, NULL) == SQLITE_OK &&
		    sqlite3_bind_int64(stmt, 1, f->pid[i]) == SQLITE_OK &&
		    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0)) {
			snprintf(why, why_len, "there is no process %lld", (long long)f->pid[i]);
			rc = -1;
		}
		sqlite3_finalize(stmt);
	}
	return rc;
}

int db_filter_apply(sqlite3 *db, const struct db_filter *f, char *why, size_t why_len)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (!db_filter_any(f))
		return 0;
	if (check_pids(db, f, why, why_len) < 0 ||
	    (f->nvtx_cnt && make_ranges(db, f, why, why_len) < 0))
		return -1;
	/* The names are read first: making views while reading the schema would start anew each time. */
	rc = sqlite3_prepare_v2(
		db, "SELECT json_group_array(name) FROM main.sqlite_master WHERE type = 'table'",
		-1, &stmt, NULL);
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		char *names = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));

		sqlite3_finalize(stmt);
		rc = names ? sqlite3_prepare_v2(db, "SELECT value FROM json_each(?1)", -1, &stmt,
						NULL)
			   : SQLITE_NOMEM;
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_text(stmt, 1, names, -1, SQLITE_TRANSIENT);
		while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			rc = narrow(db, f, (const char *)sqlite3_column_text(stmt, 0));
		sqlite3_free(names);
	}
	sqlite3_finalize(stmt);
	if (rc == SQLITE_DONE)
		return 0;
	snprintf(why, why_len, "%s", rc == SQLITE_NOMEM ? "out of memory" : sqlite3_errmsg(db));
	return -1;
}
