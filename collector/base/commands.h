/* commands.h - the commands of the sightline binary, made from commands.def. */
#pragma once

struct cmd {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] = the command's name */
	const char *summary;               /* one line for --help; NULL: internal, not listed */
};

/* The table of all commands, which main.c has; ends with a NULL name. */
void commands_register(const struct cmd *cmds);
/* Runs the command @name; @argv[0] is its name, the last NULL. Its exit status. */
int commands_run(const char *name, char **argv);

#define CMD(name, function, summary) int function(int argc, char **argv);
#include "collector/commands.def"
#undef CMD
