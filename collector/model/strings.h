/* strings.h - texts that records of an arena name by id (SL_META_STRING). */
#ifndef SL_COLLECTOR_STRINGS_H
#define SL_COLLECTOR_STRINGS_H

#include "collector/collect/arenas.h"

void string_known(struct arena *a, uint32_t id, const char *text, uint32_t len);
/* NUL-terminated, NULL: not told yet (it may lie in another thread's ring) or 0. */
const char *string_find(const struct arena *a, uint32_t id);
/* Notes new ones in the open transaction, for recover; and how they come back. */
int strings_save(struct db *db, struct arena *a);
void strings_load(struct db *db, struct arena *a);
void strings_release(struct arena *a);

#endif
