/* cmd_ranks_autopsy.c - sightline ranks autopsy: how each rank of a run ended. */
#include <string.h>
#include <sys/stat.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/html/html_text.h"
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/text/bounded.h"
#include "exporters/text/output.h"
#include "exporters/text/terminal.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline ranks autopsy -d DATASET [options]";
static const char examples[] =
	"After a job has died, or hung and was ended: exit, stack and waits of each rank, which "
	"collectives it has joined and which not, the kernel's lines about it; the rank of which "
	"the others "
	"died, or for which they wait, comes first. A dataset has them where its reports were "
	"added by this "
	"version; no engine is needed, and the job need not be started again.\n"
	"\n"
	"Exit status: 0 where there is a cause, 4 where no rank stands out, 1 when something "
	"failed, 2 for wrong "
	"use.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks autopsy -d /shared/dataset\n"
	"  sightline ranks autopsy -d dataset --run 4711 -o 4711.html\n"
	"  sightline ranks autopsy -d dataset -f json --limit=0\n";

struct options {
	struct ask ask;
	const char *format, *output;
	bool overwrite;
	struct bounds bounds;
};

static int write_page(const struct options *o, const struct autopsy *a)
{
	struct output out = {
		.kind = strcmp(o->output, "-") == 0 ? OUTPUT_CONSOLE : OUTPUT_FILE,
		.target = o->output,
		.overwrite = o->overwrite,
	};
	char why[1024];

	if (output_open(&out, why, sizeof(why)) < 0) {
		sl_warn("ranks autopsy: %s", why);
		return SL_EXIT_FAIL;
	}
	autopsy_put_page(out.f, a, o->ask.run);
	if (output_close(&out, true, why, sizeof(why)) < 0) {
		sl_warn("ranks autopsy: %s", why);
		return SL_EXIT_FAIL;
	}
	return 0;
}

static int put(const struct options *o, const struct autopsy *a)
{
	int status = 0;

	if (o->output)
		status = write_page(o, a);
	if (o->output && strcmp(o->output, "-") == 0)
		return status;
	if (strcmp(o->format, "json") != 0)
		autopsy_put_text(stdout, a, o->ask.run, terminal_columns(stdout));
	else if (autopsy_put_json(stdout, a, o->ask.run, &o->bounds) < 0)
		status = SL_EXIT_FAIL;
	return status;
}

static int run(struct options *o)
{
	struct chosen chosen;
	struct autopsy a = {0};
	char why[WHY_TEXT];
	int status = choose_run("ranks autopsy", &o->ask, &chosen);
	sqlite3 *db = status ? NULL : manifests_read(o->ask.folder, o->ask.run, why, sizeof(why));

	if (status == 0 &&
	    (!db || autopsy_read(&a, db, o->ask.folder, o->ask.run, why, sizeof(why)) < 0)) {
		sl_warn("ranks autopsy: %s", why);
		status = SL_EXIT_FAIL;
	} else if (status == 0 && !a.ranks_cnt) {
		sl_warn("ranks autopsy: nothing is known of the ends of run %s: 'sightline ranks "
			"add' of this "
			"version keeps them",
			o->ask.run);
		status = SL_EXIT_FAIL;
	} else if (status == 0 && !autopsy_judge(&a)) {
		sl_warn("ranks autopsy: out of memory");
		status = SL_EXIT_FAIL;
	}
	if (status == 0)
		status = put(o, &a);
	if (status == 0 && a.reason == AUTOPSY_UNKNOWN)
		status = SL_EXIT_ABSTAINED;
	autopsy_free(&a);
	sqlite3_close(db);
	choose_free(&chosen);
	return status;
}

int cmd_ranks_autopsy(int argc, char **argv)
{
	struct options o = {.format = "text"};
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &o.ask.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)",
		 &o.ask.run, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT", "text or json", &o.format, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE",
		 "writes one page of HTML, too; - is stdout, instead of the text", &o.output, NULL},
		{0, "force-overwrite", OPT_BOOL, NULL, "true|false", "replaces an existing page",
		 &o.overwrite, NULL},
		BOUNDED_OPTS(&o.bounds),
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first, status;

	bounds_open(&o.bounds, argc, argv);
	first = opt_parse(opts, argc, argv, "ranks autopsy");
	bounds_default(&o.bounds);
	if (first == OPT_HELP_SHOWN)
		status = 0;
	else if (first < 0)
		status = -first;
	else if (!o.ask.folder || first < argc) {
		sl_warn("ranks autopsy: %s (see 'sightline ranks autopsy --help')",
			!o.ask.folder ? "-d DATASET is missing"
				      : "it takes a dataset, and no report");
		status = SL_EXIT_USAGE;
	} else {
		status = run(&o);
	}
	bounds_free(&o.bounds);
	return status;
}
