/* focus.c - a thread by its number, the time of its NVTX ranges or steps. */
#include "exporters/why/model/focus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/options.h"
#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/report.h"

#define NAME_LEN    256
#define NOTICED_MAX 100000 /* ranges */

/* ---- threads ---- */

/* A thread by globalTid or by its number alone. */
static uint32_t find_thread(const struct why_model *m, int64_t tid)
{
	uint32_t number = why_model_find(m, tid);

	for (uint32_t i = 0; number == WHY_NONE && i < m->threads_cnt; i++)
		if ((m->threads[i].tid & 0xffffff) == tid)
			number = i;
	return number;
}

static int64_t nearest_thread(const struct why_model *m, int64_t tid)
{
	int64_t best = -1;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		int64_t t = m->threads[i].tid & 0xffffff;

		if (best < 0 || llabs(t - tid) < llabs(best - tid))
			best = t;
	}
	return best;
}

/* The main thread of a process, or the one of its threads that is known. */
static int main_of(struct why_focus *f, const struct why_model *m, int64_t pid, char *text,
		   size_t len)
{
	f->thread = WHY_NONE;
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct why_process *p = &m->processes[m->threads[i].process];

		if ((p->pid & 0xffffff) == pid && (f->thread == WHY_NONE || p->main_thread == i))
			f->thread = i;
	}
	if (f->thread != WHY_NONE)
		return 0;
	snprintf(text, len, "no thread of process %lld is in the report", (long long)pid);
	return -1;
}

static int thread_of(struct why_focus *f, const struct why_model *m, int64_t tid, char *text,
		     size_t len)
{
	int64_t near;

	f->thread = tid ? find_thread(m, tid) : why_model_root(m);
	if (!tid || f->thread != WHY_NONE)
		return 0;
	near = nearest_thread(m, tid);
	snprintf(text, len, "thread %lld is not in the report%s", (long long)tid,
		 near < 0 ? "" : "; the nearest is ");
	if (near >= 0)
		snprintf(text + strlen(text), len - strlen(text), "%lld", (long long)near);
	return -1;
}

/* ---- SQL that includes shared steps ---- */

/* The statements of @sql one after the other; rows of the last go to @row. SQLite's result code. */
static int run_sql(sqlite3 *db, const char *sql, const char *range,
		   int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx)
{
	struct report r = {.kind = &report_kind, .name = "why"};
	char text[256];
	/* The included files are part of the program: the only error is lack of memory. */
	int rc = report_include(&r, sql, text, sizeof(text)) < 0 ? SQLITE_NOMEM : SQLITE_OK;

	for (const char *at = r.sql; rc == SQLITE_OK && at && *at;) {
		sqlite3_stmt *stmt = NULL;
		int index;

		rc = sqlite3_prepare_v2(db, at, -1, &stmt, &at);
		if (rc != SQLITE_OK || !stmt)
			break;
		index = sqlite3_bind_parameter_index(stmt, ":range");
		if (index)
			sqlite3_bind_text(stmt, index, range, -1, SQLITE_STATIC);
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
			if ((rc = row(ctx, stmt)) != SQLITE_OK)
				break;
		if (rc == SQLITE_DONE)
			rc = SQLITE_OK;
		sqlite3_finalize(stmt);
	}
	report_free(&r);
	return rc;
}

static int failed(const struct why_model *m, int rc, char *text, size_t len)
{
	snprintf(text, len, "%s", why_error_text(m->db, rc));
	return -1;
}

/* ---- the nearest name ---- */

struct near {
	const char *asked;
	char name[NAME_LEN], full[NAME_LEN], most[NAME_LEN];
};

/* name, domain: the most frequent first */
static int near_row(void *ctx, sqlite3_stmt *stmt)
{
	struct near *n = ctx;
	const char *name = (const char *)sqlite3_column_text(stmt, 0);
	const char *domain = (const char *)sqlite3_column_text(stmt, 1);
	const char *colon = strchr(n->asked, ':');
	const char *bare = colon ? colon + 1 : n->asked;
	char full[NAME_LEN];

	if (!name)
		return SQLITE_OK;
	snprintf(full, sizeof(full), "%.100s%s%.150s", domain ? domain : "",
		 domain && *domain ? ":" : "", name);
	if (!*n->most)
		snprintf(n->most, sizeof(n->most), "%s", full);
	if (sl_nearest(bare, *n->name ? n->name : NULL, name) == name) {
		snprintf(n->name, sizeof(n->name), "%s", name);
		snprintf(n->full, sizeof(n->full), "%s", full);
	}
	return SQLITE_OK;
}

static const char names_sql[] =
	"SELECT coalesce(e.text, s.value), d.name FROM NVTX_EVENTS AS e\n"
	"LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = e.globalTid >> 24 AND d.domain = "
	"e.domainId\n"
	"LEFT JOIN StringIds AS s ON s.id = e.textId WHERE e.eventType IN (59, 60)\n"
	"GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 100000";

static int no_range(const struct why_model *m, const char *asked, size_t seen, char *text,
		    size_t len)
{
	struct near n = {.asked = asked};
	int rc;

	if (seen) {
		snprintf(text, len, "range '%.80s' is on another thread, or outside of the time",
			 asked);
		return -1;
	}
	rc = run_sql(m->db, names_sql, asked, near_row, &n);
	if (rc != SQLITE_OK)
		return failed(m, rc, text, len);
	if (!*n.most)
		snprintf(text, len, "the report has no NVTX ranges");
	else if (*n.full)
		snprintf(text, len, "range '%.80s' is not in the report; the nearest is '%s'",
			 asked, n.full);
	else
		snprintf(text, len, "range '%.80s' is not in the report; the most frequent is '%s'",
			 asked, n.most);
	return -1;
}

/* ---- ranges and steps ---- */

struct found {
	const struct why_model *m;
	struct why_focus *f;
	int64_t tid, best_ns;
	uint32_t root;
	bool best_is_root;
	size_t seen; /* also outside of the time */
	/* the thread, and of steps the name, whose rows come now */
	int64_t now;
	char *name;
	WHY_LIST(why_span, spans);
	int64_t ns;
	size_t cnt;
	bool is_short;
};

/* Keeps the spans of a thread if they are better than the kept ones: steps of the main thread first, then the most time. */
static void choose(struct found *d)
{
	uint32_t thread = d->spans_cnt ? why_model_find(d->m, d->now) : WHY_NONE;
	bool wanted = thread != WHY_NONE && (!d->tid || d->root == thread);
	struct why_focus *f = d->f;
	bool is_root = f->is_steps && thread == d->root;

	if (!wanted || is_root < d->best_is_root ||
	    (is_root == d->best_is_root && d->ns <= d->best_ns)) {
		d->spans_cnt = d->cnt = 0;
		d->ns = 0;
		return;
	}
	free(f->spans);
	free(f->name);
	f->spans = d->spans;
	f->spans_cnt = d->spans_cnt;
	f->spans_room = d->spans_room;
	/* The default domain has no name. */
	f->name = d->name ? strdup(d->name + (*d->name == ':')) : NULL;
	f->cnt = d->cnt;
	f->thread = thread;
	d->best_ns = d->ns;
	d->best_is_root = is_root;
	d->spans = NULL;
	d->spans_cnt = d->spans_room = d->cnt = 0;
	d->ns = 0;
}

/* tid, start, end, number, name: in order of tid, name, start */
static int span_row(void *ctx, sqlite3_stmt *stmt)
{
	struct found *d = ctx;
	const struct wall *w = &d->m->wall;
	const char *name = (const char *)sqlite3_column_text(stmt, 4);
	int64_t tid = sqlite3_column_int64(stmt, 0);
	struct why_span s = {wall_time(sqlite3_column_int64(stmt, 1)), w->end,
			     sqlite3_column_int64(stmt, 3)};

	if (!sqlite3_column_count(stmt) || !name)
		return SQLITE_OK;
	if (sqlite3_column_type(stmt, 2) != SQLITE_NULL)
		s.end = wall_time(sqlite3_column_int64(stmt, 2));
	if (tid != d->now || !d->name || strcmp(name, d->name) != 0) {
		choose(d);
		free(d->name);
		d->name = strdup(name);
		d->now = tid;
	}
	s.start = s.start < w->start ? w->start : s.start;
	s.end = s.end > w->end ? w->end : s.end;
	if (d->spans_cnt && s.start < d->spans[d->spans_cnt - 1].end)
		s.start = d->spans[d->spans_cnt - 1].end;
	d->cnt++;
	d->seen++;
	if (s.end <= s.start)
		return SQLITE_OK;
	if (!grow(&d->spans, d->spans_cnt, &d->spans_room, sizeof(s)))
		return SQLITE_NOMEM;
	d->spans[d->spans_cnt++] = s;
	d->ns += s.end - s.start;
	return SQLITE_OK;
}

static int search(struct why_focus *f, const struct why_model *m, const char *sql,
		  const char *range, int64_t tid, size_t *seen)
{
	struct found d = {.m = m, .f = f, .tid = tid, .root = f->thread, .now = INT64_MIN};
	int rc = run_sql(m->db, sql, range, span_row, &d);

	if (rc == SQLITE_OK)
		choose(&d);
	free(d.spans);
	free(d.name);
	*seen = d.seen;
	return rc;
}

static const char ranges_sql[] =
	"SELECT e.globalTid, e.start, e.end, 0, :range FROM NVTX_EVENTS AS e\n"
	"LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = e.globalTid >> 24 AND d.domain = "
	"e.domainId\n"
	"LEFT JOIN StringIds AS s ON s.id = e.textId\n"
	"WHERE e.eventType IN (59, 60) AND e.globalTid IS NOT NULL AND\n"
	"(coalesce(e.text, s.value) LIKE :range OR\n"
	"coalesce(d.name, '') || ':' || coalesce(e.text, s.value) LIKE :range) ORDER BY 1, 2";

static const char steps_sql[] =
	"-- include: step_ranges\n"
	"SELECT tid, start, end, no, CASE WHEN min(name) OVER o = max(name) OVER o THEN name ELSE "
	"stem END FROM step WHERE end IS NOT NULL WINDOW o AS (PARTITION BY tid, stem) ORDER BY "
	"tid, stem, start";

/* More rows than @most in the table of ranges. */
static bool has_more(sqlite3 *db, int64_t most)
{
	sqlite3_stmt *stmt = NULL;
	bool more = (stmt = sql_first_of(db, "SELECT 1 FROM NVTX_EVENTS LIMIT 1 OFFSET ?1",
					 most)) != NULL;

	sqlite3_finalize(stmt);
	return more;
}

static int by_length(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static bool find_lengths(struct why_focus *f)
{
	int64_t *ns = calloc(f->spans_cnt + 1, sizeof(*ns));

	if (!ns)
		return false;
	for (size_t i = 0; i < f->spans_cnt; i++)
		ns[i] = f->spans[i].end - f->spans[i].start;
	qsort(ns, f->spans_cnt, sizeof(*ns), by_length);
	f->median = ns[f->spans_cnt / 2];
	f->min = ns[0];
	f->max = ns[f->spans_cnt - 1];
	free(ns);
	return true;
}

/* Only the step with this number. */
static int only_step(struct why_focus *f, int64_t no, char *text, size_t len)
{
	int64_t near = f->spans[0].no;

	for (size_t i = 0; i < f->spans_cnt; i++) {
		if (f->spans[i].no == no) {
			f->spans[0] = f->spans[i];
			f->spans_cnt = 1;
			return 0;
		}
		if (llabs(f->spans[i].no - no) < llabs(near - no))
			near = f->spans[i].no;
	}
	snprintf(text, len, "step %lld is not in the report; the nearest of %zu is %lld",
		 (long long)no, f->spans_cnt, (long long)near);
	return -1;
}

static int steps_of(struct why_focus *f, const struct why_model *m, const struct why_ask *ask,
		    char *text, size_t len)
{
	bool is_number = *ask->step && strspn(ask->step, "0123456789") == strlen(ask->step);
	const char *range = *ask->step && !is_number ? ask->step : NULL;
	size_t seen;
	int rc;

	f->is_steps = true;
	rc = search(f, m, steps_sql, range, ask->tid, &seen);
	if (rc != SQLITE_OK)
		return failed(m, rc, text, len);
	if (!f->spans_cnt && range)
		return no_range(m, range, seen, text, len);
	if (f->spans_cnt < STEPS_LEAST && !range) {
		if (f->spans_cnt)
			snprintf(text, len,
				 "no NVTX range repeats %d times; '%.80s' does %zu times",
				 STEPS_LEAST, f->name, f->spans_cnt);
		else
			snprintf(text, len,
				 "the report has no steps: no NVTX range repeats %d times",
				 STEPS_LEAST);
		return -1;
	}
	f->cnt = f->spans_cnt;
	if (!find_lengths(f)) {
		snprintf(text, len, "out of memory");
		return -1;
	}
	return is_number ? only_step(f, strtoll(ask->step, NULL, 10), text, len) : 0;
}

int why_notice_steps(struct why_focus *f, const struct why_model *m)
{
	size_t seen;
	int rc;

	*f = (struct why_focus){.thread = why_model_root(m), .is_steps = true};
	/* A search among more ranges takes longer than the whole answer. */
	if (!db_read_has(m->db, "NVTX_EVENTS") || has_more(m->db, NOTICED_MAX))
		return SQLITE_OK;
	rc = search(f, m, steps_sql, NULL, 0, &seen);
	f->cnt = f->spans_cnt;
	if (rc == SQLITE_OK && f->cnt >= STEPS_LEAST)
		return find_lengths(f) ? SQLITE_OK : SQLITE_NOMEM;
	f->cnt = 0;
	return rc;
}

/* All of the time; of a process, its life. */
static int whole(struct why_focus *f, const struct why_model *m, bool is_life)
{
	struct why_span all = {m->wall.start, m->wall.end, 0};

	if (f->thread == WHY_NONE || m->wall.end <= m->wall.start)
		return 0;
	if (!grow(&f->spans, f->spans_cnt, &f->spans_room, sizeof(*f->spans)))
		return -1;
	if (is_life) {
		const struct why_process *p = &m->processes[m->threads[f->thread].process];

		all.start = p->start > all.start ? p->start : all.start;
		all.end = p->end < all.end ? p->end : all.end;
	}
	if (all.end > all.start)
		f->spans[f->spans_cnt++] = all;
	return 0;
}

int why_find_focus(struct why_focus *f, const struct why_model *m, const struct why_ask *ask,
		   char *text, size_t len)
{
	int rc = ask->pid ? main_of(f, m, ask->pid, text, len)
			  : thread_of(f, m, ask->tid, text, len);
	size_t seen;

	if (rc == 0 && ask->step) {
		rc = steps_of(f, m, ask, text, len);
	} else if (rc == 0 && ask->nvtx) {
		rc = search(f, m, ranges_sql, ask->nvtx, ask->tid, &seen);
		if (rc != SQLITE_OK)
			rc = failed(m, rc, text, len);
		else if (!f->spans_cnt)
			rc = no_range(m, ask->nvtx, seen, text, len);
	} else if (rc == 0 && (rc = whole(f, m, ask->pid)) < 0) {
		snprintf(text, len, "out of memory");
	}
	f->from = f->spans_cnt ? f->spans[0].start : m->wall.start;
	f->to = f->spans_cnt ? f->spans[f->spans_cnt - 1].end : m->wall.start;
	for (size_t i = 0; i < f->spans_cnt; i++)
		f->ns += f->spans[i].end - f->spans[i].start;
	return rc;
}

void why_focus_free(struct why_focus *f)
{
	free(f->spans);
	free(f->name);
}
