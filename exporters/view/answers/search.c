/* search.c - /v1/search: the next event whose name contains a text, and the number of such events. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/fold.h"
#include "exporters/view/answers/where.h"

#define NAMES_MAX 100

struct search {
	struct view_store *v;
	uint8_t *wanted;                /* by number of a name: 1 */
	uint64_t bits[VIEW_NAME_WORDS]; /* of the wanted names */
	uint32_t name_cnt;
	uint64_t *count; /* by number of a name */
	bool *lanes;     /* by id; NULL: all */
	uint32_t lane_cnt;
	int64_t t;
	int dir;
	bool found;
	struct view_place best;
	uint64_t total;
	uint32_t lane, row; /* the searched ones */
};

static bool has(const char *text, size_t len, const char *part, size_t want)
{
	for (size_t at = 0; at + want <= len; at++) {
		size_t i = 0;

		while (i < want && tolower((unsigned char)text[at + i]) == (unsigned char)part[i])
			i++;
		if (i == want)
			return true;
	}
	return false;
}

/* Does the name fold to @q? */
static bool folds_to(const struct view_name *n, const char *q, size_t len)
{
	char text[VIEW_FOLD_MAX];
	size_t folded;

	view_fold(n->text, n->len, text, &folded);
	return folded == len && memcmp(text, q, len) == 0;
}

/* Chooses the names that match @q: "=name", "~folded name", or a part of it. */
static bool choose(struct search *s, char *q)
{
	size_t len;
	bool any = false, exact = *q == '=', folded = *q == '~';

	q += exact || folded;
	len = strlen(q);
	for (char *p = q; !exact && !folded && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (uint32_t i = 0; i < s->name_cnt; i++) {
		const struct view_name *n = &s->v->names[i];

		s->wanted[i] = exact    ? n->len == len && memcmp(n->text, q, len) == 0
			       : folded ? folds_to(n, q, len)
					: len > 0 && has(n->text, n->len, q, len);
		if (s->wanted[i])
			s->bits[view_name_bit(i) / 64] |= UINT64_C(1) << view_name_bit(i) % 64;
		any |= s->wanted[i];
	}
	return any;
}

static void look(struct search *s, const struct view_event *e)
{
	bool is_beyond = s->dir > 0 ? e->start > s->t : e->start < s->t;
	bool is_nearer =
		!s->found || (s->dir > 0 ? e->start < s->best.e.start : e->start > s->best.e.start);

	if (e->name >= s->name_cnt || !s->wanted[e->name])
		return;
	s->total++;
	s->count[e->name]++;
	if (!is_beyond || !is_nearer)
		return;
	s->found = true;
	s->best = (struct view_place){s->lane, s->row, *e};
}

static bool may_have(const struct search *s, const struct view_seen *seen)
{
	for (int i = 0; i < VIEW_NAME_WORDS; i++)
		if (s->bits[i] & seen->names[i])
			return true;
	return false;
}

static enum view_kind kind_of(const struct view_store *v, uint32_t lane)
{
	return v->rows[v->lanes[lane - 1]->row - 1]->kind;
}

/* All events of all lanes that may have such names: packed as they are, that takes a tenth of a second for each ten millions. */
static void scan(struct search *s)
{
	struct view_event e[VIEW_BLOCK];
	struct view_reader r = {.v = s->v};

	r.no_rows = true;
	for (uint32_t lane = 1;; lane++) {
		pthread_rwlock_rdlock(&s->v->lock);
		if (lane > s->v->lane_cnt) {
			pthread_rwlock_unlock(&s->v->lock);
			return;
		}
		if ((s->lanes ? lane <= s->lane_cnt && s->lanes[lane]
			      : !view_kind_repeats(kind_of(s->v, lane))) &&
		    view_reader_lane(&r, lane) && !r.lane->is_counter &&
		    may_have(s, &r.lane->seen)) {
			s->lane = lane;
			s->row = r.lane->row;
			for (uint32_t i = 0; i < r.lane->seen.cnt[0]; i++) {
				unsigned n = view_reader_block(&r, i, e);

				for (unsigned k = 0; k < n; k++)
					look(s, &e[k]);
				if (n == 0)
					break;
			}
		}
		view_reader_end(&r);
	}
}

/* "1,2,3" as flags of lanes. */
static bool *lanes_of(struct view_store *v, const char *list, uint32_t *lane_cnt)
{
	uint32_t cnt;
	bool *lanes;

	pthread_rwlock_rdlock(&v->lock);
	cnt = v->lane_cnt;
	pthread_rwlock_unlock(&v->lock);
	*lane_cnt = cnt;
	lanes = calloc((size_t)cnt + 1, sizeof(*lanes));
	for (const char *p = list; lanes && *p;) {
		char *end;
		unsigned long lane = strtoul(p, &end, 10);

		if (end == p)
			break;
		if (lane <= cnt)
			lanes[lane] = true;
		p = *end == ',' ? end + 1 : end;
	}
	return lanes;
}

static void put_names(struct writer *b, struct search *s)
{
	json_open(b, "names", '[');
	for (int n = 0; n < NAMES_MAX; n++) {
		uint32_t best = 0;

		for (uint32_t i = 0; i < s->name_cnt; i++)
			best = s->count[i] > s->count[best] ? i : best;
		if (s->count[best] == 0)
			break;
		json_open(b, NULL, '[');
		pthread_rwlock_rdlock(&s->v->lock);
		json_bytes(b, NULL, s->v->names[best].text, s->v->names[best].len);
		pthread_rwlock_unlock(&s->v->lock);
		js_int(b, NULL, (int64_t)s->count[best]);
		json_close(b, ']');
		s->count[best] = 0;
	}
	json_close(b, ']');
}

void view_answer_search(struct view_request *q, struct view_reply *a)
{
	struct search s = {.v = q->store, .dir = 1, .t = INT64_MIN};
	char *text = view_param_text(q, "q"), *list = view_param_text(q, "lanes");
	int64_t dir = 1, all = 0;
	bool any;

	if (!text || !*text) {
		free(text);
		free(list);
		view_refuse(a, 400, "a text to look for is needed");
		return;
	}
	view_param_int(q, "t", &s.t);
	view_param_int(q, "dir", &dir);
	view_param_int(q, "all", &all);
	s.dir = dir < 0 ? -1 : 1;
	s.lanes = list ? lanes_of(q->store, list, &s.lane_cnt) : NULL;
	pthread_rwlock_rdlock(&q->store->lock);
	s.name_cnt = q->store->name_cnt;
	s.wanted = calloc(s.name_cnt + 1, 1);
	s.count = calloc(s.name_cnt + 1, sizeof(*s.count));
	any = s.wanted && s.count && (!list || s.lanes) && choose(&s, text);
	pthread_rwlock_unlock(&q->store->lock);
	if (any)
		scan(&s);
	/* Now with its row. */
	if (s.found)
		s.found = view_find_named(q->store, s.best.lane, s.best.e.start, s.best.e.name,
					  &s.best);
	json_open(&a->body, NULL, '{');
	json_bool(&a->body, "found", s.found);
	if (s.found)
		view_put_place(&a->body, "event", q->store, &s.best);
	js_int(&a->body, "total", (int64_t)s.total);
	if (all && s.count)
		put_names(&a->body, &s);
	json_close(&a->body, '}');
	a->body.failed |= !s.wanted || !s.count || (list && !s.lanes);
	free(s.wanted);
	free(s.count);
	free(s.lanes);
	free(text);
	free(list);
}
