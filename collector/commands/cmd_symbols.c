/*
 * cmd_symbols.c - the process that reads another user's files for a collector, with that user's rights (symbols_apart.c).
 */
#include <stdlib.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/symbols/symbols_serve.h"

int cmd_symbols(int argc, char **argv)
{
	if (argc != 2) {
		sl_warn("symbols is started by a collector; use 'sightline profile'");
		return SL_EXIT_USAGE;
	}
	return symbols_serve((uid_t)strtoul(argv[1], NULL, 10));
}
