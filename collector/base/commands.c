/* commands.c - runs a command by its name, for the commands that end with another one. */
#include "collector/base/commands.h"

#include <string.h>

#include "collector/base/message.h"

static const struct cmd *table;

void commands_register(const struct cmd *cmds)
{
	table = cmds;
}

int commands_run(const char *name, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	for (const struct cmd *cmd = table; cmd && cmd->name; cmd++)
		if (strcmp(cmd->name, name) == 0)
			return cmd->run(argc, argv);
	return SL_EXIT_FAIL;
}
