/*
 * cmd_attach.c - sightline attach: records kernel events of running processes, until they end or Ctrl-C.
 *
 * Nothing is done to the processes: no ptrace, no signal, no code inside. That leaves context switches, system calls
 * and CPU samples. A process that has libtrace.so inside belongs to a session, which can record everything: then that
 * is used. With --inject the library is brought into the processes (inject.h), and leaves them in the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/privilege.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/inject/inject.h"
#include "collector/run/collect.h"
#include "collector/run/launch.h"
#include "collector/run/session_control.h"
#include "collector/base/limits.h"
#include "collector/options/attach_options.h"
#include "collector/options/output_name.h"
#include "collector/base/proc.h"
#include "collector/run/report_lines.h"
#include "collector/session/proc_select.h"
#include "collector/session/session.h"
#include "collector/session/session_list.h"

static struct attach_options ask;

/* Of --inject: the library, and the processes that have it now. */
static struct {
	char *library;
	struct inject in[ATTACH_PIDS_MAX];
	size_t cnt;
} entered;

static int check_pids(void)
{
	char why[256];

	for (size_t i = 0; i < ask.cnt; i++) {
		int err = running_check(ask.pid[i], why, sizeof(why));

		if (err) {
			sl_warn("attach: %s", why);
			return SL_EXIT_FAIL;
		}
		if (!privilege_may_trace(ask.pid[i])) {
			sl_warn("attach: not permitted: process %u is another user's, and this "
				"user lacks CAP_SYS_PTRACE",
				ask.pid[i]);
			return SL_EXIT_FAIL;
		}
	}
	return 0;
}

/* ---- signals: they end the recording, and never reach the processes ---- */

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- a process that carries libtrace.so ---- */

static bool find_session(uint32_t pid, struct session_info *found)
{
	struct session_entry *list = NULL;
	char dir[SESSION_DIR_MAX];
	bool is_there = false;
	size_t cnt;

	if (!running_session(pid, dir, sizeof(dir)))
		return false;
	cnt = sessions_scan(&list, geteuid() == 0);
	for (size_t i = 0; i < cnt && !is_there; i++) {
		if (strcmp(list[i].dir, dir) != 0 || !list[i].is_alive)
			continue;
		memset(found, 0, sizeof(*found));
		found->at = list[i];
		is_there = session_info_ask(found);
	}
	free(list);
	return is_there;
}

/* Until --duration is over, Ctrl-C, or the end of the session. */
static void wait_for_end(struct session_info *s, int signals)
{
	struct pollfd p = {.fd = signals, .events = POLLIN};
	int64_t left = ask.o.program.duration_s ? ask.o.program.duration_s * 1000 : INT64_MAX;

	while (left > 0) {
		int ms = left < 500 ? (int)left : 500;

		if (poll(&p, 1, ms) > 0)
			return;
		left -= ms;
		if (!session_info_ask(s))
			return;
	}
}

static int record_in_session(struct session_info *s)
{
	static char start[] = "start", stop[] = "stop", overwrite[] = "-f", yes[] = "true",
		    output[] = "-o";
	char session[SESSION_DIR_MAX + 16];
	char *begin[] = {start, session, overwrite, yes, output, NULL, NULL},
	     *end[] = {stop, session, NULL};
	int signals = take_signals(), rc;

	snprintf(session, sizeof(session), "--session=%s", s->at.dir);
	if (!ask.o.force_overwrite)
		yes[0] = 'f', yes[1] = 'a', yes[2] = 'l', yes[3] = 's';
	begin[5] = (char *)(uintptr_t)ask.o.output;
	if (!ask.o.output)
		begin[4] = NULL;
	rc = commands_run(start, begin);
	if (rc)
		return rc;
	wait_for_end(s, signals);
	close(signals);
	return session_info_ask(s) ? commands_run(stop, end) : 0;
}

/* ---- with libtrace.so inside ---- */

/* Before anything is touched. 0, or an exit status after one line. */
static int check_inject(void)
{
	char why[1024];

	entered.library = launch_preload_or_say();
	if (!entered.library)
		return SL_EXIT_FAIL;
	for (size_t i = 0; i < ask.cnt; i++)
		if (inject_check((pid_t)ask.pid[i], entered.library, why, sizeof(why))) {
			sl_warn("attach: %s", why);
			return SL_EXIT_FAIL;
		}
	return 0;
}

/* While the gate is closed. 0, or -errno and a sentence; those that were entered before leave with the connection. */
static int enter_all(const struct collector *c, char *why, size_t why_len)
{
	char variable[SESSION_VARIABLE_MAX];
	int err = session_variable(c->session.dir, variable, sizeof(variable));

	for (size_t i = 0; i < ask.cnt && !err; i++) {
		err = inject_enter(&entered.in[i], (pid_t)ask.pid[i], entered.library, variable,
				   why, why_len);
		entered.cnt = i + 1;
	}
	return err;
}

/* After the last records have been read. */
static void leave_all(struct collector *c)
{
	/* A connection that waits to be accepted closes with the socket. */
	intake_let_attendants_go(c);
	for (size_t i = 0; i < entered.cnt; i++)
		if (!inject_wait_left(&entered.in[i], 2000))
			sl_warn("attach: process %u has not answered within 2 s; it leaves the "
				"session "
				"when its thread 'sightline' runs",
				ask.pid[i]);
	entered.cnt = 0;
}

/* ---- recording ---- */

/* One process with its threads. 0, -ESRCH: it has just ended, or may not be watched, or -errno. */
static int follow(struct collector *c, const struct running *r)
{
	const struct source_process p = {.pid = r->pid, .is_running = true};
	int err = privilege_may_trace(r->pid) ? sources_follow(&c->recording, &p) : -ESRCH;

	if (!err)
		model_found(&c->model, r->pid, r->parent, r->start_ns - c->clocks.map.zero);
	return err;
}

/*
 * Follows all descendants of those in @is_ours, level by level. Children that are started from now on are followed by
 * the kernel side; so the next list has all others.
 */
static int follow_children(struct collector *c, size_t *followed)
{
	static uint8_t is_ours[(1u << 22) + 1];
	struct running *list;
	bool has_more = true;
	int cnt, err = 0;

	for (size_t i = 0; i < ask.cnt; i++)
		is_ours[ask.pid[i]] = 1;
	while (has_more) {
		has_more = false;
		cnt = running_all(&list);
		if (cnt < 0)
			return cnt;
		for (int i = 0; i < cnt; i++) {
			struct running *r = &list[i];

			if (r->pid > 1u << 22 || is_ours[r->pid] == 2)
				continue;
			if (!is_ours[r->pid] && (r->parent > 1u << 22 || is_ours[r->parent] != 2))
				continue;
			err = follow(c, r);
			if (err && err != -ESRCH)
				break;
			is_ours[r->pid] = 2;
			*followed += !err;
			has_more = true;
		}
		free(list);
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

static int not_permitted(const struct collector *c, int err)
{
	if (err == -EACCES || err == -EPERM)
		sl_warn("attach: not permitted: another user's processes need root, or CAP_BPF and "
			"CAP_PERFMON (see 'sightline status -e')");
	else
		sl_warn("attach: cannot follow: %s%s", strerror(-err),
			sched_backend(c->recording.sched) == SCHED_BACKEND_PERF
				? " (through perf_event_open; see 'sightline status -e')"
				: "");
	return SL_EXIT_FAIL;
}

/* 0, or an exit status after one line. */
static int follow_all(struct collector *c, const char *report)
{
	struct capture_ask begin = {.source = CAPTURE_SOURCE_DELAY,
				    .report = report,
				    .overwrite = ask.o.force_overwrite,
				    .duration_ns = ask.o.program.duration_s * INT64_C(1000000000)};
	size_t followed = 0;
	int err = follow_children(c, &followed);
	char why[1024] = "";

	/* Without events of the kernel the library records. */
	if (err && !(ask.inject && (err == -EACCES || err == -EPERM)))
		return not_permitted(c, err);
	if (!followed) {
		sl_warn("attach: process %u has ended", ask.pid[0]);
		return SL_EXIT_FAIL;
	}
	err = ask.inject ? enter_all(c, why, sizeof(why)) : 0;
	/* Afterwards, so that all running threads are known at time 0. */
	if (!err)
		err = capture_begin(c, &begin, why, sizeof(why));
	if (!err)
		return 0;
	sl_warn("attach: %s", why[0] ? why : strerror(-err));
	return SL_EXIT_FAIL;
}

static int open_collection(struct collector *c, char *why, size_t why_len)
{
	struct collect_ask open = {.options = &ask.o,
				   .root = ask.pid[0],
				   .preload = entered.library,
				   .first_gate = ask.inject ? inject_first_gate() : 0};
	struct session_control_ask steer = {.options = &ask.o, .kind = "attach", .pid = getpid()};
	int err = collect_open(c, &open, why, why_len);

	if (err)
		return err;
	if (!ask.inject && (!c->recording.sched ||
			    (ask.o.kernel.cpuctxsw == SCHED_MODE_NONE &&
			     !(ask.o.kernel.syscalls && sched_has_calls(c->recording.sched)) &&
			     !c->recording.sample))) {
		/* The reason was printed before. */
		snprintf(why, why_len, "nothing can be recorded here (see 'sightline status -e')");
		collect_abandon(c, false);
		return -ENOSYS;
	}
	pump_commit(c);
	err = session_control_open(c, &steer, why, why_len);
	if (err)
		collect_abandon(c, false);
	return err;
}

static void say_attached(const struct collector *c)
{
	size_t cnt = c->model.counts.alive;
	const char *plural = cnt == 1 ? "" : "es";
	int64_t ns = 0;

	for (size_t i = 0; i < entered.cnt; i++)
		if (entered.in[i].stopped_ns > ns)
			ns = entered.in[i].stopped_ns;
	if (entered.cnt)
		sl_warn("attached to %zu process%s, of which a thread was stopped for %.1f ms; "
			"Ctrl-C "
			"ends the recording, not the program",
			cnt, plural, (double)ns / 1e6);
	else
		sl_warn("attached to %zu process%s; Ctrl-C ends the recording, not the program",
			cnt, plural);
}

static int record(void)
{
	static struct collector c;
	char why[1024] = "", *report = output_report(&ask.o, (pid_t)ask.pid[0], why, sizeof(why)),
	     *command;
	int err = report ? open_collection(&c, why, sizeof(why)) : -EIO;

	if (err) {
		sl_warn("attach: %s", why[0] ? why : strerror(-err));
		free(report);
		return SL_EXIT_FAIL;
	}
	limits_raise_descriptors();
	collect_take_signals(&c, take_signals());
	c.root.is_attached = true;
	err = follow_all(&c, report);
	if (err) {
		leave_all(&c);
		collect_abandon(&c, false);
		free(report);
		return err;
	}
	command = proc_command_line(ask.pid[0]);
	if (command)
		notes_command(&c, 1, (char *[]){command, NULL});
	free(command);
	say_attached(&c);
	collect_run(&c);
	err = collect_finish(&c);
	leave_all(&c);
	session_control_end(&c, err);
	if (!err)
		sl_warn("report: %s", report);
	if (!err && ask.o.stats)
		report_stats(report);
	capture_release(&c);
	free(report);
	return err ? SL_EXIT_FAIL : 0;
}

int cmd_attach(int argc, char **argv)
{
	struct session_info session;
	int rc = attach_options_read(argc, argv, &ask);

	if (rc)
		return rc - 1;
	rc = check_pids();
	if (rc)
		return rc;
	for (size_t i = 0; i < ask.cnt; i++) {
		if (!find_session(ask.pid[i], &session))
			continue;
		sl_warn("process %u carries libtrace.so and belongs to session '%s' (%s), which "
			"records everything: sightline start --session=%s",
			ask.pid[i], session.at.name, session.state, session.at.name);
		/* If that session records already, only kernel events are recorded here. */
		if (strcmp(session.state, "Active") == 0 && ask.cnt == 1 && !ask.asks_kernel)
			return record_in_session(&session);
	}
	rc = ask.inject ? check_inject() : 0;
	if (!rc)
		rc = record();
	free(entered.library);
	return rc;
}
