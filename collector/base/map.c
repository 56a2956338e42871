/* map.c - open addressing. */
#include "collector/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"

static bool grow_map(struct map *m)
{
	size_t size = m->size ? m->size * 2 : 64;
	struct map_slot *old = m->slot, *slot = calloc(size, sizeof(*slot));

	if (!slot)
		return false;
	for (size_t i = 0; i < m->size; i++) {
		if (!old[i].used)
			continue;
		size_t at = hash_u64(old[i].key) & (size - 1);

		while (slot[at].used)
			at = (at + 1) & (size - 1);
		slot[at] = old[i];
	}
	free(old);
	m->slot = slot;
	m->size = size;
	return true;
}

uint64_t *map_at(struct map *m, uint64_t key, bool add)
{
	size_t at;

	if (!m->size && (!add || !grow_map(m)))
		return NULL;
	for (at = hash_u64(key) & (m->size - 1); m->slot[at].used; at = (at + 1) & (m->size - 1))
		if (m->slot[at].key == key)
			return &m->slot[at].value;
	if (!add)
		return NULL;
	if (m->cnt * 4 >= m->size * 3) {
		if (!grow_map(m))
			return NULL;
		at = hash_u64(key) & (m->size - 1);
		while (m->slot[at].used)
			at = (at + 1) & (m->size - 1);
	}
	m->cnt++;
	m->slot[at] = (struct map_slot){.key = key, .used = true};
	return &m->slot[at].value;
}

/* Closes the gap by moving up the entries after it, so that removed entries need no marks. */
void map_remove(struct map *m, uint64_t key)
{
	size_t mask = m->size - 1, at, next;

	if (!m->size)
		return;
	for (at = hash_u64(key) & mask; m->slot[at].used && m->slot[at].key != key;)
		at = (at + 1) & mask;
	if (!m->slot[at].used)
		return;
	for (next = (at + 1) & mask; m->slot[next].used; next = (next + 1) & mask) {
		size_t home = hash_u64(m->slot[next].key) & mask;

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		m->slot[at] = m->slot[next];
		at = next;
	}
	m->slot[at].used = false;
	m->cnt--;
}

void map_free(struct map *m)
{
	free(m->slot);
	memset(m, 0, sizeof(*m));
}
