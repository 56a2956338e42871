/* session_idle.c - serves the commands of a session that waits for its program. */
#include "collector/run/session_idle.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"

static void do_status(struct session_idle *l, int client)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "name=%s\nkind=start\nstate=Available\npid=%d\nuid=%u\nsince=%lld\nroot=0\n"
		 "root_runs=0\nprocesses=0\nprogram=\nreport=\nreports=0\nlost=0\nrefused=%u\n"
		 "nonsense=%u\nhotkey=\n",
		 l->name, (int)getpid(), (unsigned)geteuid(), (long long)l->since_s,
		 l->control.refused, l->control.nonsense);
	control_answer(&l->control, client, 0, text);
}

static void do_join(struct session_idle *l, int client, char **word)
{
	uint32_t root = word[0] ? (uint32_t)strtoul(word[0], NULL, 10) : 0;

	if (!root || l->root) {
		control_answer(&l->control, client, SL_EXIT_FAIL,
			       "the session has its program already");
		return;
	}
	if (profile_options_add(l->options, OPTIONS_LAUNCH, word + 1) < 0) {
		control_answer(&l->control, client, SL_EXIT_USAGE,
			       "these options do not go with those of 'sightline start' "
			       "(--capture-range=nvtx needs --nvtx-capture=RANGE)");
		return;
	}
	l->root = root;
	l->joined = control_take(&l->control, client);
}

static void ask(void *to, int client, int cnt, char **word)
{
	struct session_idle *l = to;

	(void)cnt;
	if (strcmp(word[0], "status") == 0) {
		do_status(l, client);
	} else if (strcmp(word[0], "join") == 0) {
		do_join(l, client, word + 1);
	} else if (strcmp(word[0], "cancel") == 0 || strcmp(word[0], "shutdown") == 0) {
		l->is_over = true;
		control_answer(&l->control, client, 0, "");
	} else if (strcmp(word[0], "start") == 0) {
		control_answer(
			&l->control, client, SL_EXIT_FAIL,
			"'sightline start' was run already: the session waits for 'sightline "
			"launch'");
	} else if (strcmp(word[0], "stop") == 0 || strcmp(word[0], "dump") == 0) {
		control_answer(&l->control, client, SL_EXIT_FAIL,
			       "nothing is recorded: the session waits for 'sightline launch' "
			       "(sightline cancel ends it)");
	} else {
		control_answer(&l->control, client, SL_EXIT_USAGE,
			       "the session waits for 'sightline launch'");
	}
}

int session_idle_open(struct session_idle *l, struct profile_options *options, const char *name,
		      char *why, size_t why_len)
{
	/* No traced process maps it. */
	struct sl_session none = {.magic = SL_SESSION_MAGIC,
				  .wire_version = SL_WIRE_VERSION,
				  .bytes = sizeof(none),
				  .collector_pid = (uint32_t)getpid(),
				  .state = SL_SESSION_ENDED};
	struct session_appearance appearance;
	int err;

	memset(l, 0, sizeof(*l));
	l->options = options;
	l->since_s = time(NULL);
	l->joined = -1;
	err = session_create(&l->session, &none, NULL, why, why_len);
	if (err)
		return err;
	appearance = (struct session_appearance){.pattern = name,
						 .kind = "start",
						 .pid = getpid(),
						 .name = l->name,
						 .control = &l->control,
						 .ask = ask,
						 .to = l};
	err = session_appear(&l->session, &appearance, why, why_len);
	if (err)
		session_remove(&l->session);
	return err;
}

void session_idle_wait(struct session_idle *l)
{
	struct pollfd p = {.fd = control_fd(&l->control), .events = POLLIN};

	while (!l->is_over && !l->root) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return;
		control_serve(&l->control);
	}
}

void session_idle_close(struct session_idle *l)
{
	control_close(&l->control);
	session_remove(&l->session);
}
