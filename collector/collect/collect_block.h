/* collect_block.h - requests to block devices in a collection (--block-io), if there are any. */
#pragma once

#include <stdbool.h>

#include "collector/collect/collector.h"

/* After the context switches, whose tree it is of. */
void collect_block_open(struct collector *c);
/* Recording begins, and ends. */
void collect_block_record(struct collector *c, bool on);
/* Writes rows of what is done. */
void collect_block(struct collector *c);
/* No more is recorded. */
void collect_block_end(struct collector *c);
/* Notes what this report lacks. */
void collect_block_say(struct collector *c);
/* The next report begins. */
void collect_block_renew(struct collector *c);
void collect_block_close(struct collector *c);
