/* clock_fit.c - lines through differences of clocks, by medians. */
#include "exporters/ranks/clock_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"

#define STRETCH_NS   60e9 /* of a line, at least */
#define STRETCH_ENDS 256
#define LEAST_ENDS   8

struct point {
	int64_t time;  /* of the node */
	double behind; /* ns: the reference's end - the node's */
};

struct points {
	struct point *list;
	size_t cnt, room;
};

struct fitting {
	const struct clock_end *ends;
	size_t cnt;
	uint32_t nodes;
	struct points *of; /* by node */
	uint32_t *queue;   /* nodes that are fitted, in order */
	bool *fitted;      /* by node */
	size_t queued;
	size_t lines_room;
	double *scratch;
	struct clock_fit *to;
};

/* ---- medians ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The median of the points' distances from the line. */
static double median_rest(const struct point *p, size_t n, const struct clock_line *l,
			  double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = p[i].behind - l->drift * (double)(p[i].time - l->time);
	return median(scratch, n);
}

static double median_time(const struct point *p, size_t n, int64_t base)
{
	size_t low = (n - 1) / 2, high = n / 2; /* they are in order */

	return ((double)(p[low].time - base) + (double)(p[high].time - base)) / 2;
}

/* ---- one line ---- */

/*
 * The slope is that between the medians of the first and of the last third. They are medians of the distances from the slope
 * so far, as the median of a third in which the difference itself grows would be one of its place in time.
 */
static void fit_line(const struct point *p, size_t n, struct clock_line *l, double *scratch)
{
	size_t third = n / 3;
	const struct point *last = p + n - third;
	double apart = median_time(last, third, p->time) - median_time(p, third, p->time);
	double spread;

	l->time = p->time;
	l->drift = 0;
	for (int i = 0; i < 50 && apart > 0; i++) {
		double more =
			(median_rest(last, third, l, scratch) - median_rest(p, third, l, scratch)) /
			apart;

		l->drift += more;
		if (fabs(more) * (double)(p[n - 1].time - p->time) < 1)
			break;
	}
	l->offset = median_rest(p, n, l, scratch);
	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(scratch[i] - l->offset);
	/*
	 * For a normal distribution: the standard deviation from the median deviation, and the error of such lines at their
	 * ends.
	 */
	spread = 1.4826 * median(scratch, n);
	l->error = 3 * 2.6 * spread / sqrt((double)n);
	l->ends = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Points of the stretch that begins with the first. */
static size_t stretch(const struct point *p, size_t n)
{
	size_t i = 0;

	while (i < n && (i < STRETCH_ENDS || (double)(p[i].time - p->time) < STRETCH_NS))
		i++;
	/* The rest is one of its own where it is long enough. */
	return n - i < STRETCH_ENDS ? n : i;
}

static bool add_line(struct fitting *f, const struct clock_line *l)
{
	if (!grow(&f->to->lines, f->to->cnt, &f->lines_room, sizeof(*l)))
		return false;
	f->to->lines[f->to->cnt++] = *l;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* @error: error of the clock that the points were compared with. */
static bool fit_node(struct fitting *f, uint32_t node, double error)
{
	struct points *p = &f->of[node];

	qsort(p->list, p->cnt, sizeof(*p->list), by_time);
	for (size_t at = 0; at < p->cnt;) {
		size_t n = stretch(p->list + at, p->cnt - at);
		struct clock_line l = {.node = node};

		fit_line(p->list + at, n, &l, f->scratch);
		l.error += error;
		if (!add_line(f, &l))
			return false;
		at += n;
	}
	return true;
}

/* ---- all nodes ---- */

static int by_collective(const void *a, const void *b)
{
	const struct clock_end *x = a, *y = b;

	if (x->collective != y->collective)
		return (x->collective > y->collective) - (x->collective < y->collective);
	return (x->node > y->node) - (x->node < y->node);
}

/* The node with most ends that other nodes share. */
static uint32_t choose_reference(const struct clock_end *ends, size_t cnt, uint32_t nodes)
{
	size_t *shared = calloc(nodes + 1, sizeof(*shared));
	uint32_t best = 0;

	if (!shared)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		if ((i > 0 && ends[i - 1].collective == ends[i].collective) ||
		    (i + 1 < cnt && ends[i + 1].collective == ends[i].collective))
			shared[ends[i].node]++;
	for (uint32_t n = 1; n < nodes; n++)
		if (shared[n] > shared[best])
			best = n;
	free(shared);
	return best;
}

static double error_of(const struct clock_fit *f, uint32_t node)
{
	double most = 0;

	for (size_t i = 0; i < f->cnt; i++)
		if (f->lines[i].node == node && f->lines[i].error > most)
			most = f->lines[i].error;
	return most;
}

/* By lines of one node; before the first that one is continued. */
static double ahead_at(const struct clock_line *lines, size_t cnt, int64_t time)
{
	const struct clock_line *l;
	size_t low = search_first(i, 0, cnt, lines[i].time <= time);

	if (!cnt)
		return 0;
	l = &lines[low ? low - 1 : 0];
	return l->offset + l->drift * (double)(time - l->time);
}

/* The first line of the node, whose lines stand together. */
static const struct clock_line *lines_of(const struct clock_fit *f, uint32_t node, size_t *cnt)
{
	size_t first = 0;

	while (first < f->cnt && f->lines[first].node != node)
		first++;
	for (*cnt = 0; first + *cnt < f->cnt && f->lines[first + *cnt].node == node;)
		++*cnt;
	return f->lines ? f->lines + first : NULL;
}

/* Differences of the nodes that are not fitted yet against @node. */
static bool gather(struct fitting *f, uint32_t node)
{
	size_t lines_cnt;
	const struct clock_line *lines = lines_of(f->to, node, &lines_cnt);

	for (size_t first = 0, next; first < f->cnt; first = next) {
		const struct clock_end *own = NULL;
		double ahead;

		for (next = first;
		     next < f->cnt && f->ends[next].collective == f->ends[first].collective; next++)
			if (f->ends[next].node == node)
				own = &f->ends[next];
		if (!own || next - first < 2)
			continue;
		ahead = ahead_at(lines, lines_cnt, own->end);
		for (size_t i = first; i < next; i++) {
			uint32_t other = f->ends[i].node;
			struct points *p = &f->of[other];

			if (f->fitted[other])
				continue;
			if (!grow(&p->list, p->cnt, &p->room, sizeof(*p->list)))
				return false;
			p->list[p->cnt++] = (struct point){
				f->ends[i].end, (double)(own->end - f->ends[i].end) + ahead};
		}
	}
	return true;
}

static bool fit_all(struct fitting *f)
{
	for (size_t at = 0; at < f->queued && f->queued < f->nodes; at++) {
		double error = error_of(f->to, f->queue[at]);

		if (!gather(f, f->queue[at]))
			return false;
		for (uint32_t n = 0; n < f->nodes; n++) {
			if (f->of[n].cnt >= LEAST_ENDS) {
				f->fitted[n] = true;
				f->queue[f->queued++] = n;
				if (!fit_node(f, n, error))
					return false;
			}
			f->of[n].cnt = 0;
		}
	}
	return true;
}

static int by_node(const void *a, const void *b)
{
	const struct clock_line *x = a, *y = b;

	if (x->node != y->node)
		return (x->node > y->node) - (x->node < y->node);
	return (x->time > y->time) - (x->time < y->time);
}

int clock_fit(struct clock_end *ends, size_t cnt, uint32_t nodes, struct clock_fit *to)
{
	struct fitting f = {.ends = ends, .cnt = cnt, .nodes = nodes, .to = to};
	bool ok;

	memset(to, 0, sizeof(*to));
	if (cnt)
		qsort(ends, cnt, sizeof(*ends), by_collective);
	to->reference = choose_reference(ends, cnt, nodes);
	f.of = calloc(nodes + 1, sizeof(*f.of));
	f.queue = calloc(nodes + 1, sizeof(*f.queue));
	f.fitted = calloc(nodes + 1, sizeof(*f.fitted));
	f.scratch = calloc(cnt + 1, sizeof(*f.scratch));
	ok = f.of && f.queue && f.fitted && f.scratch;
	if (ok && nodes) {
		f.queue[f.queued++] = to->reference;
		f.fitted[to->reference] = true;
		ok = fit_all(&f);
	}
	if (ok && to->cnt)
		qsort(to->lines, to->cnt, sizeof(*to->lines), by_node);
	for (uint32_t n = 0; f.of && n < nodes; n++)
		free(f.of[n].list);
	free(f.of);
	free(f.queue);
	free(f.fitted);
	free(f.scratch);
	return ok ? 0 : -1;
}

void clock_fit_free(struct clock_fit *f)
{
	free(f->lines);
	memset(f, 0, sizeof(*f));
}

double clock_fit_at(const struct clock_fit *f, uint32_t node, int64_t time)
{
	size_t cnt;
	const struct clock_line *lines = lines_of(f, node, &cnt);

	return ahead_at(lines, cnt, time);
}
