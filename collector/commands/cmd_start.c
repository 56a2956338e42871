/*
 * cmd_start.c - sightline start: starts recording in a session, or makes an idle one that waits for its program.
 *
 * Errors in the options are reported here, where they were typed; the collector gets options that mean the same in
 * its folder and environment.
 */
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/job/job.h"
#include "collector/session/daemon.h"
#include "collector/options/profile_options.h"
#include "collector/session/sessions.h"

#define ANSWER_MS 20000

static void add_word(void *to, const char *word)
{
	command_add(to, word);
}

static int begin(const struct session_entry *e, bool has_output)
{
	static struct command p;
	int rc;

	command_begin(&p);
	command_add(&p, "start");
	command_add(&p, has_output ? "+" : "-");
	rc = profile_options_send(add_word, &p);
	if (rc < 0)
		return -rc;
	rc = session_ask(e, "start", &p, ANSWER_MS);
	if (rc && p.cnt == 2)
		sl_warn("start: %s", p.word[1]);
	return rc;
}

static int make_session(void)
{
	static struct command p;
	int rc;

	command_begin(&p);
	command_add(&p, "start");
	rc = profile_options_send(add_word, &p);
	if (rc < 0)
		return -rc;
	rc = daemon_start(&p, 0);
	if (rc < 0)
		sl_warn("start: no collector could be started: %s", strerror(-rc));
	else if (rc)
		sl_warn("start: %s", p.word[1]);
	else
		sl_warn("a new session waits for its program: sightline launch PROGRAM");
	return rc < 0 ? SL_EXIT_FAIL : rc;
}

/* Counts the options that concern one recording. */
static void count_word(void *to, const char *word)
{
	int *cnt = to;

	*cnt += strncmp(word, "--job=", 6) != 0 && strncmp(word, "--run=", 6) != 0 &&
		strncmp(word, "--output=", 9) != 0;
}

/* The requests of a job have no options: each session has its own. */
static int start_job(const struct profile_options *o, const char *name)
{
	int others = 0, rc = profile_options_send(count_word, &others);

	if (rc < 0)
		return -rc;
	if (name || o->session_new || o->output || others) {
		sl_warn("start: sessions of a job record with the options that each was begun "
			"with: "
			"--job takes --run alone");
		return SL_EXIT_USAGE;
	}
	return job_ask(o->after.ranks, o->after.run, JOB_START, "start", "");
}

int cmd_start(int argc, char **argv)
{
	struct profile_options o;
	struct session_entry e;
	const char *name = NULL;
	int first = profile_options_parse_for(&o, OPTIONS_START, argc, argv, &name), status;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (first < argc) {
		sl_warn("start: '%s' is too much: the program is started by 'sightline launch' "
			"(see 'sightline start --help')",
			argv[first]);
		return SL_EXIT_USAGE;
	}
	if (o.after.run && !o.after.ranks) {
		sl_warn("start: '--run' names a run of a job: give --job=FOLDER too");
		return SL_EXIT_USAGE;
	}
	if (o.after.ranks)
		return start_job(&o, name);
	if (name && o.session_new) {
		sl_warn("start: '--session' and '--session-new' exclude each other");
		return SL_EXIT_USAGE;
	}
	if (o.session_new || (!name && !sessions_alive()))
		return make_session();
	status = session_choose(name, "start", &e);
	return status ? status : begin(&e, o.output != NULL);
}
