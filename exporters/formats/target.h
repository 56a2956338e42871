/*
 * target.h - where an export goes. The result appears under its name when it is whole: it is written under a temporary name,
 * then renamed.
 */
#pragma once

#include "exporters/formats/export.h"

struct target {
	const char *name; /* "-": stdout */
	bool overwrite;
	enum out_packing packing;
};

/* Runs the exporter. 0, or -1 after one sentence in @why. */
int target_write(const struct target *target, const struct exporter *exporter,
		 struct export_job *job, char *why, size_t why_len);

/* From now on signals that would end us only stop the exporter. */
void target_catch_signals(void);
/* The signal that came, or 0. */
int target_signal(void);
/* At the very end: ends this process by the signal, for its parent to see. */
void target_end_by_signal(void);
