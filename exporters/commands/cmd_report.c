/* cmd_report.c - sightline report: a summary of a report, as a page of HTML that needs nothing else. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/read/db_read.h"
#include "exporters/html/html_text.h"
#include "exporters/html/page.h"
#include "exporters/text/output.h"

#define WHY 2048

struct summary {
	const char *input, *output, *title, *time, *nvtx, *pids;
	struct db_filter filter;
	bool overwrite, quiet, findings;
	int64_t rows;
};

static const char usage[] = "sightline report [options] REPORT.sqlite";
static const char examples[] =
	"Examples:\n"
	"  sightline report run.sqlite                                # into run.html\n"
	"  sightline report -o - run.sqlite | ssh host 'cat >x.html'  # to stdout\n"
	"  sightline report --filter-time 12s-15s -o part run.sqlite  # three seconds of it, into "
	"part.html\n"
	"  sightline report --rows 100 -f true run.sqlite             # longer tables, over the "
	"page of before\n";

static int parse(struct summary *sum, int argc, char **argv)
{
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE",
		 "where the page goes, .html being added where it has no ending; - is stdout "
		 "(default: the report's name with .html)",
		 &sum->output, NULL},
		{'f', "force-overwrite", OPT_BOOL, NULL, "true|false", "replace an existing file",
		 &sum->overwrite, NULL},
		{0, "title", OPT_STRING, NULL, "TEXT", "heading (default: the report's name)",
		 &sum->title, NULL},
		{0, "rows", OPT_INT, "1:10000", "N", "rows of a table at most (default: 30)",
		 &sum->rows, NULL},
		{0, "findings", OPT_BOOL, NULL, "true|false",
		 "run the rules of 'sightline analyze' too (default: true)", &sum->findings, NULL},
		DB_FILTER_OPTS(&sum->time, &sum->nvtx, &sum->pids),
		{'q', "quiet", OPT_FLAG, NULL, NULL, "print only errors", &sum->quiet, NULL},
		{0},
	};
	int at = 0;

	/* Options may also stand after the file. */
	while (at < argc) {
		int n = opt_parse(opts, argc - at, argv + at, "report");

		if (n == OPT_HELP_SHOWN)
			return n;
		if (n < 0)
			return -n;
		at += n;
		if (at < argc && sum->input) {
			sl_warn("report: one report at a time: '%s' is the second", argv[at]);
			return SL_EXIT_USAGE;
		}
		if (at < argc)
			sum->input = argv[at];
	}
	if (!sum->input) {
		sl_warn("report: no report is named: %s", usage);
		return SL_EXIT_USAGE;
	}
	return 0;
}

/* Where the ending of a file's name begins; at its end when there is none. */
static size_t stem(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *dot = strrchr(base ? base + 1 : path, '.');

	base = base ? base + 1 : path;
	return dot && dot != base ? (size_t)(dot - path) : strlen(path);
}

/* malloc'd */
static char *target_of(const struct summary *sum)
{
	char *path = NULL;

	if (sum->output &&
	    (stem(sum->output) < strlen(sum->output) || strcmp(sum->output, "-") == 0))
		return strdup(sum->output);
	if (asprintf(&path, "%.*s.html",
		     (int)(sum->output ? strlen(sum->output) : stem(sum->input)),
		     sum->output ? sum->output : sum->input) < 0)
		return NULL;
	return path;
}

static int fail(const char *input, const char *why)
{
	sl_warn("report: %s%s%s", input, *input ? ": " : "", why);
	return SL_EXIT_FAIL;
}

static void print_size(const char *path)
{
	char size[HUMAN_MAX];
	struct stat st;

	if (stat(path, &st) == 0)
		printf("%s: %s\n", path, human_bytes(size, (double)st.st_size));
}

static int write_page(const struct summary *sum, sqlite3 *db, char *target)
{
	struct output out = {
		.kind = strcmp(target, "-") == 0 ? OUTPUT_CONSOLE : OUTPUT_FILE,
		.target = target,
		.overwrite = sum->overwrite,
		.is_private = true,
	};
	struct page page = {
		.db = db,
		.filter = &sum->filter,
		.input = sum->input,
		.title = sum->title,
		.rows = (int)sum->rows,
		.findings = sum->findings,
		.progress = !sum->quiet && isatty(STDERR_FILENO),
	};
	char why[WHY], ignored[WHY];

	if (output_open(&out, why, sizeof(why)) < 0)
		return fail("", why);
	if (page_write(&page, out.f) < 0) {
		bool named = strncmp(page.why, sum->input, strlen(sum->input)) == 0;

		output_close(&out, false, ignored, sizeof(ignored));
		return fail(named ? "" : sum->input, page.why);
	}
	if (output_close(&out, true, why, sizeof(why)) < 0)
		return fail("", why);
	if (!sum->quiet && out.kind == OUTPUT_FILE)
		print_size(target);
	return 0;
}

static int run(struct summary *sum, char *target)
{
	sqlite3 *db = NULL;
	char why[WHY];
	int rc;

	if (output_same_file(target, sum->input)) {
		sl_warn("report: %s is the report itself; name another -o", target);
		return SL_EXIT_USAGE;
	}
	if (strcmp(target, "-") != 0 && !sum->overwrite && access(target, F_OK) == 0) {
		sl_warn("report: %s exists already; --force-overwrite=true replaces it", target);
		return SL_EXIT_FAIL;
	}
	if (db_filter_time(&sum->filter, sum->time, why, sizeof(why)) < 0 ||
	    db_filter_nvtx(&sum->filter, sum->nvtx, why, sizeof(why)) < 0 ||
	    db_filter_pid(&sum->filter, sum->pids, why, sizeof(why)) < 0) {
		sl_warn("report: %s", why);
		return SL_EXIT_USAGE;
	}
	db = db_read_open(sum->input, why, sizeof(why));
	if (!db)
		return fail("", why);
	db_read_copies(sum->input);
	rc = db_filter_apply(db, &sum->filter, why, sizeof(why)) < 0 ? fail(sum->input, why)
								     : write_page(sum, db, target);
	sqlite3_close(db);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct summary sum = {.findings = true, .rows = 30};
	int rc = parse(&sum, argc, argv);
	char *target;

	if (rc)
		return rc == OPT_HELP_SHOWN ? 0 : rc;
	target = target_of(&sum);
	rc = target ? run(&sum, target) : fail("", "out of memory");
	db_filter_free(&sum.filter);
	free(target);
	return rc;
}
