/* cmd_top.c - sightline top: watches a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/base/options.h"
#include "collector/session/session_now.h"
#include "exporters/top/top.h"

#define WHY 2048
#define LATE_NS \
	INT64_C(2500000000) /* the collector sums up about once a second, if there is news */
#define LOOK_NS   INT64_C(50000000)
#define LINE_WIDE 160

static const char usage[] = "sightline top [options] [REPORT.sqlite | --session=NAME]";
static const char examples[] =
	"Keys: 1 2 3 4, Tab  processes, functions, files, CUDA and GPUs    t  threads; apart by "
	"process\n"
	"      < > s         the column to sort by      r  the other way    c  totals instead of "
	"rates\n"
	"      /             show only what has this in its name    space  pause    + -  interval\n"
	"      h             help                                   q      quit\n"
	"\n"
	"Examples:\n"
	"  sightline top                                  # what is recorded at the moment\n"
	"  sightline top --session=train                  # where there are several sessions\n"
	"  sightline top --once run.sqlite                # the same as text; of a finished "
	"report, totals\n"
	"  sightline top --once --view=functions --sort=calls_per_second run.sqlite\n"
	"  sightline top --format=json --count=10 run.sqlite | jq -c '.processes[] | [.pid, "
	".cpu_percent]'\n";

struct asked {
	const char *session, *view, *sort, *filter, *format, *interval;
	int64_t count, rows;
	bool once, totals, reverse, by_process;
};

/* ---- options ---- */

static int read_interval(const char *text, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(text, &end);
	if (end != text && !*end && !errno && *seconds >= 1 && *seconds <= 3600)
		return 0;
	sl_warn("top: --interval=%s: a number of seconds from 1 to 3600 is wanted (sums are "
		"written once a second)",
		text);
	return SL_EXIT_USAGE;
}

/* The column by its name in JSON, or by its heading. */
static int read_sort(const struct asked *a, struct top_ask *ask)
{
	const struct top_view_info *v = &top_views[ask->view];
	const char *near = NULL;

	if (!a->sort)
		return 0;
	if (strcasecmp(a->sort, "name") == 0) {
		ask->sort = SORT_TEXT;
		return 0;
	}
	for (unsigned c = 0; c < v->columns; c++) {
		const struct top_column *col = &v->column[c];

		if (strcasecmp(a->sort, col->key) == 0 || strcasecmp(a->sort, col->head) == 0 ||
		    strcasecmp(a->sort, col->total_key) == 0) {
			ask->sort = (int)c;
			return 0;
		}
		near = sl_nearest(a->sort, near, col->key);
	}
	sl_warn("top: --sort=%s: %s has no such column; %s%s%s 'name', '%s', ...", a->sort, v->name,
		near ? "did you mean '" : "there are", near ? near : "", near ? "'? There are" : "",
		v->column[0].key);
	return SL_EXIT_USAGE;
}

static int read_ask(const struct asked *a, struct top_watch *w)
{
	int rc = read_interval(a->interval, &w->interval);

	w->ask.view = (enum top_view)top_view_of(a->view);
	w->ask.filter = a->filter;
	w->ask.totals = a->totals;
	w->ask.reverse = a->reverse;
	w->ask.by_process = a->by_process;
	w->count = a->count;
	return rc ? rc : read_sort(a, &w->ask);
}

/* ---- looking now and then ---- */

static void wait_until(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static bool goes_on(const struct top *t)
{
	return t->status == TOP_WAITING || t->status == TOP_RECORDING || t->status == TOP_PAUSED;
}

static int look(struct top *t)
{
	char why[WHY];

	if (top_read(t, why, sizeof(why)) == 0)
		return 0;
	sl_warn("top: %s", why);
	return -1;
}

/* Looks again after @interval; a little later where nothing new has been written so far. 0 or -1. */
static int look_again(struct top *t, int64_t at)
{
	int64_t round = t->round;

	wait_until(at);
	do {
		if (look(t) < 0)
			return -1;
		if (t->round != round || t->is_idle || !goes_on(t))
			return 0;
		wait_until(mono_ns() + LOOK_NS);
	} while (mono_ns() < at + LATE_NS);
	return 0;
}

static void show(const struct top *t, const struct asked *a, const struct top_watch *w)
{
	struct top_ask ask = w->ask;

	/* A recording that is over, or has just begun, has no rates. */
	ask.totals |= t->has_totals || !t->is_sampled;
	if (strcmp(a->format, "json") == 0)
		top_print_json(stdout, t, ask.filter);
	else
		top_print(stdout, t, &ask, (size_t)a->rows, LINE_WIDE);
	fflush(stdout);
}

static int watch_as_text(struct top *t, const struct asked *a, const struct top_watch *w)
{
	int64_t period = (int64_t)(w->interval * 1e9), at = mono_ns(),
		left = w->count ? w->count : 1;

	if (look(t) < 0)
		return SL_EXIT_FAIL;
	/* The first sums of a report that has just begun come within a second. */
	if (t->status == TOP_WAITING && look_again(t, at + LOOK_NS) < 0)
		return SL_EXIT_FAIL;
	for (at = mono_ns(); left > 0; left--) {
		at += period;
		if (goes_on(t) && look_again(t, at) < 0)
			return SL_EXIT_FAIL;
		show(t, a, w);
		if (!goes_on(t) || ferror(stdout))
			break;
		if (left > 1 && strcmp(a->format, "json") != 0)
			putchar('\n');
	}
	return 0;
}

/* ---- the command ---- */

static int next_report(void *to, char **path)
{
	struct session_now *s = to;

	if (session_now_again(s) < 0)
		return -1;
	*path = *s->report ? strdup(s->report) : NULL;
	return *path != NULL;
}

static int run(struct top *t, const struct asked *a, struct session_now *session)
{
	struct top_watch w = {.top = t, .next = session ? next_report : NULL, .next_to = session};
	bool as_text = a->once || strcmp(a->format, "json") == 0;
	int rc = read_ask(a, &w);

	if (rc)
		return rc;
	if (as_text && !t->path) {
		sl_warn("top: the session '%s' records nothing at present (sightline start begins)",
			t->session);
		return SL_EXIT_FAIL;
	}
	if (as_text)
		return watch_as_text(t, a, &w);
	if (!top_has_screen()) {
		sl_warn("top: built without ncurses (libncurses-dev): there is --once only");
		return SL_EXIT_FAIL;
	}
	if (!isatty(0) || !isatty(1)) {
		sl_warn("top: no terminal: use --once, or --format=json");
		return SL_EXIT_FAIL;
	}
	return top_screen(&w);
}

int cmd_top(int argc, char **argv)
{
	struct asked a = {.view = "processes", .format = "text", .interval = "1", .rows = 20};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0, "session", OPT_STRING, NULL, "NAME",
		 "the report that this session writes, then its next", &a.session, NULL},
		{0, "once", OPT_FLAG, NULL, NULL, "print one table as text, and end", &a.once,
		 NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT",
		 "json: all tables, one object per look and line; implies --once", &a.format, NULL},
		{'n', "count", OPT_INT, "1:1000000000", "N", "so many looks; then end", &a.count,
		 NULL},
		{'i', "interval", OPT_STRING, NULL, "SECONDS", "between two looks (1)", &a.interval,
		 NULL},
		{0, "view", OPT_ENUM, "processes,threads,functions,files,cuda,gpus", "TABLE",
		 "which table (processes)", &a.view, NULL},
		{'s', "sort", OPT_STRING, NULL, "COLUMN",
		 "by this column, as JSON calls it, or name; the first one unless given", &a.sort,
		 NULL},
		{'r', "reverse", OPT_FLAG, NULL, NULL, "the smallest first", &a.reverse, NULL},
		{0, "filter", OPT_STRING, NULL, "TEXT", "only rows with this in a name, path or id",
		 &a.filter, NULL},
		{0, "by-process", OPT_FLAG, NULL, NULL,
		 "functions and files apart for each process", &a.by_process, NULL},
		{0, "totals", OPT_FLAG, NULL, NULL,
		 "since the recording began, instead of per second", &a.totals, NULL},
		{0, "rows", OPT_INT, "1:1000000", "N", "with --once: so many rows (20)", &a.rows,
		 NULL},
		{0},
	};
	const char *report = NULL;
	struct session_now now;
	struct top t;
	char *path;
	int rc;

	/* Options may also stand after the report. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "top");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc && report) {
			sl_warn("top: one report at a time: '%s' and '%s' are named", report,
				argv[at]);
			return SL_EXIT_USAGE;
		}
		if (at < argc)
			report = argv[at];
	}
	if (report && a.session) {
		sl_warn("top: either a report or --session=%s", a.session);
		return SL_EXIT_USAGE;
	}
	rc = report ? 0 : session_now(a.session, "top", &now);
	if (rc)
		return rc;
	/* A later report of the session must not take the place of the first under its name. */
	path = report ? strdup(report) : *now.report ? strdup(now.report) : NULL;
	top_init(&t, path);
	t.session = report ? NULL : now.name;
	rc = run(&t, &a, report ? NULL : &now);
	top_free(&t);
	free(path);
	return rc;
}
