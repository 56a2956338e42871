/* steps.c - the pieces of each step by part: their medians, and their mean in the slow steps. */
#include "exporters/why/walk/steps.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

struct piece { /* of a part in a step */
	uint32_t part, step;
	int64_t ns;
};

static int by_step(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->part != y->part ? (x->part > y->part) - (x->part < y->part)
				  : (x->step > y->step) - (x->step < y->step);
}

static int by_ns(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_excess(const void *a, const void *b)
{
	const struct why_excess *x = a, *y = b;
	int64_t p = x->slow - x->median, q = y->slow - y->median;

	return p != q ? (p < q) - (p > q) : (x->part > y->part) - (x->part < y->part);
}

static int by_start(const void *a, const void *b)
{
	const struct why_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int64_t ns_of(const struct why_span *s)
{
	return s->end - s->start;
}

static int by_length(const void *a, const void *b)
{
	int64_t p = ns_of(a), q = ns_of(b);

	return p != q ? (p < q) - (p > q) : by_start(a, b);
}

/* Pieces of the same part in the same step become one. */
static size_t join(struct piece *list, size_t cnt)
{
	size_t kept = 0;

	qsort(list, cnt, sizeof(*list), by_step);
	for (size_t i = 0; i < cnt; i++)
		if (kept && by_step(&list[kept - 1], &list[i]) == 0)
			list[kept - 1].ns += list[i].ns;
		else
			list[kept++] = list[i];
	return kept;
}

/* @cnt pieces of one part; steps without it count as 0 ns. */
static struct why_excess excess_of(struct piece *list, size_t cnt, const bool *is_slow,
				   const struct why_steps *s)
{
	struct why_excess e = {.part = list->part};
	size_t without = s->cnt - cnt;

	for (size_t i = 0; i < cnt; i++)
		if (is_slow[list[i].step])
			e.slow += list[i].ns;
	e.slow /= (int64_t)s->slow_cnt;
	qsort(list, cnt, sizeof(*list), by_ns);
	if (s->cnt / 2 >= without)
		e.median = list[s->cnt / 2 - without].ns;
	return e;
}

/* Marks the slow steps, by index. */
static bool find_slow(struct why_steps *s, const struct why_focus *f, bool *is_slow)
{
	struct why_span *sorted = calloc(f->spans_cnt, sizeof(*sorted));
	size_t tenth = (f->spans_cnt + 9) / 10;

	if (!sorted)
		return false;
	memcpy(sorted, f->spans, f->spans_cnt * sizeof(*sorted));
	qsort(sorted, f->spans_cnt, sizeof(*sorted), by_length);
	s->max = ns_of(&sorted[0]);
	s->min = ns_of(&sorted[f->spans_cnt - 1]);
	s->slow = sorted;
	s->slow_cnt = tenth > 1 ? tenth : 1;
	s->slow_room = f->spans_cnt;
	for (size_t i = 0; i < s->slow_cnt; i++)
		s->slow_ns += ns_of(&sorted[i]);
	s->slow_ns /= (int64_t)s->slow_cnt;
	qsort(sorted, s->slow_cnt, sizeof(*sorted), by_start);
	for (size_t i = 0, k = 0; i < f->spans_cnt && k < s->slow_cnt; i++)
		if (f->spans[i].start == sorted[k].start) {
			is_slow[i] = true;
			k++;
		}
	return true;
}

int why_compare_steps(struct why_steps *s, const struct why_focus *f, const struct walk *w,
		      const uint32_t *part_of)
{
	struct piece *list = calloc(w->pieces_cnt + 1, sizeof(*list));
	bool *is_slow = calloc(f->spans_cnt + 1, sizeof(*is_slow));
	int rc = SQLITE_NOMEM;
	size_t cnt;

	s->cnt = f->spans_cnt;
	s->median = f->median;
	if (!list || !is_slow || !s->cnt || !find_slow(s, f, is_slow))
		goto done;
	for (size_t i = 0; i < w->pieces_cnt; i++)
		list[i] = (struct piece){part_of[w->pieces[i].leaf], w->pieces[i].span,
					 w->pieces[i].ns};
	cnt = join(list, w->pieces_cnt);
	for (size_t i = 0, end; i < cnt; i = end) {
		for (end = i + 1; end < cnt && list[end].part == list[i].part;)
			end++;
		if (!grow(&s->parts, s->parts_cnt, &s->parts_room, sizeof(*s->parts)))
			goto done;
		s->parts[s->parts_cnt++] = excess_of(&list[i], end - i, is_slow, s);
	}
	if (s->parts_cnt)
		qsort(s->parts, s->parts_cnt, sizeof(*s->parts), by_excess);
	rc = SQLITE_OK;
done:
	free(list);
	free(is_slow);
	return rc;
}

void why_steps_free(struct why_steps *s)
{
	free(s->parts);
	free(s->slow);
}
