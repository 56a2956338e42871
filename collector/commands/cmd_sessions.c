/* cmd_sessions.c - sightline sessions list: the sessions of this machine, and whether they record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/session/session_list.h"

static bool show_header = true, all;
static const char *format = "text";

static const struct opt opts[] = {
	{.kind = OPT_ABOUT,
	 .values = "sightline sessions list [options]",
	 .help = "States: Available (waits for 'sightline launch'), Active (nothing is recorded),\n"
		 "DelayedCollection (what begins it has not happened yet), Collection, Finishing,\n"
		 "Flight (sightline dump), Dead (its collector was killed: sightline recover).\n"
		 "Example:\n"
		 "  sightline sessions list --format=json"},
	{.kind = OPT_GROUP, .help = "Options:"},
	{'p', "show-header", OPT_BOOL, NULL, NULL, "print the heading (default: true)",
	 &show_header, NULL},
	{0, "all", OPT_FLAG, NULL, NULL, "everybody's sessions (root only)", &all, NULL},
	{0, "format", OPT_ENUM, "text,json", "FORMAT", "text or json (default: text)", &format,
	 NULL},
	{0},
};

static int list(void)
{
	struct session_info *s = NULL;
	size_t cnt = session_list(&s, all);

	if (strcmp(format, "json") == 0)
		session_list_json(s, cnt);
	else
		session_list_text(s, cnt, show_header);
	free(s);
	return 0;
}

int cmd_sessions(int argc, char **argv)
{
	bool has_word = argc > 1 && argv[1][0] != '-';
	int first;

	if (has_word && strcmp(argv[1], "list") != 0) {
		sl_warn("sessions: unknown word '%s'; it is 'sightline sessions list'", argv[1]);
		return SL_EXIT_USAGE;
	}
	first = opt_parse(opts, argc - has_word, argv + has_word, "sessions");
	if (first < 0)
		return first == OPT_HELP_SHOWN ? 0 : -first;
	if (first + has_word < argc && !(strcmp(argv[first + has_word], "list") == 0)) {
		sl_warn("sessions: '%s' is too much (see 'sightline sessions --help')",
			argv[first + has_word]);
		return SL_EXIT_USAGE;
	}
	if (!has_word && first >= argc) {
		sl_warn("sessions: what about them? 'sightline sessions list' lists them");
		return SL_EXIT_USAGE;
	}
	return list();
}
