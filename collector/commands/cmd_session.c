/* cmd_session.c - sightline stop, cancel and shutdown, and dump of a session: one question to a session's collector each. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/proc.h"
#include "collector/commands/session_dump.h"
#include "collector/job/job.h"
#include "collector/options/profile_options.h"
#include "collector/run/report_lines.h"
#include "collector/session/session_list.h"
#include "collector/session/sessions.h"

#define QUICK_MS 20000

/*
 * Of the collector where it has a terminal, else of the program: a collector in the background has none. Where no program
 * runs, nothing is lost.
 */
static bool is_of_this_terminal(const struct session_info *s)
{
	struct proc_origin own, collector = {0}, root = {0};

	if (!proc_origin((uint32_t)getpid(), &own))
		return true;
	if (proc_origin((uint32_t)s->at.pid, &collector) && collector.terminal)
		return collector.terminal == own.terminal;
	/* The session is in the background, or was begun without a terminal. */
	if (!s->root_runs || (!own.terminal && strcmp(s->kind, "attach") == 0))
		return true;
	return proc_origin(s->root, &root) && root.terminal == own.terminal;
}

/*
 * A session that no option names may be another terminal's, or another job's, which the command would end. 0: go on; else an
 * exit status.
 */
static int confirm(const char *cmd, const struct session_entry *e)
{
	static struct session_info s;
	char line[16];

	s = (struct session_info){.at = *e};
	if (!session_info_ask(&s) || is_of_this_terminal(&s))
		return 0;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		sl_warn("%s: session '%s' was not begun in this terminal; if it is meant: "
			"sightline "
			"%s --session=%s",
			cmd, e->name, cmd, e->name);
		return SL_EXIT_USAGE;
	}
	sl_warn("%s: session '%s' (process %u: %s) was not begun in this terminal; %s it? [y/N]",
		cmd, e->name, s.root, s.program, cmd);
	if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return 0;
	return SL_EXIT_FAIL;
}

/* Sessions of a job, in place of one. */
struct of_job {
	const char *dataset, *run;
};

/* For a job; -1: one session is meant. Else an exit status. */
static int ask_job(const char *cmd, enum job_verb verb, const char *session,
		   const struct of_job *of)
{
	if (of->dataset && session) {
		sl_warn("%s: '--session' and '--job' exclude each other", cmd);
		return SL_EXIT_USAGE;
	}
	if (of->run && !of->dataset) {
		sl_warn("%s: '--run' names a run of a job: give --job=FOLDER too", cmd);
		return SL_EXIT_USAGE;
	}
	return of->dataset ? job_ask(of->dataset, of->run, verb, cmd, "") : -1;
}

/* Sends the command to the session's collector and prints the answer. */
static int ask(const char *cmd, const char *session, const char *argument, int timeout_ms)
{
	static struct command p;
	struct session_entry e;
	int status = session_choose(session, cmd, &e);

	if (!status && !session && strcmp(cmd, "dump") != 0)
		status = confirm(cmd, &e);
	if (status)
		return status;
	command_begin(&p);
	command_add(&p, cmd);
	if (argument)
		command_add(&p, argument);
	status = session_ask(&e, cmd, &p, timeout_ms);
	if (p.cnt != 2 || command_status(&p) != status)
		return status;
	if (status)
		sl_warn("%s: %s", cmd, p.word[1]);
	else
		report_lines(p.word[1]);
	return status;
}

/* 0, or an exit status +1 when all is done. */
static int parse(const struct opt *opts, int argc, char **argv, const char *cmd)
{
	int first = opt_parse(opts, argc, argv, cmd);

	if (first == OPT_HELP_SHOWN)
		return 1;
	if (first < 0)
		return -first + 1;
	if (first == argc)
		return 0;
	sl_warn("%s: '%s' is too much (see 'sightline %s --help')", cmd, argv[first], cmd);
	return SL_EXIT_USAGE + 1;
}

#define SESSION_OPTION                                                                     \
	{                                                                                  \
		0, "session", OPT_STRING, NULL, "NAME",                                    \
			"the session, by name or folder (default: the only one there is)", \
			&session, NULL                                                     \
	}

#define JOB_OPTIONS                                                                               \
	{0,           "job",    OPT_STRING,                                                       \
	 NULL,        "FOLDER", "all sessions of a job, on all nodes: those with --ranks=FOLDER", \
	 &of.dataset, NULL},                                                                      \
	{                                                                                         \
		0, "run", OPT_STRING, NULL, "NAME",                                               \
			"of this run of the job (default: the only one there is)", &of.run, NULL  \
	}

int cmd_stop(int argc, char **argv)
{
	static const char *session;
	static struct of_job of;
	static const struct opt opts[] = {
		{.kind = OPT_ABOUT,
		 .values = "sightline stop [options]",
		 .help = "Ends what 'sightline start' began, and returns when the report is "
			 "complete; the program\nruns on.\n"
			 "Example:\n"
			 "  sightline stop --session=train"},
		{.kind = OPT_GROUP, .help = "Options:"},
		SESSION_OPTION,
		JOB_OPTIONS,
		{0, "keep", OPT_LATER, "SECONDS", NULL, "", NULL, NULL},
		{0, "defer-report", OPT_LATER, "bool", NULL, "", NULL, NULL},
		{0},
	};
	int rc = parse(opts, argc, argv, "stop");

	int job = rc ? rc - 1 : ask_job("stop", JOB_STOP, session, &of);

	return job >= 0 ? job : ask("stop", session, NULL, -1);
}

int cmd_cancel(int argc, char **argv)
{
	static const char *session;
	static struct of_job of;
	static const struct opt opts[] = {
		{.kind = OPT_ABOUT,
		 .values = "sightline cancel [options]",
		 .help = "Ends what 'sightline start' began and throws it away; the program runs "
			 "on.\n"
			 "Example:\n"
			 "  sightline cancel --session=train"},
		{.kind = OPT_GROUP, .help = "Options:"},
		SESSION_OPTION,
		JOB_OPTIONS,
		{0},
	};
	int rc = parse(opts, argc, argv, "cancel");

	int job = rc ? rc - 1 : ask_job("cancel", JOB_CANCEL, session, &of);

	return job >= 0 ? job : ask("cancel", session, NULL, QUICK_MS);
}

int cmd_shutdown(int argc, char **argv)
{
	static const char *session, *kill_word = "sigterm";
	static const struct opt opts[] = {
		{.kind = OPT_ABOUT,
		 .values = "sightline shutdown [options]",
		 .help = "Ends a session: what is being recorded becomes a report, then the "
			 "program gets the signal.\nReturns when that report is complete.\n"
			 "Example:\n"
			 "  sightline shutdown --kill=none --session=train"},
		{.kind = OPT_GROUP, .help = "Options:"},
		SESSION_OPTION,
		{0, "kill", OPT_STRING, NULL, "SIGNAL",
		 "sent to processes of the program that still run: none,\nsigkill, sigterm or a "
		 "number (default: sigterm)",
		 &kill_word, NULL},
		{0},
	};
	int rc = parse(opts, argc, argv, "shutdown");

	if (rc)
		return rc - 1;
	if (profile_kill_signal(kill_word) < 0) {
		sl_warn("shutdown: option '--kill' takes none, sigkill, sigterm or a signal's "
			"number, not '%s' (see 'sightline shutdown --help')",
			kill_word);
		return SL_EXIT_USAGE;
	}
	return ask("shutdown", session, kill_word, -1);
}

int session_dump(const char *session, const char *dataset, const char *run)
{
	int job = ask_job("dump", JOB_DUMP, session, &(struct of_job){dataset, run});

	return job >= 0 ? job : ask("dump", session, "sightline dump", -1);
}
