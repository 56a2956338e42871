/* commands.h - the commands of the sightline binary, made from commands.def. */
#ifndef SL_COMMANDS_H
#define SL_COMMANDS_H

struct cmd {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] = the command's name */
	const char *summary;               /* one line for --help; NULL: internal, not listed */
};

extern const struct cmd sl_cmds[]; /* ends with a NULL name */

#define CMD(name, function, summary) int function(int argc, char **argv);
#include "collector/commands.def"
#undef CMD

#endif
