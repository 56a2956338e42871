/* directory.c - rows, lanes and names as bytes at the end of the side file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/index/store.h"

#define COUNT_MAX (1u << 26)

struct bytes {
	uint8_t *data;
	size_t len, room;
	bool failed;
};

static void put(struct bytes *b, const void *from, size_t len)
{
	while (!b->failed && b->room - b->len < len) {
		size_t more = b->room ? b->room * 2 : 65536;
		uint8_t *data = realloc(b->data, more);

		if (!data)
			b->failed = true;
		else {
			b->data = data;
			b->room = more;
		}
	}
	if (b->failed || len == 0)
		return;
	memcpy(b->data + b->len, from, len);
	b->len += len;
}

static void put_int(struct bytes *b, int64_t value)
{
	put(b, &value, sizeof(value));
}

static void put_text(struct bytes *b, const char *text, size_t len)
{
	put_int(b, text ? (int64_t)len : -1);
	put(b, text, text ? len : 0);
}

static void put_row(struct bytes *b, const struct view_row *r)
{
	put_int(b, r->parent);
	put_int(b, r->kind);
	put_text(b, r->name, strlen(r->name));
	put_text(b, r->key, strlen(r->key));
	put_text(b, r->unit, r->unit ? strlen(r->unit) : 0);
	put_int(b, r->sort);
	put_int(b, r->process);
	put_int(b, r->thread);
	put_int(b, r->pid);
	put_int(b, r->tid);
	put_int(b, r->cpu);
	put_int(b, r->device);
	put_int(b, r->context);
	put_int(b, r->stream);
	put_int(b, r->lane_cnt);
	put(b, r->lanes, r->lane_cnt * sizeof(uint32_t));
}

static void put_lane(struct bytes *b, const struct view_lane *lane)
{
	const struct view_seen *s = &lane->seen;

	put_int(b, lane->row);
	put_int(b, lane->sources);
	put_int(b, lane->is_counter);
	put_int(b, (int64_t)s->events);
	put_int(b, s->first);
	put_int(b, s->last);
	put_int(b, s->busy);
	put(b, &s->least, sizeof(double));
	put(b, &s->most, sizeof(double));
	put(b, s->names, sizeof(s->names));
	for (int level = 0; level < VIEW_LEVELS; level++) {
		put_int(b, s->cnt[level]);
		put_int(b, s->refs[level].cnt);
		put(b, s->refs[level].ref, s->refs[level].cnt * sizeof(view_ref));
	}
}

uint8_t *view_directory_write(const struct view_store *v, size_t *len)
{
	struct bytes b = {0};

	put_int(&b, (int64_t)v->events);
	put_int(&b, v->origin);
	put_int(&b, v->has_origin);
	put_int(&b, v->first);
	put_int(&b, v->last);
	put_text(&b, v->message, strlen(v->message));
	put_int(&b, v->source_cnt);
	for (uint32_t i = 0; i < v->source_cnt; i++)
		put_text(&b, v->sources[i], strlen(v->sources[i]));
	put_int(&b, v->name_cnt);
	for (uint32_t i = 0; i < v->name_cnt; i++) {
		put_text(&b, v->names[i].text, v->names[i].len);
		put_int(&b, v->names[i].color);
	}
	put_int(&b, v->row_cnt);
	for (uint32_t i = 0; i < v->row_cnt; i++)
		put_row(&b, v->rows[i]);
	put_int(&b, v->lane_cnt);
	for (uint32_t i = 0; i < v->lane_cnt; i++)
		put_lane(&b, v->lanes[i]);
	*len = b.len;
	if (!b.failed)
		return b.data;
	free(b.data);
	return NULL;
}

/* ---- reading: the bytes may be damaged ---- */

struct reader {
	const uint8_t *p, *end;
	bool failed;
};

static void get(struct reader *r, void *to, size_t len)
{
	if (r->failed || (size_t)(r->end - r->p) < len) {
		r->failed = true;
		memset(to, 0, len);
		return;
	}
	memcpy(to, r->p, len);
	r->p += len;
}

static int64_t get_int(struct reader *r)
{
	int64_t value;

	get(r, &value, sizeof(value));
	return value;
}

/* A count of things of which each takes at least @least bytes. */
static uint32_t get_count(struct reader *r, size_t least)
{
	int64_t cnt = get_int(r);

	if (cnt < 0 || cnt > COUNT_MAX || (size_t)cnt > (size_t)(r->end - r->p) / least) {
		r->failed = true;
		return 0;
	}
	return (uint32_t)cnt;
}

static char *get_text(struct reader *r, uint32_t *len)
{
	int64_t want = get_int(r);
	char *text;

	if (want < 0 || want > (int64_t)(r->end - r->p)) {
		r->failed |= want != -1;
		return NULL;
	}
	text = calloc(1, (size_t)want + 1);
	if (!text) {
		r->failed = true;
		return NULL;
	}
	get(r, text, (size_t)want);
	if (len)
		*len = (uint32_t)want;
	return text;
}

static bool get_numbers(struct reader *r, struct view_row *row)
{
	uint32_t cnt;

	row->sort = get_int(r);
	row->process = get_int(r);
	row->thread = get_int(r);
	row->pid = get_int(r);
	row->tid = get_int(r);
	row->cpu = get_int(r);
	row->device = get_int(r);
	row->context = get_int(r);
	row->stream = get_int(r);
	cnt = get_count(r, sizeof(uint32_t));
	row->lanes = calloc(cnt + 1, sizeof(uint32_t));
	if (!row->lanes)
		return false;
	row->lane_cnt = row->lane_room = cnt;
	get(r, row->lanes, cnt * sizeof(uint32_t));
	return !r->failed;
}

static bool get_row(struct reader *r, struct view_store *v)
{
	int64_t parent = get_int(r), kind = get_int(r);
	char *name = get_text(r, NULL), *key = get_text(r, NULL), *unit = get_text(r, NULL);
	bool ok = !r->failed && name && key && parent >= 0 && kind >= 0 && kind < VIEW_KINDS;
	struct view_row *row = ok ? view_row_add(v, (enum view_kind)kind, (uint32_t)parent, key,
						 name, strlen(name))
				  : NULL;

	free(name);
	free(key);
	if (!row) {
		free(unit);
		return false;
	}
	row->unit = unit;
	/* Parents come before their children. */
	return parent < row->id && get_numbers(r, row);
}

static bool get_lane(struct reader *r, struct view_store *v)
{
	struct view_lane *lane = calloc(1, sizeof(*lane));
	struct view_seen *s = &lane->seen;

	if (!lane || !grow(&v->lanes, v->lane_cnt, &v->lane_room, sizeof(struct view_lane *))) {
		free(lane);
		return false;
	}
	v->lanes[v->lane_cnt++] = lane;
	lane->id = v->lane_cnt;
	lane->row = (uint32_t)get_int(r);
	lane->sources = (uint32_t)get_int(r);
	lane->is_counter = get_int(r) == 1;
	s->events = (uint64_t)get_int(r);
	s->first = get_int(r);
	s->last = get_int(r);
	s->busy = get_int(r);
	get(r, &s->least, sizeof(double));
	get(r, &s->most, sizeof(double));
	get(r, s->names, sizeof(s->names));
	for (int level = 0; level < VIEW_LEVELS && !r->failed; level++) {
		struct view_refs *refs = &s->refs[level];
		int64_t cnt = get_int(r);
		uint32_t at;

		refs->cnt = refs->room = get_count(r, sizeof(view_ref));
		refs->ref = calloc(refs->cnt + 1, sizeof(view_ref));
		if (!refs->ref) {
			refs->cnt = refs->room = 0;
			return false;
		}
		get(r, refs->ref, refs->cnt * sizeof(view_ref));
		if (cnt < 0 || cnt > UINT32_MAX ||
		    (cnt > 0 &&
		     view_node_extent((uint32_t)level, (uint32_t)cnt - 1, &at) >= refs->cnt))
			return false;
		s->cnt[level] = (uint32_t)cnt;
	}
	return !r->failed && lane->row >= 1 && lane->row <= v->row_cnt;
}

static bool get_names(struct reader *r, struct view_store *v)
{
	uint32_t cnt = get_count(r, 2 * sizeof(int64_t));

	v->name_cnt = 0;
	free(v->names[0].text);
	free(v->names);
	v->names = calloc(cnt + 1, sizeof(*v->names));
	v->name_room = cnt + 1;
	for (uint32_t i = 0; v->names && i < cnt && !r->failed; i++) {
		struct view_name *n = &v->names[i];

		n->text = get_text(r, &n->len);
		v->name_cnt += n->text != NULL;
		n->color = (uint32_t)get_int(r);
		r->failed |= n->text == NULL;
	}
	return v->names && cnt > 0 && !r->failed;
}

static bool lanes_fit(const struct view_store *v)
{
	for (uint32_t i = 0; i < v->row_cnt; i++)
		for (uint32_t k = 0; k < v->rows[i]->lane_cnt; k++)
			if (v->rows[i]->lanes[k] < 1 || v->rows[i]->lanes[k] > v->lane_cnt)
				return false;
	return true;
}

int view_directory_read(struct view_store *v, const uint8_t *bytes, size_t len)
{
	struct reader r = {bytes, bytes + len, false};
	char *message;
	uint32_t cnt;

	v->events = (uint64_t)get_int(&r);
	v->origin = get_int(&r);
	v->has_origin = get_int(&r) != 0;
	v->first = get_int(&r);
	v->last = get_int(&r);
	message = get_text(&r, NULL);
	if (message)
		snprintf(v->message, sizeof(v->message), "%s", message);
	free(message);
	cnt = get_count(&r, sizeof(int64_t));
	for (uint32_t i = 0; i < cnt && !r.failed; i++) {
		char *text = i < VIEW_SOURCES ? get_text(&r, NULL) : NULL;

		if (!text)
			return -1;
		v->sources[v->source_cnt++] = text;
	}
	if (!get_names(&r, v))
		return -1;
	cnt = get_count(&r, sizeof(int64_t));
	for (uint32_t i = 0; i < cnt; i++)
		if (!get_row(&r, v))
			return -1;
	cnt = get_count(&r, sizeof(int64_t));
	for (uint32_t i = 0; i < cnt; i++)
		if (!get_lane(&r, v))
			return -1;
	return !r.failed && r.p == r.end && lanes_fit(v) ? 0 : -1;
}
