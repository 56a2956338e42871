/* ranks_name.h - a name for the run of a job whose launcher gives it none: the same for all of its ranks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ranks_named {
	RANKS_ALONE,    /* this process is no rank of several */
	RANKS_NAMED,    /* @name has it */
	RANKS_NAMELESS, /* the ranks of all nodes share nothing */
};

/*
 * Of a job on one node: host, process and start of the launcher, the nearest ancestor that is no rank. Of MPICH on several nodes:
 * where mpirun listens, and the hour; in the first minutes of an hour that of the hour before, where @dataset has such a job.
 */
enum ranks_named ranks_name(const char *dataset, char *name, size_t room);

/* The name of a job of several nodes by the command line of its launcher (words, a blank between), which began at @start, s. "": none. */
void ranks_name_by(const char *line, int64_t start, const char *dataset, char *name, size_t room);
