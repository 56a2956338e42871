/* cmd_info.c - sightline info: the contents of a report. */
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/read/db_read.h"
#include "exporters/info/info.h"
#include "exporters/text/bounded.h"

#define WHY 2048

static const char usage[] = "sightline info [options] REPORT.sqlite...";
static const char examples[] =
	"Examples:\n"
	"  sightline info run.sqlite                                   # all of it\n"
	"  sightline info -f json run.sqlite | jq '.tables[] | select(.rows > 1000)'\n"
	"  sightline info -f json *.sqlite | jq -r '.[] | [.file, .duration] | @tsv'\n";

/* @b: of JSON; NULL: text. */
static int show(const char *path, const struct bounds *b, const char *before)
{
	char why[WHY];
	struct info info;
	sqlite3 *db = db_read_open(path, why, sizeof(why));
	int rc = db ? info_read(db, path, &info, why, sizeof(why)) : -1;

	if (rc < 0) {
		sl_warn("info: %s", why);
	} else {
		fputs(before, stdout);
		if (!b)
			info_text(stdout, &info);
		else if ((rc = info_json(stdout, &info, b)) < 0)
			sl_warn("info: out of memory");
	}
	if (db)
		info_free(&info);
	sqlite3_close(db);
	return rc;
}

int cmd_info(int argc, char **argv)
{
	const char *format = "text";
	struct bounds bounds = {0};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT",
		 "text, or json: an object, an array of them for several reports", &format, NULL},
		BOUNDED_OPTS(&bounds),
		{0},
	};
	int cnt = 0, shown = 0, rc = 0;
	bool json;

	bounds_open(&bounds, argc, argv);
	/* Options may also stand after reports, whose names are moved to the front. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "info");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc)
			argv[cnt++] = argv[at];
	}
	bounds_default(&bounds);
	json = strcmp(format, "json") == 0;
	if (cnt == 0) {
		sl_warn("info: no report is named: %s", usage);
		return SL_EXIT_USAGE;
	}
	for (int i = 0; i < cnt; i++) {
		const char *before = shown > 0 ? (json ? ",\n" : "\n") : json && cnt > 1 ? "[" : "";

		if (show(argv[i], json ? &bounds : NULL, before) == 0)
			shown++;
		else
			rc = SL_EXIT_FAIL;
	}
	if (json && shown > 0)
		fputs(cnt > 1 ? "]\n" : "\n", stdout);
	bounds_free(&bounds);
	return rc;
}
