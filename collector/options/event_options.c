/* event_options.c - checks the options that choose event counters. */
#include "collector/options/event_options.h"

#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/kernel/perf/event_list.h"

/* Is this word, or anything but it, among those between commas? */
static bool has_word(const char *words, const char *word, bool other)
{
	for (const char *p = words; p && *p;) {
		size_t len = strcspn(p, ",");

		if (len && (strlen(word) == len && memcmp(p, word, len) == 0) != other)
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

static int help(const struct event_words *w, bool may_help, const char *cmd)
{
	bool core = has_word(w->core, "help", false), os = has_word(w->os, "help", false);

	if (!core && !os)
		return 0;
	if (!may_help) {
		sl_warn("%s: '--%s=help' makes no sense here", cmd,
			core ? "cpu-core-events" : "os-events");
		return -SL_EXIT_USAGE;
	}
	if (core)
		event_help(EVENT_CORE);
	if (os)
		event_help(EVENT_OS);
	return OPT_HELP_SHOWN;
}

static enum sched_mode scope_of(const char *word)
{
	return !word || word[0] == 'p' ? SCHED_MODE_TREE
	       : word[0] == 's'        ? SCHED_MODE_SYSTEM
				       : SCHED_MODE_NONE;
}

int event_options_read(struct event_options *o, const struct event_words *w, bool may_help,
		       const char *cmd)
{
	bool core = has_word(w->core, "none", true), os = has_word(w->os, "none", true);
	struct event_choice choice;
	char why[256];
	int rc = help(w, may_help, cmd);

	*o = (struct event_options){.core = core ? w->core : NULL, .os = os ? w->os : NULL};
	if (rc || (!core && !os && (!w->sample || w->core || w->os)))
		return rc;
	o->scope = scope_of(w->sample);
	if (o->scope == SCHED_MODE_NONE) {
		if (core || os)
			sl_warn("%s: --event-sample=none: no events are counted", cmd);
		return 0;
	}
	if (!core && !os)
		o->core = EVENT_DEFAULT;
	rc = event_choose(&choice, o->core, o->os, true, why, sizeof(why));
	if (!rc)
		return 0;
	/* Default events are not asked for: their lack is no error. */
	if (!core && !os) {
		sl_warn("%s: no events are counted: without --os-events and --cpu-core-events it "
			"would be instructions, and %s",
			cmd, why);
		*o = (struct event_options){0};
		return 0;
	}
	sl_warn("%s: %s", cmd, why);
	return -SL_EXIT_USAGE;
}
