/* live_internal.h - shared by live.c and live_flush.c, and by their tests. */
#pragma once

#include "collector/model/live.h"

/* Returns the busy time that [from, to) adds to the GPU's. */
int64_t live_gpu_busy(struct live_gpu *g, int64_t from, int64_t to);
/* Writes changed sums in the open transaction. True: a sum had changed. */
bool live_write_calls(struct live *l, struct live_calls *c);
