/*
 * cmd_collect.c - a collector in the background: a daemon without a terminal. Three may start it.
 *
 *   libtrace.so (bare preload)   by the environment; answered by one line on --ready-fd: the variable's value, or
 *                                "!" and the reason; "=" and the value, of a session that was there before
 *   launch, start                by a packet on --ask-fd (daemon.h), answered by one; after `start` the session is idle
 *                                (session_idle.h) until `launch` brings the program
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/run/collect.h"
#include "collector/run/ranks.h"
#include "collector/run/session_control.h"
#include "collector/session/daemon.h"
#include "collector/run/launch.h"
#include "collector/base/limits.h"
#include "collector/run/session_idle.h"
#include "collector/options/output_name.h"
#include "collector/base/proc.h"

#define ASK_MS 10000

struct start {
	uint32_t root;
	int ready; /* of a bare preload, or -1 */
	int ask;   /* of `launch` and `start`, or -1 */
	const char *kind;
	char name[SESSION_NAME_MAX]; /* of the idle session; "": by the options */
	bool records;              /* records from the beginning, into a report with a known name */
	struct session_idle *idle; /* where it comes from; NULL */
};

static void say(int fd, const char *mark, const char *text)
{
	char line[1024];
	int len = snprintf(line, sizeof(line), "%s%s\n", mark, text);

	if (len > 0 && write(fd, line, (size_t)len) != len)
		errno = EPIPE; /* the program is gone; it will be noticed */
	close(fd);
}

/* Sends the starter the session's directory (@status 0; a program: the value of its variable) or the reason for none. Once. */
static void answer(struct start *s, int status, const char *text)
{
	char number[16], session[SESSION_VARIABLE_MAX], why[80];
	static struct command p;
	int err = s->ready >= 0 && !status ? session_variable(text, session, sizeof(session)) : 0;

	if (err == -EPERM) {
		say(s->ready, "!", "the session's folder is another user's");
	} else if (err) {
		snprintf(why, sizeof(why), "the session's folder cannot be opened: %s",
			 strerror(-err));
		say(s->ready, "!", why);
	} else if (s->ready >= 0) {
		say(s->ready, status ? "!" : "", status ? text : session);
	}
	if (s->ask >= 0) {
		snprintf(number, sizeof(number), "%d", status);
		command_begin(&p);
		command_add(&p, number);
		command_add(&p, text);
		command_send(s->ask, &p);
		close(s->ask);
	}
	s->ready = s->ask = -1;
}

static bool read_arguments(int argc, char **argv, struct start *s)
{
	*s = (struct start){.ready = -1, .ask = -1};
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--root") == 0)
			s->root = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--ready-fd") == 0)
			s->ready = (int)strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--ask-fd") == 0)
			s->ask = (int)strtol(argv[i + 1], NULL, 10);
	}
	return (s->root && s->ready >= 0) || s->ask >= 0;
}

static void command_of(struct collector *c, uint32_t pid)
{
	char *line = proc_command_line(pid);

	if (line)
		notes_command(c, 1, (char *[]){line, NULL});
	free(line);
}

/* ---- the command line ---- */

static int read_environment(struct profile_options *o, struct start *s, char *why, size_t why_len)
{
	const char *text = getenv("SIGHTLINE_OPTIONS"), *name = getenv("SIGHTLINE_OUTPUT");

	s->kind = "preload";
	s->records = true;
	if (profile_options_from_string(o, text ? text : "", "SIGHTLINE_OPTIONS") != 0) {
		snprintf(why, why_len,
			 "SIGHTLINE_OPTIONS is not understood: '%s' (see 'sightline profile "
			 "--help')",
			 text);
		return -EINVAL;
	}
	if (name && *name)
		profile_options_set_output(o, name);
	return 0;
}

/* Until `launch` joins with a program; false: none will. */
static bool wait_idle(struct profile_options *o, struct start *s, char *why, size_t why_len)
{
	static struct session_idle l;
	int err = session_idle_open(&l, o, o->session_new, why, why_len);

	if (err) {
		answer(s, SL_EXIT_FAIL, why[0] ? why : strerror(-err));
		return false;
	}
	answer(s, 0, l.session.dir);
	session_idle_wait(&l);
	s->idle = &l;
	s->root = l.root;
	s->ask = l.joined;
	snprintf(s->name, sizeof(s->name), "%s", l.name);
	if (!s->root)
		session_idle_close(&l);
	return s->root != 0;
}

/* False: the starter was answered. */
static bool read_packet(struct profile_options *o, struct start *s, char *why, size_t why_len)
{
	static struct command p;
	bool for_start;
	int rc;

	profile_options_init(o);
	if (command_receive(s->ask, &p, ASK_MS) != 0 || p.cnt < 1)
		return false;
	for_start = strcmp(p.word[0], "start") == 0;
	s->kind = for_start ? "start" : "launch";
	rc = profile_options_add(o, for_start ? OPTIONS_START : OPTIONS_LAUNCH, p.word + 1);
	if (rc < 0) {
		answer(s, SL_EXIT_USAGE, "these options are not understood");
		return false;
	}
	if (!for_start) {
		o->capture.start_later = !o->capture.flight_ns;
		return true;
	}
	s->records = true;
	return wait_idle(o, s, why, why_len);
}

/* ---- the collection ---- */

/* Signals that may be meant for a capture, and signals that ask a daemon to end. */
static void take_signals(struct collector *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	collect_take_signals(c, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

static int open_collection(struct collector *c, struct start *s, struct profile_options *o,
			   const struct collect_ask *ask, char *why, size_t why_len)
{
	struct session_control_ask steer = {.options = o,
					    .kind = s->kind,
					    .name = s->name[0] ? s->name : o->session_new,
					    .pid = (pid_t)s->root};
	int err = collect_open(c, ask, why, why_len);

	if (err)
		return err;
	/* A program that waits for the answer need not wait for the rows so far. */
	if (s->ready < 0)
		pump_commit(c);
	err = session_control_open(c, &steer, why, why_len);
	if (err)
		collect_abandon(c, false);
	return err;
}

static int collect(struct start *s, struct profile_options *o)
{
	static struct collector c;
	struct collect_ask ask = {.options = o,
				  .is_quiet = true,
				  .root = s->root,
				  .is_late = s->ready >= 0 && profile_kernel_is_default(o)};
	char why[1024] = "", *report = NULL, *preload = launch_preload();
	int err = 0;

	/* The flight recorder's have their names when there is a reason for them. */
	if (s->records && !o->capture.flight_ns) {
		report = output_report(o, (pid_t)s->root, why, sizeof(why));
		err = report ? 0 : -EINVAL;
	}
	ask.report = report;
	ask.preload = preload;
	if (!err)
		err = open_collection(&c, s, o, &ask, why, sizeof(why));
	if (s->idle)
		session_idle_close(s->idle);
	if (err) {
		answer(s, SL_EXIT_FAIL, why[0] ? why : strerror(-err));
		free(report);
		free(preload);
		return SL_EXIT_FAIL;
	}
	ranks_begin(&c, o);
	take_signals(&c);
	collect_watch(&c, s->root, false);
	command_of(&c, s->root);
	answer(s, 0, c.session.dir);
	pump_commit(&c);
	ranks_follow(o, report);
	collect_run(&c);
	if (c.control->has_shut_down)
		collect_end_tree(&c, c.control->kill_signal);
	else if ((c.end == RUN_CUT) && (o->capture.by || o->capture.by_hotkey))
		collect_end_tree(&c, o->program.kill_signal);
	err = collect_finish(&c);
	session_control_end(&c, err);
	ranks_end(o, c.capture->reports.list, c.capture->reports.cnt);
	capture_release(&c);
	free(report);
	free(preload);
	return err ? SL_EXIT_FAIL : 0;
}

/*
 * The program's parents have ended and it has not their environment (Go hands on that of its initial stack), but the kernel has
 * reported its fork to a session: that is its session, too.
 */
static bool has_session(const struct start *s)
{
	char value[SESSION_VARIABLE_MAX];
	struct session_entry e;

	if (!session_of_orphan(s->root, &e) || session_variable(e.dir, value, sizeof(value)) < 0)
		return false;
	say(s->ready, "=", value);
	return true;
}

int cmd_collect(int argc, char **argv)
{
	static struct profile_options o;
	struct start s;
	char why[1024] = "";
	int err;

	if (!read_arguments(argc, argv, &s)) {
		sl_warn("collect is started by libtrace.so, 'sightline launch' and 'sightline "
			"start'; use 'sightline profile'");
		return SL_EXIT_USAGE;
	}
	fcntl(s.ready >= 0 ? s.ready : s.ask, F_SETFD, FD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	limits_raise_descriptors();
	if (s.ready >= 0) {
		if (has_session(&s))
			return 0;
		err = read_environment(&o, &s, why, sizeof(why));
		if (err) {
			answer(&s, SL_EXIT_FAIL, why);
			return SL_EXIT_FAIL;
		}
	} else if (!read_packet(&o, &s, why, sizeof(why))) {
		return 0;
	}
	return collect(&s, &o);
}
