/* id_map.h - numbers in the order of their first appearance: 64-bit ids to 0, 1, 2, ... */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/base/slots.h"

struct id_map {
	int64_t *ids; /* ids[i] got number i */
	size_t cnt;
	/* the rest is its own */
	size_t room; /* in ids */
	struct slots by_id;
};

/* The number of @id, a new one if it has none; -1: out of memory. */
long id_map_add(struct id_map *m, int64_t id);
/* The number of @id, or -1. */
long id_map_find(const struct id_map *m, int64_t id);
void id_map_free(struct id_map *m);
