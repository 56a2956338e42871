/* rank_variables.h - which rank of a distributed job this process is, as launchers put it into the environment. */
#pragma once

#pragma GCC visibility push(hidden)

/* Records the variables that are set, if any, for the process image that begins. */
void sl_rank_announce(void);

#pragma GCC visibility pop
