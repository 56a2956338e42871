/* target.h - rows about the machine and the recording: what is in a report beside its events. */
#pragma once

#include "exporters/read/nsysrep/container.h"
#include "exporters/read/nsysrep/events.h"

/* TARGET_INFO_SYSTEM_ENV, TARGET_INFO_NIC_INFO: of the message about the target. 0, or -1: nr_tables_why(). */
int nr_add_environment(struct nr_tables *t, struct nr_unknown *unknown, unsigned release,
		       const struct nr_bytes *target);
/* TARGET_INFO_SESSION_START_TIME, ANALYSIS_DETAILS. @clocks: the part "Time Conversion Data", or empty. */
int nr_add_times(struct nr_tables *t, unsigned release, const struct nr_bytes *target,
		 const struct nr_bytes *clocks);
/* META_DATA_CAPTURE. */
int nr_add_options(struct nr_tables *t, struct nr_unknown *unknown, unsigned release,
		   const struct nr_bytes *options);
/* ThreadNames: the first message behind the events. @threads: how many were added. */
int nr_add_threads(struct nr_tables *t, const struct nr_bytes *names, uint64_t *threads);
/* TARGET_INFO_GPU and those of CUDA: the second one. */
int nr_add_gpus(struct nr_tables *t, const struct nr_bytes *gpus);
/* Adds a row of texts and numbers, of which @row has the number in @cnt; a NULL text is NULL. */
struct nr_value {
	const char *text; /* NULL and no @len: NULL, if @is_text */
	size_t len;
	int64_t number;
	bool is_text;
};
int nr_add_values(struct nr_tables *t, sqlite3_stmt **stmt, const char *insert,
		  const struct nr_value *value, unsigned cnt);
