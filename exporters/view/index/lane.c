/* lane.c - writing a lane: events to blocks, blocks to nodes, both to extents of the side file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/view/index/lane.h"

/* A level above the first has an eighth of its nodes: large extents would take more memory while they fill than they spare. */
static unsigned class_max(uint32_t level)
{
	return level == 0 || level == VIEW_LEVEL_BLOCKS ? VIEW_CLASSES - 1 : VIEW_CLASSES - 2;
}

uint32_t view_node_extent(uint32_t level, uint32_t i, uint32_t *at)
{
	unsigned most = class_max(level);
	uint32_t cnt = 0;

	for (uint32_t k = 0; k <= most; k++) {
		cnt = (view_class_bytes[k] - VIEW_EXTENT_HEAD) / sizeof(struct view_node);
		if (k == most)
			break;
		if (i < cnt) {
			*at = i;
			return k;
		}
		i -= cnt;
	}
	*at = i % cnt;
	return most + i / cnt;
}

/* ---- extents ---- */

static int flush(struct view_store *v, struct view_lane *lane, struct view_fill *f, uint32_t level)
{
	if (!f->is_dirty)
		return 0;
	f->is_dirty = false;
	return view_side_write(v->side, f->ref, f->data, f->used, lane->id, level);
}

/* Makes room for @len bytes more. */
static int fill_room(struct view_store *v, struct view_lane *lane, struct view_fill *f,
		     uint32_t level, uint32_t len)
{
	unsigned class;
	uint8_t *more;

	if (f->data && f->used + len <= f->room)
		return 0;
	if (f->data && flush(v, lane, f, level) < 0)
		return -1;
	class = f->made < class_max(level) ? f->made : class_max(level);
	/* Some blocks and totals do not fit the smallest extent. */
	while (len > view_class_bytes[class] - VIEW_EXTENT_HEAD)
		class ++;
	if (!f->data || f->room < view_class_bytes[class]) {
		more = realloc(f->data, view_class_bytes[class]);
		if (!more)
			return -1;
		f->data = more;
	}
	f->room = view_class_bytes[class];
	memset(f->data, 0, f->room);
	f->ref = view_side_room(v->side, class);
	f->used = VIEW_EXTENT_HEAD;
	f->made++;
	if (level < VIEW_LEVELS) {
		struct view_refs *r = &lane->w->now.refs[level];

		if (!grow(&r->ref, r->cnt, &r->room, sizeof(*r->ref)))
			return -1;
		r->ref[r->cnt++] = f->ref;
	}
	return 0;
}

/* ---- nodes ---- */

/* The two names with most weight, of a few. */
#define TALLY_SLOTS (4 * VIEW_BLOCK)
struct tally {
	uint32_t name[2 * VIEW_BLOCK];
	float weight[2 * VIEW_BLOCK];
	uint8_t slot[TALLY_SLOTS]; /* by name: its number, + 1; half of them are free */
	unsigned cnt;
};

static void tally_begin(struct tally *t)
{
	t->cnt = 0;
	memset(t->slot, 0, sizeof(t->slot));
}

static void tally_add(struct tally *t, uint32_t name, float weight)
{
	uint32_t at = hash_place(name, 16) % TALLY_SLOTS;

	for (; t->slot[at]; at = (at + 1) % TALLY_SLOTS)
		if (t->name[t->slot[at] - 1] == name) {
			t->weight[t->slot[at] - 1] += weight;
			return;
		}
	t->name[t->cnt] = name;
	t->weight[t->cnt] = weight;
	t->slot[at] = (uint8_t)++t->cnt;
}

static void tally_best(const struct tally *t, struct view_node *n)
{
	n->weight[0] = n->weight[1] = 0;
	n->name[0] = n->name[1] = 0;
	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->weight[i] > n->weight[0]) {
			n->name[1] = n->name[0];
			n->weight[1] = n->weight[0];
			n->name[0] = t->name[i];
			n->weight[0] = t->weight[i];
		} else if (t->weight[i] > n->weight[1]) {
			n->name[1] = t->name[i];
			n->weight[1] = t->weight[i];
		}
	}
}

static int64_t sum_of(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void node_of_block(const struct view_lane *lane, const struct view_event *e, unsigned cnt,
			  struct view_node *n)
{
	struct tally t;

	tally_begin(&t);
	memset(n, 0, sizeof(*n));
	n->start = e[0].start;
	n->end = e[cnt - 1].end;
	n->cnt = cnt;
	if (lane->is_counter) {
		n->least = n->most = view_event_value(&e[0]);
		n->last = view_event_value(&e[cnt - 1]);
	}
	for (unsigned i = 0; i < cnt; i++) {
		int64_t dur = e[i].end - e[i].start;

		n->flags |= e[i].flags;
		if (lane->is_counter) {
			double value = view_event_value(&e[i]);

			/* NaN: a gap, which is no value. */
			n->least = fmin(n->least, value);
			n->most = fmax(n->most, value);
			n->sum += isnan(value) ? 0 : value;
			continue;
		}
		n->covered = sum_of(n->covered, dur);
		n->longest = dur > n->longest ? dur : n->longest;
		tally_add(&t, e[i].name, VIEW_WEIGHT(dur));
	}
	if (!lane->is_counter)
		tally_best(&t, n);
}

static void node_of_nodes(const struct view_lane *lane, const struct view_node *of,
			  struct view_node *n)
{
	struct tally t;

	tally_begin(&t);
	memset(n, 0, sizeof(*n));
	n->start = of[0].start;
	n->end = of[VIEW_FAN - 1].end;
	if (lane->is_counter) {
		n->least = of[0].least;
		n->most = of[0].most;
		n->last = of[VIEW_FAN - 1].last;
	}
	for (unsigned i = 0; i < VIEW_FAN; i++) {
		n->cnt += of[i].cnt;
		n->flags |= of[i].flags;
		if (lane->is_counter) {
			n->least = fmin(n->least, of[i].least);
			n->most = fmax(n->most, of[i].most);
			n->sum += of[i].sum;
			continue;
		}
		n->covered = sum_of(n->covered, of[i].covered);
		n->longest = of[i].longest > n->longest ? of[i].longest : n->longest;
		for (int k = 0; k < 2; k++)
			if (of[i].weight[k] > 0)
				tally_add(&t, of[i].name[k], of[i].weight[k]);
	}
	if (!lane->is_counter)
		tally_best(&t, n);
}

/* Writes the totals of the last 512 blocks, with their place in the node above them. */
static int put_totals(struct view_store *v, struct view_lane *lane, struct view_node *n)
{
	struct view_lane_writer *w = lane->w;
	uint8_t packed[VIEW_TOTALS_BYTES];
	size_t len = view_totals_pack(&w->sums, packed);

	view_totals_begin(&w->sums);
	if (len == 0)
		return 0;
	if (fill_room(v, lane, &w->totals, VIEW_LEVEL_TOTALS, (uint32_t)len) < 0)
		return -1;
	n->where = w->totals.ref << 16 | w->totals.used;
	memcpy(w->totals.data + w->totals.used, packed, len);
	w->totals.used += (uint32_t)len;
	w->totals.is_dirty = true;
	return 0;
}

static int put_node(struct view_store *v, struct view_lane *lane, struct view_node *n)
{
	struct view_lane_writer *w = lane->w;
	struct view_node up;

	for (uint32_t level = 0; level < VIEW_LEVELS; level++) {
		struct view_fill *f = &w->nodes[level];
		uint32_t i = w->now.cnt[level];

		if (fill_room(v, lane, f, level, sizeof(*n)) < 0)
			return -1;
		if (!w->last[level]) {
			w->last[level] = calloc(VIEW_FAN, sizeof(*n));
			if (!w->last[level])
				return -1;
		}
		memcpy(f->data + f->used, n, sizeof(*n));
		f->used += sizeof(*n);
		f->is_dirty = true;
		w->last[level][i % VIEW_FAN] = *n;
		w->now.cnt[level]++;
		if (i % VIEW_FAN != VIEW_FAN - 1)
			break;
		node_of_nodes(lane, w->last[level], &up);
		if (level + 1 == VIEW_TOTALS_LEVEL && put_totals(v, lane, &up) < 0)
			return -1;
		n = &up;
	}
	return 0;
}

static void count_block(struct view_seen *now, const struct view_event *e, unsigned cnt)
{
	if (now->events == 0)
		now->first = e[0].start;
	now->events += cnt;
	now->last = e[cnt - 1].flags & VIEW_OPEN ? e[cnt - 1].start : e[cnt - 1].end;
	for (unsigned i = 0; i < cnt; i++) {
		uint32_t bit = view_name_bit(e[i].name);

		now->names[bit / 64] |= UINT64_C(1) << bit % 64;
		if (!(e[i].flags & VIEW_OPEN))
			now->busy = sum_of(now->busy, e[i].end - e[i].start);
	}
}

static int put_block(struct view_store *v, struct view_lane *lane)
{
	struct view_lane_writer *w = lane->w;
	uint8_t packed[VIEW_BLOCK_MAX];
	struct view_node n;
	size_t len;

	if (w->open_cnt == 0)
		return 0;
	count_block(&w->now, w->open, w->open_cnt);
	node_of_block(lane, w->open, w->open_cnt, &n);
	if (!lane->is_counter)
		view_totals_add(&w->sums, w->open, w->open_cnt);
	len = view_pack(w->open, w->open_cnt, packed);
	if (fill_room(v, lane, &w->blocks, VIEW_LEVEL_BLOCKS, (uint32_t)len) < 0)
		return -1;
	n.where = w->blocks.ref << 16 | w->blocks.used;
	memcpy(w->blocks.data + w->blocks.used, packed, len);
	w->blocks.used += (uint32_t)len;
	w->blocks.is_dirty = true;
	w->open_cnt = 0;
	return put_node(v, lane, &n);
}

/* ---- events ---- */

struct view_lane_writer *view_lane_writer_of(struct view_lane *lane)
{
	if (!lane->w) {
		lane->w = calloc(1, sizeof(*lane->w));
		if (lane->w)
			lane->w->end = INT64_MIN;
	}
	return lane->w;
}

int view_lane_put(struct view_store *v, struct view_lane *lane, struct view_event *e)
{
	struct view_lane_writer *w = view_lane_writer_of(lane);

	if (!w)
		return -1;
	/* Only where events come out of order: a lane stays in order even then. */
	if (e->start < w->end) {
		v->disordered++;
		e->start = w->end;
		e->end = e->end < e->start ? e->start : e->end;
	}
	w->end = e->end;
	if (!(lane->sources >> e->source & 1)) {
		pthread_rwlock_wrlock(&v->lock);
		lane->sources |= 1u << e->source;
		pthread_rwlock_unlock(&v->lock);
	}
	w->open[w->open_cnt++] = *e;
	return w->open_cnt == VIEW_BLOCK ? put_block(v, lane) : 0;
}

int view_lane_value(struct view_store *v, struct view_lane *lane, int64_t ts, bool is_real,
		    int64_t value, int64_t source)
{
	struct view_event e = {.start = ts,
			       .end = ts,
			       .row = value,
			       .source = (uint8_t)source,
			       .flags = is_real ? VIEW_REAL : 0};
	double real = view_event_value(&e);
	struct view_seen *now;
	bool is_first;

	if (!view_lane_writer_of(lane))
		return -1;
	now = &lane->w->now;
	is_first = now->events == 0 && lane->w->open_cnt == 0;
	now->least = is_first || real < now->least ? real : now->least;
	now->most = is_first || real > now->most ? real : now->most;
	return view_lane_put(v, lane, &e);
}

/* ---- for readers ---- */

static int refs_copy(struct view_refs *to, const struct view_refs *from)
{
	if (from->cnt > to->room) {
		view_ref *more = reallocarray(to->ref, from->room, sizeof(*more));

		if (!more)
			return -1;
		to->ref = more;
		to->room = from->room;
	}
	if (from->cnt > to->cnt)
		memcpy(to->ref + to->cnt, from->ref + to->cnt,
		       (from->cnt - to->cnt) * sizeof(*to->ref));
	to->cnt = from->cnt;
	return 0;
}

int view_lane_publish(struct view_store *v, struct view_lane *lane)
{
	struct view_lane_writer *w = lane->w;
	struct view_seen *seen = &lane->seen;
	int rc = put_block(v, lane);

	rc |= flush(v, lane, &w->blocks, VIEW_LEVEL_BLOCKS);
	rc |= flush(v, lane, &w->totals, VIEW_LEVEL_TOTALS);
	for (uint32_t level = 0; level < VIEW_LEVELS; level++) {
		rc |= flush(v, lane, &w->nodes[level], level);
		rc |= refs_copy(&seen->refs[level], &w->now.refs[level]);
		seen->cnt[level] = w->now.cnt[level];
	}
	seen->events = w->now.events;
	seen->first = w->now.first;
	seen->last = w->now.last;
	seen->busy = w->now.busy;
	memcpy(seen->names, w->now.names, sizeof(seen->names));
	seen->least = w->now.least;
	seen->most = w->now.most;
	return rc;
}

int view_lanes_publish(struct view_store *v, bool last)
{
	int rc = 0;

	pthread_rwlock_wrlock(&v->lock);
	for (uint32_t i = 0; i < v->lane_cnt; i++) {
		struct view_lane *lane = v->lanes[i];

		if (lane->w && (lane->w->open_cnt > 0 || lane->w->now.events != lane->seen.events))
			rc |= view_lane_publish(v, lane);
		if (last)
			view_lane_writer_free(lane);
	}
	v->generation++;
	pthread_rwlock_unlock(&v->lock);
	return rc;
}

void view_lane_writer_free(struct view_lane *lane)
{
	struct view_lane_writer *w = lane->w;

	if (!w)
		return;
	free(w->blocks.data);
	free(w->totals.data);
	view_totals_free(&w->sums);
	for (int level = 0; level < VIEW_LEVELS; level++) {
		free(w->nodes[level].data);
		free(w->last[level]);
		free(w->now.refs[level].ref);
	}
	free(w);
	lane->w = NULL;
}
