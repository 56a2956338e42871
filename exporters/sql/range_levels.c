/* range_levels.c - which range is around which: the stacks of push/pop ranges. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/sql/projection_internal.h"

struct levels {                   /* of one thread and domain */
	int64_t *end;             /* of open ranges: a heap, the next to end first */
	int64_t (*last)[R_WORDS]; /* the last range of each level, which may get children yet */
	size_t open, room, lasts, last_room;
	struct projection *to;
};

static int flush_levels(struct levels *l, size_t from)
{
	int rc = SQLITE_OK;

	for (size_t i = from; i < l->lasts && rc == SQLITE_OK; i++)
		rc = sorter_add(l->to->results, l->last[i]);
	l->lasts = from;
	return rc;
}

static void drop_ended(struct levels *l, int64_t by)
{
	while (l->open > 0 && l->end[0] <= by) {
		int64_t last = l->end[--l->open];
		size_t at = 0;

		for (size_t child; (child = 2 * at + 1) < l->open; at = child) {
			child += child + 1 < l->open && l->end[child + 1] < l->end[child];
			if (last <= l->end[child])
				break;
			l->end[at] = l->end[child];
		}
		l->end[at] = last;
	}
}

/* A range's level is how many are open when it begins; its parent is the last one before it, one level up. */
static int add_level(struct levels *l, int64_t *result)
{
	const int64_t end = result[R_END] != NO_ID ? result[R_END] : INT64_MAX;
	size_t at, lvl;

	drop_ended(l, result[R_START]);
	lvl = l->open;
	if (!grow(&l->end, lvl, &l->room, sizeof(*l->end)) ||
	    !grow(&l->last, lvl, &l->last_room, sizeof(*l->last)))
		return SQLITE_NOMEM;
	for (at = l->open++; at > 0 && l->end[(at - 1) / 2] > end; at = (at - 1) / 2)
		l->end[at] = l->end[(at - 1) / 2];
	l->end[at] = end;
	result[R_LVL] = (int64_t)lvl;
	if (lvl > 0) {
		result[R_PARENT] = l->last[lvl - 1][R_ID];
		l->last[lvl - 1][R_CHILDREN]++;
		if (l->to->of == STACKS && result[R_END] != NO_ID)
			l->last[lvl - 1][R_INSIDE] += result[R_END] - result[R_START];
	}
	if (lvl < l->lasts) {
		int rc = sorter_add(l->to->results, l->last[lvl]);

		if (rc != SQLITE_OK)
			return rc;
	} else {
		l->lasts = lvl + 1;
	}
	memcpy(l->last[lvl], result, sizeof(l->last[lvl]));
	return SQLITE_OK;
}

static int add_result(struct levels *l, const int64_t *s)
{
	int64_t r[R_WORDS] = {
		[R_FIRST] = s[S_FIRST],   [R_START] = s[S_START], [R_LONGER] = s[S_LONGER],
		[R_ID] = ++l->to->cnt,    [R_END] = s[S_END],     [R_LAST] = s[S_LAST],
		[R_N] = s[S_N],           [R_STYLE] = s[S_STYLE], [R_TID] = s[S_TID],
		[R_DOMAIN] = s[S_DOMAIN], [R_TEXT] = s[S_TEXT],   [R_TEXT_ID] = s[S_TEXT_ID],
	};

	if (l->to->of ==
	    STACKS) { /* ranges that begin at the same time stand in order of their stacks */
		r[R_FIRST] = r[R_START];
		r[R_LONGER] = 0;
	}

	if (l->to->with_kinds) {
		int64_t kind[] = {s[S_STYLE], s[S_TID] >> 24, s[S_DOMAIN], s[S_TEXT], s[S_TEXT_ID]};
		int rc = hist_pool_add(&l->to->kinds, (const char *)kind, sizeof(kind), &r[R_KIND]);

		if (rc != SQLITE_OK)
			return rc;
	}
	if (l->lasts > 0 &&
	    (l->last[0][R_TID] != r[R_TID] || l->last[0][R_DOMAIN] != r[R_DOMAIN])) {
		int rc = flush_levels(l, 0);

		if (rc != SQLITE_OK)
			return rc;
		l->open = 0;
	}
	return s[S_STYLE] == 59 ? add_level(l, r) : sorter_add(l->to->results, r);
}

int add_levels(struct sorter *stacked, struct projection *to)
{
	struct levels l = {.to = to};
	const int64_t *s = NULL;
	int rc = sweep_next(stacked, &s);

	while (rc == SQLITE_OK && s) {
		rc = add_result(&l, s);
		if (rc == SQLITE_OK)
			rc = sweep_next(stacked, &s);
	}
	if (rc == SQLITE_OK)
		rc = flush_levels(&l, 0);
	free(l.end);
	free(l.last);
	return rc;
}
