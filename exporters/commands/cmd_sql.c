/* cmd_sql.c - sightline sql: runs any statements on a report, with the SQL functions. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"
#include "exporters/sql/query.h"
#include "exporters/stats/tables.h"
#include "exporters/text/bounded.h"

#define WHY     2048
#define SQL_MAX (1 << 20)

static const char usage[] = "sightline sql [options] REPORT.sqlite STATEMENT|-";
static const char examples[] =
	"Examples:\n"
	"  sightline sql run.sqlite 'SELECT count(*) FROM OSRT_API'\n"
	"  sightline sql run.sqlite 'SELECT value AS name, n, total, median FROM sl_stats_rows((\n"
	"      SELECT sl_stats(nameId, end - start) FROM OSRT_API)) JOIN StringIds ON id = key'\n"
	"  sightline sql -f csv run.sqlite 'SELECT * FROM sl_projection'    # NVTX ranges on the "
	"GPU\n"
	"  sightline sql -f json run.sqlite - <query.sql | jq .\n"
	"  sightline stats --show-sql=osrt_sum | sightline sql run.sqlite - # a report, step by "
	"step\n"
	"\n"
	"Several statements run in turn; the last one gives the table. Temporary tables may be "
	"made, the\n"
	"report stays as it is. Tables that it lacks are there without rows. A line '-- include: "
	"NAME'\n"
	"stands for a shared step of the reports. The functions are also there in other programs:\n"
	"\".load libsightline_sql\" in sqlite3, from the folder of libtrace.so.\n";

struct asked {
	const char *format, *time, *nvtx, *pid, *percentiles;
	const char *input, *sql;
	char *text; /* read from stdin */
	struct bounds bounds;
};

static const struct report_kind kind = {.noun = "SQL", .nouns = "SQL", .command = "sql"};

static char *read_stdin(void)
{
	char *text = malloc(SQL_MAX + 1);
	size_t len = text ? fread(text, 1, SQL_MAX + 1, stdin) : 0;

	if (!text || ferror(stdin) || len > SQL_MAX || memchr(text, '\0', len)) {
		sl_warn("sql: no text of at most %d bytes on stdin", SQL_MAX);
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

/* Options may stand anywhere. 0, or an exit status, or OPT_HELP_SHOWN. */
static int parse(struct asked *a, int argc, char **argv)
{
	bool unused;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'f', "format", OPT_LIST, TABLES_FORMATS, "FORMAT[:MODIFIER...]",
		 "column (default), table, csv, tsv, json, hdoc or htable", &a->format, NULL},
		{0, "percentiles", OPT_LIST, NULL, "P[,...]",
		 "what p0, p1, ... of sl_stats_rows() are: 90,99,99.9 (nearest rank)",
		 &a->percentiles, NULL},
		BOUNDED_OPTS(&a->bounds),
		DB_FILTER_OPTS(&a->time, &a->nvtx, &a->pid),
		{0, "help-formats", OPT_FLAG, NULL, NULL, "list the formats; also =NAME", &unused,
		 NULL},
		{0},
	};
	const char *word[2] = {NULL, NULL};
	int cnt = 0;

	bounds_open(&a->bounds, argc, argv);

	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "sql");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? n : -n;
		at += n;
		if (at < argc && cnt < 2)
			word[cnt] = argv[at];
		cnt += at < argc;
	}
	if (cnt != 2) {
		sl_warn("sql: a report and a statement (or -, which reads stdin) are needed, not "
			"%d words: %s",
			cnt, usage);
		return SL_EXIT_USAGE;
	}
	a->input = word[0];
	a->sql = word[1];
	if (strcmp(a->sql, "-") == 0)
		a->sql = a->text = read_stdin();
	return a->sql ? 0 : SL_EXIT_FAIL;
}

static int run(struct asked *a, struct db_filter *filter, struct percentiles *percent)
{
	struct sheet sheet = {.out = stdout, .title = "", .name = "sql"};
	struct report r = {.from_file = true, /* the statement decides the columns */
			   .kind = &kind,
			   .name = "statement",
			   .args = strdup(""),
			   .percent = percent};
	const struct format *format;
	char why[WHY];
	sqlite3 *db = NULL;
	int rc = SL_EXIT_USAGE;

	sheet.report = a->input;
	format = format_parse(a->format, &format_column, &sheet.opt, why, sizeof(why));
	if (!format || percentiles_parse(percent, a->percentiles, why, sizeof(why)) < 0 ||
	    db_filter_time(filter, a->time, why, sizeof(why)) < 0 ||
	    db_filter_pid(filter, a->pid, why, sizeof(why)) < 0 ||
	    db_filter_nvtx(filter, a->nvtx, why, sizeof(why)) < 0)
		goto done;
	if (format == &format_json) {
		if (bounds_of_table(&a->bounds, true, 1, &sheet.array_if_fits))
			sheet.bounds = &a->bounds;
	} else if (a->bounds.has_limit) {
		sheet.most = a->bounds.limit;
	}
	rc = SL_EXIT_FAIL;
	db = db_read_open(a->input, why, sizeof(why));
	if (r.args && db && db_filter_apply(db, filter, why, sizeof(why)) == 0 &&
	    report_include(&r, a->sql, why, sizeof(why)) == 0 &&
	    query_run(db, &r, time_units, format, &sheet, why, sizeof(why)) >= 0)
		rc = 0;
	if (rc == 0 && sheet.more && !format->for_people)
		sl_warn("sql: %lld more rows (--limit=0 shows all)", sheet.more);
done:
	if (rc != 0)
		sl_warn("sql: %s", why);
	sqlite3_close(db);
	report_free(&r);
	return rc;
}

int cmd_sql(int argc, char **argv)
{
	struct asked a = {.format = "column"};
	struct percentiles percent = {.cnt = 0};
	struct db_filter filter = {0};
	const char *name;
	int rc;

	if (tables_wants_help(argc, argv, "--help-formats", &name))
		return tables_help_formats(&kind, name);
	rc = parse(&a, argc, argv);
	if (rc == 0)
		rc = run(&a, &filter, &percent);
	db_filter_free(&filter);
	free(a.text);
	bounds_free(&a.bounds);
	return rc == OPT_HELP_SHOWN ? 0 : rc;
}
