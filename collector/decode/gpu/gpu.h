/*
 * gpu.h - calls into GPU libraries and what the GPU did: from records to rows.
 *
 * Two tell of one call: the hook (SL_SHAPE_API, at once) and CUPTI (SL_GPU_REC_API, a flush later). Rows wait until
 * both have spoken, so that each call is one row with the correlation id that its kernels and copies carry; ids are
 * made unique in the report. Where CUPTI is silent (not there, killed) the hook's word is enough.
 */
#ifndef SL_COLLECTOR_GPU_H
#define SL_COLLECTOR_GPU_H

#include "collector/model/arena.h"

extern const struct record_family gpu_records;

/* SL_SHAPE_API and SL_SHAPE_GPU. */
void gpu_call(struct arenas *as, struct thread *t, const struct call *c);
void gpu_record(struct arenas *as, struct thread *t, const struct call *c);

/* A process of the arena gave a name to the stream with that handle. */
void gpu_stream_named(struct arena *a, uint32_t number, uint64_t handle, int64_t ns,
		      const char *name);

/* Once per tick, after the rings: rows whose waiting is over. @all: the session ends, or this arena's processes have. */
void gpu_settle(struct arenas *as, struct arena *a, bool all);
/* Has CUPTI told of everything that ended before @ns (session time), in all processes in which it is on? */
bool gpu_has_told(const struct arena *a, int64_t ns);
/* Session time 0 moves by so many ns, and a new report begins. After gpu_settle() of all. */
void gpu_shift(struct arena *a, int64_t shift);
/* Frees what the arena has here (struct arena.gpu). */
void gpu_release(struct arenas *as, struct arena *a);

/* Notes in the open transaction what waits, for recover; and takes it up again. */
int gpu_save(struct arenas *as, struct arena *a);
void gpu_restore(struct arenas *as, struct arena *a);

/* The rows written since the last commit are in the report; or are not: count them. */
void gpu_rows_safe(struct arena *a);
void gpu_rows_lost(struct arenas *as, struct arena *a);

#endif
