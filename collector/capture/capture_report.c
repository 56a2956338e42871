/*
 * capture_report.c - rotates reports: the moment of recording becomes time 0 of a report; processes and names
 * continue in its successor.
 *
 * A child process completes each report (cmd_finish.c): that may take seconds, while the rings are read on.
 */
#include "collector/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/collect/record_families.h"
#include "collector/collect/setup.h"
#include "collector/decode/gpu/gpu.h"
#include "collector/model/live.h"
#include "collector/options/output_name.h"

static const char *const source_words[] = {
	[CAPTURE_SOURCE_START] = "IMMEDIATE",    [CAPTURE_SOURCE_DELAY] = "DELAY",
	[CAPTURE_SOURCE_CUDA] = "CUDA_PROFILER", [CAPTURE_SOURCE_NVTX] = "NVTX",
	[CAPTURE_SOURCE_HOTKEY] = "HOTKEY",      [CAPTURE_SOURCE_COMMAND] = "COMMAND",
	[CAPTURE_SOURCE_TRIGGER] = "TRIGGER",    [CAPTURE_SOURCE_DURATION] = "TIMEOUT",
	[CAPTURE_SOURCE_EXIT] = "PROCESS_EXIT",
};

/* ---- names ---- */

/* "base.1.sqlite" of the first one to "base.N.sqlite". */
static char *numbered(const char *first, uint32_t number)
{
	const char *dot = strrchr(first, '.'), *before = dot;
	char *name;

	while (before && before > first && before[-1] != '.')
		before--;
	if (!dot || before <= first ||
	    asprintf(&name, "%.*s%u%s", (int)(before - first), first, number, dot) < 0)
		return NULL;
	return name;
}

/* "base.sqlite" to the first "base.N.sqlite" that is free, N from 2. */
static char *another(const char *first)
{
	const char *dot = strrchr(first, '.');
	char *name = NULL;

	for (uint32_t n = 2; n < 100000; n++) {
		if (asprintf(&name, "%.*s.%u%s", (int)(dot ? dot - first : (long)strlen(first)),
			     first, n, dot ? dot : "") < 0)
			return NULL;
		if (access(name, F_OK) < 0)
			return name;
		free(name);
	}
	return NULL;
}

/* Where the next report goes, absolute. NULL and a sentence. */
static char *next_name(struct collector *c, char *why, size_t why_len)
{
	const struct profile_options *o = c->options;
	struct capture *p = c->capture;
	char *name;

	if (p->reports.first) {
		name = capture_is_numbered(&o->capture)
			       ? numbered(p->reports.first, p->count.begun - p->count.before)
			       : NULL;
		if (name && (o->force_overwrite || access(name, F_OK) < 0))
			return name;
		free(name);
		/* A name with %n is expanded again; others get a number. */
		if (o->output && !strstr(o->output, "%n"))
			return another(p->reports.first);
	}
	return output_report(o, (pid_t)c->root.pid, why, why_len);
}

/* ---- begin ---- */

static void shift_times(struct collector *c, int64_t shift)
{
	int64_t *const times[] = {&c->clocks.now,       &c->clocks.committed_at,
				  &c->clocks.reaped_at, &c->clocks.totals_at,
				  &c->clocks.clock_at,  &c->clocks.beat_at,
				  &c->clocks.alone_at};

	clock_map_shift(&c->clocks.map, shift);
	model_shift(&c->model, shift);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (*times[i])
			*times[i] -= shift;
	gpu_ids_renew(&c->arenas);
	for (struct arena *a = c->arenas.first; a; a = a->next) {
		families_rotate(a, shift);
		for (struct image *im = a->images; im; im = im->next) {
			im->start_ns -= shift;
			im->end_ns -= shift;
		}
	}
}

/* Threads' totals are to be written anew, into this report. */
static void forget_totals(struct collector *c)
{
	for (struct arena *a = c->arenas.first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads.cnt; i++)
			if (a->threads.at[i]) {
				a->threads.at[i]->written.agg_sum = 0;
				a->threads.at[i]->files.cnt = 0;
			}
}

static void use_db(struct collector *c, struct db *db)
{
	c->report.db = c->model.db = c->arenas.db = c->model.live.db = db;
}

/* Makes the report at @path of the rows so far. */
static int make_report(struct collector *c, const char *path, bool overwrite, char *why,
		       size_t why_len)
{
	struct db_open how = {.path = path,
			      .overwrite = overwrite,
			      .utc_epoch_ns = c->report.zero_real,
			      .system_clock_ns = c->clocks.map.zero};
	unsigned also = DB_NEXT_SAID | (c->options->capture.flight_ns ? DB_NEXT_FILES : 0u);
	struct db *old = c->report.db, *db = db_next(old, &how, also, why, why_len);

	if (!db)
		return -EIO;
	db_abandon(old);
	db_unlink(c->report.path);
	use_db(c, db);
	return 0;
}

static int name_report(struct collector *c, const struct capture_ask *ask, char *why,
		       size_t why_len)
{
	struct capture *p = c->capture;
	char *path = ask->report ? strdup(ask->report) : next_name(c, why, why_len);
	int err = path ? 0 : -EIO;

	if (!err)
		err = make_report(c, path,
				  ask->report ? ask->overwrite : c->options->force_overwrite, why,
				  why_len);
	if (err) {
		free(path);
		return err;
	}
	free(c->report.path_own);
	c->report.path = c->report.path_own = path;
	if (!p->reports.first)
		p->reports.first = strdup(path);
	c->report.is_session = false;
	return 0;
}

static void say_range(struct collector *c, enum capture_source source, const char *what)
{
	if (!c->report.is_quiet && (source == CAPTURE_SOURCE_CUDA || source == CAPTURE_SOURCE_NVTX))
		sl_warn("Capture range %s in the application.", what);
}

/* Ending the program is the default of nsys, and surprises. */
void capture_say_shutdown(struct collector *c)
{
	const struct capture *p = c->capture;
	const char *end = p->options->end == CAPTURE_END_REPEAT_SHUTDOWN ? "repeat:N" : "stop";

	if (c->report.is_quiet ||
	    (p->ended == CAPTURE_SOURCE_DURATION && !p->options->by && !p->options->by_hotkey))
		return;
	if (c->options->program.kill_signal)
		sl_warn("%s; the program is ended with it (--capture-range-end=%s lets it run on).",
			p->ended == CAPTURE_SOURCE_CUDA || p->ended == CAPTURE_SOURCE_NVTX
				? "Capture range ended in the application"
				: "The capture ended",
			end);
	else
		say_range(c, p->ended, "ended");
}

int capture_report_begin(struct collector *c, const struct capture_ask *ask, char *why,
			 size_t why_len)
{
	struct capture *p = c->capture;
	int64_t shift = p->at.began - c->clocks.map.zero;
	int err = 0;

	if (ask->source == CAPTURE_SOURCE_START) {
		shift = 0;
	} else {
		size_t windows = c->report.windows.cnt;

		/*
		 * Records already in the rings do not belong to this report; names and the like do.
		 * Ranges that are open get their rows when time 0 is where it will be.
		 */
		c->report.windows.cnt = 0;
		for (struct arena *a = c->arenas.first; a; a = a->next)
			families_settle(&c->arenas, a, true);
		pump_commit(c);
		c->report.windows.cnt = windows;
		if (c->report.is_session ||
		    (ask->report && strcmp(ask->report, c->report.path) != 0))
			err = name_report(c, ask, why, why_len);
	}
	if (err)
		return err;
	if (shift) {
		c->report.zero_real += shift;
		err = db_retime(c->report.db, shift, c->report.zero_real, p->at.began);
		shift_times(c, shift);
		if (err)
			snprintf(why, why_len, "%s: %s", c->report.path, strerror(-err));
	}
	if (!c->options->capture.flight_ns)
		for (struct arena *a = c->arenas.first; a && p->count.begun > 1; a = a->next)
			file_forget_all(a);
	c->arenas.report.epoch = c->session.control->epoch;
	forget_totals(c);
	live_begin(&c->arenas, c->recording.sched, 0);
	p->has_begun = true;
	p->begun = ask->source;
	db_meta_capture(c->report.db, "START_TRIGGER", source_words[ask->source]);
	if (ask->source != CAPTURE_SOURCE_START)
		db_diagnostic(c->report.db, 0, 2, 1, "Profiling has started.", INT64_C(1) << 48);
	setup_changed(c);
	say_range(c, ask->source, "started");
	if (p->reports.on_begin)
		p->reports.on_begin(c);
	return err;
}

/* ---- end ---- */

/* Session ns at which the report ends. */
int64_t capture_report_length(const struct collector *c)
{
	const struct windows *w = &c->report.windows;
	int64_t to = w->cnt ? w->list[w->cnt - 1].to_mono : INT64_MAX;

	return to == INT64_MAX ? c->clocks.now : to - c->clocks.map.zero;
}

/* Where each stretch of the report was recorded, if there are several. */
static void note_windows(struct collector *c)
{
	const struct windows *w = &c->report.windows;
	char text[32];

	db_meta_capture(c->report.db, "STOP_TRIGGER", source_words[c->capture->ended]);
	if (w->cnt < 2 && c->capture->begun == CAPTURE_SOURCE_START)
		return;
	snprintf(text, sizeof(text), "%zu", w->cnt);
	db_meta_capture(c->report.db, "SL_CAPTURE_COUNT", text);
	/* By the same map as the calls' times: none of them lies outside. */
	for (size_t i = 0; i < w->cnt; i++)
		db_capture(c->report.db, (int64_t)i + 1,
			   w->list[i].from ? clock_map_ns(&c->clocks.map, w->list[i].from) : 0,
			   w->list[i].to_mono == INT64_MAX
				   ? capture_report_length(c)
				   : clock_map_ns(&c->clocks.map, w->list[i].to));
}

/* Names an opened range that nearly matches, and the option that makes it match. */
static const char *why_no_range(const struct capture *p, char *text, size_t size)
{
	const struct sought_range *s = &p->sought;
	const char *none = "--capture-range=nvtx, and no process opened that range";

	if (s->near == SOUGHT_PLAIN)
		snprintf(text, size,
			 "%s: '%.200s' was opened, but its message is no registered string; "
			 "SIGHTLINE_NVTX_REGISTER_ONLY=0 makes it count",
			 none, s->range);
	else if (s->near == SOUGHT_DOMAIN && s->text[0])
		snprintf(text, size,
			 "%s: '%.200s' was opened in the domain '%s'; --nvtx-capture=%.200s@%s",
			 none, s->range, s->text, s->range, s->text);
	else if (s->near == SOUGHT_DOMAIN)
		snprintf(text, size,
			 "%s: '%.200s' was opened in the default domain; --nvtx-capture=%.200s",
			 none, s->range, s->range);
	else if (s->near == SOUGHT_NAME)
		snprintf(text, size, "%s; '%s' was opened", none, s->text);
	else
		snprintf(text, size, "%s", none);
	return text;
}

static const char *why_none(const struct capture *p, char *text, size_t size)
{
	if (!p->options)
		return "its collector was killed before";
	if (p->options->by & SL_CAPTURE_BY_CUDA)
		return "--capture-range=cudaProfilerApi, and no process called cudaProfilerStart";
	if (p->options->by & SL_CAPTURE_BY_NVTX)
		return why_no_range(p, text, size);
	if (p->options->by_hotkey)
		return "--capture-range=hotkey, and the key was not pressed";
	return p->at.delay ? "the program ended before --delay was over"
			   : "'sightline start' was not run";
}

void capture_report_contents(struct collector *c)
{
	struct capture *p = c->capture;
	bool cut = p->ended != CAPTURE_SOURCE_EXIT && p->has_begun;
	char why[768];

	for (struct arena *a = c->arenas.first; a; a = a->next) {
		families_settle(&c->arenas, a, true);
		if (cut)
			families_cut(&c->arenas, a, capture_report_length(c));
	}
	if (p->recorder)
		p->recorder->contents(c);
	if (p->has_begun)
		note_windows(c);
	else
		notes_say(c, 2,
			  "nothing was recorded: no capture began (%s); the report has the "
			  "processes only",
			  why_none(p, why, sizeof(why)));
}

static void finish_in_child(struct collector *c, char *report, int64_t ns)
{
	struct capture_finish *f = calloc(1, sizeof(*f)), **at = &c->capture->reports.finishing;
	static char exe[] = "/proc/self/exe", command[] = "finish";
	char length[32];
	char *argv[] = {exe, command, report, length, NULL};
	posix_spawnattr_t attr;
	sigset_t none;

	if (!f) {
		free(report);
		return;
	}
	f->report = report;
	snprintf(length, sizeof(length), "%lld", (long long)ns);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	/* Ctrl-C is not for it. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	f->err = -posix_spawn(&f->pid, exe, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	f->is_done = f->err != 0;
	while (*at)
		at = &(*at)->next;
	*at = f;
}

/* The session's own database, in its directory: processes, threads and names. NULL: it cannot be made. */
static char *make_session_db(struct collector *c, struct db **db)
{
	struct db_open how = {.is_scratch = true,
			      .overwrite = true,
			      .utc_epoch_ns = c->report.zero_real,
			      .system_clock_ns = c->clocks.map.zero};
	unsigned also = c->options->capture.flight_ns ? DB_NEXT_FILES : 0u;
	char *path = session_db_path(&c->session), why[512] = "";

	how.path = path;
	*db = path ? db_next(c->report.db, &how, also, why, sizeof(why)) : NULL;
	if (*db)
		return path;
	notes_say(c, 2, "no further capture is possible: %s", why[0] ? why : "no memory");
	free(path);
	return NULL;
}

static void begin_counting(struct collector *c)
{
	c->arenas.lost.full = c->arenas.lost.other = c->arenas.lost.disk = 0;
	c->arenas.gpu.lost.dropped = c->arenas.gpu.lost.untimed = c->arenas.gpu.hurried = 0;
	c->arenas.gpu.lost.backward = c->arenas.gpu.lost.incomplete = 0;
	sources_rotate(&c->recording);
	c->recording.rows.written = 0;
	memset(c->recording.rows.dead, 0, sizeof(c->recording.rows.dead));
	c->report.has_said_disk_full = c->report.has_said_removed = false;
	c->report.has_said_locked = false;
}

void capture_report_end(struct collector *c)
{
	struct capture *p = c->capture;
	struct db *old = c->report.db, *next;
	int64_t length = capture_report_length(c);
	char *report, *path;

	say_range(c, p->ended, "ended");
	sources_poll(&c->recording, true);
	drain_totals(&c->arenas, true);
	model_settle(&c->model, c->clocks.now, false);
	capture_report_contents(c);
	notes_end(c);
	pump_commit(c);
	path = make_session_db(c, &next);
	if (!path) {
		/* The report is completed when the session ends; no more rows go into it. */
		p->is_cancelled = false;
		p->is_stuck = true;
		return;
	}
	db_abandon(old);
	use_db(c, next);
	report = strdup(c->report.path);
	free(c->report.path_own);
	c->report.path = c->report.path_own = path;
	c->report.windows.cnt = 0;
	p->has_begun = false;
	c->report.is_session = true;
	begin_counting(c);
	/* The capture's sums are in the old database; threads that end from here on add to none. */
	live_begin(&c->arenas, c->recording.sched, c->clocks.now);
	if (p->is_cancelled)
		db_unlink(report);
	if (p->is_cancelled && p->reports.on_report && report)
		p->reports.on_report(p->reports.on_report_to, report, -ECANCELED);
	if (p->is_cancelled || !report)
		free(report);
	else
		finish_in_child(c, report, length);
	p->is_cancelled = false;
	setup_changed(c);
}

/* ---- results of the child ---- */

static void list_report(struct capture *p, const char *report)
{
	char **more = realloc(p->reports.list, (p->reports.cnt + 1) * sizeof(*more));

	if (!more)
		return;
	p->reports.list = more;
	p->reports.list[p->reports.cnt++] = strdup(report);
}

/* Reports changes by other programs to the file. False: none. */
static bool say_fate(const char *report, int err, const struct db_fate *fate)
{
	switch (fate->what) {
	case DB_WRITTEN_AGAIN:
		sl_warn("the report was removed while it was written: it has been written again");
		return true;
	case DB_REMOVED:
		sl_warn("the report was removed while it was written, and cannot be written again: "
			"%s: %s",
			report, strerror(-err));
		return true;
	case DB_REPLACED:
		sl_warn("the report was replaced while it was written: %s is another program's, "
			"and the report is %s",
			report, fate->path);
		return true;
	case DB_MOVED:
		sl_warn("the report was moved while it was written: it is %s, not %s", fate->path,
			report);
		return true;
	case DB_CUT:
		sl_warn("the report was cut while it was written: %s is damaged, and what was "
			"recorded is lost",
			report);
		return true;
	default:
		return false;
	}
}

static void note_report(struct capture *p, const char *report, int err, const struct db_fate *fate)
{
	bool is_said = fate && say_fate(report, err, fate);

	if (err && !is_said)
		sl_warn("the report could not be completed: %s (try 'sightline recover %s')",
			err == -EBUSY ? db_loss_reason(err) : strerror(-err), report);
	p->reports.is_missing |= err && (is_said || err == -EBUSY);
	if (!err || !is_said || fate->path)
		list_report(p, is_said && fate->path ? fate->path : report);
	if (p->reports.on_report)
		p->reports.on_report(p->reports.on_report_to, report, err);
}

static bool has_finished(struct capture_finish *f, bool wait)
{
	int status = 0;
	pid_t pid;

	if (f->is_done)
		return true;
	do
		pid = waitpid(f->pid, &status, wait ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	f->is_done = true;
	if (pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		f->err = -EIO;
	return true;
}

void capture_report_done(struct collector *c, bool wait)
{
	struct capture *p = c->capture;

	while (p->reports.finishing && has_finished(p->reports.finishing, wait)) {
		struct capture_finish *f = p->reports.finishing;

		p->reports.finishing = f->next;
		note_report(p, f->report, f->err, NULL);
		free(f->report);
		free(f);
	}
}

int capture_report_close(struct collector *c, int64_t length)
{
	struct capture *p = c->capture;
	struct db_fate fate;
	int err = 0;

	capture_report_done(c, true);
	if (c->report.is_session) {
		db_abandon(c->report.db);
		db_unlink(c->report.path);
	} else if (p->is_cancelled) {
		db_abandon(c->report.db);
		db_unlink(c->report.path);
		if (p->reports.on_report)
			p->reports.on_report(p->reports.on_report_to, c->report.path, -ECANCELED);
	} else {
		err = db_finish_file(c->report.db, length, &fate);
		note_report(p, c->report.path, err, &fate);
		free(fate.path);
	}
	use_db(c, NULL);
	return err;
}
