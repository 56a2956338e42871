/*
 * cmd_launch.c - sightline launch: runs a program in which nothing is recorded before `sightline start`.
 *
 * The collector is a daemon and may outlive this process, which only represents the program to the shell, as
 * `profile` does (launch.h). Killed, it leaves both running.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/find_program.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/session/daemon.h"
#include "collector/run/hotkey.h"
#include "collector/run/launch.h"
#include "collector/run/report_lines.h"
#include "collector/session/sessions.h"

#define ANSWER_MS 20000
#define KEY_MS    100 /* between two checks of the terminal */

static void add_word(void *to, const char *word)
{
	command_add(to, word);
}

/* ---- which session ---- */

static bool is_waiting(const struct session_entry *e)
{
	static struct command p;
	char state[32];

	command_begin(&p);
	command_add(&p, "status");
	if (command_ask(e->dir, e->owner, &p, ANSWER_MS) != 0)
		return false;
	return strcmp(command_value(p.word[1], "state", state, sizeof(state)), "Available") == 0;
}

/* The session that waits for a program; found->dir is "" when there is none. 0 or an exit status. */
static int find_waiting(const char *name, struct session_entry *found)
{
	struct session_entry *list = NULL;
	size_t cnt, waiting = 0;
	int status;

	*found = (struct session_entry){0};
	if (name) {
		status = session_choose(name, "launch", found);
		if (!status && !is_waiting(found)) {
			sl_warn("launch: session '%s' has its program already (leave --session out "
				"for a new one)",
				found->name);
			return SL_EXIT_FAIL;
		}
		return status;
	}
	cnt = sessions_scan(&list, false);
	for (size_t i = 0; i < cnt && list[i].is_alive; i++) {
		if (!is_waiting(&list[i]))
			continue;
		*found = list[i];
		waiting++;
	}
	free(list);
	if (waiting <= 1)
		return 0;
	sl_warn("launch: several sessions wait for a program: name one with --session= (see "
		"'sightline sessions list'), or a new one with --session-new=");
	return SL_EXIT_USAGE;
}

/* @dir: of the session with its collector. 0, or an exit status after one line. */
static int join(const struct session_entry *e, pid_t program, char *dir, size_t size)
{
	static struct command p;
	char number[16];
	int rc;

	command_begin(&p);
	if (e->dir[0]) {
		snprintf(number, sizeof(number), "%d", (int)program);
		command_add(&p, "join");
		command_add(&p, number);
		profile_options_send(add_word, &p);
		rc = session_ask(e, "launch", &p, ANSWER_MS);
	} else {
		command_add(&p, "launch");
		profile_options_send(add_word, &p);
		rc = daemon_start(&p, (uint32_t)program);
		if (rc < 0)
			sl_warn("launch: no collector could be started: %s", strerror(-rc));
	}
	if (rc > 0 && p.cnt == 2 && command_status(&p) == rc)
		sl_warn("launch: %s", p.word[1]);
	snprintf(dir, size, "%s", rc == 0 ? p.word[1] : "");
	return rc < 0 ? SL_EXIT_FAIL : rc;
}

/* ---- the program runs ---- */

struct watch {
	pid_t program;
	int signals;
	int session; /* answered when the session ends; -1: not any more */
	bool has_ended;
	bool is_weary; /* Ctrl-C after the program's end: do not wait for the session */
	int status;
	struct command end;
	int end_err;
	char dir[SESSION_DIR_MAX];
	struct hotkey key; /* this process has the terminal, not the collector */
};

static void on_child(struct watch *w)
{
	int status;

	while (!w->has_ended && waitpid(w->program, &status, WNOHANG | WUNTRACED) > 0) {
		if (!WIFSTOPPED(status)) {
			w->status = status;
			w->has_ended = true;
		} else if (launch_stops_us(w->program, WSTOPSIG(status))) {
			hotkey_yield(&w->key);
			launch_stop_as(WSTOPSIG(status));
		}
	}
}

static void on_signals(struct watch *w)
{
	struct signalfd_siginfo si;

	while (read(w->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			on_child(w);
		else if (!w->has_ended)
			launch_pass_on(w->program, &si);
		else if (si.ssi_signo != SIGTSTP && si.ssi_signo != SIGCONT)
			w->is_weary = true;
	}
}

/* The session has ended, or the hotkey is to be taken ("": given back). */
static void on_session(struct watch *w)
{
	w->end_err = command_receive(w->session, &w->end, 0);
	if (w->end_err == -ETIMEDOUT || w->end_err == -EAGAIN)
		return;
	if (!w->end_err && w->end.cnt == 2 && strcmp(w->end.word[0], "hotkey") == 0) {
		hotkey_close(&w->key);
		if (w->end.word[1][0] && hotkey_open(&w->key, w->end.word[1]) == 0)
			sl_warn("The key %s begins a capture, and ends it.", w->end.word[1]);
		return;
	}
	close(w->session);
	w->session = -1;
	hotkey_close(&w->key);
}

static void on_key(struct watch *w)
{
	static struct command p;

	for (int n = hotkey_read(&w->key); n > 0; n--) {
		command_begin(&p);
		command_add(&p, "toggle");
		command_ask(w->dir, geteuid(), &p, ANSWER_MS);
	}
}

static void wait_for_both(struct watch *w)
{
	while (!w->is_weary && (!w->has_ended || w->session >= 0)) {
		struct pollfd p[3] = {{.fd = w->signals, .events = POLLIN},
				      {.fd = w->session, .events = POLLIN},
				      {.fd = hotkey_fd(&w->key), .events = POLLIN}};

		if (poll(p, 3, w->key.is_open ? KEY_MS : -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			on_signals(w);
		if (p[1].revents)
			on_session(w);
		if (p[2].revents)
			on_key(w);
		if (w->has_ended)
			hotkey_close(&w->key);
		else
			hotkey_look(&w->key, w->program);
	}
	hotkey_close(&w->key);
}

/* Reports how the session ended. */
static void say_end(struct watch *w, const char *name)
{
	if (w->is_weary) {
		sl_warn("session '%s' goes on: processes of the program still run, or a report is "
			"being completed",
			name);
	} else if (w->end_err) {
		sl_warn("the collector of session '%s' ended early; what it had recorded: "
			"'sightline recover REPORT'",
			name);
	} else if (command_status(&w->end) != 0) {
		sl_warn("%s", w->end.cnt == 2 ? w->end.word[1] : "the session failed");
	} else {
		report_lines(w->end.word[1]);
	}
}

static int ask_for_end(const char *dir)
{
	struct command p;
	int sock = command_connect(dir, geteuid());

	if (sock < 0)
		return -1;
	command_begin(&p);
	command_add(&p, "wait");
	if (command_send(sock, &p) == 0)
		return sock;
	close(sock);
	return -1;
}

static const char *name_of(const char *dir, char *name, size_t size)
{
	static struct command p;

	command_begin(&p);
	command_add(&p, "status");
	if (command_ask(dir, geteuid(), &p, ANSWER_MS) != 0)
		return "?";
	return command_value(p.word[1], "name", name, size);
}

static int run(const struct profile_options *o, const struct session_entry *e, char **argv,
	       const char *program, const char *preload)
{
	static struct watch w;
	char dir[SESSION_DIR_MAX], name[SESSION_NAME_MAX];
	struct launch l;
	int err = launch_fork(&l, o, program, argv, preload), status;

	if (err) {
		sl_warn("cannot start a process: %s", strerror(-err));
		return SL_EXIT_FAIL;
	}
	status = join(e, l.pid, dir, sizeof(dir));
	if (status) {
		launch_cancel(&l);
		return status;
	}
	w.program = l.pid;
	memcpy(w.dir, dir, sizeof(dir));
	w.signals = launch_signals();
	w.session = ask_for_end(dir);
	w.end_err = w.session < 0 ? -ECONNRESET : 0;
	name_of(dir, name, sizeof(name));
	err = launch_go(&l, dir);
	if (err) {
		errno = -err;
		return launch_not_found(argv[0]);
	}
	wait_for_both(&w);
	say_end(&w, name);
	return launch_exit_as(w.status);
}

int cmd_launch(int argc, char **argv)
{
	struct profile_options o;
	struct session_entry e;
	const char *session = NULL;
	int first = profile_options_parse_for(&o, OPTIONS_LAUNCH, argc, argv, &session), status;
	char *program, *preload;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (first >= argc) {
		sl_warn("launch: no program given (sightline launch [options] PROGRAM "
			"[ARGUMENTS...])");
		return SL_EXIT_USAGE;
	}
	if (session && o.session_new) {
		sl_warn("launch: '--session' and '--session-new' exclude each other");
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
	e = (struct session_entry){0};
	status = o.session_new ? 0 : find_waiting(session, &e);
	if (!status)
		status = run(&o, &e, argv + first, program, preload);
	free(program);
	free(preload);
	return status;
}
