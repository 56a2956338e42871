/* strings.h - texts that records of an arena name by id (SL_META_STRING). */
#pragma once

#include "collector/model/arena.h"

void string_known(struct arena *a, uint32_t id, const char *text, uint32_t len);
/* NUL-terminated. NULL: 0, or no record yet (it may be in another thread's ring). */
const char *string_find(const struct arena *a, uint32_t id);
/* Saves, restores and frees them. */
extern const struct record_family string_records;
