/*
 * session_control.c - serves commands, the hotkey and signals. The verbs are in a table; command.h has the packets.
 */
#include "collector/run/session_control.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/session/report_hook.h"
#include "collector/base/message.h"
#include "collector/capture/capture.h"
#include "collector/collect/collector.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/capture/flight/flight.h"
#include "collector/model/identity.h"
#include "collector/options/output_name.h"
#include "collector/base/proc.h"

enum {
	WAITS_REPORT = 1, /* control_client.what: its path */
	WAITS_END
};

static void answer(struct collector *c, int client, int status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void answer(struct collector *c, int client, int status, const char *format, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	control_answer(&c->control->server, client, status, text);
}

/* ---- status ---- */

static const char *state_of(const struct collector *c)
{
	if (capture_is_on(c))
		return "Collection";
	if (c->capture->state == CAPTURE_ENDING)
		return "Finishing";
	if (c->control->is_armed && c->capture->state != CAPTURE_OVER)
		return "DelayedCollection";
	return c->flight ? "Flight" : "Active";
}

/* Control characters would act on the client's terminal, and end the line. */
static void put_line(FILE *f, const char *key, const char *value)
{
	fprintf(f, "%s=", key);
	for (; *value; value++)
		fputc((unsigned char)*value < 0x20 || *value == 0x7f ? '?' : *value, f);
	fputc('\n', f);
}

static uint64_t lost_so_far(const struct collector *c)
{
	return c->arenas.lost.full + c->arenas.lost.other + c->arenas.lost.disk +
	       c->recording.rows.switches_lost;
}

static void do_status(struct collector *c, int client, char **word)
{
	char *text = NULL, *program = c->root.pid ? proc_command_line(c->root.pid) : NULL;
	struct session_control *st = c->control;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)word;
	if (!f) {
		free(program);
		answer(c, client, SL_EXIT_FAIL, "out of memory");
		return;
	}
	put_line(f, "name", st->name);
	put_line(f, "kind", st->kind);
	put_line(f, "state", state_of(c));
	fprintf(f, "pid=%d\nuid=%u\nsince=%lld\n", (int)getpid(), (unsigned)geteuid(),
		(long long)st->since_s);
	fprintf(f, "root=%u\nroot_runs=%d\nprocesses=%lld\n", c->root.pid, !c->root.is_gone,
		(long long)c->model.counts.alive);
	put_line(f, "program", program ? program : "");
	put_line(f, "report", capture_is_on(c) ? c->report.path : "");
	fprintf(f, "reports=%u\nlost=%llu\nrefused=%u\nnonsense=%u\n", st->report_cnt,
		(unsigned long long)lost_so_far(c), st->server.refused, st->server.nonsense);
	fprintf(f, "behind=%lld\n", (long long)pump_behind(c));
	put_line(f, "hotkey", st->options->capture.by_hotkey ? st->options->capture.hotkey : "");
	if (fclose(f) == 0)
		control_answer(&st->server, client, 0, text);
	else
		answer(c, client, SL_EXIT_FAIL, "out of memory");
	free(text);
	free(program);
}

/* ---- begin and end ---- */

static bool has_own_output(const struct session_control *st)
{
	return strcmp(st->kind, "profile") == 0 || strcmp(st->kind, "preload") == 0;
}

static int begin(struct collector *c, enum capture_source source, const char *report, char *why,
		 size_t why_len)
{
	const struct profile_options *o = c->control->options;
	struct capture_ask ask = {
		.source = source, .report = report, .overwrite = o->force_overwrite};

	if (source == CAPTURE_SOURCE_COMMAND)
		ask.duration_ns = o->program.duration_s * 1000000000ll;
	why[0] = 0;
	return capture_begin(c, &ask, why, why_len);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Kernel events are opened once, before the program begins: later they can only be left out. */
static bool kernel_can(const struct session_control *st)
{
	const struct profile_options *o = st->options;

	return (o->kernel.cpuctxsw == SCHED_MODE_NONE ||
		o->kernel.cpuctxsw == st->kernel.cpuctxsw) &&
	       (o->kernel.sample == SCHED_MODE_NONE || o->kernel.sample == st->kernel.sample) &&
	       (o->kernel.events.scope == SCHED_MODE_NONE ||
		(o->kernel.events.scope == st->kernel.events.scope &&
		 is_same(o->kernel.events.core, st->kernel.events.core) &&
		 is_same(o->kernel.events.os, st->kernel.events.os))) &&
	       (!o->kernel.syscalls || st->kernel.syscalls);
}

/* Carries out `start`, once its options are taken over. */
static int start(struct collector *c, bool is_output_new, char *why, size_t why_len)
{
	char *report = NULL;
	int err = 0;

	if (!kernel_can(c->control)) {
		snprintf(why, why_len,
			 "context switches, CPU samples, event counters and system calls are "
			 "settled when the program begins: give --cpuctxsw, --sample, "
			 "--cpu-core-events, --os-events, --event-sample and --syscall to launch "
			 "(or profile)");
		return -EINVAL;
	}

	if (is_output_new) {
		/* Checked now, not when recording begins. */
		report = output_report(c->control->options, (pid_t)c->root.pid, why, why_len);
		if (!report)
			return -EINVAL;
	}
	err = capture_arm(c, is_output_new);
	c->control->is_armed = !err && capture_waits(&c->control->options->capture);
	if (!err && !c->control->is_armed)
		err = begin(c, CAPTURE_SOURCE_COMMAND, report, why, why_len);
	free(report);
	return err;
}

/* "-" first: -o was not given; then a session with an -o of its own keeps that. */
static bool take_options(struct session_control *st, char **word, bool *is_output_new)
{
	bool is_default = word[0] && strcmp(word[0], "-") == 0;
	char **to = word;

	*is_output_new = !(is_default && has_own_output(st));
	for (char **from = word + (word[0] != NULL); *from; from++)
		if (*is_output_new || strncmp(*from, "--output=", 9) != 0)
			*to++ = *from;
	*to = NULL;
	return profile_options_add(st->options, OPTIONS_START, word) == 0;
}

static void do_start(struct collector *c, int client, char **word)
{
	struct session_control *st = c->control;
	bool is_output_new;
	char why[1024] = "";
	int err;

	if (capture_is_on(c)) {
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' records already, into %s (sightline stop)", st->name,
		       c->report.path);
		return;
	}
	if (c->options->capture.flight_ns) {
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is a flight recorder: 'sightline dump' writes a report",
		       st->name);
		return;
	}
	if (!take_options(st, word, &is_output_new)) {
		answer(c, client, SL_EXIT_USAGE,
		       "session '%s' does not take these options (--capture-range=nvtx needs "
		       "--nvtx-capture=RANGE)",
		       st->name);
		return;
	}
	err = start(c, is_output_new, why, sizeof(why));
	if (!err)
		answer(c, client, 0, "%s", "");
	else if (err == -ESHUTDOWN)
		answer(c, client, SL_EXIT_FAIL, "session '%s' is ending: nothing begins any more",
		       st->name);
	else
		answer(c, client, SL_EXIT_FAIL, "%s", why[0] ? why : strerror(-err));
}

/* True: something other than a command was to begin a capture, and will not. */
static bool disarm(struct collector *c)
{
	bool was = c->control->is_armed;

	c->control->is_armed = false;
	if (was)
		capture_disarm(c);
	return was;
}

static void do_stop(struct collector *c, int client, char **word)
{
	char *report = capture_is_on(c) ? strdup(c->report.path) : NULL;
	int err = capture_end(c, CAPTURE_SOURCE_COMMAND);
	bool was_armed = disarm(c);

	(void)word;
	if (!err)
		control_keep(&c->control->server, client, WAITS_REPORT, report);
	else if (c->flight)
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is a flight recorder: 'sightline dump' writes a report",
		       c->control->name);
	else if (was_armed)
		answer(c, client, SL_EXIT_FAIL,
		       "nothing had been recorded yet: what was to begin it has not happened; it "
		       "will not any more");
	else
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' records nothing (begin: sightline start%s%s)",
		       c->control->name, " --session=", c->control->name);
	free(report);
}

static void do_cancel(struct collector *c, int client, char **word)
{
	char *report = capture_is_on(c) ? strdup(c->report.path) : NULL;
	int err = capture_cancel(c);
	bool was_armed = disarm(c);

	(void)word;
	if (!err)
		control_keep(&c->control->server, client, WAITS_REPORT, report);
	else if (was_armed)
		answer(c, client, 0, "%s", "");
	else
		answer(c, client, SL_EXIT_FAIL, "session '%s' records nothing: nothing to cancel",
		       c->control->name);
	free(report);
}

static void do_shutdown(struct collector *c, int client, char **word)
{
	int sig = word[0] ? profile_kill_signal(word[0]) : SIGTERM;

	if (sig < 0) {
		answer(c, client, SL_EXIT_USAGE, "'%.40s' is no signal", word[0]);
		return;
	}
	capture_end(c, CAPTURE_SOURCE_COMMAND);
	disarm(c);
	c->control->kill_signal = sig;
	c->control->has_shut_down = true;
	c->end = RUN_CUT;
	control_keep(&c->control->server, client, WAITS_END, NULL);
}

/* word[0]: the reason, for the report. */
static void do_dump(struct collector *c, int client, char **word)
{
	int err = flight_dump(c, word[0] ? word[0] : "sightline dump", NULL, false);

	if (err >= 0)
		control_keep(&c->control->server, client, WAITS_REPORT, NULL);
	else if (err == -ENOTSUP)
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is no flight recorder (begin one: sightline profile "
		       "--flight=30s)",
		       c->control->name);
	else
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is ending: nothing is dumped any more", c->control->name);
}

static bool key_counts(const struct collector *c)
{
	const struct session_control *st = c->control;

	return st->is_armed && st->options->capture.by_hotkey &&
	       c->capture->state != CAPTURE_OVER && !c->root.is_gone;
}

static void begin_by_key(struct collector *c)
{
	char why[1024];
	int err = begin(c, CAPTURE_SOURCE_HOTKEY, NULL, why, sizeof(why));

	if (err && err != -EALREADY && err != -ESHUTDOWN && !c->report.is_quiet)
		sl_warn("%s", why[0] ? why : strerror(-err));
}

static void toggle(struct collector *c)
{
	if (!key_counts(c))
		return;
	if (capture_is_on(c))
		capture_end(c, CAPTURE_SOURCE_HOTKEY);
	else
		begin_by_key(c);
}

/* `launch` has the terminal and reads the key. */
static void send_key(struct collector *c)
{
	struct session_control *st = c->control;

	if (st->has_sent_key == key_counts(c))
		return;
	st->has_sent_key = !st->has_sent_key;
	control_tell(&st->server, WAITS_END, "hotkey",
		     st->has_sent_key ? st->options->capture.hotkey : "");
}

static void do_wait(struct collector *c, int client, char **word)
{
	(void)word;
	control_keep(&c->control->server, client, WAITS_END, NULL);
	c->control->has_sent_key = false;
	send_key(c);
}

static void do_toggle(struct collector *c, int client, char **word)
{
	(void)word;
	toggle(c);
	answer(c, client, 0, "%s", "");
}

/* For a program in a bare preload that sees no traced process above it. An attached session has no libtrace.so in its processes. */
static void do_owns(struct collector *c, int client, char **word)
{
	uint32_t pid = word[0] ? (uint32_t)strtoul(word[0], NULL, 10) : 0;
	bool traces = c->session.control->trace && strcmp(c->control->kind, "attach") != 0;

	/* Its fork may not have been read yet. */
	pump_poll(c);
	control_answer(&c->control->server, client, 0,
		       traces && identity_descends(&c->model, pid) ? "1" : "0");
}

static const struct verb {
	const char *name;
	void (*run)(struct collector *c, int client, char **word);
} verbs[] = {
	{"status", do_status}, {"start", do_start},       {"stop", do_stop},
	{"cancel", do_cancel}, {"shutdown", do_shutdown}, {"wait", do_wait},
	{"dump", do_dump},     {"toggle", do_toggle},     {"owns", do_owns},
};

static void ask(void *to, int client, int cnt, char **word)
{
	struct collector *c = to;

	(void)cnt;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, word[0]) == 0) {
			verbs[i].run(c, client, word + 1);
			return;
		}
	}
	c->control->server.nonsense++;
	answer(c, client, SL_EXIT_USAGE, "the collector does not know '%.40s'", word[0]);
}

/* ---- keys and signals ---- */

static void on_key(void *ctx, int fd)
{
	struct collector *c = ctx;

	(void)fd;
	for (int n = hotkey_read(&c->control->hotkey); n > 0; n--)
		toggle(c);
}

/* Watches the terminal while it is taken. */
static void watch_key(struct collector *c)
{
	struct session_control *st = c->control;
	int fd = hotkey_fd(&st->hotkey);

	if (fd == st->hotkey_fd)
		return;
	if (fd >= 0)
		loop_add(&c->loop, fd, on_key, c);
	else
		loop_remove(&c->loop, st->hotkey_fd);
	st->hotkey_fd = fd;
}

void session_control_tick(struct collector *c)
{
	struct session_control *st = c->control;

	if (!st)
		return;
	/* A client may wait for it, and the next tick may be far. */
	if (c->capture->reports.finishing)
		capture_report_done(c, false);
	send_key(c);
	if (!st->hotkey.is_open)
		return;
	if (!c->root.is_gone) {
		hotkey_look(&st->hotkey, (pid_t)c->root.pid);
		watch_key(c);
	} else {
		hotkey_yield(&st->hotkey);
		watch_key(c);
		hotkey_close(&st->hotkey);
	}
}

void session_control_take_key(struct collector *c)
{
	const struct capture_options *o = &c->options->capture;

	bool has_key;

	if (!o->by_hotkey)
		return;
	/* Without a terminal there are signals and commands. */
	has_key = hotkey_open(&c->control->hotkey, o->hotkey) == 0;
	if (!c->report.is_quiet && has_key)
		sl_warn("The key %s begins a capture, and ends it.", o->hotkey);
	else if (!c->report.is_quiet)
		sl_warn("There is no terminal for the key %s: SIGUSR1 to process %d begins a "
			"capture, "
			"SIGUSR2 ends it.",
			o->hotkey, (int)getpid());
	if (has_key)
		session_control_tick(c);
}

void session_control_yield(struct collector *c)
{
	hotkey_yield(&c->control->hotkey);
	watch_key(c);
}

bool session_control_signal(struct collector *c, int sig)
{
	const struct capture_options *o = &c->options->capture;

	/* A signal to a collector in the background ends the collection, not the program. */
	if (!c->root.child && !c->root.is_gone &&
	    (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)) {
		capture_end(c, CAPTURE_SOURCE_COMMAND);
		c->control->has_shut_down = true;
		c->control->kill_signal = 0;
		c->end = RUN_CUT;
		return true;
	}
	if (sig == SIGUSR2 && o->flight_ns)
		flight_dump(c, "SIGUSR2", NULL, false);
	else if (!o->by_hotkey || (sig != SIGUSR1 && sig != SIGUSR2))
		return false;
	else if (key_counts(c) && sig == SIGUSR1)
		begin_by_key(c);
	else if (key_counts(c))
		capture_end(c, CAPTURE_SOURCE_HOTKEY);
	return true;
}

/* ---- the session ---- */

static void on_command(void *ctx, int fd)
{
	struct collector *c = ctx;
	struct control *k = &c->control->server;

	(void)fd;
	control_serve(k);
	if (k->refused == c->control->refused)
		return;
	/* Once: repeated connections could fill the report. */
	if (!c->control->refused)
		notes_say(c, 2,
			  "user %u was refused: a session is steered by its own user and root",
			  (unsigned)k->last_refused);
	c->control->refused = k->refused;
}

static void on_begin(struct collector *c)
{
	const char *command = c->control->options->after.start;

	/* A range may come again, a delay is over once. */
	if (!c->options->capture.by && !c->options->capture.by_hotkey)
		c->control->is_armed = false;
	if (command)
		report_hook_run(command, "after-collection-start", c->control->name,
				c->report.path);
}

/* For clients that wait for the end. */
static void remember(struct session_control *st, const char *report)
{
	char *more;

	if (asprintf(&more, "%s%s%s", st->reports ? st->reports : "", st->reports ? "\n" : "",
		     report) < 0)
		return;
	if (strlen(more) < COMMAND_BYTES / 2) {
		free(st->reports);
		st->reports = more;
	} else {
		free(more);
	}
}

static void on_report(void *to, const char *report, int err)
{
	struct collector *c = to;
	struct session_control *st = c->control;
	char text[4400];

	if (err == -ECANCELED) {
		control_answer_kept(&st->server, WAITS_REPORT, report, 0, "");
		return;
	}
	if (err) {
		snprintf(text, sizeof(text),
			 "the report %s could not be completed: %s (try 'sightline recover %s')",
			 report, strerror(-err), report);
		control_answer_kept(&st->server, WAITS_REPORT, report, SL_EXIT_FAIL, text);
		return;
	}
	st->report_cnt++;
	snprintf(text, sizeof(text), "%s%s", report, st->options->stats ? "\n--stats" : "");
	if (!control_answer_kept(&st->server, WAITS_REPORT, report, 0, text))
		remember(st, text);
	if (st->options->after.report)
		report_hook_run(st->options->after.report, "after-report-ready", st->name, report);
}

int session_control_open(struct collector *c, const struct session_control_ask *ask_for, char *why,
			 size_t why_len)
{
	struct session_control *st = c->control = calloc(1, sizeof(*st));
	struct session_appearance appearance;
	int err;

	if (!st)
		return -ENOMEM;
	st->hotkey_fd = -1;
	st->options = ask_for->options;
	st->kind = ask_for->kind;
	st->kernel.cpuctxsw = ask_for->options->kernel.cpuctxsw;
	st->kernel.sample = ask_for->options->kernel.sample;
	st->kernel.events = ask_for->options->kernel.events;
	st->kernel.syscalls = ask_for->options->kernel.syscalls;
	st->since_s = time(NULL);
	st->is_armed =
		capture_waits(&ask_for->options->capture) && !ask_for->options->capture.start_later;
	appearance = (struct session_appearance){.pattern = ask_for->name,
						 .kind = ask_for->kind,
						 .pid = ask_for->pid,
						 .name = st->name,
						 .control = &st->server,
						 .ask = ask,
						 .to = c};
	err = session_appear(&c->session, &appearance, why, why_len);
	if (err)
		return err;
	loop_add(&c->loop, control_fd(&st->server), on_command, c);
	c->capture->reports.on_begin = on_begin;
	c->capture->reports.on_report = on_report;
	c->capture->reports.on_report_to = c;
	if (capture_is_on(c))
		on_begin(c);
	return 0;
}

void session_control_end(struct collector *c, int err)
{
	struct session_control *st = c->control;
	const char *all = st->reports ? st->reports : "";

	hotkey_close(&st->hotkey);
	control_answer_kept(&st->server, WAITS_REPORT, NULL, SL_EXIT_FAIL,
			    "the session has ended, and the report with it");
	control_answer_kept(&st->server, WAITS_END, NULL, err ? SL_EXIT_FAIL : 0,
			    err ? strerror(-err) : all);
	control_close(&st->server);
	free(st->reports);
	free(st);
	c->control = NULL;
}
