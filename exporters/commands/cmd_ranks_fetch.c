/* cmd_ranks_fetch.c - sightline ranks fetch: a span of chosen ranks out of the reports of their nodes, as one report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/ranks/fetch.h"

#define WHY_TEXT 2048

static const char usage[] =
	"sightline ranks fetch -d DATASET --rank N[,N...] [options] REPORT.sqlite[=RANK]...";
static const char examples[] =
	"The dataset has sums; what happened in a span is in the reports of the nodes. This cuts "
	"it out of those that are named, "
	"for\n"
	"'sightline view', 'export' and the others. Ranks of several reports come onto one axis, "
	"by the clocks that 'ranks "
	"clock'\n"
	"has compared; without, by those of the nodes as they are, which is said.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks fetch -d /shared/dataset --rank 617 --time 12m-12m10s -o slow.sqlite "
	"/scratch/4711-g077.sqlite\n"
	"  sightline ranks fetch -d dataset --rank 0,8 --time 90s-95s -o both.sqlite n0.sqlite "
	"n1.sqlite &&\n"
	"      sightline export -t perfetto both.sqlite\n";

int cmd_ranks_fetch(int argc, char **argv)
{
	struct ask a = {0};
	struct fetch f = {0};
	struct chosen chosen = {0};
	char why[WHY_TEXT];
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &a.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)", &a.run,
		 NULL},
		{0, "rank", OPT_LIST, NULL, "N[,N...]", "these ranks", &f.ranks, NULL},
		{0, "rank-from", OPT_STRING, NULL, "PATTERN",
		 "of reports that do not show their rank: the number where the pattern has\n"
		 "%r, in the file's name: rank%r (default: as they were added)",
		 &f.rank_from, NULL},
		{0, "time", OPT_STRING, NULL, "START-END",
		 "what overlaps this span, since the start of the run: 12m-13m, 90s/95s\n"
		 "(default: all)",
		 &f.time, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE",
		 "the report to write (default: ranks.sqlite)", &f.output, NULL},
		{'f', "force-overwrite", OPT_BOOL, NULL, "true|false", "replaces FILE", &f.force,
		 NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks fetch"), status;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!a.folder || !f.ranks || first == argc) {
		sl_warn("ranks fetch: %s (see 'sightline ranks fetch --help')",
			!a.folder  ? "-d DATASET is missing"
			: !f.ranks ? "--rank=N is missing"
				   : "no report was given");
		return SL_EXIT_USAGE;
	}
	f.output = f.output ? f.output : "ranks.sqlite";
	f.reports = argv + first;
	f.reports_cnt = (size_t)(argc - first);
	status = fetch_check(&f, why, sizeof(why)) < 0 ? SL_EXIT_USAGE : 0;
	if (status)
		sl_warn("ranks fetch: %s", why);
	if (status == 0)
		status = choose_run("ranks fetch", &a, &chosen);
	f.folder = a.folder;
	f.run = a.run;
	if (status == 0 && fetch_ranks(&f, why, sizeof(why)) < 0) {
		sl_warn("ranks fetch: %s", why);
		status = SL_EXIT_FAIL;
	}
	fetch_free(&f);
	choose_free(&chosen);
	return status;
}
