/* compare_worst.c - where what has changed took longest: the events of a name that have the length of its longest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/compare/compare.h"

/* A figure whose place is looked for. */
struct sought {
	const struct compare_run *run; /* where it took longest */
	const struct compare_item *item;
	const struct compare_kind *kind;
	struct compare_place *place;
};

bool compare_is_changed(const struct compare_row *row, size_t set, const struct compare_view *v)
{
	static const enum compare_metric look[] = {METRIC_TOTAL, METRIC_MEDIAN, METRIC_P99};
	const struct compare_figure *base = &row->figure[0], *now = &row->figure[set];

	if (base->is_there != now->is_there)
		return true;
	for (size_t i = 0; i < sizeof(look) / sizeof(*look) && base->is_there; i++) {
		double change = fabs(compare_change(base, now, look[i]));

		if (change > 0 && change >= v->min_change && now->p[look[i]] < v->alpha)
			return true;
	}
	return false;
}

static int by_run(const void *a, const void *b)
{
	const struct sought *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->item->metric[METRIC_MAX] > y->item->metric[METRIC_MAX]) -
	       (x->item->metric[METRIC_MAX] < y->item->metric[METRIC_MAX]);
}

static void seek(struct sought *s, const struct comparison *c, const struct compare_row *row,
		 size_t set)
{
	const struct compare_figure *f = &row->figure[set];

	*s = (struct sought){.kind = row->kind, .place = &row->figure[set].worst};
	for (size_t r = 0; r < c->sets[set].cnt; r++)
		if (f->items[r] &&
		    (!s->item || f->items[r]->metric[METRIC_MAX] > s->item->metric[METRIC_MAX])) {
			s->item = f->items[r];
			s->run = &c->sets[set].runs[r];
		}
}

/* @list has room for a figure of each row and set. */
static size_t seek_all(struct sought *list, const struct comparison *c,
		       const struct compare_view *v)
{
	size_t cnt = 0;

	for (size_t i = 0; i < c->row_cnt; i++) {
		const struct compare_row *row = &c->rows[i];
		bool is_gone = false;

		if (row->kind->is_single)
			continue;
		for (size_t s = 1; s < c->set_cnt; s++) {
			if (!compare_is_changed(row, s, v))
				continue;
			if (row->figure[s].is_there)
				seek(&list[cnt++], c, row, s);
			else
				is_gone = true;
		}
		if (is_gone)
			seek(&list[cnt++], c, row, 0);
	}
	return cnt;
}

/* The figures of one run and kind, in the order of length. */
struct search {
	const struct sought *list;
	size_t cnt;
};

static bool is_of(const struct compare_item *item, const char *name, const char *alike)
{
	char *made;
	bool same;

	if (strcmp(item->name, name) == 0)
		return true;
	/* Names that only count are one item, called by their likeness. */
	made = alike ? NULL : compare_alike(name);
	same = (alike || made) && strcmp(item->name, alike ? alike : made) == 0;
	free(made);
	return same;
}

static int look_at(void *ctx, sqlite3_stmt *stmt)
{
	const struct search *found = ctx;
	const char *name = (const char *)sqlite3_column_text(stmt, 0);
	const char *alike = (const char *)sqlite3_column_text(stmt, 1);
	const char *row = (const char *)sqlite3_column_text(stmt, 4);
	int64_t start = sqlite3_column_int64(stmt, 2), end = sqlite3_column_int64(stmt, 3);
	double ns = (double)(end - start);
	size_t low = 0, high = found->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (found->list[middle].item->metric[METRIC_MAX] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; name && low < found->cnt && found->list[low].item->metric[METRIC_MAX] == ns; low++) {
		struct compare_place *p = found->list[low].place;

		if ((p->report && p->start <= start) || !is_of(found->list[low].item, name, alike))
			continue;
		*p = (struct compare_place){
			.report = found->list[low].run->path, .start = start, .end = end};
		snprintf(p->row, sizeof(p->row), "%s", row ? row : "");
	}
	return SQLITE_OK;
}

static int want(sqlite3 *db, const struct search *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(db, "DELETE FROM temp.wanted", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO temp.wanted VALUES(?)", -1,
					&stmt, NULL);
	for (size_t i = 0; i < s->cnt && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 1, (int64_t)s->list[i].item->metric[METRIC_MAX]);
		rc = sqlite3_step(stmt) == SQLITE_DONE ? sqlite3_reset(stmt) : SQLITE_ERROR;
	}
	sqlite3_finalize(stmt);
	return rc;
}

/* The figures of one run, by kinds. A place that is not found is left out: the answer holds without. */
static void search_run(const struct comparison *c, const struct sought *list, size_t cnt)
{
	char why[COMPARE_WHY];
	sqlite3 *db = compare_open(c, list->run->path, why, sizeof(why));

	for (size_t i = 0, j; db && i < cnt; i = j) {
		struct search s = {&list[i], 0};

		for (j = i; j < cnt && list[j].kind == list[i].kind; j++)
			s.cnt++;
		if (want(db, &s) == SQLITE_OK)
			compare_statements(db, list[i].kind, true, look_at, &s);
	}
	sqlite3_close(db);
}

int compare_find_worst(struct comparison *c, const struct compare_view *v)
{
	struct sought *list = calloc(c->row_cnt * c->set_cnt + 1, sizeof(*list));
	size_t cnt;

	if (!list)
		return -1;
	cnt = seek_all(list, c, v);
	qsort(list, cnt, sizeof(*list), by_run);
	for (size_t i = 0, j; i < cnt; i = j) {
		for (j = i; j < cnt && list[j].run == list[i].run; j++)
			;
		search_run(c, &list[i], j - i);
	}
	free(list);
	return 0;
}
