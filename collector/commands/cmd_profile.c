/*
 * cmd_profile.c - sightline profile: runs a program, collects, reports.
 *
 * Order: whatever can fail because of the user (name, report, session) fails before the program
 * runs; after that nothing changes the program's behaviour or status.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/stop_signal.h"
#include "collector/base/commands.h"
#include "collector/mask/mask.h"
#include "collector/base/find_program.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/run/collect.h"
#include "collector/run/ranks.h"
#include "collector/run/session_control.h"
#include "collector/report/db_stacks.h"
#include "collector/run/launch.h"
#include "collector/base/limits.h"
#include "collector/options/output_name.h"
#include "collector/run/report_lines.h"

/* Opens the collection for the waiting program. 0, or an exit status after one line. */
static int open_collection(struct collector *c, struct profile_options *o, const char *preload,
			   const char *report)
{
	struct collect_ask ask = {.options = o, .report = report, .preload = preload};
	struct session_control_ask steer = {
		.options = o, .kind = "profile", .name = o->session_new, .pid = getpid()};
	char why[1024] = "";
	int err = collect_open(c, &ask, why, sizeof(why));

	if (!err) {
		err = session_control_open(c, &steer, why, sizeof(why));
		if (!err)
			return 0;
		collect_abandon(c, false);
	}
	sl_warn("%s", why[0] ? why : strerror(-err));
	return SL_EXIT_FAIL;
}

#define LEFT_RUNNING (-2) /* in place of a wait status: --kill=none */

/* Collection ended before the program: --kill, then wait as asked. */
static int end_program(struct collector *c, int sig)
{
	int status;

	collect_end_tree(c, sig);
	if (c->root.is_gone)
		return c->root.status;
	if (!sig)
		return LEFT_RUNNING;
	while (waitpid(c->root.child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static int collect_program(struct collector *c, const struct profile_options *o)
{
	int status = -1, err;

	collect_run(c);
	status = c->root.status;
	if ((c->end == RUN_CUT))
		status = end_program(c, c->control->has_shut_down ? c->control->kill_signal
								  : o->program.kill_signal);
	if (isatty(STDERR_FILENO))
		db_stacks_progress(sl_say_names);
	err = collect_finish(c);
	session_control_end(c, err);
	return status;
}

/* The arguments in one line, as proc_command_line() would have them. */
static char *join(int argc, char **argv)
{
	size_t len = 0;
	char *all, *at, *line;

	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	all = at = malloc(len + 1);
	for (int i = 0; all && i < argc; i++)
		at = stpcpy(at, argv[i]) + 1;
	line = all ? mask_line(all, len) : NULL;
	free(all);
	return line;
}

static int profile(struct profile_options *o, int argc, char **argv, const char *program,
		   const char *preload)
{
	static struct collector c;
	struct launch l;
	char *report, why[1024] = "";
	int signals, sig, err, status;
	bool is_missing;

	err = launch_fork(&l, o, program, argv, preload);
	if (err) {
		sl_warn("cannot start a process: %s", strerror(-err));
		return SL_EXIT_FAIL;
	}
	/* The program has its own limits and signals by now. A small limit on file size is met by the report's first pages. */
	signal(SIGXFSZ, SIG_IGN);
	limits_raise_descriptors();
	/* The flight recorder's have their names when there is a reason for them. */
	report = o->capture.flight_ns ? NULL : output_report(o, l.pid, why, sizeof(why));
	if (why[0])
		sl_warn("%s", why);
	/* From here on a signal that ends the command while all is opened leaves nothing behind. */
	signals = launch_signals();
	err = !report && !o->capture.flight_ns ? SL_EXIT_FAIL
					       : open_collection(&c, o, preload, report);
	sig = stop_signal_pending();
	if (err || sig) {
		if (!err)
			collect_abandon(&c, false);
		launch_cancel(&l);
		free(report);
		return sig ? launch_exit_as(sig) : SL_EXIT_FAIL;
	}
	collect_take_signals(&c, signals);
	collect_watch(&c, (uint32_t)l.pid, true);
	notes_command(&c, argc, argv);
	c.model.root.exe = realpath(program, NULL);
	c.model.root.command = join(argc, argv);
	ranks_begin(&c, o);
	err = launch_go(&l, c.session.dir);
	if (err) {
		collect_abandon(&c, false);
		errno = -err;
		free(report);
		return launch_not_found(argv[0]);
	}
	pump_commit(&c); /* the rows so far: the program need not wait for that */
	ranks_follow(o, report);
	session_control_take_key(&c);
	status = collect_program(&c, o);
	for (size_t i = 0; i < c.capture->reports.cnt; i++) {
		sl_warn("report: %s", c.capture->reports.list[i]);
		if (o->stats)
			report_stats(c.capture->reports.list[i]);
	}
	ranks_end(o, c.capture->reports.list, c.capture->reports.cnt);
	is_missing = c.capture->reports.is_missing;
	capture_release(&c);
	free(report);
	status = launch_exit_as(status == LEFT_RUNNING ? launch_wait(l.pid) : status);
	return status == 0 && is_missing ? SL_EXIT_FAIL : status;
}

int cmd_profile(int argc, char **argv)
{
	struct profile_options o;
	int first = profile_options_parse(&o, argc, argv), status;
	char *program, *preload;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (first >= argc) {
		sl_warn("profile: no program given (sightline profile [options] PROGRAM "
			"[ARGUMENTS...])");
		return SL_EXIT_USAGE;
	}
	program = sl_find_program(argv[first]);
	if (!program)
		return launch_not_found(argv[first]);
	preload = launch_preload_or_say();
	if (!preload) {
		free(program);
		return SL_EXIT_FAIL;
	}
	status = profile(&o, argc - first, argv + first, program, preload);
	free(program);
	free(preload);
	return status;
}
