/* collect_host.h - counters of the machine in a collection (--host-counters), if there are any. */
#pragma once

#include <stdint.h>

#include "collector/collect/collector.h"

/* The program's first process is known. */
void collect_host_follow(struct collector *c, uint32_t root);
/* Recording begins, and ends; the last reading comes before the end of the window. */
void collect_host_begin(struct collector *c);
void collect_host_end(struct collector *c);
/* Writes rows of what was read. */
void collect_host(struct collector *c);
/* Notes what this report lacks. */
void collect_host_say(struct collector *c);
/* The next report begins. */
void collect_host_renew(struct collector *c);
void collect_host_close(struct collector *c);
