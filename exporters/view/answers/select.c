/* select.c - /v1/select: the events in a span, by kind of row and name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/slots.h"
#include "exporters/view/answers/flames.h"
#include "exporters/view/answers/fold.h"
#include "exporters/view/answers/select_internal.h"
#include "exporters/view/index/totals.h"

#define KEPT_MAX (8u << 20) /* durations of all names together, for medians */

uint64_t view_exact_most = KEPT_MAX;
size_t view_sample_min = 4096;

static bool is_range(enum view_kind kind)
{
	return kind == VIEW_NVTX || kind == VIEW_NVTX_GPU || kind == VIEW_ASYNC;
}

static bool fold(const struct select *s, uint32_t name, char to[VIEW_FOLD_MAX], size_t *len)
{
	const struct view_name *n = &s->v->names[name];

	return view_fold(n->text, n->len, to, len);
}

/* The first name that folds to the same text; the store's lock is held. */
static uint32_t stem_of(struct select *s, uint32_t name)
{
	char text[VIEW_FOLD_MAX], other[VIEW_FOLD_MAX];
	size_t len, other_len;
	uint32_t at, i, stem = name;
	uint64_t hash;

	if (!is_range(s->kind))
		return name;
	if (!s->stem)
		s->stem = calloc(s->name_cnt + 1, sizeof(*s->stem));
	if (!s->stem || s->stem[name])
		return s->stem ? s->stem[name] - 1 : name;
	if (fold(s, name, text, &len)) {
		hash = hash_bytes(0, text, len);
		for (i = slots_first(&s->stems, hash, &at); i != SLOTS_NONE;
		     i = slots_next(&s->stems, hash, &at))
			if (fold(s, i, other, &other_len) && len == other_len &&
			    memcmp(text, other, len) == 0)
				break;
		if (i != SLOTS_NONE)
			stem = i;
		else
			slots_add(&s->stems, hash, name);
	}
	s->stem[name] = stem + 1;
	return stem;
}

static struct group *group_of(struct select *s, uint32_t name)
{
	struct bucket *b = &s->buckets[s->bucket];
	char text[VIEW_FOLD_MAX];
	size_t len;
	uint32_t stem;

	if (!b->of_name)
		b->of_name = calloc(s->name_cnt + 1, sizeof(uint32_t));
	if (!b->of_name || name >= s->name_cnt)
		return NULL;
	if (b->of_name[name])
		return &s->groups[b->of_name[name] - 1];
	stem = stem_of(s, name);
	if (b->of_name[stem] == 0) {
		if (!grow(&s->groups, s->cnt, &s->room, sizeof(*s->groups)))
			return NULL;
		s->groups[s->cnt] =
			(struct group){.kind = s->kind,
				       .name = stem,
				       .row = b->row,
				       .is_folded = is_range(s->kind) && fold(s, stem, text, &len),
				       .min = INT64_MAX,
				       .p = -1};
		b->of_name[stem] = (uint32_t)++s->cnt;
	}
	b->of_name[name] = b->of_name[stem];
	return &s->groups[b->of_name[name] - 1];
}

/* The bucket of a row's events. False: no memory. */
static bool choose_bucket(struct select *s, const struct view_row *row)
{
	uint32_t own = row->kind == VIEW_NVTX_GPU ? row->id : 0;

	if (s->by_thread)
		own = row->parent && row->kind != VIEW_NVTX_GPU ? row->parent : row->id;
	s->kind = row->kind;
	for (s->bucket = 0; s->bucket < s->bucket_cnt; s->bucket++)
		if (s->buckets[s->bucket].kind == row->kind && s->buckets[s->bucket].row == own)
			return true;
	if (!grow(&s->buckets, s->bucket_cnt, &s->bucket_room, sizeof(*s->buckets)))
		return false;
	s->buckets[s->bucket_cnt++] = (struct bucket){.kind = row->kind, .row = own};
	return true;
}

struct group *view_group_of(struct select *s, const struct view_row *row, uint32_t name)
{
	return choose_bucket(s, row) ? group_of(s, name) : NULL;
}

/* In (0, 1). */
static double random_of(struct select *s)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return ((double)(s->random >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

/* Chooses the next duration to keep after number @after: Li's algorithm L. */
static void choose_next(struct select *s, struct group *g, uint64_t after)
{
	double skip;

	g->chance *= exp(log(random_of(s)) / (double)g->kept_cnt);
	skip = log(random_of(s)) / log1p(-g->chance);
	g->next = skip < 1e15 ? after + 1 + (uint64_t)skip : UINT64_MAX;
}

/* Keeps durations; beyond the limit each has the same chance to be among the kept ones. */
static void keep(struct select *s, struct group *g, int64_t dur)
{
	if (g->next == 0 && (s->kept < KEPT_MAX || g->kept_cnt < view_sample_min)) {
		if (grow(&g->kept, g->kept_cnt, &g->kept_room, sizeof(*g->kept))) {
			g->kept[g->kept_cnt++] = dur;
			s->kept++;
			return;
		}
	}
	if (g->next == 0) {
		g->chance = 1;
		choose_next(s, g, g->cnt - 1);
	}
	if (g->cnt < g->next || g->kept_cnt == 0)
		return;
	g->kept[(size_t)(random_of(s) * (double)g->kept_cnt)] = dur;
	choose_next(s, g, g->cnt);
}

static inline void add(struct select *s, struct group *g, int64_t dur)
{
	g->cnt++;
	if (__builtin_add_overflow(g->total, dur, &g->total))
		g->total = INT64_MAX;
	g->min = dur < g->min ? dur : g->min;
	g->max = dur > g->max ? dur : g->max;
	g->squares += (unsigned __int128)dur * (uint64_t)dur;
	/* Most durations are not kept once a name has its sample. */
	if (g->cnt >= g->next)
		keep(s, g, dur);
}

static void add_cut(struct cut *c, int64_t dur)
{
	c->min = c->cnt == 0 || dur < c->min ? dur : c->min;
	c->max = dur > c->max ? dur : c->max;
	c->cnt++;
	if (__builtin_add_overflow(c->total, dur, &c->total))
		c->total = INT64_MAX;
}

static int on_event(void *ctx, const struct view_event *e)
{
	struct select *s = ctx;
	struct group *g = group_of(s, e->name);
	int64_t start = e->start > s->from ? e->start : s->from;
	int64_t end = e->end < s->to ? e->end : s->to;

	if (!g) {
		s->failed = true;
		return -1;
	}
	s->events++;
	if (start > e->start || end < e->end)
		add_cut(&g->cut, end > start ? end - start : 0);
	else
		add(s, g, end > start ? end - start : 0);
	return 0;
}

/* Adds a block that lies wholly in the span. False: no more. */
static bool add_block(struct select *s, struct view_reader *r, uint32_t i)
{
	uint64_t dur[VIEW_BLOCK];
	uint32_t name[VIEW_BLOCK], *of_name = s->buckets[s->bucket].of_name;
	unsigned cnt = view_reader_durations(r, i, dur, name);

	for (unsigned k = 0; k < cnt; k++) {
		if (of_name && name[k] < s->name_cnt && of_name[name[k]])
			continue;
		if (!group_of(s, name[k])) {
			s->failed = true;
			return false;
		}
		of_name = s->buckets[s->bucket].of_name;
	}
	/* Damage may be anything. */
	for (unsigned k = 0; k < cnt; k++)
		add(s, &s->groups[of_name[name[k]] - 1],
		    dur[k] < VIEW_TIME_MAX ? (int64_t)dur[k] : VIEW_TIME_MAX);
	s->events += cnt;
	return cnt > 0;
}

/*
 * Adds some of the durations that a stretch keeps, each weighed by its share of the stretch: the fewer, the more the name has
 * already, for a median is as exact as its sample is large.
 */
static void weigh(struct select *s, struct group *g, const struct view_total *t)
{
	size_t halvings = g->weighed_cnt / view_sample_min;
	uint32_t cnt = s->kept < KEPT_MAX && halvings < 8 ? t->kept_cnt >> halvings : 0;
	double first;

	cnt = cnt ? cnt : 1;
	first = cnt < t->kept_cnt ? random_of(s) : 0;
	for (uint32_t i = 0; i < cnt; i++) {
		if (!grow(&g->weighed, g->weighed_cnt, &g->weighed_room, sizeof(*g->weighed)))
			return;
		g->weighed[g->weighed_cnt++] =
			(struct weighed){t->kept[(size_t)(((double)i + first) * t->kept_cnt / cnt)],
					 (float)t->cnt / (float)cnt};
	}
	s->kept += cnt;
}

static void on_total(void *ctx, const struct view_total *t)
{
	struct select *s = ctx;
	struct group *g = group_of(s, t->name);

	if (!g) {
		s->failed = true;
		return;
	}
	s->events += t->cnt;
	g->summed += t->cnt;
	if (__builtin_add_overflow(g->total, t->total, &g->total))
		g->total = INT64_MAX;
	g->min = t->min < g->min ? t->min : g->min;
	g->max = t->max > g->max ? t->max : g->max;
	g->squares += (unsigned __int128)t->squares[1] << 64 | t->squares[0];
	weigh(s, g, t);
}

/* Adds the stretch that begins with a block, if it lies wholly in the span. Returns the number of blocks. */
static uint32_t add_totals(struct select *s, struct view_reader *r, uint32_t i)
{
	const struct view_node *n;

	if (i % VIEW_TOTALS_BLOCKS != 0 ||
	    i / VIEW_TOTALS_BLOCKS >= r->lane->seen.cnt[VIEW_TOTALS_LEVEL])
		return 0;
	n = view_reader_node(r, VIEW_TOTALS_LEVEL, i / VIEW_TOTALS_BLOCKS);
	if (!n || n->start < s->from || n->end >= s->to || (n->flags & VIEW_OPEN))
		return 0;
	return view_reader_totals(r, i / VIEW_TOTALS_BLOCKS, on_total, s) ? VIEW_TOTALS_BLOCKS : 0;
}

static void add_lane(struct select *s, struct view_reader *r)
{
	uint32_t cnt = r->lane->seen.cnt[0], whole;
	struct view_event e[VIEW_BLOCK];

	for (uint32_t i = view_reader_find(r, s->from); i < cnt && !s->failed; i++) {
		while (s->by_totals && (whole = add_totals(s, r, i)) > 0)
			i += whole;
		if (i >= cnt || s->failed)
			return;

		const struct view_node *n = view_reader_node(r, 0, i);
		unsigned events;

		if (!n || n->start >= s->to)
			return;
		if (n->start >= s->from && n->end < s->to && !(n->flags & VIEW_OPEN)) {
			if (!add_block(s, r, i))
				return;
			continue;
		}
		events = view_reader_block(r, i, e);
		for (unsigned k = 0; k < events && !s->failed; k++)
			if (view_overlaps(&e[k], s->from, s->to))
				on_event(s, &e[k]);
		if (events == 0)
			return;
	}
}

static int64_t total_of(const struct group *g)
{
	int64_t total;

	return __builtin_add_overflow(g->total, g->cut.total, &total) ? INT64_MAX : total;
}

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (total_of(x) != total_of(y))
		return total_of(x) > total_of(y) ? -1 : 1;
	return (x->cnt < y->cnt) - (x->cnt > y->cnt);
}

static void put_group(struct writer *b, const struct select *s, struct group *g)
{
	struct view_store *v = s->v;
	double cnt = (double)g->cnt;
	bool is_whole = g->cnt > 0;
	char text[VIEW_FOLD_MAX];
	size_t len;

	json_open(b, NULL, '{');
	pthread_rwlock_rdlock(&v->lock);
	if (g->is_folded && view_fold(v->names[g->name].text, v->names[g->name].len, text, &len))
		json_bytes(b, "name", text, len);
	else
		json_bytes(b, "name", v->names[g->name].text, v->names[g->name].len);
	pthread_rwlock_unlock(&v->lock);
	json_bool(b, "folded", g->is_folded);
	if (g->row)
		js_int(b, "row", g->row);
	js_int(b, "name_id", g->name);
	js_text(b, "kind", view_kind_names[g->kind]);
	js_int(b, "count", (int64_t)(g->cnt + g->cut.cnt));
	js_int(b, "cut", (int64_t)g->cut.cnt);
	js_int(b, "total", total_of(g));
	if (s->has_inner)
		js_int(b, "self", total_of(g) > g->inner ? total_of(g) - g->inner : 0);
	if (g->p >= 0)
		json_real(b, "p", g->p);
	/* Where no event is whole, the parts are all there is. */
	json_real(b, "mean",
		  is_whole ? (double)g->total / cnt : (double)g->cut.total / (double)g->cut.cnt);
	json_real(b, "median", is_whole ? view_median_of(g) : (double)g->cut.max);
	js_int(b, "min", is_whole ? g->min : g->cut.min);
	js_int(b, "max", is_whole ? g->max : g->cut.max);
	json_real(b, "sd", view_deviation_of(g));
	json_bool(b, "exact_median", g->kept_cnt == g->cnt);
	json_close(b, '}');
}

/* Adds the durations of single events to the weighed ones of totals. */
static void join(struct group *g)
{
	uint64_t seen = g->cnt;

	g->cnt += g->summed;
	for (size_t i = 0; g->summed > 0 && i < g->kept_cnt; i++) {
		if (!grow(&g->weighed, g->weighed_cnt, &g->weighed_room, sizeof(*g->weighed)))
			return;
		g->weighed[g->weighed_cnt++] = (struct weighed){
			(float)g->kept[i], (float)((double)seen / (double)g->kept_cnt)};
	}
}

/* ---- counters ---- */

struct values {
	double least, most, sum;
	uint64_t cnt;
};

static int on_value(void *ctx, const struct view_event *e)
{
	struct values *c = ctx;
	double value = (double)e->row;

	if (e->flags & VIEW_REAL)
		memcpy(&value, &e->row, sizeof(value));
	if (isnan(value)) /* nothing is known from there on */
		return 0;
	c->least = c->cnt == 0 || value < c->least ? value : c->least;
	c->most = c->cnt == 0 || value > c->most ? value : c->most;
	c->sum += value;
	c->cnt++;
	return 0;
}

static void put_values(struct writer *b, const struct view_row *row, uint32_t lane,
		       const struct values *c)
{
	if (c->cnt == 0)
		return;
	json_open(b, NULL, '{');
	js_int(b, "lane", lane);
	js_text(b, "name", row->name);
	json_real(b, "min", c->least);
	json_real(b, "max", c->most);
	json_real(b, "mean", c->sum / (double)c->cnt);
	js_int(b, "count", (int64_t)c->cnt);
	json_close(b, '}');
}

/* ---- lanes ---- */

static enum view_kind kind_of(const struct view_reader *r)
{
	return r->v->rows[r->lane->row - 1]->kind;
}

/* Looks at one lane; lane by lane, so that the writer need not wait for all. Counters go to the reply at once. */
static void look_at(struct select *s, uint32_t lane, bool is_all, struct writer *counters)
{
	struct view_reader r = {.v = s->v};

	r.no_rows = counters == NULL;
	pthread_rwlock_rdlock(&s->v->lock);
	if (view_reader_lane(&r, lane) && (!is_all || !view_kind_repeats(kind_of(&r)))) {
		const struct view_row *row = s->v->rows[r.lane->row - 1];

		if (!choose_bucket(s, row))
			s->failed = true;
		else if (r.lane->is_counter && counters) {
			struct values c = {0};

			view_reader_each(&r, s->from, s->to, on_value, &c);
			put_values(counters, row, lane, &c);
		} else if (!r.lane->is_counter && !counters) {
			add_lane(s, &r);
		}
	}
	view_reader_end(&r);
}

static void look_at_all(struct select *s, const struct view_span *span, struct writer *counters)
{
	uint32_t cnt;

	pthread_rwlock_rdlock(&s->v->lock);
	cnt = span->lane_cnt ? span->lane_cnt : s->v->lane_cnt;
	pthread_rwlock_unlock(&s->v->lock);
	for (uint32_t i = 0; i < cnt && !s->failed; i++)
		look_at(s, span->lane_cnt ? span->lanes[i] : i + 1, span->lane_cnt == 0, counters);
}

/* Events of all lanes in the span, and some at its edges. */
static uint64_t about(struct select *s, const struct view_span *span)
{
	uint64_t blocks = 0;
	struct view_reader r = {.v = s->v};

	pthread_rwlock_rdlock(&s->v->lock);
	for (uint32_t i = 0; i < (span->lane_cnt ? span->lane_cnt : s->v->lane_cnt); i++) {
		uint32_t from, to;

		if (!view_reader_lane(&r, span->lane_cnt ? span->lanes[i] : i + 1) ||
		    r.lane->is_counter)
			continue;
		from = view_reader_find(&r, s->from);
		to = view_reader_find(&r, s->to);
		blocks += to > from ? to - from : 0;
	}
	view_reader_end(&r);
	return blocks * VIEW_BLOCK;
}

void view_select(struct select *s, struct view_store *v, const struct view_span *span)
{
	*s = (struct select){.v = v,
			     .from = span->from,
			     .to = span->to,
			     .by_thread = strcmp(span->by, "thread") == 0,
			     .random = 1};
	pthread_rwlock_rdlock(&v->lock);
	s->name_cnt = v->name_cnt;
	pthread_rwlock_unlock(&v->lock);
	s->by_totals = about(s, span) > view_exact_most;
	look_at_all(s, span, NULL);
	view_add_inner(s, span);
	for (size_t i = 0; i < s->cnt; i++)
		join(&s->groups[i]);
	if (s->cnt > 0)
		qsort(s->groups, s->cnt, sizeof(*s->groups), by_total);
}

void view_select_free(struct select *s)
{
	for (size_t i = 0; i < s->cnt; i++) {
		free(s->groups[i].kept);
		free(s->groups[i].weighed);
	}
	for (size_t i = 0; i < s->bucket_cnt; i++)
		free(s->buckets[i].of_name);
	free(s->buckets);
	free(s->stem);
	slots_free(&s->stems);
	free(s->groups);
}

/* Tests the names against those of the report that the body names. */
static void test(struct view_request *q, struct select *s, const struct view_span *span)
{
	const struct view_span there = {.from = span->other.from,
					.to = span->other.to,
					.lanes = span->other.lanes,
					.lane_cnt = span->other.lane_cnt};
	struct select other;

	if (span->other.report < 0 || span->other.report >= q->server->report_cnt)
		return;
	view_select(&other, q->server->reports[span->other.report].store, &there);
	view_test_names(s, &other);
	view_select_free(&other);
}

static void names(struct view_request *q, struct view_reply *a, const struct view_span *span)
{
	struct select s;
	struct writer *b = &a->body;
	int64_t covered = 0;

	view_select(&s, q->store, span);
	test(q, &s, span);
	for (size_t i = 0; i < s.cnt; i++)
		if (__builtin_add_overflow(covered, total_of(&s.groups[i]), &covered))
			covered = INT64_MAX;
	json_open(b, NULL, '{');
	js_int(b, "from", span->from);
	js_int(b, "to", span->to);
	js_int(b, "events", (int64_t)s.events);
	js_int(b, "covered", covered);
	json_open(b, "rows", '[');
	for (size_t i = 0; i < s.cnt && i < VIEW_ROWS_MAX; i++)
		put_group(b, &s, &s.groups[i]);
	json_close(b, ']');
	json_bool(b, "more", s.cnt > VIEW_ROWS_MAX);
	json_open(b, "counters", '[');
	look_at_all(&s, span, b);
	json_close(b, ']');
	json_close(b, '}');
	b->failed |= s.failed;
	view_select_free(&s);
}

void view_answer_select(struct view_request *q, struct view_reply *a)
{
	struct view_span span;

	if (!view_body_span(q->body, q->len, &span)) {
		view_refuse(a, 400,
			    "the body must be {\"from\": ns, \"to\": ns, \"lanes\": [...]}");
		return;
	}
	if (strncmp(span.table, "flame", 5) == 0)
		view_put_flame(q, a, &span);
	else
		names(q, a, &span);
	view_span_free(&span);
}
