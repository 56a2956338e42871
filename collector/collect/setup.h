/* setup.h - the data of a collection for recover and the ring keeper. */
#pragma once

#include "collector/collect/collector.h"

/* The report, or its time 0, is another: informs the keeper, saves the state for recover, writes the clocks. */
void setup_changed(struct collector *c);
void setup_keeper(struct collector *c);
/* Gives the keeper the session's sockets. */
void setup_keeper_sockets(struct collector *c);
/* Starts another keeper when this one ends before the collector. */
void setup_watch_keeper(struct collector *c);
/*
 * How much of @bytes for records that wait may be used: little of what the cgroup leaves, as in a container with a limit the program
 * would be killed for want of memory.
 */
uint64_t setup_buffer(uint64_t bytes);
/* The spool: its segments become known to the keeper, its files are beside the report. */
void setup_spool(struct collector *c);
void setup_spool_end(struct collector *c);
