/* db_map.c - from ids to rowids; open addressing, rowids start at 1. */
#include "collector/report/db_map.h"

#include <stdbool.h>
#include <stdlib.h>

static uint32_t find(const struct db_map *m, int64_t key)
{
	uint32_t mask = m->cap - 1,
		 i = (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (m->val[i] && m->key[i] != key)
		i = (i + 1) & mask;
	return i;
}

static int64_t *place_of(struct db_map *m, int64_t key)
{
	uint32_t i = find(m, key);

	m->key[i] = key;
	return &m->val[i];
}

const int64_t *db_map_peek(const struct db_map *m, int64_t key)
{
	return &m->val[find(m, key)];
}

static bool grow(struct db_map *m)
{
	struct db_map bigger = {.cap = m->cap ? m->cap * 2 : 64, .cnt = m->cnt};

	bigger.key = calloc(bigger.cap, sizeof(int64_t));
	bigger.val = calloc(bigger.cap, sizeof(int64_t));
	if (!bigger.key || !bigger.val) {
		db_map_free(&bigger);
		return false;
	}
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->val[i])
			*place_of(&bigger, m->key[i]) = m->val[i];
	db_map_free(m);
	m->key = bigger.key;
	m->val = bigger.val;
	m->cap = bigger.cap;
	return true;
}

int64_t *db_map_get(struct db_map *m, int64_t key)
{
	int64_t *v;

	if (m->cnt * 2 >= m->cap && !grow(m))
		return NULL;
	v = place_of(m, key);
	if (!*v)
		m->cnt++;
	return v;
}

void db_map_free(struct db_map *m)
{
	free(m->key);
	free(m->val);
}
