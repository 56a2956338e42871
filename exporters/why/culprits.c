/* culprits.c - which lines of the program the time is due to. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/why/why.h"

static bool is_own(const struct why *y, uint32_t place)
{
	return place != PLACE_NONE && y->walk.places.list[place].is_own;
}

/* The line that a leaf is due to: its own, else that of the nearest wait on the way to it which has one. */
static uint32_t line_of(const struct why *y, const struct why_leaf *l, uint32_t *process)
{
	const struct walk *w = &y->walk;

	*process = l->process;
	if (is_own(y, l->cause.place))
		return l->cause.place;
	for (uint32_t hop = l->hop; hop; hop = w->hops[hop].parent)
		if (is_own(y, w->hops[hop].cause.place)) {
			*process = w->m->threads[w->hops[hop].thread].process;
			return w->hops[hop].cause.place;
		}
	return l->cause.place;
}

static bool counts(const struct why_leaf *l)
{
	return l->cause.reason != WHY_IMPORT && l->cause.reason != WHY_UNKNOWN;
}

static void add_to(struct why_culprit *c, const struct why_leaf *l)
{
	c->sure = (c->sure * (double)c->ns + l->sure * (double)l->ns) / (double)(c->ns + l->ns);
	c->ns += l->ns;
	c->of_reason[l->cause.reason] += l->ns;
	/* A wait for a CPU explains least. */
	if (l->ns <= c->part_ns && c->part.cause.reason != WHY_NO_CPU)
		return;
	if (l->cause.reason == WHY_NO_CPU && c->part_ns)
		return;
	c->part_ns = l->ns;
	c->part = (struct why_part){.cause = l->cause,
				    .process = l->process,
				    .thread = l->thread,
				    .hop = l->hop,
				    .ns = l->ns,
				    .cnt = l->cnt,
				    .sure = l->sure};
}

static void merge(struct why_culprit *to, struct why_culprit *from)
{
	to->sure = (to->sure * (double)to->ns + from->sure * (double)from->ns) /
		   (double)(to->ns + from->ns);
	to->ns += from->ns;
	for (unsigned r = 0; r < WHY_REASON_CNT; r++)
		to->of_reason[r] += from->of_reason[r];
	from->ns = 0;
}

/* What it took without the waits for a CPU, which may be due to other programs, and without the work that a GPU is there for. */
static int64_t weight(const struct why_culprit *c)
{
	return c->ns - c->of_reason[WHY_NO_CPU] - c->of_reason[WHY_GPU] -
	       c->of_reason[WHY_GPU_KERNEL];
}

static int by_weight(const void *a, const void *b)
{
	const struct why_culprit *x = a, *y = b;

	if (weight(x) != weight(y))
		return weight(x) < weight(y) ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool computes(const struct why_culprit *c)
{
	return 2 * (c->of_reason[WHY_COMPUTE] + c->of_reason[WHY_KERNEL] +
		    c->of_reason[WHY_NO_CPU]) >=
	       c->ns;
}

static bool same_function(const struct place *a, const struct place *b)
{
	return a->file && b->file && a->function && b->function &&
	       strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
	       strcmp(a->function, "<module>") != 0;
}

/* The samples of a loop are spread over its lines: the first, which has most, gets those of the others. */
static void join_functions(struct why *y)
{
	const struct place *places = y->walk.places.list;
	size_t cnt = y->culprits_cnt < 256 ? y->culprits_cnt : 256;

	for (size_t i = 0; i < cnt; i++) {
		if (!y->culprits[i].ns || !computes(&y->culprits[i]))
			continue;
		for (size_t k = i + 1; k < cnt; k++)
			if (y->culprits[k].ns && computes(&y->culprits[k]) &&
			    same_function(&places[y->culprits[i].place],
					  &places[y->culprits[k].place]))
				merge(&y->culprits[i], &y->culprits[k]);
	}
}

/*
 * The culprit that a leaf belongs to: its line's. Where nothing was sampled, what has no line is its process's: with samples it
 * is the start of a program or of its interpreter. NULL: none; *@rc: not SQLITE_OK: no memory.
 */
static struct why_culprit *culprit_of(struct why *y, const struct why_leaf *l, uint32_t *of_place,
				      uint32_t *of_process, int *rc)
{
	uint32_t process, place = line_of(y, l, &process), *number = &of_place[place];

	if (place == PLACE_NONE) {
		if (y->model.has_samples)
			return NULL;
		number = &of_process[process];
	}
	if (!*number) {
		if (!grow(&y->culprits, y->culprits_cnt, &y->culprits_room, sizeof(*y->culprits))) {
			*rc = SQLITE_NOMEM;
			return NULL;
		}
		y->culprits[y->culprits_cnt++] =
			(struct why_culprit){.place = place, .process = process};
		*number = (uint32_t)y->culprits_cnt;
	}
	return &y->culprits[*number - 1];
}

static int collect(struct why *y)
{
	const struct walk *w = &y->walk;
	uint32_t *of_place = calloc(w->places.cnt, sizeof(*of_place)); /* number + 1 */
	uint32_t *of_process = calloc(y->model.processes_cnt + 1, sizeof(*of_process));
	int rc = of_place && of_process ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; rc == SQLITE_OK && i < w->leaves_cnt; i++) {
		const struct why_leaf *l = &w->leaves[i];
		struct why_culprit *c =
			counts(l) ? culprit_of(y, l, of_place, of_process, &rc) : NULL;

		if (c)
			add_to(c, l);
	}
	free(of_place);
	free(of_process);
	return rc;
}

int why_find_culprits(struct why *y)
{
	int rc = collect(y);
	size_t kept = 0;

	if (rc != SQLITE_OK || !y->culprits_cnt)
		return rc;
	qsort(y->culprits, y->culprits_cnt, sizeof(*y->culprits), by_weight);
	join_functions(y);
	qsort(y->culprits, y->culprits_cnt, sizeof(*y->culprits), by_weight);
	for (size_t i = 0; i < y->culprits_cnt; i++)
		if (y->culprits[i].ns)
			y->culprits[kept++] = y->culprits[i];
	y->culprits_cnt = kept;
	return SQLITE_OK;
}

uint32_t why_main_reason(const struct why_culprit *c)
{
	uint32_t best = WHY_NO_CPU;

	for (uint32_t r = 0; r < WHY_REASON_CNT; r++)
		if (r != WHY_NO_CPU && c->of_reason[r] &&
		    (best == WHY_NO_CPU || c->of_reason[r] > c->of_reason[best]))
			best = r;
	return best;
}
