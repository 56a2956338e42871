/* id_map.c - nothing is ever taken out. */
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/read/id_map.h"

long id_map_find(const struct id_map *m, int64_t id)
{
	uint64_t hash = hash_u64((uint64_t)id);
	uint32_t at, i;

	for (i = slots_first(&m->by_id, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&m->by_id, hash, &at))
		if (m->ids[i] == id)
			return (long)i;
	return -1;
}

long id_map_add(struct id_map *m, int64_t id)
{
	long number = id_map_find(m, id);

	if (number >= 0)
		return number;
	if (!grow(&m->ids, m->cnt, &m->room, sizeof(*m->ids)) ||
	    !slots_add(&m->by_id, hash_u64((uint64_t)id), (uint32_t)m->cnt))
		return -1;
	m->ids[m->cnt] = id;
	return (long)m->cnt++;
}

void id_map_free(struct id_map *m)
{
	free(m->ids);
	slots_free(&m->by_id);
	memset(m, 0, sizeof(*m));
}
