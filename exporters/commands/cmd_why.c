/* cmd_why.c - sightline why: where the time went, and the reasons of waiting. */
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"
#include "exporters/text/bounded.h"
#include "exporters/why/answer/why.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline why [options] REPORT.sqlite...";
static const char examples[] =
	"Examples:\n"
	"  sightline why run.sqlite                   # of the main thread of the program\n"
	"  sightline why --thread 4711 run.sqlite     # of another one\n"
	"  sightline why --gpu 0 run.sqlite           # of a GPU: why it was idle\n"
	"  sightline why --nvtx forward run.sqlite    # while it is in these ranges\n"
	"  sightline why --step run.sqlite            # in its steps; --step 17: in this one\n"
	"  sightline why --time 12s-15s run.sqlite    # in these three seconds\n"
	"  sightline why -f json run.sqlite | jq '.partition[0]'\n";

struct options {
	const char *format, *time;
	struct why_ask ask;
	struct db_filter filter;
	struct bounds bounds;
};

static const char reason[] = "the report has no events of a thread, no work of a GPU and no wait";
static const char remedy[] = "record the program: sightline profile -o run PROGRAM (context "
			     "switches and samples need the "
			     "permission that 'sightline status' names)";

/* 0, -1 after one line on stderr, or SL_EXIT_ABSTAINED. */
static int print(const struct options *o, const struct why *y, const char *path)
{
	bool json = strcmp(o->format, "json") == 0;

	if (!why_has_answer(y) && json) {
		bounded_abstain(stdout, path, reason, remedy);
		return SL_EXIT_ABSTAINED;
	}
	if (!json) {
		why_put_text(stdout, y, path, false);
		return why_has_answer(y) ? 0 : SL_EXIT_ABSTAINED;
	}
	if (why_put_json(stdout, y, path, &o->bounds) == 0)
		return 0;
	sl_warn("why: out of memory");
	return -1;
}

static int show(const struct options *o, const char *path, const char *before)
{
	char why[WHY_TEXT];
	struct why y;
	sqlite3 *db = db_read_open(path, why, sizeof(why));
	int rc = -1;

	if (!db) {
		sl_warn("why: %s", why);
		return -1;
	}
	/* The time of the filter is explained; causes may lie outside of that time, so nothing is hidden. */
	if (why_run(&y, db, &o->filter, &o->ask, why, sizeof(why)) < 0) {
		sl_warn("why: %s: %s", path, why);
		why_free(&y);
	} else {
		fputs(before, stdout);
		rc = print(o, &y, path);
		why_free(&y);
	}
	sqlite3_close(db);
	return rc;
}

static int show_all(const struct options *o, int cnt, char **paths)
{
	bool json = strcmp(o->format, "json") == 0;
	int shown = 0, rc = 0;

	for (int i = 0; i < cnt; i++) {
		const char *before = shown > 0 ? (json ? ",\n" : "\n") : json && cnt > 1 ? "[" : "";

		int one = show(o, paths[i], before);

		shown += one >= 0;
		rc = one < 0 ? SL_EXIT_FAIL : one && !rc ? one : rc;
	}
	if (json && cnt > 1 && shown > 0)
		fputs("]\n", stdout);
	return rc;
}

int cmd_why(int argc, char **argv)
{
	struct options o = {.format = "text"};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0, "thread", OPT_INT, "1:9223372036854775807", "TID",
		 "of this thread (default: the main thread of the program)", &o.ask.tid, NULL},
		{0, "process", OPT_INT, "1:4194304", "PID",
		 "of the main thread of this process, as long as it lived", &o.ask.pid, NULL},
		{0, "gpu", OPT_INT, "0:2147483647", "N",
		 "of this GPU: what it did, and why it did nothing", &o.ask.gpu, &o.ask.of_gpu},
		{0, "nvtx", OPT_STRING, NULL, "RANGE",
		 "in such NVTX ranges, RANGE or DOMAIN:RANGE, % for anything; of the thread that "
		 "has\n"
		 "most of them",
		 &o.ask.nvtx, NULL},
		{0, "step", OPT_MAYBE, NULL, "N",
		 "in the steps of the program, and what the slow ones do more: NVTX ranges that\n"
		 "repeat, or --step=RANGE; with a number only in this one",
		 &o.ask.step, NULL},
		{0, "time", OPT_STRING, NULL, "START-END",
		 "only in this time: ns, or with a unit, as in 12s-15s", &o.time, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT",
		 "text, or json: an object, an array of them for several reports", &o.format, NULL},
		BOUNDED_OPTS(&o.bounds),
		{0},
	};
	char why[WHY_TEXT];
	int cnt = 0, rc;

	bounds_open(&o.bounds, argc, argv);
	/* Options may also stand after reports, whose names are moved to the front. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "why");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc)
			argv[cnt++] = argv[at];
	}
	if (cnt == 0) {
		sl_warn("why: no report is named: %s", usage);
		return SL_EXIT_USAGE;
	}
	if (o.ask.nvtx && o.ask.step) {
		sl_warn("why: --nvtx and --step cannot stand together: --step=RANGE takes a range");
		return SL_EXIT_USAGE;
	}
	if (db_filter_time(&o.filter, o.time, why, sizeof(why)) < 0) {
		sl_warn("why: --time: %s", why);
		return SL_EXIT_USAGE;
	}
	bounds_default(&o.bounds);
	rc = show_all(&o, cnt, argv);
	db_filter_free(&o.filter);
	bounds_free(&o.bounds);
	return rc;
}
