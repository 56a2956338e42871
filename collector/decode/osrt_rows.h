/* osrt_rows.h - a call, taken apart, becomes a row of OSRT_API. */
#ifndef SL_ROWS_H
#define SL_ROWS_H

#include "collector/collect/arenas.h"

/* SL_LOST_EVENTS.what */
extern const char rows_loss_full[], rows_loss_nested[], rows_loss_no_slot[], rows_loss_disk[];

/* One row of OSRT_API, and one of OSRT_FILE_ACCESS_EVENTS where asked for. */
void rows_call(struct arenas *as, struct thread *t, const struct call *c);
/* A call that gets none: what it says of files, which later calls name by their descriptors. */
void rows_call_unseen(struct arenas *as, struct thread *t, const struct call *c);
/* A record that is no call. */
void rows_meta(struct arenas *as, struct thread *t, const struct call *c);
/* Only what @c tells about files, ahead of its turn. */
void rows_name_ahead(struct arena *a, const struct call *c);

#endif
