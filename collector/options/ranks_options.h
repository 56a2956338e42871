/* ranks_options.h - --ranks: the dataset that the reports go into, and the names that follow from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct profile_options;

/*
 * Checks --ranks and --run of @o, which become absolute and plain names, and gives reports without a name one with the host
 * and the rank. Makes the folder. 0, or -SL_EXIT_USAGE after one line. Strings live as long as the process.
 */
int ranks_options_settle(struct profile_options *o, const char *cmd);

/* Can the word be the name of a folder of the dataset, whatever the file system? */
bool ranks_is_word(const char *word);

/* The number of the job that a launcher put into the environment; NULL: none did. */
const char *ranks_job(void);
/* The rank of this process, by its launcher; NULL: unknown. */
const char *ranks_rank(void);
