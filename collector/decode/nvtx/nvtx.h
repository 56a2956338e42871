/* nvtx.h - NVTX records (preload/wire/nvtx_wire.h) to rows of NVTX_EVENTS and NVTX_PAYLOAD_*. */
#pragma once

#include "collector/model/arena.h"

extern const struct record_family nvtx_records;

/* Members of it that tests call. */
void nvtx_record(struct arenas *as, struct thread *t, const struct call *c);
/* Before a commit: open ranges become rows without an end; the end is set when it is known. */
void nvtx_save(struct arenas *as, struct arena *a);
/* The thread is over at @ns (DB_NULL: unknown): closes its range of Python's interpreter lock. */
void nvtx_gil_end(struct arenas *as, struct thread *t, int64_t ns);
void nvtx_release(struct arena *a);
