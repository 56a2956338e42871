/*
 * ranks_top_judge.c - the slowest rank: by the time that it takes by itself in a step, above the median of all ranks; and its reason,
 * the part of its thread's time that exceeds the median of that part most.
 *
 * A thread that spins while its GPU works computes: so time that no part explains is the GPU's, or was not recorded.
 */
#include "exporters/ranks/top/ranks_top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_LATE   0.05 /* of the median, above it */
#define LATE_MS      0.1
#define SHARE_REASON 0.5 /* of the excess, that a part has to explain */

static const char *const texts[JOB_PARTS + 1] = {
#define PART(id, name, text) text,
#include "collector/job/parts.def"
	"its GPU, or what is not recorded",
};

const char *ranks_top_reason(const struct top_rank *r)
{
	return texts[r->reason];
}

static bool counts(const struct top_rank *r)
{
	return !r->is_silent && r->pace.steps > 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ns of the part in a step */
static double part(const struct top_rank *r, unsigned which)
{
	return (double)r->pace.part[which] / r->pace.steps;
}

/* The lower median over the ranks that count; @values has room for all. */
static double median_of(const struct ranks_top *t, unsigned which, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < t->ranks; i++)
		if (counts(&t->rank[i]))
			values[n++] = part(&t->rank[i], which);
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) / 2];
}

static void find_reason(struct top_rank *r, const double *median)
{
	r->reason = JOB_PARTS;
	r->reason_ms = r->excess_ms;
	for (int i = JOB_CPU; i < JOB_PARTS; i++) {
		double more = (part(r, (unsigned)i) - median[i]) / 1e6;

		if (more >= SHARE_REASON * r->excess_ms &&
		    (r->reason == JOB_PARTS || more > r->reason_ms)) {
			r->reason = i;
			r->reason_ms = more;
		}
	}
}

static int by_excess(const void *a, const void *b)
{
	const struct top_rank *x = a, *y = b;

	if (counts(x) != counts(y))
		return counts(x) ? -1 : 1;
	if (counts(x) && x->excess_ms != y->excess_ms)
		return x->excess_ms > y->excess_ms ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many of them are different. */
static size_t distinct(const char **names, size_t cnt)
{
	size_t n = 0;

	if (cnt)
		qsort(names, cnt, sizeof(*names), by_name);
	for (size_t i = 0; i < cnt; i++)
		n += !i || strcmp(names[i], names[i - 1]) != 0;
	return n;
}

static void count(struct ranks_top *t)
{
	size_t most = t->ranks > t->sessions ? t->ranks : t->sessions, n = 0;
	const char **names = calloc(most + 1, sizeof(*names));

	t->stepping = t->silent = t->hosts = t->live = 0;
	t->size = 0;
	for (size_t i = 0; i < t->sessions; i++)
		t->silent += t->session[i].silent_s > RANKS_TOP_SILENT_S;
	for (size_t i = 0; i < t->ranks; i++) {
		t->rank[i].is_silent = t->session[t->rank[i].session].silent_s > RANKS_TOP_SILENT_S;
		t->stepping += counts(&t->rank[i]);
		if (t->rank[i].pace.size > t->size)
			t->size = t->rank[i].pace.size;
	}
	if (!names)
		return;
	for (size_t i = 0; i < t->sessions; i++)
		names[i] = t->session[i].host;
	t->hosts = distinct(names, t->sessions);
	for (size_t i = 0; i < t->ranks; i++)
		if (!t->rank[i].is_silent)
			names[n++] = t->rank[i].name;
	t->live = distinct(names, n);
	free(names);
}

/* Steps per second of the median rank. */
static double pace_of(const struct ranks_top *t, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < t->ranks; i++)
		if (counts(&t->rank[i]) && t->rank[i].pace.span > 0)
			values[n++] = t->rank[i].pace.steps * 1e9 / (double)t->rank[i].pace.span;
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

void ranks_top_judge(struct ranks_top *t)
{
	double median[JOB_PARTS], *values = calloc(t->ranks + 1, sizeof(*values));

	count(t);
	for (unsigned i = 0; values && i < JOB_PARTS; i++)
		median[i] = median_of(t, i, values);
	for (size_t i = 0; i < t->ranks; i++) {
		struct top_rank *r = &t->rank[i];

		r->step_ms = r->own_ms = r->excess_ms = NAN;
		if (!values || !counts(r))
			continue;
		r->step_ms = part(r, JOB_STEP) / 1e6;
		r->own_ms = part(r, JOB_OWN) / 1e6;
		r->excess_ms = r->own_ms - median[JOB_OWN] / 1e6;
		find_reason(r, median);
	}
	t->steps_per_s = values ? pace_of(t, values) : 0;
	t->median_ms = values && t->stepping ? median[JOB_OWN] / 1e6 : NAN;
	free(values);
	if (t->ranks)
		qsort(t->rank, t->ranks, sizeof(*t->rank), by_excess);
}

bool ranks_top_is_late(const struct ranks_top *t)
{
	return t->stepping > 1 && t->rank[0].excess_ms > LATE_MS &&
	       t->rank[0].excess_ms > SHARE_LATE * t->median_ms;
}
