/* nvtx.h - NVTX records (preload/wire/nvtx_wire.h) to rows of NVTX_EVENTS and NVTX_PAYLOAD_*. */
#ifndef SL_COLLECTOR_NVTX_H
#define SL_COLLECTOR_NVTX_H

#include "collector/collect/arenas.h"

/* SL_SHAPE_NVTX. */
void nvtx_record(struct arenas *as, struct thread *t, const struct call *c);

/* A record that is only looked at ahead of its turn: what names or describes something. */
void nvtx_ahead(struct arena *a, const struct call *c);

/* Before a commit: ranges that are open become rows without an end, which is put in when it is known. */
void nvtx_save(struct arenas *as, struct arena *a);
/* The session ends, or this arena's processes have: ranges still open become rows without an end. */
void nvtx_settle(struct arenas *as, struct arena *a);
/* A report ends at @end (session ns) while the programs go on: open ranges are cut there, and go on in the next. */
void nvtx_leave_report(struct arenas *as, struct arena *a, int64_t end);
/* Session time 0 moves by so many ns. */
void nvtx_shift(struct arena *a, int64_t shift);
/* The thread is gone, and all its records are read: what it had of Python's interpreter lock ended at @ns (DB_NULL: unknown). */
void nvtx_gil_end(struct arenas *as, struct thread *t, int64_t ns);
/* Frees what the arena has here (struct arena.nvtx). */
void nvtx_release(struct arena *a);

#endif
