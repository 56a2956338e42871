/* ranks.h - --ranks: a session among those of other nodes, and the handling of its reports when the program has ended. */
#pragma once

#include <stddef.h>

struct collector;
struct profile_options;

/*
 * Starts the process that looks into the job's folder (job/job.h); it ends with this one. Call it when the session serves
 * commands. Nothing happens without --ranks; a failure is one line on stderr.
 */
void ranks_begin(struct collector *c, const struct profile_options *o);

/*
 * Puts complete reports into the dataset, as `sightline ranks add` does, in a process of its own: whatever happens to that,
 * this one goes on, and the reports stay. A failure is one line on stderr. Nothing happens without --ranks.
 */
void ranks_end(const struct profile_options *o, char *const *reports, size_t cnt);
