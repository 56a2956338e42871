/* store.c - rows, lanes and names, and finding them. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/view/index/store.h"

const char *const view_kind_names[VIEW_KINDS] = {
#define KIND(id, name) name,
#include "exporters/view/index/kinds.def"
};

#define NAMES_MAX    (1u << 22)
#define NAME_LEN_MAX 4096u

struct view_store *view_store_new(const char *path)
{
	struct view_store *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	pthread_rwlock_init(&v->lock, NULL);
	v->path = strdup(path);
	v->names = calloc(16, sizeof(*v->names));
	v->name_room = 16;
	v->name_cnt = 1;
	if (v->names)
		v->names[0].text = strdup("");
	if (v->path && v->names && v->names[0].text)
		return v;
	view_store_free(v);
	return NULL;
}

static void row_free(struct view_row *r)
{
	free(r->name);
	free(r->key);
	free(r->unit);
	free(r->lanes);
	free(r);
}

void view_store_free(struct view_store *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < v->lane_cnt; i++) {
		view_lane_writer_free(v->lanes[i]);
		for (int level = 0; level < VIEW_LEVELS; level++)
			free(v->lanes[i]->seen.refs[level].ref);
		free(v->lanes[i]);
	}
	for (uint32_t i = 0; i < v->row_cnt; i++)
		row_free(v->rows[i]);
	for (uint32_t i = 0; v->names && i < v->name_cnt; i++)
		free(v->names[i].text);
	for (uint32_t i = 0; i < v->source_cnt; i++)
		free(v->sources[i]);
	view_side_close(v->side);
	if (v->live)
		v->free_live(v->live);
	map_free(&v->by_key);
	map_free(&v->name_of_id);
	map_free(&v->name_of_text);
	pthread_rwlock_destroy(&v->lock);
	free(v->lanes);
	free(v->rows);
	free(v->names);
	free(v->path);
	free(v);
}

void view_store_take(struct view_store *v, struct view_store *from)
{
	/* All but the lock, which readers may wait for. */
	size_t at = offsetof(struct view_store, path), len = sizeof(*v) - at;
	struct view_store was;

	pthread_rwlock_wrlock(&v->lock);
	memcpy((char *)&was + at, (char *)v + at, len);
	memcpy((char *)v + at, (char *)from + at, len);
	memcpy((char *)from + at, (char *)&was + at, len);
	v->generation = from->generation + 1;
	pthread_rwlock_unlock(&v->lock);
}

/* ---- rows and lanes ---- */

struct view_row *view_row_find(struct view_store *v, const char *key)
{
	uint64_t hash = hash_bytes(0, key, strlen(key)), *slot;

	for (; (slot = map_at(&v->by_key, hash, false)) != NULL; hash++)
		if (strcmp(v->rows[*slot - 1]->key, key) == 0)
			return v->rows[*slot - 1];
	return NULL;
}

static bool enter_row(struct view_store *v, const struct view_row *r)
{
	uint64_t hash = hash_bytes(0, r->key, strlen(r->key)), *slot;

	while (map_at(&v->by_key, hash, false))
		hash++;
	slot = map_at(&v->by_key, hash, true);
	if (slot)
		*slot = r->id;
	return slot != NULL;
}

struct view_row *view_row_add(struct view_store *v, enum view_kind kind, uint32_t parent,
			      const char *key, const char *name, size_t len)
{
	struct view_row *r = calloc(1, sizeof(*r));
	bool ok;

	if (!r)
		return NULL;
	*r = (struct view_row){.parent = parent,
			       .kind = kind,
			       .name = calloc(1, len + 1),
			       .key = strdup(key),
			       .process = -1,
			       .thread = -1,
			       .pid = -1,
			       .tid = -1,
			       .cpu = -1,
			       .device = -1,
			       .context = -1,
			       .stream = -1};
	if (!r->name || !r->key) {
		row_free(r);
		return NULL;
	}
	memcpy(r->name, name, len);
	pthread_rwlock_wrlock(&v->lock);
	ok = grow(&v->rows, v->row_cnt, &v->row_room, sizeof(struct view_row *));
	if (ok) {
		r->id = v->row_cnt + 1;
		v->rows[v->row_cnt++] = r;
		ok = enter_row(v, r);
	}
	pthread_rwlock_unlock(&v->lock);
	if (!ok && r->id == 0)
		row_free(r);
	return ok ? r : NULL;
}

struct view_lane *view_lane_add(struct view_store *v, struct view_row *row)
{
	struct view_lane *lane;
	bool ok;

	if (row->lane_cnt < row->seed_cnt) {
		pthread_rwlock_wrlock(&v->lock);
		lane = v->lanes[row->lanes[row->lane_cnt++] - 1];
		pthread_rwlock_unlock(&v->lock);
		return lane;
	}
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->row = row->id;
	lane->is_counter = row->kind == VIEW_COUNTER;
	pthread_rwlock_wrlock(&v->lock);
	ok = grow(&v->lanes, v->lane_cnt, &v->lane_room, sizeof(struct view_lane *)) &&
	     grow(&row->lanes, row->lane_cnt, &row->lane_room, sizeof(uint32_t));
	if (ok) {
		lane->id = v->lane_cnt + 1;
		v->lanes[v->lane_cnt++] = lane;
		row->lanes[row->lane_cnt++] = lane->id;
	}
	pthread_rwlock_unlock(&v->lock);
	if (!ok)
		free(lane);
	return ok ? lane : NULL;
}

/* ---- names ---- */

static uint32_t add_name(struct view_store *v, const char *text, size_t len)
{
	char *copy;
	uint32_t id = UINT32_MAX;

	if (v->name_cnt >= NAMES_MAX) /* all further ones are one */
		return v->name_cnt - 1;
	if (v->name_cnt == NAMES_MAX - 1) {
		text = "(other names)";
		len = strlen(text);
	}
	len = len > NAME_LEN_MAX ? NAME_LEN_MAX : len;
	copy = calloc(1, len + 1);
	if (!copy)
		return id;
	memcpy(copy, text, len);
	pthread_rwlock_wrlock(&v->lock);
	if (grow(&v->names, v->name_cnt, &v->name_room, sizeof(*v->names))) {
		id = v->name_cnt;
		v->names[v->name_cnt++] = (struct view_name){copy, (uint32_t)len, 0};
	}
	pthread_rwlock_unlock(&v->lock);
	if (id == UINT32_MAX)
		free(copy);
	return id;
}

static uint32_t by_text(struct view_store *v, const char *text, size_t len)
{
	uint64_t hash, *slot;
	uint32_t id;

	len = len > NAME_LEN_MAX ? NAME_LEN_MAX : len;
	if (len == 0)
		return 0;
	for (hash = hash_bytes(0, text, len); (slot = map_at(&v->name_of_text, hash, false));
	     hash++) {
		const struct view_name *n = &v->names[*slot];

		if (n->len == len && memcmp(n->text, text, len) == 0)
			return (uint32_t)*slot;
	}
	id = add_name(v, text, len);
	slot = id != UINT32_MAX ? map_at(&v->name_of_text, hash, true) : NULL;
	if (slot)
		*slot = id;
	return slot ? id : UINT32_MAX;
}

uint32_t view_name_of(struct view_store *v, const struct tl_text *text)
{
	uint64_t *slot;
	uint32_t id;

	if (text->id <= 0)
		return by_text(v, text->text, text->len);
	slot = map_at(&v->name_of_id, (uint64_t)text->id, false);
	if (slot)
		return (uint32_t)*slot;
	id = by_text(v, text->text, text->len);
	slot = id != UINT32_MAX ? map_at(&v->name_of_id, (uint64_t)text->id, true) : NULL;
	if (slot)
		*slot = id;
	return slot ? id : UINT32_MAX;
}

int view_source_of(struct view_store *v, const char *table)
{
	for (uint32_t i = 0; i < v->source_cnt; i++)
		if (strcmp(v->sources[i], table) == 0)
			return (int)i;
	if (v->source_cnt == VIEW_SOURCES)
		return VIEW_SOURCES - 1;
	pthread_rwlock_wrlock(&v->lock);
	v->sources[v->source_cnt] = strdup(table);
	if (v->sources[v->source_cnt])
		v->source_cnt++;
	pthread_rwlock_unlock(&v->lock);
	return (int)v->source_cnt - 1;
}

/* ---- the same again ---- */

static bool seed_row(struct view_store *v, const struct view_row *from)
{
	struct view_row *r = view_row_add(v, from->kind, from->parent, from->key, from->name,
					  strlen(from->name));
	struct view_row made;

	if (!r)
		return false;
	made = *r;
	*r = *from;
	r->name = made.name;
	r->key = made.key;
	r->unit = from->unit ? strdup(from->unit) : NULL;
	r->seed_cnt = from->lane_cnt > from->seed_cnt ? from->lane_cnt : from->seed_cnt;
	r->lane_cnt = 0;
	r->lane_room = r->seed_cnt;
	r->lanes = malloc((r->seed_cnt + 1) * sizeof(*r->lanes));
	if (r->lanes && r->seed_cnt)
		memcpy(r->lanes, from->lanes, r->seed_cnt * sizeof(*r->lanes));
	return r->lanes != NULL;
}

static bool seed_lane(struct view_store *v, const struct view_lane *from)
{
	struct view_lane *lane = calloc(1, sizeof(*lane));

	if (!lane || !grow(&v->lanes, v->lane_cnt, &v->lane_room, sizeof(struct view_lane *))) {
		free(lane);
		return false;
	}
	lane->id = from->id;
	lane->row = from->row;
	lane->is_counter = from->is_counter;
	v->lanes[v->lane_cnt++] = lane;
	return true;
}

struct view_store *view_store_seeded(struct view_store *from)
{
	struct view_store *v = view_store_new(from->path);
	bool ok = v != NULL;

	pthread_rwlock_rdlock(&from->lock);
	for (uint32_t i = 0; ok && i < from->row_cnt; i++)
		ok = seed_row(v, from->rows[i]);
	for (uint32_t i = 0; ok && i < from->lane_cnt; i++)
		ok = seed_lane(v, from->lanes[i]);
	for (uint32_t i = 1; ok && i < from->name_cnt; i++)
		ok = by_text(v, from->names[i].text, from->names[i].len) == i;
	for (uint32_t i = 0; ok && i < from->source_cnt; i++)
		ok = view_source_of(v, from->sources[i]) == (int)i;
	if (ok) {
		v->generation = from->generation;
		v->origin = from->origin;
		v->has_origin = from->has_origin;
	}
	pthread_rwlock_unlock(&from->lock);
	if (ok)
		return v;
	view_store_free(v);
	return NULL;
}
