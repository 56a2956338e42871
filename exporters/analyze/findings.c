/* findings.c - runs rules and collects their findings. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "collector/base/saturate.h"
#include "exporters/read/db_read.h"
#include "exporters/analyze/findings.h"
#include "exporters/sql/functions.h"
#include "exporters/text/view_line.h"

const char *const severity_names[SEVERITY_CNT] = {"info", "bad", "severe"};

/* ---- figures in sentences ---- */

/* Three digits that count, and the unit that leaves one to three of them before the point. */
static void scaled(double value, const char *const *units, char *buf, size_t len)
{
	double size = value < 0 ? -value : value;
	int digits;

	for (; size >= 999.5 && units[1]; units++) {
		size /= 1000;
		value /= 1000;
	}
	digits = size >= 99.95 || value == (long long)value ? 0 : size >= 9.995 ? 1 : 2;
	snprintf(buf, len, "%.*f %s", digits, value, *units);
}

static void grouped(long long n, char *buf, size_t len)
{
	struct cell c = {.kind = CELL_INT, .num = n};
	char text[CELL_NUMBER_MAX];

	cell_number_people(&c, 0, true, text);
	snprintf(buf, len, "%.60s", text);
}

static void bytes(long long n, char *buf, size_t len)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", NULL};

	scaled((double)n, units, buf, len);
}

void findings_time(long long ns, char *buf, size_t len)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};

	scaled((double)ns, units, buf, len);
}

/* "one|many}" after a number: the word that goes with it. 0: something else. */
static int noun(const char *p, long long n, char *buf, size_t len)
{
	size_t one = strcspn(p, "|}"), many;

	if (p[one] != '|')
		return 0;
	many = strcspn(p + one + 1, "}");
	if (!p[one + 1 + many])
		return 0;
	grouped(n, buf, len);
	snprintf(buf + strlen(buf), len - strlen(buf), " %.*s", (int)(n == 1 ? one : many),
		 n == 1 ? p : p + one + 1);
	return 1;
}

/* {N ns}, {N B}, {N one|many}, {N} at @p: how long it is; 0: something else. */
static size_t figure(const char *p, char *buf, size_t len)
{
	char *end;
	double value = strtod(p + 1, &end);
	long long n = sat_int(value);

	if (end == p + 1 || value > 9e18 || value < -9e18)
		return 0;
	if (strncmp(end, " ns}", 4) == 0)
		findings_time(n, buf, len);
	else if (strncmp(end, " B}", 3) == 0)
		bytes(n, buf, len);
	else if (*end == '}')
		grouped(n, buf, len);
	else if (*end == ' ' && noun(end + 1, n, buf, len))
		;
	else
		return 0;
	return (size_t)(strchr(end, '}') + 1 - p);
}

/* A sentence for people: figures, and nothing that could upset a terminal. */
static char *sentence(const char *text)
{
	char *whole = NULL, *clean;
	size_t len, width;
	FILE *out = open_memstream(&whole, &len);

	if (!out)
		return NULL;
	while (*text) {
		char buf[128];
		size_t skip = *text == '{' ? figure(text, buf, sizeof(buf)) : 0;

		if (skip)
			fputs(buf, out);
		else
			fputc(*text, out);
		text += skip ? skip : 1;
	}
	if (fclose(out) != 0) {
		free(whole);
		return NULL;
	}
	clean = text_people(whole, len, 0, &width);
	free(whole);
	return clean;
}

/* ---- one report ---- */

static const char *shared_step(const char *name)
{
	char file[96];

	snprintf(file, sizeof(file), "analyze/rules/shared/%s.sql", name);
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, file) == 0)
			return sl_embedded[i].text;
	return NULL;
}

static int run_steps(struct analysis *a, const char *names, char *why, size_t why_len);

/* Makes the tables of the step called @name; a failure leaves none after. SQLite's result code, or -1 (@why). */
static int make_step(struct analysis *a, const char *name, char *why, size_t why_len)
{
	const char *sql = shared_step(name);
	char more[512];
	int rc;

	if (!sql) {
		snprintf(why, why_len, "there is no shared step called '%s'", name);
		return -1;
	}
	for (unsigned i = 0; report_field(sql, "uses", i, more, sizeof(more)); i++)
		if (run_steps(a, more, why, why_len) < 0)
			return -1;
	rc = sqlite3_exec(a->db, "SAVEPOINT step", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(a->db, sql, NULL, NULL, NULL);
	if (rc > 0)
		snprintf(why, why_len, "%s: %s%s", a->input,
			 sqlite3_errcode(a->db) ? sqlite3_errmsg(a->db) : sqlite3_errstr(rc),
			 query_more(rc));
	sqlite3_exec(a->db, rc == SQLITE_OK ? "RELEASE step" : "ROLLBACK TO step; RELEASE step",
		     NULL, NULL, NULL);
	return rc;
}

/* Makes the tables of rules/shared/ under each of the @names, unless they were made before. */
static int run_steps(struct analysis *a, const char *names, char *why, size_t why_len)
{
	char name[64], mark[72], *used;

	while (*names) {
		size_t len = strcspn(names, ", ");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		names += len + strspn(names + len, ", ");
		snprintf(mark, sizeof(mark), ",%s,", name);
		if (strstr(a->used, mark))
			continue;
		if (make_step(a, name, why, why_len) != SQLITE_OK)
			return -1;
		if (asprintf(&used, "%s%s,", a->used, name) < 0) {
			snprintf(why, why_len, "out of memory");
			return -1;
		}
		free(a->used);
		a->used = used;
	}
	return 0;
}

static void close_db(struct analysis *a)
{
	sqlite3_close(a->db);
	db_filter_free(&a->own);
	free(a->used);
	free(a->own_text);
	a->db = NULL;
	a->used = a->own_text = NULL;
	memset(&a->own, 0, sizeof(a->own));
}

static int add_functions(struct analysis *a, char *why, size_t why_len)
{
	int rc = sql_functions(a->db, NULL);

	if (rc != SQLITE_OK)
		snprintf(why, why_len, "%s: %s", a->input, sqlite3_errstr(rc));
	return rc == SQLITE_OK ? 0 : -1;
}

/* (Re)opens the report: the views of a filter can be put up only once. */
static int open_db(struct analysis *a, const char *time, const char *nvtx, char *why,
		   size_t why_len)
{
	close_db(a);
	a->used = strdup(",");
	if (!a->used || asprintf(&a->own_text, "%s\n%s", time ? time : "", nvtx ? nvtx : "") < 0) {
		a->own_text = NULL;
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	if (db_filter_time(&a->own, time, why, why_len) < 0 ||
	    db_filter_nvtx(&a->own, nvtx, why, why_len) < 0)
		return -1;
	a->shown = a->base ? *a->base : (struct db_filter){0};
	if (time) {
		a->shown.time = a->own.time;
		a->shown.time_cnt = a->own.time_cnt;
	}
	if (nvtx) {
		a->shown.nvtx = a->own.nvtx;
		a->shown.nvtx_cnt = a->own.nvtx_cnt;
	}
	a->db = db_read_open(a->input, why, why_len);
	if (!a->db || add_functions(a, why, why_len) < 0 ||
	    db_filter_apply(a->db, &a->shown, why, why_len) < 0)
		return -1;
	/* If it fails, so will the rule that needs it. */
	if (a->all && !time && !nvtx && wall_is_of_events(a->db, &a->shown))
		run_steps(a, "event_spans", why, why_len);
	if (wall_table(a->db, &a->shown, &a->wall) != SQLITE_OK) {
		snprintf(why, why_len, "%s: %s", a->input, sqlite3_errmsg(a->db));
		return -1;
	}
	return 0;
}

int analysis_open(struct analysis *a, const char *input, const struct db_filter *filter, bool all,
		  char *why, size_t why_len)
{
	memset(a, 0, sizeof(*a));
	a->all = all;
	a->input = input;
	a->base = filter;
	if (open_db(a, NULL, NULL, why, why_len) == 0)
		return 0;
	close_db(a);
	return -1;
}

int analysis_use(struct analysis *a, const char *steps, char *why, size_t why_len)
{
	/* shared tables are made by the filter of the whole call, not by the last rule's arguments */
	if ((!a->db || strcmp(a->own_text, "\n") != 0) &&
	    open_db(a, NULL, NULL, why, why_len) < 0) {
		close_db(a);
		return -1;
	}
	return run_steps(a, steps, why, why_len);
}

void analysis_close(struct analysis *a)
{
	close_db(a);
	memset(a, 0, sizeof(*a));
}

/* The value of @name among a rule's arguments, malloc'd; NULL: not given. The last one counts. */
static char *argument(const struct report *rule, const char *name)
{
	size_t len = strlen(name);
	char *value = NULL;

	for (const char *p = rule->args; *p;) {
		size_t word = strcspn(p, ":");

		if (strncmp(p, name, len) == 0 && p[len] == '=') {
			free(value);
			value = strndup(p + len + 1, word - len - 1);
		}
		p += word + (p[word] == ':');
	}
	return value;
}

/* :start, :end and :nvtx of a rule stand in for the filters of the whole call. */
static int focus(struct analysis *a, const struct report *rule, char *why, size_t why_len)
{
	char *start = argument(rule, "start"), *end = argument(rule, "end");
	char *nvtx = argument(rule, "nvtx"), *time = NULL, *text = NULL;
	int rc = 0;

	if ((start || end) && asprintf(&time, "%s/%s", start ? start : "", end ? end : "") < 0)
		time = NULL;
	if (asprintf(&text, "%s\n%s", time ? time : "", nvtx ? nvtx : "") < 0)
		text = NULL;
	if (!text || ((start || end) && !time)) {
		snprintf(why, why_len, "out of memory");
		rc = -1;
	} else if (!a->db || strcmp(text, a->own_text) != 0) {
		rc = open_db(a, time, nvtx, why, why_len);
		if (rc < 0)
			close_db(a);
	}
	free(start);
	free(end);
	free(nvtx);
	free(time);
	free(text);
	return rc;
}

/* ---- rules ---- */

struct verdict {
	struct analysis *a;
	const struct report *rule;
	struct findings *fs;
	const char *wrong; /* with the verdict */
};

/* The head's lines of advice as one text. */
static char *head_advice(const struct report *rule)
{
	char *whole = NULL, line[512];
	size_t len;
	FILE *out = open_memstream(&whole, &len);

	if (!out)
		return NULL;
	for (unsigned i = 0; report_field(rule->sql, "advice", i, line, sizeof(line)); i++)
		fprintf(out, "%s%s", i ? " " : "", line);
	if (fclose(out) != 0) {
		free(whole);
		return NULL;
	}
	return whole;
}

static int column_called(sqlite3_stmt *stmt, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (strcmp(sqlite3_column_name(stmt, i), name) == 0)
			return i;
	return -1;
}

static const char *text_of(sqlite3_stmt *stmt, const char *name)
{
	int col = column_called(stmt, name);

	return col < 0 ? NULL : (const char *)sqlite3_column_text(stmt, col);
}

static int find_severity(const char *name)
{
	for (int i = 0; name && i < SEVERITY_CNT; i++)
		if (strcmp(severity_names[i], name) == 0)
			return i;
	return -1;
}

/* "START END ROW"; another text is no place. */
static struct finding_place place_of(const char *text)
{
	struct finding_place p = {0};
	int at = 0;

	if (!text || sscanf(text, "%lld %lld %n", &p.start, &p.end, &at) < 2 || at == 0 ||
	    p.end < p.start || strlen(text + at) >= sizeof(p.row))
		return (struct finding_place){0};
	snprintf(p.row, sizeof(p.row), "%s", text + at);
	return p;
}

void findings_put_view(FILE *out, const struct finding *f)
{
	if (*f->worst.row && *f->input)
		text_put_view(out, f->input, f->worst.row, f->worst.start, f->worst.end);
}

int findings_add(struct findings *fs, const struct finding *f)
{
	struct finding *more = reallocarray(fs->list, fs->cnt + 1, sizeof(*more)), *new;

	if (!more)
		return -1;
	fs->list = more;
	new = &more[fs->cnt];
	*new = *f;
	new->text = sentence(f->text);
	new->advice = sentence(f->advice);
	new->order = fs->cnt++;
	return new->text &&new->advice ? 0 : -1;
}

static int add_verdict(void *ctx, sqlite3_stmt *stmt)
{
	struct verdict *h = ctx;
	int severity = find_severity(text_of(stmt, "severity")), cost = column_called(stmt, "cost"),
	    made_at = column_called(stmt, "made_at");
	const char *text = text_of(stmt, "finding"), *advice = text_of(stmt, "advice");
	char *own = advice ? NULL : head_advice(h->rule), gain[16];
	struct finding f = {.input = h->a->input, .cost_ns = -1, .share = -1};
	int rc;

	if (severity < 0 || cost < 0 || !text) {
		h->wrong = severity < 0 ? "severity" : cost < 0 ? "cost" : "finding";
		free(own);
		return SQLITE_MISMATCH;
	}
	f.severity = (enum severity)severity;
	f.worst = place_of(text_of(stmt, "worst"));
	if (sqlite3_column_type(stmt, cost) != SQLITE_NULL)
		f.cost_ns = sqlite3_column_int64(stmt, cost);
	if (f.cost_ns >= 0 && wall_ns(&h->a->wall) > 0)
		f.share = (double)f.cost_ns / (double)wall_ns(&h->a->wall);
	snprintf(f.rule, sizeof(f.rule), "%s", h->rule->name);
	snprintf(f.title, sizeof(f.title), "%s", h->rule->title);
	if (made_at >= 0 && sqlite3_column_type(stmt, made_at) == SQLITE_NULL)
		report_field(h->rule->sql, "lines", 0, f.lines, sizeof(f.lines));
	if (report_field(h->rule->sql, "gain", 0, gain, sizeof(gain))) {
		f.is_sync = strcmp(gain, "sync") == 0;
		f.is_own = strcmp(gain, "own") == 0;
	}
	f.text = (char *)(uintptr_t)text;
	f.advice = advice ? (char *)(uintptr_t)advice : own;
	rc = f.advice && findings_add(h->fs, &f) == 0 ? SQLITE_OK : SQLITE_NOMEM;
	free(own);
	return rc;
}

long long findings_run(struct analysis *a, const struct report *rule, const struct time_unit *unit,
		       const struct format *format, struct sheet *s, struct findings *fs, char *why,
		       size_t why_len)
{
	struct verdict h = {.a = a, .rule = rule, .fs = fs};
	const struct query_observer observer = {"severity", add_verdict, &h};
	char uses[512];
	long long rows;

	if (focus(a, rule, why, why_len) < 0)
		return -1;
	if (!query_has_data(a->db, rule, why, why_len))
		return FINDINGS_NO_DATA;
	for (unsigned i = 0; report_field(rule->sql, "uses", i, uses, sizeof(uses)); i++)
		if (run_steps(a, uses, why, why_len) < 0)
			return -1;
	/* The savepoint drops the rule's tables in the temp schema. */
	sqlite3_exec(a->db, "SAVEPOINT rule", NULL, NULL, NULL);
	rows = query_observe(a->db, rule, unit, format, s, &observer, why, why_len);
	if (rows < 0 && h.wrong)
		snprintf(why, why_len, "rule %s: its verdict has no good %s", rule->name, h.wrong);
	sqlite3_exec(a->db, "ROLLBACK TO rule; RELEASE rule", NULL, NULL, NULL);
	return rows;
}

void findings_limit(struct findings *fs, size_t first, const struct gain_limit *limit,
		    long long wall)
{
	for (size_t i = first; limit->is_known && i < fs->cnt; i++) {
		struct finding *f = &fs->list[i];

		if (f->is_own)
			continue;
		if (f->cost_ns > limit->upper) {
			f->cost_ns = limit->upper;
			f->share = wall > 0 ? (double)limit->upper / (double)wall : -1;
		}
		/* A finding of unknown cost is severe for another reason: errors, memory. */
		if (f->severity == SEVERITY_SEVERE && f->cost_ns >= 0 && 10 * limit->lower < wall)
			f->severity = SEVERITY_BAD;
		if (f->severity == SEVERITY_BAD && f->cost_ns >= 0 && 50 * f->cost_ns < wall)
			f->severity = SEVERITY_INFO;
		if (f->is_sync && limit->is_sync_known && 50 * limit->sync < wall)
			f->severity = SEVERITY_INFO;
	}
}

static int by_cost(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	if (x->cost_ns != y->cost_ns)
		return x->cost_ns < y->cost_ns ? 1 : -1;
	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void findings_rank(struct findings *fs)
{
	if (fs->cnt > 0)
		qsort(fs->list, fs->cnt, sizeof(*fs->list), by_cost);
}

void findings_free(struct findings *fs)
{
	for (size_t i = 0; i < fs->cnt; i++) {
		free(fs->list[i].text);
		free(fs->list[i].advice);
	}
	free(fs->list);
	memset(fs, 0, sizeof(*fs));
}
