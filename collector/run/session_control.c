/* session_control.c - see session_control.h. Verbs are in the table at the end; command.h has the form of question and answer. */
#include "collector/run/session_control.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "collector/session/report_hook.h"
#include "collector/base/message.h"
#include "collector/collect/collect.h"
#include "collector/capture/flight/flight.h"
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
	control_answer(&c->steer.control, client, status, text);
}

/* ---- status ---- */

static const char *state_of(const struct collector *c)
{
	if (capture_is_on(c))
		return "Collection";
	if (c->capture.state == CAPTURE_ENDING)
		return "Finishing";
	if (c->steer.is_armed && c->capture.state != CAPTURE_OVER)
		return "DelayedCollection";
	return c->flight ? "Flight" : "Active";
}

/* Control characters would act on the terminal of who asks, and end the line. */
static void put_line(FILE *f, const char *key, const char *value)
{
	fprintf(f, "%s=", key);
	for (; *value; value++)
		fputc((unsigned char)*value < 0x20 || *value == 0x7f ? '?' : *value, f);
	fputc('\n', f);
}

static uint64_t lost_so_far(const struct collector *c)
{
	return c->arenas.lost_full + c->arenas.lost_other + c->arenas.lost_disk + c->sched_lost;
}

static void do_status(struct collector *c, int client, char **word)
{
	char *text = NULL, *program = c->root ? proc_command_line(c->root) : NULL;
	struct steer *st = &c->steer;
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
	fprintf(f, "root=%u\nroot_runs=%d\nprocesses=%lld\n", c->root, !c->root_is_gone,
		(long long)c->model.alive);
	put_line(f, "program", program ? program : "");
	put_line(f, "report", capture_is_on(c) ? c->report : "");
	fprintf(f, "reports=%u\nlost=%llu\nrefused=%u\nnonsense=%u\n", st->report_cnt,
		(unsigned long long)lost_so_far(c), st->control.refused, st->control.nonsense);
	put_line(f, "hotkey", st->options->capture.by_hotkey ? st->options->capture.hotkey : "");
	if (fclose(f) == 0)
		control_answer(&st->control, client, 0, text);
	else
		answer(c, client, SL_EXIT_FAIL, "out of memory");
	free(text);
	free(program);
}

/* ---- begin and end ---- */

static bool has_own_output(const struct steer *st)
{
	return strcmp(st->kind, "profile") == 0 || strcmp(st->kind, "preload") == 0;
}

static int begin(struct collector *c, enum capture_source source, const char *report, char *why,
		 size_t why_len)
{
	const struct profile_options *o = c->steer.options;
	struct capture_ask ask = {
		.source = source, .report = report, .overwrite = o->force_overwrite};

	if (source == CAPTURE_SOURCE_COMMAND)
		ask.duration_ns = o->duration_s * 1000000000ll;
	why[0] = 0;
	return capture_begin(c, &ask, why, why_len);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The kernel is asked once, before the program begins: later, what it tells can only be left out. */
static bool kernel_can(const struct steer *st)
{
	const struct profile_options *o = st->options;

	return (o->cpuctxsw == SCHED_MODE_NONE || o->cpuctxsw == st->cpuctxsw) &&
	       (o->sample == SCHED_MODE_NONE || o->sample == st->sample) &&
	       (o->events.scope == SCHED_MODE_NONE ||
		(o->events.scope == st->events.scope && is_same(o->events.core, st->events.core) &&
		 is_same(o->events.os, st->events.os))) &&
	       (!o->syscalls || st->syscalls);
}

/* What `start` asks for, once its options are taken over. */
static int start(struct collector *c, bool is_output_new, char *why, size_t why_len)
{
	char *report = NULL;
	int err = 0;

	if (!kernel_can(&c->steer)) {
		snprintf(why, why_len,
			 "context switches, CPU samples, event counters and system calls are "
			 "settled when the program begins: give --cpuctxsw, --sample, "
			 "--cpu-core-events, --os-events, --event-sample and --syscall to launch "
			 "(or profile)");
		return -EINVAL;
	}

	if (is_output_new) {
		/* Checked now, whenever recording begins. */
		report = output_report(c->steer.options, (pid_t)c->root, why, why_len);
		if (!report)
			return -EINVAL;
	}
	err = capture_arm(c, is_output_new);
	c->steer.is_armed = !err && capture_waits(&c->steer.options->capture);
	if (!err && !c->steer.is_armed)
		err = begin(c, CAPTURE_SOURCE_COMMAND, report, why, why_len);
	free(report);
	return err;
}

/* "-" in front: -o was not given; then a session that has one of its own goes on with that. */
static bool take_options(struct steer *st, char **word, bool *is_output_new)
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
	struct steer *st = &c->steer;
	bool is_output_new;
	char why[1024] = "";
	int err;

	if (capture_is_on(c)) {
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' records already, into %s (sightline stop)", st->name,
		       c->report);
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

/* True: what something else was to begin is no more. */
static bool disarm(struct collector *c)
{
	bool was = c->steer.is_armed;

	c->steer.is_armed = false;
	if (was)
		capture_disarm(c);
	return was;
}

static void do_stop(struct collector *c, int client, char **word)
{
	char *report = capture_is_on(c) ? strdup(c->report) : NULL;
	int err = capture_end(c, CAPTURE_SOURCE_COMMAND);
	bool was_armed = disarm(c);

	(void)word;
	if (!err)
		control_keep(&c->steer.control, client, WAITS_REPORT, report);
	else if (c->flight)
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is a flight recorder: 'sightline dump' writes a report",
		       c->steer.name);
	else if (was_armed)
		answer(c, client, SL_EXIT_FAIL,
		       "nothing had been recorded yet: what was to begin it has not happened; it "
		       "will not any more");
	else
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' records nothing (begin: sightline start%s%s)", c->steer.name,
		       " --session=", c->steer.name);
	free(report);
}

static void do_cancel(struct collector *c, int client, char **word)
{
	char *report = capture_is_on(c) ? strdup(c->report) : NULL;
	int err = capture_cancel(c);
	bool was_armed = disarm(c);

	(void)word;
	if (!err)
		control_keep(&c->steer.control, client, WAITS_REPORT, report);
	else if (was_armed)
		answer(c, client, 0, "%s", "");
	else
		answer(c, client, SL_EXIT_FAIL, "session '%s' records nothing: nothing to cancel",
		       c->steer.name);
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
	c->steer.kill_signal = sig;
	c->steer.has_shut_down = true;
	c->is_over = c->was_cut = true;
	control_keep(&c->steer.control, client, WAITS_END, NULL);
}

/* word[0]: the reason, for the report. */
static void do_dump(struct collector *c, int client, char **word)
{
	int err = flight_dump(c, word[0] ? word[0] : "sightline dump", NULL, false);

	if (err >= 0)
		control_keep(&c->steer.control, client, WAITS_REPORT, NULL);
	else if (err == -ENOTSUP)
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is no flight recorder (begin one: sightline profile "
		       "--flight=30s)",
		       c->steer.name);
	else
		answer(c, client, SL_EXIT_FAIL,
		       "session '%s' is ending: nothing is dumped any more", c->steer.name);
}

static bool key_counts(const struct collector *c)
{
	const struct steer *st = &c->steer;

	return st->is_armed && st->options->capture.by_hotkey && c->capture.state != CAPTURE_OVER &&
	       !c->root_is_gone;
}

/* `launch` has the terminal: it takes the key for us. */
static void tell_key(struct collector *c)
{
	struct steer *st = &c->steer;

	if (!st->options || st->has_told_key == key_counts(c))
		return;
	st->has_told_key = !st->has_told_key;
	control_tell(&st->control, WAITS_END, "hotkey",
		     st->has_told_key ? st->options->capture.hotkey : "");
}

static void do_wait(struct collector *c, int client, char **word)
{
	(void)word;
	control_keep(&c->steer.control, client, WAITS_END, NULL);
	c->steer.has_told_key = false;
	tell_key(c);
}

static void do_toggle(struct collector *c, int client, char **word)
{
	(void)word;
	steer_toggle(c);
	answer(c, client, 0, "%s", "");
}

static const struct verb {
	const char *name;
	void (*run)(struct collector *c, int client, char **word);
} verbs[] = {
	{"status", do_status},     {"start", do_start}, {"stop", do_stop}, {"cancel", do_cancel},
	{"shutdown", do_shutdown}, {"wait", do_wait},   {"dump", do_dump}, {"toggle", do_toggle},
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
	c->steer.control.nonsense++;
	answer(c, client, SL_EXIT_USAGE, "the collector does not know '%.40s'", word[0]);
}

/* ---- keys and signals ---- */

static void begin_by_key(struct collector *c)
{
	char why[1024];
	int err = begin(c, CAPTURE_SOURCE_HOTKEY, NULL, why, sizeof(why));

	if (err && err != -EALREADY && err != -ESHUTDOWN && !c->is_quiet)
		sl_warn("%s", why[0] ? why : strerror(-err));
}

void steer_toggle(struct collector *c)
{
	if (!key_counts(c))
		return;
	if (capture_is_on(c))
		capture_end(c, CAPTURE_SOURCE_HOTKEY);
	else
		begin_by_key(c);
}

/* The loop watches the terminal while it is ours. */
static void watch_key(struct collector *c)
{
	struct steer *st = &c->steer;
	int fd = hotkey_fd(&st->hotkey);

	if (fd == st->hotkey_fd)
		return;
	if (fd >= 0)
		loop_add(c, fd, LOOP_KEY, NULL);
	else
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, st->hotkey_fd, NULL);
	st->hotkey_fd = fd;
}

void steer_tick(struct collector *c)
{
	struct steer *st = &c->steer;

	/* Somebody may wait for it, and the rings may have long to wait yet. */
	if (c->capture.finishing)
		capture_report_done(c, false);
	tell_key(c);
	if (!st->hotkey.is_open)
		return;
	if (!c->root_is_gone) {
		hotkey_look(&st->hotkey, (pid_t)c->root);
		watch_key(c);
	} else {
		hotkey_yield(&st->hotkey);
		watch_key(c);
		hotkey_close(&st->hotkey);
	}
}

void steer_take_key(struct collector *c)
{
	const struct capture_options *o = &c->options->capture;

	/* Without a terminal there are signals and commands. */
	if (o->by_hotkey && hotkey_open(&c->steer.hotkey, o->hotkey) == 0)
		steer_tick(c);
}

void steer_key(struct collector *c)
{
	for (int n = hotkey_read(&c->steer.hotkey); n > 0; n--)
		steer_toggle(c);
}

void steer_yield(struct collector *c)
{
	hotkey_yield(&c->steer.hotkey);
	watch_key(c);
}

bool steer_signal(struct collector *c, int sig)
{
	const struct capture_options *o = &c->options->capture;

	/* A collector in the background that is told to end does so properly; the program is not its affair. */
	if (!c->child && !c->root_is_gone && (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)) {
		capture_end(c, CAPTURE_SOURCE_COMMAND);
		c->steer.has_shut_down = true;
		c->steer.kill_signal = 0;
		c->is_over = c->was_cut = true;
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

int steer_open(struct collector *c, const struct steer_ask *ask_for, char *why, size_t why_len)
{
	struct steer *st = &c->steer;
	struct session_appearance appearance;
	int err;

	st->hotkey_fd = -1;
	st->options = ask_for->options;
	st->kind = ask_for->kind;
	st->cpuctxsw = ask_for->options->cpuctxsw;
	st->sample = ask_for->options->sample;
	st->events = ask_for->options->events;
	st->syscalls = ask_for->options->syscalls;
	st->since_s = time(NULL);
	st->is_armed =
		capture_waits(&ask_for->options->capture) && !ask_for->options->capture.start_later;
	appearance = (struct session_appearance){.pattern = ask_for->name,
						 .kind = ask_for->kind,
						 .pid = ask_for->pid,
						 .name = st->name,
						 .control = &st->control,
						 .ask = ask,
						 .to = c};
	err = session_appear(&c->session, &appearance, why, why_len);
	if (err)
		return err;
	loop_add(c, control_fd(&st->control), LOOP_COMMAND, NULL);
	c->capture.on_report = steer_report;
	c->capture.on_report_to = c;
	if (capture_is_on(c))
		steer_began(c);
	return 0;
}

void steer_serve(struct collector *c)
{
	struct control *k = &c->steer.control;

	control_serve(k);
	if (k->refused == c->steer.refused_said)
		return;
	/* Once: whoever knocks could fill the report. */
	if (!c->steer.refused_said)
		notes_say(c, 2,
			  "user %u was refused: a session is steered by its own user and root",
			  (unsigned)k->last_refused);
	c->steer.refused_said = k->refused;
}

void steer_began(struct collector *c)
{
	const char *command = c->steer.options ? c->steer.options->after_start : NULL;

	/* A range may come again, a delay is over once. */
	if (!c->options->capture.by && !c->options->capture.by_hotkey)
		c->steer.is_armed = false;
	if (command)
		callback_run(command, "after-collection-start", c->steer.name, c->report);
}

/* Kept for who waits for the end. */
static void remember(struct steer *st, const char *report)
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

void steer_report(void *to, const char *report, int err)
{
	struct collector *c = to;
	struct steer *st = &c->steer;
	char text[4400];

	if (!st->options)
		return;
	if (err == -ECANCELED) {
		control_answer_kept(&st->control, WAITS_REPORT, report, 0, "");
		return;
	}
	if (err) {
		snprintf(text, sizeof(text),
			 "the report %s could not be completed: %s (try 'sightline recover %s')",
			 report, strerror(-err), report);
		control_answer_kept(&st->control, WAITS_REPORT, report, SL_EXIT_FAIL, text);
		return;
	}
	st->report_cnt++;
	snprintf(text, sizeof(text), "%s%s", report, st->options->stats ? "\n--stats" : "");
	if (!control_answer_kept(&st->control, WAITS_REPORT, report, 0, text))
		remember(st, text);
	if (st->options->after_report)
		callback_run(st->options->after_report, "after-report-ready", st->name, report);
}

void steer_end(struct collector *c, int err)
{
	struct steer *st = &c->steer;
	const char *all = st->reports ? st->reports : "";

	hotkey_close(&st->hotkey);
	if (!st->options)
		return;
	control_answer_kept(&st->control, WAITS_REPORT, NULL, SL_EXIT_FAIL,
			    "the session has ended, and the report with it");
	control_answer_kept(&st->control, WAITS_END, NULL, err ? SL_EXIT_FAIL : 0,
			    err ? strerror(-err) : all);
	control_close(&st->control);
	free(st->reports);
	st->reports = NULL;
	st->options = NULL;
}
