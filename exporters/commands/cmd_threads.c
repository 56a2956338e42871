/*
 * cmd_threads.c - sightline threads REPORT: the threads of a report's last look. Of sightline dump, which makes the report first; for the
 * tool itself.
 */
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/dump/dump.h"
#include "exporters/read/db_read.h"
#include "exporters/text/bounded.h"
#include "exporters/text/terminal.h"

#define WHY_TEXT 2048

static const char reason[] = "the report has no thread that waited at its end";
static const char remedy[] = "of a program that hangs: sightline dump -p PID";

struct options {
	const char *format, *as;
	struct bounds bounds;
};

static int print(const struct options *o, struct dump *d, const char *path)
{
	bool json = strcmp(o->format, "json") == 0;

	if (!d->threads_cnt && json) {
		bounded_abstain(stdout, path, reason, remedy);
		return SL_EXIT_ABSTAINED;
	}
	if (!d->threads_cnt) {
		printf("%s: %s; %s\n", path, reason, remedy);
		return SL_EXIT_ABSTAINED;
	}
	if (!json) {
		dump_put_text(stdout, d, terminal_columns(stdout));
		return 0;
	}
	if (dump_put_json(stdout, d, o->as ? NULL : path, &o->bounds) == 0)
		return 0;
	sl_warn("dump: out of memory");
	return SL_EXIT_FAIL;
}

int cmd_threads(int argc, char **argv)
{
	static struct dump d;
	struct options o = {.format = "text"};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, "sightline threads [options] REPORT.sqlite", NULL, "", NULL,
		 NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT", "text or json", &o.format, NULL},
		{0, "as", OPT_STRING, NULL, "COMMAND",
		 "the command that shows more, in place of this one", &o.as, NULL},
		BOUNDED_OPTS(&o.bounds),
		{0},
	};
	int first = opt_parse(opts, argc, argv, "threads"), rc = SL_EXIT_FAIL;
	char why[WHY_TEXT];
	sqlite3 *db;

	if (first < 0)
		return first == OPT_HELP_SHOWN ? 0 : -first;
	if (first != argc - 1) {
		sl_warn("threads: name one report");
		return SL_EXIT_USAGE;
	}
	o.bounds.command = o.as ? strdup(o.as) : NULL;
	bounds_default(&o.bounds);
	db = db_read_open(argv[first], why, sizeof(why));
	if (!db) {
		sl_warn("dump: %s", why);
	} else if (dump_read(&d, db, why, sizeof(why)) < 0) {
		sl_warn("dump: %s: %s", argv[first], why);
		dump_free(&d);
	} else {
		rc = print(&o, &d, argv[first]);
		dump_free(&d);
	}
	sqlite3_close(db);
	bounds_free(&o.bounds);
	return rc;
}
