/* cmd_view.c - sightline view: a report's timeline in the browser. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/saturate.h"
#include "exporters/commands/browser.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/ranks/spans/cell.h"
#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"
#include "exporters/view/build/build.h"
#include "exporters/view/server/handover.h"
#include "exporters/view/server/http.h"

#define PATIENCE_S  2 /* at the end, for the threads that make indexes */
#define WHY_TEXT    2048
#define PORT        8420
#define REPORTS_MAX 16

static const char usage[] = "sightline view [options] REPORT.sqlite...\n"
			    "       sightline view -d DATASET [--run NAME] [--rank N] [--step S]";
static const char examples[] =
	"Examples:\n"
	"  sightline view run.sqlite                  # opens the browser\n"
	"  sightline view --no-open run.sqlite        # prints the address only\n"
	"  sightline view run.sqlite --at 60.388s --row 4711 --span 60.3s-60.5s  # a place that "
	"why named\n"
	"  sightline view before.sqlite after.sqlite  # one above the other\n"
	"  sightline view -d /shared/dataset --rank 617 --step 340   # of many ranks: that step in "
	"the report of that rank\n"
	"  ssh -L 8420:127.0.0.1:8420 HOST            # from another machine, then open that "
	"address\n"
	"\n"
	"An index of the report is kept beside it, in REPORT.sqlite.view; it may be removed at any "
	"time.\n";

struct asked {
	int64_t port;
	bool no_open, perfetto;
	const char *at, *row, *span; /* a place to open at */
	struct db_filter_time when, shown;
	struct ask ask; /* the dataset */
	int64_t rank, step;
	char row_text[32];
};

struct builder {
	struct view_report *report;
	struct view_server *server;
};

static void *build(void *arg)
{
	struct builder *b = arg;

	if (view_build(b->report->store, &b->server->stop) == 0)
		view_watch(b->report->store, &b->server->stop);
	free(b);
	return NULL;
}

/* Each report is indexed in a thread of its own, while it is shown already. */
static int open_reports(struct view_server *s, int cnt, char **paths)
{
	s->reports = calloc((size_t)cnt, sizeof(*s->reports));
	for (int i = 0; s->reports && i < cnt; i++) {
		struct view_report *r = &s->reports[i];
		struct builder *b = malloc(sizeof(*b));

		pthread_mutex_init(&r->lock, NULL);
		pthread_mutex_init(&r->why_lock, NULL);
		r->store = view_store_new(paths[i]);
		s->report_cnt++;
		if (b)
			*b = (struct builder){r, s};
		r->has_builder = b && r->store && pthread_create(&r->builder, NULL, build, b) == 0;
		if (!r->has_builder) {
			free(b);
			return -1;
		}
	}
	return s->reports ? 0 : -1;
}

/* A statement that searches huge values is not to be stopped: the process ends without the threads that are in one. */
static void end_anyway(void)
{
	fflush(NULL);
	_exit(0);
}

static void close_reports(struct view_server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	__atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < s->report_cnt; i++) {
		struct view_report *r = &s->reports[i];

		if (r->has_builder && pthread_timedjoin_np(r->builder, NULL, &until) != 0)
			end_anyway();
		while (r->idle_cnt > 0)
			sqlite3_close(r->idle[--r->idle_cnt]);
		view_why_free(r->why);
		free(r->findings.text);
		pthread_mutex_destroy(&r->why_lock);
		pthread_mutex_destroy(&r->lock);
		view_store_free(r->store);
	}
	free(s->reports);
}

static bool has_display(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

/* A place as parts of the fragment, which the page reads; a row's name may have any characters. */
static void put_place(FILE *out, const struct asked *a)
{
	if (a->at)
		fprintf(out, "&at=%lld", (long long)a->when.start);
	if (a->span)
		fprintf(out, "&v=%lld_%lld", (long long)a->shown.start, (long long)a->shown.end);
	if (!a->row)
		return;
	fputs("&row=", out);
	for (const char *p = a->row; *p; p++)
		fprintf(out, isalnum((unsigned char)*p) ? "%c" : "%%%02X", (unsigned char)*p);
}

static void on_listening(void *ctx, int port, const char *token)
{
	const struct asked *a = ctx;
	char *address = NULL, host[128] = "HOST";
	size_t len;
	FILE *made = open_memstream(&address, &len);

	if (made) {
		fprintf(made, "http://127.0.0.1:%d/#t=%s", port, token);
		put_place(made, a);
	}
	if (!made || fclose(made) != 0) {
		free(address);
		return;
	}
	if (a->port != port && a->port != 0)
		sl_warn("view: port %d is taken: it is %d now", a->port ? (int)a->port : PORT,
			port);
	printf("%s\n", address);
	if (!a->no_open && has_display()) {
		browser_open(address);
	} else if (!has_display()) {
		gethostname(host, sizeof(host) - 1);
		printf("from another machine: ssh -L %d:127.0.0.1:%d %s, then open that address\n",
		       port, port, host);
	}
	fflush(stdout);
	free(address);
}

/* Refuses files that cannot be a report, before anything else. */
static int check(int cnt, char **paths)
{
	char why[WHY_TEXT];

	for (int i = 0; i < cnt; i++) {
		sqlite3 *db = db_read_open(paths[i], why, sizeof(why));

		if (!db) {
			sl_warn("view: %s", why);
			return SL_EXIT_FAIL;
		}
		sqlite3_close(db);
	}
	return 0;
}

static int show(struct asked *a, int cnt, char **paths)
{
	struct view_server s = {0};
	struct view_http_options o = {
		.port = a->port ? (int)a->port : PORT, .listening = on_listening, .ctx = a};
	char why[WHY_TEXT] = "out of memory";
	int rc = open_reports(&s, cnt, paths);

	if (rc == 0)
		rc = view_http_run(&s, &o, why, sizeof(why));
	browser_end();
	if (rc > 0)
		end_anyway();
	if (rc < 0)
		sl_warn("view: %s", why);
	close_reports(&s);
	return rc < 0 ? SL_EXIT_FAIL : 0;
}

static void on_handover(void *ctx, const char *address)
{
	const struct asked *a = ctx;

	printf("%s\n", address);
	fflush(stdout);
	if (!a->no_open && has_display())
		browser_open(address);
}

/* To a page of another host, which reads the trace in the browser: only when that is asked for. */
static int hand_over(struct asked *a, char *report)
{
	const char *tmp = getenv("TMPDIR");
	char folder[512], trace[544], why[WHY_TEXT] = "";
	char words[][24] = {"export", "--type=perfetto", "--quiet=true", "-o"};
	char *args[] = {words[0], words[1], words[2], words[3], trace, report, NULL};
	int rc;

	snprintf(folder, sizeof(folder), "%s/sightline-view.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder)) {
		sl_warn("view: no folder for the trace: %s", folder);
		return SL_EXIT_FAIL;
	}
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	rc = cmd_export(6, args);
	if (rc == 0 && view_handover(trace, on_handover, a, why, sizeof(why)) < 0) {
		sl_warn("view: %s", why);
		rc = SL_EXIT_FAIL;
	}
	browser_end();
	unlink(trace);
	rmdir(folder);
	return rc;
}

/* The times of a place. */
static int read_place(struct asked *a)
{
	const char *texts[] = {a->at, a->span}, *names[] = {"--at", "--span"};
	struct db_filter_time *to[] = {&a->when, &a->shown};
	char why[WHY_TEXT], text[128];

	for (int i = 0; i < 2; i++) {
		struct db_filter f = {0};
		int rc;

		if (!texts[i])
			continue;
		/* A point in time is a span without an end. */
		snprintf(text, sizeof(text), "%s%s", texts[i], i == 0 ? "/" : "");
		rc = db_filter_time(&f, text, why, sizeof(why));
		if (rc == 0 && f.time_cnt == 1)
			*to[i] = f.time[0];
		if (rc < 0)
			sl_warn("view: %s: %s", names[i], why);
		else if (f.time_cnt != 1 || to[i]->start == INT64_MIN ||
			 (i == 1 && (to[i]->end == INT64_MAX || to[i]->end <= to[i]->start))) {
			sl_warn("view: %s: %s", names[i],
				i == 0 ? "a time is needed, such as 60.388s"
				       : "a span of time is needed, such as 60.3s-60.5s");
			rc = -1;
		}
		db_filter_free(&f);
		if (rc < 0)
			return SL_EXIT_USAGE;
	}
	return 0;
}

/* A cell of a dataset: its report, and the place in it. */
static int show_cell(struct asked *a)
{
	struct chosen chosen;
	struct cell c = {0};
	int rc = choose_run("view", &a->ask, &chosen);

	if (rc == 0)
		rc = cell_find(&c, "view", &a->ask, a->rank, a->step) < 0 ? SL_EXIT_FAIL : 0;
	if (rc == 0) {
		a->span = a->at = c.report;
		a->when = (struct db_filter_time){.start = c.from, .end = c.to};
		/* With a tenth of it before and behind. */
		a->shown = (struct db_filter_time){.start = sat_sub(c.from, (c.to - c.from) / 10),
						   .end = sat_add(c.to, (c.to - c.from) / 10 + 1)};
		if (c.pid > 0 && !a->row) {
			snprintf(a->row_text, sizeof(a->row_text), "%lld", (long long)c.pid);
			a->row = a->row_text;
		}
		printf("rank %lld, step %lld: %s\n", (long long)c.rank, (long long)c.step,
		       c.report);
		rc = check(1, &c.report);
	}
	if (rc == 0)
		rc = show(a, 1, &c.report);
	cell_free(&c);
	choose_free(&chosen);
	return rc;
}

int cmd_view(int argc, char **argv)
{
	struct asked a = {
		.ask = {.engine = "duckdb", .format = "csv", .top = 20}, .rank = -1, .step = -1};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0, "port", OPT_INT, "1:65535", "N",
		 "listen on this port of 127.0.0.1, or the next free one: 8420", &a.port, NULL},
		{0, "no-open", OPT_FLAG, NULL, NULL, "print the address, open no browser",
		 &a.no_open, NULL},
		{0, "at", OPT_STRING, NULL, "TIME",
		 "open at this time: ns of the report's clock, or with a unit, as in 60.388s",
		 &a.at, NULL},
		{0, "row", OPT_STRING, NULL, "THREAD",
		 "and at this row: the number of a thread or process, or a part of the row's name",
		 &a.row, NULL},
		{0, "span", OPT_STRING, NULL, "START-END", "and show this time, as in 60.3s-60.5s",
		 &a.span, NULL},
		{'d', "dataset", OPT_STRING, NULL, "FOLDER",
		 "of many ranks: opens the report of one, at one step (ranks add)", &a.ask.folder,
		 NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)",
		 &a.ask.run, NULL},
		{0, "rank", OPT_INT, "0:10000000", "N",
		 "this rank (default: the one with most time of its own)", &a.rank, NULL},
		{0, "step", OPT_INT, "0:9223372036854775807", "N",
		 "in this step (default: likewise)", &a.step, NULL},
		{0, "perfetto", OPT_FLAG, NULL, NULL,
		 "hand the trace to https://ui.perfetto.dev instead, once", &a.perfetto, NULL},
		{0},
	};
	const char *type;
	size_t len;
	bool is_gzip;
	int cnt = 0, rc;

	/* Options may also stand after reports, whose names are moved to the front. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "view");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc)
			argv[cnt++] = argv[at];
	}
	if (a.ask.folder ? cnt > 0 || a.at || a.span || a.perfetto
			 : a.ask.run || a.rank >= 0 || a.step >= 0) {
		sl_warn(a.ask.folder
				? "view: -d DATASET takes --run, --rank, --step and --row, and no "
				  "report"
				: "view: --run, --rank and --step are of a dataset: -d DATASET");
		return SL_EXIT_USAGE;
	}
	if (!a.ask.folder && (cnt == 0 || cnt > REPORTS_MAX)) {
		sl_warn(cnt ? "view: at most 16 reports are shown at once"
			    : "view: no report is named: sightline view [options] "
			      "REPORT.sqlite...");
		return SL_EXIT_USAGE;
	}
	rc = read_place(&a);
	if (rc)
		return rc;
	if (!view_http_is_built()) {
		sl_warn("view: this program was built without libevent, the HTTP library it needs");
		return SL_EXIT_FAIL;
	}
	if (a.perfetto && cnt > 1) {
		sl_warn("view: --perfetto takes one report");
		return SL_EXIT_USAGE;
	}
	if (a.perfetto)
		return hand_over(&a, argv[0]);
	if (!view_asset("/", &len, &type, &is_gzip))
		sl_warn("view: this program was built without its page, which needs npm: only the "
			"messages are answered");
	if (a.ask.folder)
		return show_cell(&a);
	rc = check(cnt, argv);
	return rc ? rc : show(&a, cnt, argv);
}
