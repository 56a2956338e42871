/* totals.c - records by name: summed up as blocks are written, and read again. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/view/index/totals.h"

/* ---- writing ---- */

static struct view_total *total_of(struct view_totals *s, uint32_t name)
{
	uint32_t at = hash_place(name, 9);

	/* Half of the slots are free. */
	for (; s->slot[at]; at = (at + 1) % VIEW_TOTALS_SLOTS)
		if (s->t[s->slot[at] - 1].name == name)
			return &s->t[s->slot[at] - 1];
	if (s->cnt == VIEW_TOTALS_NAMES || !grow(&s->t, s->cnt, &s->room, sizeof(*s->t)))
		return NULL;
	s->slot[at] = (uint8_t)(s->cnt + 1);
	s->t[s->cnt] = (struct view_total){.name = name, .min = INT64_MAX, .step = 1};
	return &s->t[s->cnt++];
}

/* Drops every other duration. */
static void thin(struct view_total *t)
{
	t->kept_cnt = (t->kept_cnt + 1) / 2;
	for (uint32_t i = 0; i < t->kept_cnt; i++)
		t->kept[i] = t->kept[2 * i];
	t->step *= 2;
}

/* Keeps each step-th duration, of steps that double: the kept ones are spread over the whole stretch. */
static void keep(struct view_total *t, int64_t dur)
{
	if (t->cnt & (t->step - 1))
		return;
	if (t->kept_cnt == VIEW_TOTALS_KEPT) {
		thin(t);
		if (t->cnt & (t->step - 1))
			return;
	}
	t->kept[t->kept_cnt++] = (float)dur;
}

static void add(struct view_total *t, int64_t dur)
{
	unsigned __int128 square = (unsigned __int128)dur * (uint64_t)dur;

	keep(t, dur);
	t->cnt++;
	t->total += dur;
	t->min = dur < t->min ? dur : t->min;
	t->max = dur > t->max ? dur : t->max;
	t->squares[1] += (uint64_t)(square >> 64) +
			 __builtin_add_overflow(t->squares[0], (uint64_t)square, &t->squares[0]);
}

void view_totals_add(struct view_totals *s, const struct view_event *e, unsigned cnt)
{
	for (unsigned i = 0; i < cnt && !s->is_off; i++) {
		struct view_total *t = NULL;
		int64_t dur = e[i].end - e[i].start;

		if (dur < VIEW_TOTALS_NS && !(e[i].flags & VIEW_OPEN))
			t = total_of(s, e[i].name);
		if (t)
			add(t, dur);
		else
			s->is_off = true;
	}
}

void view_totals_begin(struct view_totals *s)
{
	s->cnt = 0;
	s->is_off = false;
	memset(s->slot, 0, sizeof(s->slot));
}

size_t view_totals_pack(struct view_totals *s, uint8_t *to)
{
	uint8_t *p = to + sizeof(s->cnt);

	memcpy(to, &s->cnt, sizeof(s->cnt));
	for (uint32_t i = 0; i < s->cnt && !s->is_off; i++) {
		size_t len;

		if (s->cnt > VIEW_TOTALS_FEW && s->t[i].kept_cnt > VIEW_TOTALS_KEPT / 2)
			thin(&s->t[i]);
		len = VIEW_TOTAL_BYTES + s->t[i].kept_cnt * sizeof(float);
		memcpy(p, &s->t[i], len);
		p += len;
	}
	return s->is_off || s->cnt == 0 ? 0 : (size_t)(p - to);
}

void view_totals_free(struct view_totals *s)
{
	free(s->t);
	s->t = NULL;
	s->cnt = s->room = 0;
}

/* ---- reading: the bytes may be damaged ---- */

static bool get(const uint8_t **p, const uint8_t *end, struct view_total *t)
{
	size_t kept;

	if ((size_t)(end - *p) < VIEW_TOTAL_BYTES)
		return false;
	memcpy(t, *p, VIEW_TOTAL_BYTES);
	*p += VIEW_TOTAL_BYTES;
	kept = t->kept_cnt * sizeof(float);
	if (t->kept_cnt > VIEW_TOTALS_KEPT || (size_t)(end - *p) < kept)
		return false;
	memcpy(t->kept, *p, kept);
	*p += kept;
	return t->cnt > 0 && t->min >= 0 && t->min <= t->max && t->max < VIEW_TOTALS_NS &&
	       t->total >= 0 && t->kept_cnt > 0;
}

static bool each_of(const struct view_reader *r, const uint8_t *p, const uint8_t *end,
		    void (*each)(void *ctx, const struct view_total *t), void *ctx)
{
	struct view_total t;
	uint32_t cnt;

	if ((size_t)(end - p) < sizeof(cnt))
		return false;
	memcpy(&cnt, p, sizeof(cnt));
	p += sizeof(cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		if (i == VIEW_TOTALS_NAMES || !get(&p, end, &t) || t.name >= r->v->name_cnt)
			return false;
		if (each)
			each(ctx, &t);
	}
	return cnt > 0;
}

bool view_reader_totals(struct view_reader *r, uint32_t i,
			void (*each)(void *ctx, const struct view_total *t), void *ctx)
{
	const struct view_node *n = view_reader_node(r, VIEW_TOTALS_LEVEL, i);
	uint32_t at = n ? (uint32_t)(n->where & 0xFFFF) : 0;
	struct view_page *page;
	bool ok;

	if (!n || n->where == 0)
		return false;
	page = view_page_get(r->v->side, n->where >> 16, at + 1, r->lane->id, VIEW_LEVEL_TOTALS);
	/* All records are checked before the first is counted. */
	ok = page && at >= VIEW_EXTENT_HEAD &&
	     each_of(r, page->data + at, page->data + page->used, NULL, NULL);
	if (ok)
		each_of(r, page->data + at, page->data + page->used, each, ctx);
	if (page)
		view_page_put(r->v->side, page);
	r->is_damaged |= !ok;
	return ok;
}
