/* session_now.c - finds the report that a live session is writing. */
#include "collector/session/session_now.h"

#include <stdio.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/session/session_list.h"

_Static_assert(SESSION_DIR_MAX <= sizeof(((struct session_now *)0)->dir), "room for the folder");
_Static_assert(SESSION_NAME_MAX <= sizeof(((struct session_now *)0)->name), "room for the name");

static int ask(const struct session_entry *e, struct session_now *s)
{
	static struct session_info info;

	info = (struct session_info){.at = *e};
	s->report[0] = 0;
	if (!session_info_ask(&info))
		return -1;
	s->owner = e->owner;
	memcpy(s->dir, e->dir, strlen(e->dir) + 1);
	memcpy(s->name, e->name, strlen(e->name) + 1);
	memcpy(s->report, info.report, sizeof(info.report));
	return 0;
}

int session_now(const char *name, const char *cmd, struct session_now *s)
{
	struct session_entry e;
	int status = session_choose(name, cmd, &e);

	if (status)
		return status;
	if (ask(&e, s) == 0)
		return 0;
	sl_warn("%s: the session '%s' does not answer", cmd, e.name);
	return SL_EXIT_FAIL;
}

int session_now_again(struct session_now *s)
{
	struct session_entry e = {.owner = s->owner, .is_alive = true};

	memcpy(e.dir, s->dir, sizeof(e.dir) < sizeof(s->dir) ? sizeof(e.dir) : sizeof(s->dir));
	memcpy(e.name, s->name, sizeof(e.name));
	return ask(&e, s);
}
