/* compare_read.c - kinds, and a report's items of each. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/embed.h"
#include "exporters/compare/compare.h"
#include "exporters/read/db_read.h"
#include "exporters/read/wall.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/query.h"
#include "exporters/sql/report.h"

static const char *const no_args[] = {NULL};
static const struct report_kind text_kind = {"compare/queries/", "kind",   "Kinds",
					     "compare",          "--help", no_args};

/* ---- kinds ---- */

const char *compare_kind_names(void)
{
	return report_names(&text_kind);
}

static bool in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, name, len) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

static long place_of(const struct compare_kind *k)
{
	char place[64] = "";

	report_field(k->sql, "default", 0, place, sizeof(place));
	return strtol(place, NULL, 10);
}

static int by_place(const void *a, const void *b)
{
	long x = place_of(a), y = place_of(b);

	return (x > y) - (x < y);
}

static void describe(struct compare_kind *k, const char *name, const char *sql)
{
	char unit[16] = "", place[64] = "";

	k->sql = sql;
	snprintf(k->name, sizeof(k->name), "%.31s", name);
	report_field(sql, "title", 0, k->title, sizeof(k->title));
	report_field(sql, "unit", 0, unit, sizeof(unit));
	report_field(sql, "default", 0, place, sizeof(place));
	k->is_bytes = strcmp(unit, "bytes") == 0;
	k->is_count = strcmp(unit, "count") == 0;
	k->is_single = strstr(place, "single") != NULL;
	k->is_whole = strstr(place, "whole") != NULL;
	k->is_steady = strstr(place, "steady") != NULL;
}

/* Is every word of the list a kind? */
static int check_list(const char *list, char *why, size_t why_len)
{
	char word[64], name[64];

	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ",");
		const char *near = NULL;
		bool known = false;

		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		for (size_t i = 0; sl_embedded[i].name; i++)
			if (report_embedded(&text_kind, i, name)) {
				known |= strcmp(name, word) == 0;
				if (sl_nearest(word, near, name) == name)
					near = sl_embedded[i].name;
			}
		if (!known && *word) {
			snprintf(why, why_len, "'%s' is nothing that is compared%s%.*s%s", word,
				 near ? "; did you mean '" : "",
				 near ? (int)(strlen(near) - strlen("compare/queries/.sql")) : 0,
				 near ? near + strlen("compare/queries/") : "", near ? "'?" : "");
			return SL_EXIT_USAGE;
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

int compare_kinds(struct comparison *c, const char *list, char *why, size_t why_len)
{
	char name[64];
	size_t cnt = 0;

	if (check_list(list, why, why_len) != 0)
		return SL_EXIT_USAGE;
	for (size_t i = 0; sl_embedded[i].name; i++)
		cnt += report_embedded(&text_kind, i, name) != NULL;
	c->kinds = calloc(cnt ? cnt : 1, sizeof(*c->kinds));
	if (!c->kinds) {
		snprintf(why, why_len, "out of memory");
		return SL_EXIT_FAIL;
	}
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (report_embedded(&text_kind, i, name) && (!list || in_list(list, name)))
			describe(&c->kinds[c->kind_cnt++], name, sl_embedded[i].text);
	qsort(c->kinds, c->kind_cnt, sizeof(*c->kinds), by_place);
	return 0;
}

/* ---- items ---- */

/* The samples of one name, in order of value. */
struct samples {
	struct compare_sample *list;
	size_t cnt, max;
};

static int add_sample(struct samples *s, double value, double n)
{
	if (!grow(&s->list, s->cnt, &s->max, sizeof(*s->list)))
		return -1;
	s->list[s->cnt++] = (struct compare_sample){value, n};
	return 0;
}

void compare_summarize(const struct compare_sample *list, size_t cnt, double metric[METRIC_CNT])
{
	double n = 0, total = 0, upto = 0, low = NAN, high = NAN, p99 = NAN;

	for (size_t i = 0; i < cnt; i++) {
		n += list[i].n;
		total += list[i].value * list[i].n;
	}
	/* counts are whole: the middle one or two, and the 99th hundredth's last */
	for (size_t i = 0; i < cnt; i++) {
		upto += list[i].n;
		if (isnan(low) && 2 * upto >= n)
			low = list[i].value;
		if (isnan(high) && 2 * upto > n)
			high = list[i].value;
		if (isnan(p99) && 100 * upto >= 99 * n)
			p99 = list[i].value;
	}
	metric[METRIC_TOTAL] = total;
	metric[METRIC_COUNT] = n;
	metric[METRIC_MEAN] = total / n;
	metric[METRIC_MEDIAN] = (low + high) / 2;
	metric[METRIC_P99] = p99;
	metric[METRIC_MIN] = list[0].value;
	metric[METRIC_MAX] = list[cnt - 1].value;
}

/* Room for one item more; NULL: no memory. */
static struct compare_item *new_item(struct compare_item **items, size_t *cnt)
{
	struct compare_item *more;

	/* doubles whenever the count is a power of two */
	if ((*cnt & (*cnt - 1)) == 0) {
		more = reallocarray(*items, *cnt ? *cnt * 2 : 1, sizeof(*more));
		if (!more)
			return NULL;
		*items = more;
	}
	memset(&(*items)[*cnt], 0, sizeof(**items));
	return &(*items)[(*cnt)++];
}

static const char *text_of(sqlite3_stmt *stmt, int col)
{
	const char *text = (const char *)sqlite3_column_text(stmt, col);

	return text ? text : "";
}

static int begin_item(sqlite3_stmt *stmt, struct compare_item **items, size_t *cnt)
{
	struct compare_item *item = new_item(items, cnt);

	if (!item)
		return -1;
	item->name = strdup(text_of(stmt, 0));
	item->alike = sqlite3_column_type(stmt, 1) == SQLITE_NULL ? compare_alike(text_of(stmt, 0))
								  : strdup(text_of(stmt, 1));
	return item->name && item->alike ? 0 : -1;
}

static int end_item(struct compare_item *item, struct samples *s)
{
	if (!s->cnt)
		return 0;
	compare_summarize(s->list, s->cnt, item->metric);
	if (s->cnt <= COMPARE_FEW) {
		item->few = calloc(s->cnt, sizeof(*item->few));
		if (!item->few)
			return -1;
		memcpy(item->few, s->list, s->cnt * sizeof(*item->few));
		item->few_cnt = s->cnt;
	}
	s->cnt = 0;
	return 0;
}

struct items {
	struct compare_item **list;
	size_t *cnt;
	struct samples samples; /* of the last one */
};

static int read_item(void *ctx, sqlite3_stmt *stmt)
{
	struct items *i = ctx;
	struct compare_item *last = *i->cnt ? &(*i->list)[*i->cnt - 1] : NULL;

	if (sqlite3_column_type(stmt, 2) == SQLITE_NULL)
		return SQLITE_OK;
	if (!last || strcmp(last->name, text_of(stmt, 0)) != 0)
		if ((last && end_item(last, &i->samples) != 0) ||
		    begin_item(stmt, i->list, i->cnt) != 0)
			return SQLITE_NOMEM;
	return add_sample(&i->samples, sqlite3_column_double(stmt, 2),
			  sqlite3_column_double(stmt, 3)) == 0
		       ? SQLITE_OK
		       : SQLITE_NOMEM;
}

static int step_all(sqlite3_stmt *stmt, int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = row(ctx, stmt);
		if (rc != SQLITE_OK)
			return rc;
	}
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int compare_statements(sqlite3 *db, const struct compare_kind *k, bool of_worst,
		       int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx)
{
	struct report r = {.kind = &text_kind, .sql = k->sql};
	char what[256];
	int rc;

	if (!query_has_data(db, &r, what, sizeof(what)))
		return SQLITE_OK;
	rc = report_include(&r, k->sql, what, sizeof(what)) < 0 ? SQLITE_NOMEM : SQLITE_OK;
	for (const char *sql = r.sql; rc == SQLITE_OK && *sql;) {
		sqlite3_stmt *stmt = NULL;
		const char *name;

		rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
		name = rc == SQLITE_OK && stmt ? sqlite3_column_name(stmt, 0) : NULL;
		if (name && (strcmp(name, "worst") == 0) == of_worst)
			rc = step_all(stmt, row, ctx);
		sqlite3_finalize(stmt);
	}
	report_free(&r);
	return rc;
}

static int read_kind(sqlite3 *db, const struct compare_kind *k, struct compare_item **items,
		     size_t *cnt)
{
	struct items i = {.list = items, .cnt = cnt};
	int rc = compare_statements(db, k, false, read_item, &i);

	if (rc == SQLITE_OK && *cnt && end_item(&(*items)[*cnt - 1], &i.samples) != 0)
		rc = SQLITE_NOMEM;
	free(i.samples.list);
	return rc;
}

/* One after the other: that may say something, once. */
static sqlite3 *open_one(const char *path, char *why, size_t why_len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	sqlite3 *db;

	pthread_mutex_lock(&lock);
	db = db_read_open(path, why, why_len);
	pthread_mutex_unlock(&lock);
	return db;
}

sqlite3 *compare_open(const struct comparison *c, const char *path, char *why, size_t why_len)
{
	sqlite3 *db = open_one(path, why, why_len);
	struct wall wall;
	int rc;

	if (!db)
		return NULL;
	if (db_filter_any(&c->filter) && db_filter_apply(db, &c->filter, why, why_len) != 0) {
		sqlite3_close(db);
		return NULL;
	}
	rc = wall_table(db, &c->filter, &wall);
	if (rc == SQLITE_OK)
		rc = sql_functions(db, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "CREATE TEMP TABLE wanted(ns INTEGER PRIMARY KEY)", NULL,
				  NULL, NULL);
	if (rc == SQLITE_OK)
		return db;
	snprintf(why, why_len, "%s: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db);
	return NULL;
}

int compare_read(const struct comparison *c, struct compare_run *run, char *why, size_t why_len)
{
	sqlite3 *db = compare_open(c, run->path, why, why_len);
	int rc = SQLITE_OK;

	if (!db)
		return -1;
	run->items = calloc(c->kind_cnt + 1, sizeof(struct compare_item *));
	run->cnt = calloc(c->kind_cnt + 1, sizeof(*run->cnt));
	if (!run->items || !run->cnt)
		rc = SQLITE_NOMEM;
	for (size_t i = 0; i < c->kind_cnt && rc == SQLITE_OK; i++) {
		if (c->kinds[i].is_whole && db_filter_any(&c->filter))
			continue;
		rc = read_kind(db, &c->kinds[i], &run->items[i], &run->cnt[i]);
		if (rc == SQLITE_OK) /* frees the values of the kind */
			rc = sql_functions(db, NULL);
		if (rc != SQLITE_OK)
			snprintf(why, why_len, "%s: %s: %s", run->path, c->kinds[i].name,
				 rc == SQLITE_NOMEM ? "out of memory" : sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : -1;
}

/* ---- all reports ---- */

#define WORKERS_MAX 4

struct reading {
	const struct comparison *c;
	struct to_read {
		struct compare_run *run;
		bool failed;
		char why[COMPARE_WHY];
	} * list;
	size_t cnt;
	atomic_size_t next; /* that no thread reads yet */
	atomic_bool has_failed;
};

static void *read_some(void *arg)
{
	struct reading *r = arg;
	size_t i;

	/* Taken in order: so reports before one that failed are read, or are being read. */
	while (!atomic_load(&r->has_failed) && (i = atomic_fetch_add(&r->next, 1)) < r->cnt) {
		struct to_read *one = &r->list[i];

		one->failed = compare_read(r->c, one->run, one->why, sizeof(one->why)) != 0;
		if (one->failed)
			atomic_store(&r->has_failed, true);
	}
	return NULL;
}

/* This thread reads, too: so where none can be created, it reads all. */
static void read_in_threads(struct reading *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[WORKERS_MAX];
	int cnt = 0;

	while (cnt + 1 < WORKERS_MAX && cnt + 1 < cpus && (size_t)cnt + 1 < r->cnt &&
	       pthread_create(&threads[cnt], NULL, read_some, r) == 0)
		cnt++;
	read_some(r);
	while (cnt > 0)
		pthread_join(threads[--cnt], NULL);
}

int compare_read_all(struct comparison *c, char *why, size_t why_len)
{
	struct reading r = {.c = c};
	int rc = 0;

	for (size_t s = 0; s < c->set_cnt; s++)
		r.cnt += c->sets[s].cnt;
	r.list = calloc(r.cnt + 1, sizeof(*r.list));
	if (!r.list) {
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	for (size_t s = 0, i = 0; s < c->set_cnt; s++)
		for (size_t k = 0; k < c->sets[s].cnt; k++)
			r.list[i++].run = &c->sets[s].runs[k];
	read_in_threads(&r);
	for (size_t i = 0; i < r.cnt && rc == 0; i++)
		if (r.list[i].failed) {
			snprintf(why, why_len, "%s", r.list[i].why);
			rc = -1;
		}
	free(r.list);
	return rc;
}
