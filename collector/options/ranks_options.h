/* ranks_options.h - --ranks: the dataset that the reports go into, and the names that follow from it. */
#pragma once

struct profile_options;

/*
 * Checks --ranks and --run of @o, which become absolute and plain names, and gives reports without a name one with the host
 * and the rank. Makes the folder. 0, or -SL_EXIT_USAGE after one line. Strings live as long as the process.
 */
int ranks_options_settle(struct profile_options *o, const char *cmd);

/* The number of the job that a launcher put into the environment; NULL: none did. */
const char *ranks_job(void);
