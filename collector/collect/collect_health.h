/* collect_health.h - samples of GPUs in a collection (--gpu-metrics-devices, --gpu-health), if there are any. */
#pragma once

#include <stdbool.h>

#include "collector/collect/collector.h"

/* Starts what the options ask for, before the program is. */
void collect_health_open(struct collector *c);
/* Waits for what was asked for in words, so that the program is sampled from its first moment on. */
void collect_health_ready(struct collector *c);
/* Recording begins: by options that `start` may have changed. */
void collect_health_begin(struct collector *c);
/* Writes rows of what came; @all: a report ends here. */
void collect_health(struct collector *c, bool all);
/* Have the hardware metrics come up to the end of the window, @mono, or is it not worth waiting any longer? */
bool collect_health_is_read(const struct collector *c, int64_t mono);
/* The next report begins. */
void collect_health_renew(struct collector *c);
/* The session ends: the last samples come. */
void collect_health_end(struct collector *c);
void collect_health_close(struct collector *c);
