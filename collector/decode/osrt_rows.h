/* osrt_rows.h - the record family of calls into the C library and of processes' reports about themselves. */
#pragma once

#include "collector/model/arena.h"

/* SL_LOST_EVENTS.what */
extern const char rows_loss_full[], rows_loss_nested[], rows_loss_no_slot[], rows_loss_memory[];
extern const char *const rows_loss_of[]; /* by enum sl_lost */

/* Calls into the C library (rows of OSRT_API and OSRT_FILE_ACCESS_EVENTS), and SL_SHAPE_META but for stacks. */
extern const struct record_family osrt_records;
