/* file_totals.h - rows of SL_FILE_TOTALS: calls on files that have no row of their own (struct sl_file_total). */
#pragma once

#include "collector/model/arena.h"

/* SL_META_FILE_TOTAL: another descriptor took the place of this one. */
void file_totals_moved(struct arenas *as, struct thread *t, const struct sl_file_total *total);
/* A descriptor of @t was opened by a call without a record: @opened_by, sl_opened_by(). */
void file_totals_opened(struct arenas *as, struct thread *t, const struct file *f,
			uint64_t opened_by);
/* Adds the rest of the thread's chunk when the thread, or the report, ends; the part in the report already is not added again. */
void file_totals_left(struct arenas *as, struct thread *t, const struct sl_file_total *total);
