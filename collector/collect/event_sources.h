/* event_sources.h - loops over the event sources that are open. */
#pragma once

#include "collector/source/recording.h"

/* Event sources of a collection. */
extern const struct event_sources event_sources;

/* Between this and sources_open(), or sources_close(), no thread may fork without an exec. */
void sources_prepare(struct recording *r);
/* The members of struct event_source, each for all sources. */
void sources_open(struct recording *r);
/*
 * In two parts, the first without those that may be opened late (can.be_late). These may be opened while the program runs: then they
 * follow what there is of it, and record from sources_begin_late() on.
 */
void sources_open_late(struct recording *r);
void sources_follow_late(struct recording *r, const struct source_process *p);
void sources_begin_late(struct recording *r, int64_t mono);
void sources_ready(struct recording *r);
/* Returns -errno of the first that cannot follow a process that runs; the others are not asked then. */
int sources_follow(struct recording *r, const struct source_process *p);
void sources_before_begin(struct recording *r);
void sources_begin(struct recording *r, int64_t mono);
void sources_before_end(struct recording *r);
void sources_end(struct recording *r, int64_t mono);
bool sources_have_come(const struct recording *r, int64_t mono);
int sources_poll(struct recording *r, bool all);
unsigned sources_fill(const struct recording *r);
unsigned sources_kinds(const struct recording *r);
void sources_note_losses(struct recording *r);
void sources_rotate(struct recording *r);
void sources_finish(struct recording *r);
void sources_stop(struct recording *r);
void sources_close(struct recording *r);
