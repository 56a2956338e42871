/* cmd_ranks_compact.c - sightline ranks compact: the parts of a run as one file per table. */
#include <stdio.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/pack/pack.h"

static const char usage[] = "sightline ranks compact -d DATASET [--run NAME]";
static const char examples[] =
	"Answers stay the same, and come sooner: engines open a file per table in place of one per "
	"node, and\n"
	"'straggler' is answered from sums. What is added later stands beside it; compact again "
	"takes that in.\n"
	"\n"
	"Example:\n"
	"  sightline ranks compact -d /shared/dataset --run 4711\n";

int cmd_ranks_compact(int argc, char **argv)
{
	struct ask a = {.format = "csv", .engine = "duckdb"};
	struct chosen chosen;
	struct packed done;
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &a.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "this run (default: the newest)", &a.run,
		 NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks compact"), status;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!a.folder || first < argc) {
		sl_warn("ranks compact: %s (see 'sightline ranks compact --help')",
			a.folder ? "it takes no more words" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	status = choose_run("ranks compact", &a, &chosen);
	if (status == 0)
		status = pack_run("ranks compact", &a, &done);
	if (status == 0 && !done.fresh)
		fprintf(stderr, "sightline: run %s: all %zu parts are packed already\n", a.run,
			done.parts);
	else if (status == 0)
		fprintf(stderr, "sightline: run %s: %zu parts packed, %.1f MB; %zu files removed\n",
			a.run, done.parts, (double)done.bytes / 1e6, done.removed);
	choose_free(&chosen);
	return status;
}
