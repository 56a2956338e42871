/* map.h - numbers of 64 bits by numbers of 64 bits. A zeroed map is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot {
		uint64_t key, value;
		bool used;
	} * slot;
	size_t size, cnt; /* size: a power of two, or 0 */
};

/* The value of @key; @add: one of 0 where there is none. NULL: none, or no memory. It stays in its place until the next one is added. */
uint64_t *map_at(struct map *m, uint64_t key, bool add);
void map_remove(struct map *m, uint64_t key);
void map_free(struct map *m);
