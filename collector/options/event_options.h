/* event_options.h - values of --cpu-core-events, --os-events and --event-sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/options/event_scope.h"

struct event_options {
	const char *core, *os; /* words of event_choose(), NULL: none */
	enum sched_mode scope; /* NONE: nothing is counted */
};

/* As they were typed; NULL: not given. */
struct event_words {
	const char *core, *os, *sample;
};

/* Events that nsys counts when none is named. */
#define EVENT_DEFAULT "2"

/*
 * 0; OPT_HELP_SHOWN: a list was asked for, and is printed (@may_help: else that is wrong); -SL_EXIT_USAGE after one line that
 * names @cmd ("profile").
 */
int event_options_read(struct event_options *o, const struct event_words *words, bool may_help,
		       const char *cmd);
