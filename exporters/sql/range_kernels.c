/*
 * range_kernels.c - kernels and the ranges that they were launched in, by name: sl_range_kernels(COLUMN) counts them
 * and gives the number of a table for sl_stats_rows(), of which each key is a range's name (its id in the table
 * title, which is filled) and below it, in 32 bits, a kernel's name. COLUMN: by which name.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/sql/projection_internal.h"

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

/* ---- kernels with their calls ---- */

/* The kernel's name, its time. */
static int kernel_row(void *ctx, const struct launch_call *call, const int64_t *words)
{
	const int64_t c[C_WORDS] = {
		[C_TID] = call->tid, [C_START] = call->start, [C_END] = call->end,
		[C_DUR] = words[1],  [C_KERNEL] = words[0],
	};

	return sorter_add(ctx, c);
}

static int read_kernels(sqlite3 *db, const char *column, struct sorter *timed)
{
	static const struct launch_reader reader = {kernel_row, NULL};
	char *columns = sqlite3_mprintf("%s, end - start", column);
	char *where = sqlite3_mprintf("WHERE %s IS NOT NULL", column);
	struct launches *l = columns && where ? launches_new(2) : NULL;
	int rc = l ? launches_read_calls(l, db) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = launches_read_work(l, db, 1u << GPU_WORK_KERNEL, columns, where);
	if (rc == SQLITE_OK)
		rc = launches_join(l, &reader, timed);
	launches_free(l);
	sqlite3_free(columns);
	sqlite3_free(where);
	return rc == SQLITE_OK ? sorter_rewind(timed) : rc;
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

static int count_kernels(sqlite3 *db, const char *column, struct hist *stats)
{
	static const struct sweep_way way = {begin, call, apply, NULL};
	struct range_kernels k = {
		.r = {.ranges = sorter_new(A_WORDS, A_KEYS), .timed = sorter_new(C_WORDS, C_KEYS)},
		.stats = stats,
	};
	int rc = SQLITE_NOMEM;

	k.r.texts = &k.texts;
	if (k.r.ranges && k.r.timed)
		rc = sqlite3_prepare_v2(db, add_title, -1, &k.add_title, NULL);
	if (rc == SQLITE_OK)
		rc = read_kernels(db, column, k.r.timed);
	if (rc == SQLITE_OK)
		rc = read_ranges_of(db, &k.r);
	if (rc == SQLITE_OK)
		rc = sweep(k.r.ranges, k.r.timed, &way, &k);
	sqlite3_finalize(k.add_title);
	sorter_free(k.r.ranges);
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
