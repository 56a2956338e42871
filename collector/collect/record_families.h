/* record_families.h - the table of record families, and loops over it. The only place that names all of them. */
#pragma once

#include "collector/model/arena.h"

extern const struct record_families record_families;

/* Each calls the member of that name (model/record_family.h) of all families. */
void families_thread_begin(struct arenas *as, const struct image *im);
void families_thread_end(struct arenas *as, struct thread *t, int64_t ns);
void families_settle(struct arenas *as, struct arena *a, bool all);
int families_save(struct arenas *as, struct arena *a);
void families_restore(struct arenas *as, struct arena *a);
void families_committed(struct arena *a);
void families_lost(struct arenas *as, struct arena *a);
void families_cut(struct arenas *as, struct arena *a, int64_t end);
void families_rotate(struct arena *a, int64_t shift);
void families_release(struct arenas *as, struct arena *a);
