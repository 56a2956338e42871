/* compare_pool.c - names that only count become one row. */
#include <stdlib.h>
#include <string.h>

#include "exporters/compare/compare.h"

struct member {
	const char *alike;
	size_t row;
	bool is_left; /* some set has no such name */
	bool can_pool;
};

static int by_alike(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->alike, y->alike);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static struct member member_of(const struct comparison *c, size_t at)
{
	struct member m = {.row = at, .can_pool = true, .alike = ""};

	for (size_t s = 0; s < c->set_cnt; s++) {
		const struct compare_figure *f = &c->rows[at].figure[s];

		m.is_left |= !f->is_there;
		for (size_t r = 0; r < c->sets[s].cnt; r++) {
			if (!f->items[r])
				continue;
			m.alike = f->items[r]->alike;
			m.can_pool &= f->items[r]->few != NULL;
		}
	}
	return m;
}

/* Do they only count? One here and one there may be the same thing under two names: not for us. */
static bool is_counting(const struct member *m, size_t cnt)
{
	size_t left = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (!m[i].can_pool)
			return false;
		left += m[i].is_left;
	}
	return cnt > 2 && 2 * left > cnt;
}

static int by_value(const void *a, const void *b)
{
	const struct compare_sample *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* All that a run has of the likeness, as one item; *item = NULL when it has none. */
static int pool_run(struct comparison *c, const struct member *m, size_t cnt, size_t s, size_t r,
		    struct compare_item **item)
{
	struct compare_item **more, *made;
	size_t samples = 0;

	*item = NULL;
	for (size_t i = 0; i < cnt; i++) {
		const struct compare_item *one = c->rows[m[i].row].figure[s].items[r];

		samples += one ? one->few_cnt : 0;
	}
	if (!samples)
		return 0;
	more = reallocarray(c->pooled, c->pooled_cnt + 1, sizeof(struct compare_item *));
	if (!more)
		return -1;
	c->pooled = more;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -1;
	c->pooled[c->pooled_cnt++] = made;
	made->name = strdup(m->alike);
	made->alike = strdup(m->alike);
	made->few = calloc(samples, sizeof(*made->few));
	if (!made->name || !made->alike || !made->few)
		return -1;
	for (size_t i = 0; i < cnt; i++) {
		const struct compare_item *one = c->rows[m[i].row].figure[s].items[r];

		if (!one)
			continue;
		memcpy(made->few + made->few_cnt, one->few, one->few_cnt * sizeof(*one->few));
		made->few_cnt += one->few_cnt;
	}
	qsort(made->few, made->few_cnt, sizeof(*made->few), by_value);
	compare_summarize(made->few, made->few_cnt, made->metric);
	*item = made;
	return 0;
}

static int pool(struct comparison *c, const struct member *m, size_t cnt)
{
	struct compare_row *row = compare_new_row(c, c->rows[m->row].kind, "");

	if (!row)
		return -1;
	for (size_t s = 0; s < c->set_cnt; s++)
		for (size_t r = 0; r < c->sets[s].cnt; r++) {
			struct compare_item *item;

			if (pool_run(c, m, cnt, s, r, &item) != 0)
				return -1;
			if (!item)
				continue;
			row->name = item->name;
			row->figure[s].items[r] = item;
			row->figure[s].is_there = true;
		}
	for (size_t i = 0; i < cnt; i++)
		for (size_t s = 0; s < c->set_cnt; s++)
			c->rows[m[i].row].figure[s].is_there = false;
	return 0;
}

int compare_pool(struct comparison *c, size_t first)
{
	size_t cnt = c->row_cnt - first;
	struct member *m = calloc(cnt + 1, sizeof(*m));
	int rc = 0;

	if (!m)
		return -1;
	for (size_t i = 0; i < cnt; i++)
		m[i] = member_of(c, first + i);
	qsort(m, cnt, sizeof(*m), by_alike);
	for (size_t i = 0, j; i < cnt && rc == 0; i = j) {
		for (j = i; j < cnt && strcmp(m[j].alike, m[i].alike) == 0; j++)
			;
		if (is_counting(&m[i], j - i))
			rc = pool(c, &m[i], j - i);
	}
	free(m);
	return rc;
}
