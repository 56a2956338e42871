/* cmd_ncu.c - sightline ncu: the command with which Nsight Compute profiles a launch of the report. */
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/ncu/ncu.h"
#include "exporters/read/db_read.h"
#include "exporters/text/bounded.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline ncu [options] REPORT.sqlite";
static const char examples[] =
	"Examples:\n"
	"  sightline ncu run.sqlite                              # of the kernel that took most "
	"time\n"
	"  sightline ncu --kernel softmax run.sqlite             # of one by its name, or a part "
	"of it\n"
	"  sightline ncu --kernel softmax --nvtx step run.sqlite # only launches in such ranges\n"
	"  sightline ncu --kernel softmax --list run.sqlite      # all its launches, to choose "
	"one\n"
	"  sightline ncu --kernel softmax --instance 12 --run run.sqlite\n"
	"  sightline ncu --kernel '[CUDA memcpy Host' run.sqlite # of copies: their bandwidth\n"
	"\n"
	"The same program with the same arguments must launch the same kernels in the same "
	"order.\n";

struct options {
	const char *format, *nvtx;
	struct ncu_ask ask;
	struct db_filter filter;
	bool run, trust;
	struct bounds bounds;
};

/* 0, or an exit status after one line. */
static int check(struct options *o)
{
	static const char *const words[] = {"median", "longest", "shortest", "first", "last"};
	char why[WHY_TEXT];
	bool is_word = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_word |= strcmp(words[i], o->ask.instance) == 0;
	if (!is_word &&
	    (!*o->ask.instance || o->ask.instance[strspn(o->ask.instance, "0123456789")] ||
	     strlen(o->ask.instance) > 18)) {
		sl_warn("ncu: --instance=%s: it takes median, longest, shortest, first, last or a "
			"number from 0",
			o->ask.instance);
		return SL_EXIT_USAGE;
	}
	if (o->ask.kernel && o->ask.top != 1) {
		sl_warn("ncu: --kernel and --top cannot stand together");
		return SL_EXIT_USAGE;
	}
	if (!o->nvtx)
		return 0;
	if (db_filter_nvtx(&o->filter, o->nvtx, why, sizeof(why)) < 0) {
		sl_warn("ncu: --nvtx: %s", why);
		return SL_EXIT_USAGE;
	}
	o->ask.nvtx = o->filter.nvtx[0];
	if (o->ask.nvtx.index < 0 && (!o->ask.nvtx.domain || strcmp(o->ask.nvtx.domain, "*") != 0))
		return 0;
	sl_warn("ncu: --nvtx=%s: ncu takes RANGE or RANGE@DOMAIN, neither a number nor any domain",
		o->nvtx);
	return SL_EXIT_USAGE;
}

static int print(const struct options *o, const struct ncu *n)
{
	bool json = strcmp(o->format, "json") == 0;

	if (o->ask.list && !n->copies.cnt)
		return (json ? ncu_list_json : ncu_list_text)(stdout, n) < 0 ? SL_EXIT_FAIL : 0;
	if (!json)
		ncu_text(stdout, n);
	else if (ncu_json(stdout, n, &o->bounds) < 0)
		return SL_EXIT_FAIL;
	for (size_t i = 0; i < n->targets.cnt; i++)
		if (n->targets.list[i].replay)
			return 0;
	return n->copies.cnt ? 0 : SL_EXIT_FAIL;
}

static int show(const struct options *o, const char *path)
{
	char why[WHY_TEXT] = "no memory", distrust[WHY_TEXT];
	struct ncu n;
	/* Before the report is opened: from then on it stays the same. */
	bool is_trusted = !o->run || o->trust || ncu_is_own(path, distrust, sizeof(distrust));
	sqlite3 *db = db_read_open(path, why, sizeof(why));
	int rc = SL_EXIT_FAIL;

	if (!db) {
		sl_warn("ncu: %s", why);
		return SL_EXIT_FAIL;
	}
	if (ncu_run(&n, db, path, &o->ask, why, sizeof(why)) < 0)
		sl_warn("ncu: %s: %s", path, why);
	else
		rc = print(o, &n);
	if (rc == 0 && o->run && !is_trusted && n.targets.cnt) {
		sl_warn("ncu: not run: %s, and the report names the program: look at the command, "
			"then add --trust",
			distrust);
		rc = SL_EXIT_FAIL;
	} else if (rc == 0 && o->run && n.targets.cnt) {
		rc = ncu_execute(&n);
	}
	ncu_free(&n);
	sqlite3_close(db);
	return rc;
}

int cmd_ncu(int argc, char **argv)
{
	struct options o = {
		.format = "text",
		.ask = {.top = 1, .instance = "median", .set = "full", .replay = "auto"}};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0, "kernel", OPT_STRING, NULL, "NAME",
		 "of this kernel: its short, whole or mangled name, or a part of it; of several, "
		 "the\n"
		 "one that took most time",
		 &o.ask.kernel, NULL},
		{0, "top", OPT_INT, "1:1000000", "N",
		 "of the N kernels that took most time (default: 1)", &o.ask.top, NULL},
		{0, "instance", OPT_STRING, ",median,longest,shortest,first,last", "WHICH",
		 "median, longest, shortest, first or last of its launches in a process, or a "
		 "number\n"
		 "from 0 (default: median)",
		 &o.ask.instance, NULL},
		{0, "nvtx", OPT_STRING, NULL, "RANGE[@DOMAIN]",
		 "only launches by a thread that is in such an NVTX range", &o.nvtx, NULL},
		{0, "pid", OPT_INT, "1:16777215", "PID",
		 "of this process (default: a command for each that launches it)", &o.ask.pid,
		 NULL},
		{0, "list", OPT_BOOL, NULL, NULL, "all launches, with the number to skip for each",
		 &o.ask.list, NULL},
		{0, "set", OPT_STRING, NULL, "NAME", "ncu's set of sections (default: full)",
		 &o.ask.set, NULL},
		{0, "replay-mode", OPT_ENUM, "auto,kernel,application,range,app-range", "MODE",
		 "how ncu runs the kernel again (default: auto)", &o.ask.replay, NULL},
		{0, "run", OPT_BOOL, NULL, NULL, "run it, too, in the program's folder", &o.run,
		 NULL},
		{0, "trust", OPT_BOOL, NULL, NULL,
		 "with --run: also of a report that other users own or may write", &o.trust, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT", "text (a script for sh), or json",
		 &o.format, NULL},
		BOUNDED_OPTS(&o.bounds),
		{0},
	};
	int cnt = 0, rc;

	bounds_open(&o.bounds, argc, argv);
	/* Options may also stand after the report, whose name is moved to the front. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "ncu");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc)
			argv[cnt++] = argv[at];
	}
	if (cnt != 1) {
		sl_warn(cnt ? "ncu: it takes one report: %s" : "ncu: no report is named: %s",
			usage);
		return SL_EXIT_USAGE;
	}
	bounds_default(&o.bounds);
	rc = check(&o);
	if (rc == 0)
		rc = show(&o, argv[0]);
	db_filter_free(&o.filter);
	bounds_free(&o.bounds);
	return rc;
}
