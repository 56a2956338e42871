/* nvtx.h - NVTX records (preload/nvtx_wire.h) to rows of NVTX_EVENTS and NVTX_PAYLOAD_*. */
#ifndef SL_COLLECTOR_NVTX_H
#define SL_COLLECTOR_NVTX_H

#include "collector/arenas.h"

/* SL_SHAPE_NVTX. */
void nvtx_record(struct arenas *as, struct thread *t, const struct call *c);

/* The session ends, or this arena's processes have: ranges still open become rows without an end. */
void nvtx_settle(struct arenas *as, struct arena *a);
/* Frees what the arena has here (struct arena.nvtx). */
void nvtx_release(struct arena *a);

#endif
