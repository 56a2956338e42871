/*
 * range_kernels.c - kernels and the ranges that they were launched in, by name: sl_range_kernels(COLUMN) counts them
 * and gives the number of a table for sl_stats_rows(), of which each key is a range's name (its id in the table
 * title, which is filled) and below it, in 32 bits, a kernel's name. COLUMN: by which name.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"

static const char read_kernels[] =
	"SELECT globalPid, correlationId, %s, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL";
static const char add_title[] =
	"INSERT INTO temp.title(tid, style, name) "
	"SELECT ?1, ?2, coalesce((SELECT name FROM temp.domain WHERE process = ?1 >> 24 AND "
	"domain = ?3), '') || ':' || coalesce(?4, (SELECT value FROM StringIds WHERE id = ?5), '') "
	"WHERE 1 ON CONFLICT DO UPDATE SET style = style RETURNING id";

struct range_kernels {
	struct range_reader r;
	struct texts texts;
	struct pool kinds; /* thread, style, domain and text of ranges */
	int64_t *title;    /* of a kind */
	size_t titles, title_room;
	struct pool kernels;
	uint64_t *last; /* launch of a kernel */
	size_t lasts, last_room;
	uint64_t calls;
	sqlite3_stmt *add_title;
	struct hist *stats;
};

/* ---- reading rows ---- */

static int kernel_row(void *ctx, sqlite3_stmt *q)
{
	struct range_reader *r = ctx;
	int64_t pid = sqlite3_column_int64(q, 0);
	int64_t w[4] = {is_none(q, 0, pid) ? r->lone : pid >> 24, sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)};

	if (is_none(q, 3, w[3]))
		w[3] = HIST_NULL;
	return is_none(q, 1, w[1]) || is_none(q, 2, w[2]) ? SQLITE_OK : sorter_add(r->work, w);
}

/* A kernel belongs to the first call of its id. */
static int join_kernels(struct range_reader *r)
{
	const int64_t *call = NULL, *work = NULL;
	int64_t first[5];
	bool any = false;
	int rc = sorter_rewind(r->calls);

	if (rc == SQLITE_OK)
		rc = sorter_rewind(r->work);
	if (rc == SQLITE_OK)
		rc = sweep_next(r->calls, &call);
	if (rc == SQLITE_OK)
		rc = sweep_next(r->work, &work);
	while (rc == SQLITE_OK && work) {
		while (rc == SQLITE_OK && call && compare_ids(call, work) <= 0) {
			if (!any || compare_ids(call, first) != 0)
				memcpy(first, call, sizeof(first));
			any = true;
			rc = sweep_next(r->calls, &call);
		}
		if (rc == SQLITE_OK && any && compare_ids(first, work) == 0) {
			const int64_t c[C_WORDS] = {
				[C_TID] = first[2], [C_START] = first[3], [C_END] = first[4],
				[C_DUR] = work[3],  [C_KERNEL] = work[2],
			};

			rc = sorter_add(r->timed, c);
		}
		if (rc == SQLITE_OK)
			rc = sweep_next(r->work, &work);
	}
	return rc == SQLITE_OK ? sorter_rewind(r->timed) : rc;
}

/* ---- names of ranges ---- */

static int find_title(struct range_kernels *k, const int64_t *a, int64_t *title)
{
	sqlite3_stmt *q = k->add_title;
	const char *text;
	size_t len;
	int rc;

	sqlite3_bind_int64(q, 1, a[A_TID]);
	sqlite3_bind_int64(q, 2, a[A_STYLE]);
	sqlite3_bind_int64(q, 3, a[A_DOMAIN]);
	sqlite3_bind_null(q, 4);
	sqlite3_bind_null(q, 5);
	if (a[A_TEXT] != 0) {
		rc = texts_get(&k->texts, a[A_TEXT], &text, &len);
		if (rc != SQLITE_OK)
			return rc;
		sqlite3_bind_text(q, 4, text, (int)len, SQLITE_STATIC);
	}
	if (a[A_TEXT_ID] != NO_ID)
		sqlite3_bind_int64(q, 5, a[A_TEXT_ID]);
	rc = sqlite3_step(q);
	if (rc == SQLITE_ROW) {
		*title = sqlite3_column_int64(q, 0);
		return sqlite3_reset(q);
	}
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? SQLITE_ERROR : rc;
}

static int name_range(struct range_kernels *k, struct sweep_range *o)
{
	const int64_t *a = o->range;
	const int64_t kind[] = {a[A_STYLE], a[A_TID], a[A_DOMAIN], a[A_TEXT], a[A_TEXT_ID]};
	int64_t number;
	int rc = hist_pool_add(&k->kinds, (const char *)kind, sizeof(kind), &number);

	if (rc == SQLITE_OK && (size_t)number == k->titles) {
		if (!grow(&k->title, k->titles, &k->title_room, sizeof(*k->title)))
			return SQLITE_NOMEM;
		rc = find_title(k, a, &k->title[k->titles++]);
	}
	if (rc == SQLITE_OK)
		o->name = k->title[number];
	return rc;
}

/* ---- as the sweep goes on: marks are numbers of calls ---- */

static int begin(struct sweep *s, uint64_t *mark)
{
	*mark = ((struct range_kernels *)s->ctx)->calls;
	return SQLITE_OK;
}

static uint64_t call(struct sweep *s)
{
	return ++((struct range_kernels *)s->ctx)->calls;
}

/* Where a kernel was launched last. */
static int last_of(struct range_kernels *k, int64_t kernel, uint64_t **last)
{
	int64_t number;
	int rc = hist_pool_add(&k->kernels, (const char *)&kernel, sizeof(kernel), &number);

	if (rc == SQLITE_OK && (size_t)number == k->lasts) {
		if (!grow(&k->last, k->lasts, &k->last_room, sizeof(*k->last)))
			return SQLITE_NOMEM;
		k->last[k->lasts++] = 0;
	}
	if (rc == SQLITE_OK)
		*last = &k->last[number];
	return rc;
}

static int apply(struct sweep *s, const struct sweep_call *c)
{
	struct range_kernels *k = s->ctx;
	uint64_t *last = NULL;
	int rc = last_of(k, c->call[C_KERNEL], &last);

	for (size_t i = 0; i < s->opens && rc == SQLITE_OK; i++) {
		struct sweep_range *o = &s->open[i];
		struct group *g;

		if (o->mark >= c->mark)
			continue;
		if (o->name == 0)
			rc = name_range(k, o);
		if (rc == SQLITE_OK)
			rc = hist_add_value(k->stats, o->name << 32 | c->call[C_KERNEL],
					    c->call[C_DUR], &g);
		if (rc == SQLITE_OK && *last <= o->mark)
			g->extra++; /* the first in this range */
	}
	if (rc == SQLITE_OK)
		*last = c->mark;
	return rc;
}

/* ---- all of it ---- */

static int read_all(sqlite3 *db, struct range_kernels *k, const char *column)
{
	char *sql = sqlite3_mprintf(read_kernels, column);
	int rc = sql ? read_calls_of(db, &k->r) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sql_rows(db, sql, kernel_row, &k->r);
	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = join_kernels(&k->r);
	sorter_free(k->r.calls);
	sorter_free(k->r.work);
	k->r.calls = k->r.work = NULL;
	return rc == SQLITE_OK ? read_ranges_of(db, &k->r) : rc;
}

static int count_kernels(sqlite3 *db, const char *column, struct hist *stats)
{
	static const struct sweep_way way = {begin, call, apply, NULL};
	struct range_kernels k = {
		.r = {.ranges = sorter_new(A_WORDS, A_KEYS),
		      .calls = sorter_new(5, 2),
		      .work = sorter_new(4, 2),
		      .timed = sorter_new(C_WORDS, C_KEYS)},
		.stats = stats,
	};
	int rc = SQLITE_NOMEM;

	k.r.texts = &k.texts;
	if (k.r.ranges && k.r.calls && k.r.work && k.r.timed)
		rc = sqlite3_prepare_v2(db, add_title, -1, &k.add_title, NULL);
	if (rc == SQLITE_OK)
		rc = read_all(db, &k, column);
	if (rc == SQLITE_OK)
		rc = sweep(k.r.ranges, k.r.timed, &way, &k);
	sqlite3_finalize(k.add_title);
	sorter_free(k.r.ranges);
	sorter_free(k.r.calls);
	sorter_free(k.r.work);
	sorter_free(k.r.timed);
	texts_free(&k.texts);
	hist_pool_free(&k.kinds);
	hist_pool_free(&k.kernels);
	free(k.title);
	free(k.last);
	return rc;
}

static void range_kernels(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	static const char *const columns[] = {"shortName", "mangledName", "demangledName"};
	const char *by = (const char *)sqlite3_value_text(argv[0]), *column = columns[2];
	struct hist *stats = hist_new(sqlite3_user_data(out), 1);
	int rc;

	(void)argc;
	for (size_t i = 0; i < 2; i++)
		if (by && strcmp(by, columns[i]) == 0)
			column = i == 1 ? "coalesce(mangledName, demangledName)" : columns[i];
	rc = stats ? count_kernels(sqlite3_context_db_handle(out), column, stats) : SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		sqlite3_result_int64(out, hist_done(stats));
	else
		hist_fail(out, rc);
}

int range_kernels_register(sqlite3 *db, struct hist_of_db *tables)
{
	return sqlite3_create_function(db, "sl_range_kernels", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       tables, range_kernels, NULL, NULL);
}
