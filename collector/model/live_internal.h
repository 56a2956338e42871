/* live_internal.h - shared by live.c and live_flush.c, and by their tests. */
#pragma once

#include "collector/model/live.h"

/* What [from, to) adds to the time in which the GPU was busy. */
int64_t live_gpu_busy(struct live_gpu *g, int64_t from, int64_t to);
/* Puts what has changed into the open transaction. True: something had. */
bool live_write_calls(struct live *l, struct live_calls *c);
