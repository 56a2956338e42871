/* cmd_ranks.c - sightline ranks: one question over the reports of many ranks. */
#include <stdio.h>
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"

static const struct {
	const char *name, *about;
	int (*run)(int argc, char **argv);
} commands[] = {
#define RANKS_ONE(name, about) {#name, about, cmd_ranks_##name},
	RANKS_COMMANDS(RANKS_ONE)
#undef RANKS_ONE
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void help(void)
{
	printf("usage: sightline ranks COMMAND [options] ...\n\nCommands:\n");
	for (size_t i = 0; i < COMMAND_CNT; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].about);
	printf("\n"
	       "Examples:\n"
	       "  sightline ranks add -d /shared/dataset run-*.sqlite   # on each node, after the "
	       "run\n"
	       "  sightline ranks check -d /shared/dataset\n"
	       "  sightline ranks ask straggler -d /shared/dataset\n"
	       "\n"
	       "'sightline ranks COMMAND --help' shows the options of one.\n");
}

int cmd_ranks(int argc, char **argv)
{
	const char *near = NULL;

	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		help();
		return 0;
	}
	for (size_t i = 0; argc >= 2 && i < COMMAND_CNT; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
		near = sl_nearest(argv[1], near, commands[i].name);
	}
	if (argc < 2)
		sl_warn("ranks: a command is missing: add, check, ask, sql, report, autopsy, "
			"clock, top, "
			"compact, "
			"remove or fetch "
			"(see "
			"'sightline ranks "
			"--help')");
	else if (argv[1][0] == '-')
		sl_warn("ranks: unknown option '%s' (see 'sightline ranks --help')", argv[1]);
	else if (near)
		sl_warn("ranks: there is no command '%s'; did you mean '%s'?", argv[1], near);
	else
		sl_warn("ranks: there is no command '%s' (see 'sightline ranks --help')", argv[1]);
	return SL_EXIT_USAGE;
}
