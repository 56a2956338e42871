/*
 * steps_choose.c - chooses the steps: ranges that repeat and are in no other range that repeats, or the times between an
 * optimizer's ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/saturate.h"
#include "exporters/sql/steps_internal.h"
#include "exporters/sql/sweep.h"

static struct step_stem *stem_of(const struct steps *s, const int64_t *r)
{
	return &s->found.stem[s->found.group[r[SR_GROUP]].stem];
}

/* Main threads, or the others where those have no ranges. */
static bool is_of_thread(const struct steps *s, int64_t tid)
{
	return s->range || step_is_main(tid) == s->found.has_main;
}

/* Epochs are looked into where there are steps. */
static bool repeats(const struct steps *s, const int64_t *r)
{
	const struct step_group *g = &s->found.group[r[SR_GROUP]];

	return s->range || (g->cnt > 1 && is_of_thread(s, g->tid) &&
			    (!s->found.has_steps || s->found.stem[g->stem].likely != LIKELY_EPOCH));
}

/* ---- sweeps ---- */

/* Calls @found for each range that is in no other of its thread and domain. */
static int outermost(struct steps *s, struct sorter *from,
		     bool (*counts)(const struct steps *s, const int64_t *r),
		     int (*found)(struct steps *s, const int64_t *r))
{
	int64_t tid = 0, domain = 0, reached = 0;
	bool is_first = true;
	const int64_t *r = NULL;
	int rc = sorter_rewind(from);

	if (rc == SQLITE_OK)
		rc = sweep_next(from, &r);
	while (rc == SQLITE_OK && r) {
		if (counts(s, r) && (is_first || r[SR_TID] != tid || r[SR_DOMAIN] != domain ||
				     ~r[SR_LATER] > reached)) {
			is_first = false;
			tid = r[SR_TID];
			domain = r[SR_DOMAIN];
			reached = ~r[SR_LATER];
			rc = found(s, r);
		}
		if (rc == SQLITE_OK)
			rc = sweep_next(from, &r);
	}
	return rc;
}

static bool is_any(const struct steps *s, const int64_t *r)
{
	(void)s, (void)r;
	return true;
}

static int add_time(struct steps *s, const int64_t *r)
{
	struct step_stem *m = stem_of(s, r);

	m->is_outermost = true;
	m->ns = sat_add(m->ns, sat_sub(~r[SR_LATER], r[SR_START]));
	return SQLITE_OK;
}

/* Where the optimizer's last step in the thread ended; false: it is the first. */
static bool take_last(struct steps *s, const int64_t *r, int64_t *last)
{
	struct step_group *g = &s->found.group[r[SR_GROUP]];
	bool has_last = g->has_last;

	*last = g->last;
	g->last = ~r[SR_LATER];
	g->has_last = true;
	return has_last;
}

static int add_until(struct steps *s, const int64_t *r)
{
	struct step_stem *m = stem_of(s, r);
	int64_t last;

	if (!take_last(s, r, &last))
		return SQLITE_OK;
	m->until_ns = sat_add(m->until_ns, sat_sub(~r[SR_LATER], last));
	m->until_cnt++;
	return SQLITE_OK;
}

/* Steps of optimizers, in the order of their thread. */
static int read_optimizer(struct steps *s)
{
	const int64_t *r = NULL;
	int rc = sorter_rewind(s->ranges);

	if (rc == SQLITE_OK)
		rc = sweep_next(s->ranges, &r);
	while (rc == SQLITE_OK && r) {
		int64_t own[SR_WORDS];

		memcpy(own, r, sizeof(own));
		own[SR_DOMAIN] = 0;
		if (is_of_thread(s, r[SR_TID]) && stem_of(s, r)->is_optimizer)
			rc = sorter_add(s->optimizer, own);
		if (rc == SQLITE_OK)
			rc = sweep_next(s->ranges, &r);
	}
	return rc;
}

/* ---- which ---- */

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct text *text = ctx;
	const struct text *x = &text[*(const uint32_t *)a], *y = &text[*(const uint32_t *)b];
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->data, y->data, len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int place_stems(struct steps *s)
{
	uint32_t cnt = s->stems.cnt, *list = malloc((cnt + 1) * sizeof(*list));

	if (!list)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		list[i] = i;
	if (cnt)
		qsort_r(list, cnt, sizeof(*list), by_name, s->stems.text);
	for (uint32_t i = 0; i < cnt; i++)
		s->found.stem[list[i]].place = i;
	free(list);
	return SQLITE_OK;
}

/* A range that takes little of the time and does not call itself a step is no step. */
static bool takes_time(const struct steps *s, int64_t ns)
{
	int64_t all = sat_sub(s->found.span[s->found.has_main].end,
			      s->found.span[s->found.has_main].start);

	return ns >= all / 10 + (all % 10 > 0);
}

/* 0: none; the same for all ways that are as likely. */
static int likelihood(const struct steps *s, const struct step_stem *m, bool is_until)
{
	if (is_until)
		return m->until_cnt > 1 ? 3 : 0;
	if (!m->is_outermost)
		return 0;
	return m->likely != LIKELY_NOT ? 4 : takes_time(s, m->ns) ? 2 : 0;
}

static void choose(struct steps *s, int *best, bool is_until)
{
	for (uint32_t i = 0; i < s->stems.cnt; i++) {
		const struct step_stem *m = &s->found.stem[i], *than = NULL;
		int64_t ns = is_until ? m->until_ns : m->ns, than_ns = 0;
		int likely = likelihood(s, m, is_until);

		if (*best) {
			than = &s->found.stem[s->found.chosen];
			than_ns = is_until ? than->until_ns : than->ns;
		}
		if (likely > *best ||
		    (likely && likely == *best &&
		     (ns > than_ns || (ns == than_ns && m->place < than->place)))) {
			*best = likely;
			s->found.chosen = i;
			s->found.is_until = is_until;
		}
	}
}

static int add_row(struct steps *s, const int64_t *r)
{
	const struct step_group *g = &s->found.group[r[SR_GROUP]];
	int64_t row[ST_WORDS] = {
		[ST_TID] = r[SR_TID],     [ST_PLACE] = s->found.stem[g->stem].place,
		[ST_START] = r[SR_START], [ST_END] = ~r[SR_LATER],
		[ST_NAME] = r[SR_NAME],   [ST_STEM] = g->stem,
	};

	if (s->found.chosen != STEP_NONE && g->stem != s->found.chosen)
		return SQLITE_OK;
	if (s->found.is_until && !take_last(s, r, &row[ST_START]))
		return SQLITE_OK;
	return sorter_add(s->rows, row);
}

static int choose_optimizer(struct steps *s, int *best)
{
	int rc = read_optimizer(s);

	if (rc == SQLITE_OK)
		rc = outermost(s, s->optimizer, is_any, add_until);
	if (rc == SQLITE_OK)
		choose(s, best, true);
	for (size_t i = 0; i < s->groups.cnt; i++)
		s->found.group[i].has_last = false;
	return rc;
}

int steps_choose(struct steps *s)
{
	int best = 0;
	int rc = place_stems(s);

	for (size_t i = 0; i < s->groups.cnt; i++) {
		const struct step_group *g = &s->found.group[i];

		s->found.has_steps =
			s->found.has_steps || (g->cnt > 1 && is_of_thread(s, g->tid) &&
					       s->found.stem[g->stem].likely == LIKELY_STEP);
	}
	s->found.chosen = STEP_NONE;
	if (rc == SQLITE_OK && !s->range) {
		rc = outermost(s, s->ranges, repeats, add_time);
		if (rc == SQLITE_OK)
			choose(s, &best, false);
		if (rc == SQLITE_OK && best < 4)
			rc = choose_optimizer(s, &best);
	}
	s->found.none = !best;
	if (rc == SQLITE_OK && (s->range || best))
		rc = s->found.is_until ? outermost(s, s->optimizer, is_any, add_row)
				       : outermost(s, s->ranges, repeats, add_row);
	return rc == SQLITE_OK ? sorter_rewind(s->rows) : rc;
}
