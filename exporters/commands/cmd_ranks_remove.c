/* cmd_ranks_remove.c - sightline ranks remove: takes a run out of a dataset. */
#include <stdio.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/dataset.h"

static const char usage[] = "sightline ranks remove -d DATASET --run NAME";
static const char examples[] = "Reports are not part of a dataset, and stay.\n"
			       "\n"
			       "Example:\n"
			       "  sightline ranks remove -d /shared/dataset --run 4711\n";

int cmd_ranks_remove(int argc, char **argv)
{
	const char *folder = NULL, *run = NULL;
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "the run, with all of its nodes", &run, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks remove");
	char why[1024];
	int64_t files = 0;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!folder || !run || first < argc) {
		sl_warn("ranks remove: %s (see 'sightline ranks remove --help')",
			!folder ? "-d DATASET is missing"
			: !run  ? "--run=NAME is missing"
				: "it takes no report");
		return SL_EXIT_USAGE;
	}
	if (!dataset_word(run)) {
		sl_warn("ranks remove: '%s' is no name of a run: letters, digits and -_.+ only",
			run);
		return SL_EXIT_USAGE;
	}
	if (dataset_remove(folder, run, &files, why, sizeof(why)) < 0) {
		sl_warn("ranks remove: %s", why);
		return SL_EXIT_FAIL;
	}
	fprintf(stderr, "sightline: run %s: %lld files removed\n", run, (long long)files);
	return 0;
}
