/* db_map.h - from 64-bit ids to numbers. */
#pragma once

#include <stdint.h>

struct db_map {
	int64_t *key, *val;
	uint32_t cap, cnt;
};

/* Place of the value of @key, 0 when it is new: rowids start at 1. NULL: out of memory. */
int64_t *db_map_get(struct db_map *m, int64_t key);
/* The same of a map that has something in it, to read only. */
const int64_t *db_map_peek(const struct db_map *m, int64_t key);
void db_map_free(struct db_map *m);
