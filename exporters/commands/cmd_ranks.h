/* cmd_ranks.h - the commands of sightline ranks; argv[0] is the command's name. */
#pragma once

#define RANKS_COMMANDS(COMMAND)                                                        \
	COMMAND(add, "put reports into a dataset")                                     \
	COMMAND(check, "is a dataset whole: ranks, reports, losses, clocks, versions") \
	COMMAND(ask, "answer a question over a dataset, by DuckDB or Spark")           \
	COMMAND(sql, "print views and statement, for an engine of one's own")          \
	COMMAND(clock, "compare the clocks of the nodes, by their collectives")        \
	COMMAND(report, "a run as one page: ranks by step and by collective")          \
	COMMAND(top, "follow the ranks of a running job")                              \
	COMMAND(autopsy, "after a death or a hang: how each rank ended, and why")      \
	COMMAND(compact, "the parts of a run as one file per table")                   \
	COMMAND(remove, "take a run out of a dataset")                                 \
	COMMAND(fetch, "a span of chosen ranks out of their reports, on one axis")

#define RANKS_DECLARE(name, about) int cmd_ranks_##name(int argc, char **argv);
RANKS_COMMANDS(RANKS_DECLARE)
#undef RANKS_DECLARE
