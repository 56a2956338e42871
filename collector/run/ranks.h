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
 * From --ranks-every seconds on `sightline ranks add --every` puts what there is of the report into the dataset; ranks_tick() starts it,
 * so that a short program has no process beside it. Where this process is killed, that one adds once more and ends. @report NULL: it has
 * no name yet, and nothing happens. Both strings and options outlive the recording.
 */
void ranks_follow(const struct profile_options *o, const char *report);
/*
 * Once per tick, when the clock has been read, and the rings have not: the pace of ranks, where the flight recorder does not look at it,
 * and the begin of what ranks_follow() was asked for.
 */
void ranks_tick(struct collector *c);
/* Ends what ranks_follow() was asked for: the report is about to be completed. */
void ranks_stop_following(void);

/*
 * Puts complete reports into the dataset, as `sightline ranks add` does, in a process of its own: whatever happens to that,
 * this one goes on, and the reports stay. A failure is one line on stderr. Nothing happens without --ranks.
 */
void ranks_end(const struct profile_options *o, char *const *reports, size_t cnt);
