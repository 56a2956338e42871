/* id_map.c - open addressing; nothing is ever taken out. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/id_map.h"

static size_t slot_of(const struct id_map *m, int64_t id)
{
	uint64_t h = (uint64_t)id * 0x9E3779B97F4A7C15u;
	size_t at = (size_t)(h >> 32) & (m->slot_cnt - 1);

	while (m->slots[at] && m->ids[m->slots[at] - 1] != id)
		at = (at + 1) & (m->slot_cnt - 1);
	return at;
}

static int grow(struct id_map *m)
{
	size_t slot_cnt = m->slot_cnt ? 2 * m->slot_cnt : 64;
	uint32_t *slots = calloc(slot_cnt, sizeof(*slots));
	int64_t *ids = reallocarray(m->ids, slot_cnt / 2, sizeof(*ids));

	if (ids)
		m->ids = ids;
	if (!slots || !ids || slot_cnt > UINT32_MAX) {
		free(slots);
		return -1;
	}
	free(m->slots);
	m->slots = slots;
	m->slot_cnt = slot_cnt;
	m->room = slot_cnt / 2;
	for (size_t i = 0; i < m->cnt; i++)
		m->slots[slot_of(m, m->ids[i])] = (uint32_t)i + 1;
	return 0;
}

long id_map_add(struct id_map *m, int64_t id)
{
	size_t at;

	if (m->cnt == m->room && grow(m) < 0)
		return -1;
	at = slot_of(m, id);
	if (!m->slots[at]) {
		m->ids[m->cnt++] = id;
		m->slots[at] = (uint32_t)m->cnt;
	}
	return (long)m->slots[at] - 1;
}

long id_map_find(const struct id_map *m, int64_t id)
{
	return m->slot_cnt ? (long)m->slots[slot_of(m, id)] - 1 : -1;
}

void id_map_free(struct id_map *m)
{
	free(m->ids);
	free(m->slots);
	memset(m, 0, sizeof(*m));
}
