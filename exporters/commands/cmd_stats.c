/* cmd_stats.c - sightline stats: tables out of reports. */
#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "exporters/stats/tables.h"

static const char usage[] = "sightline stats [options] REPORT.sqlite...";
static const char examples[] =
	"Examples:\n"
	"  sightline stats run.sqlite                                # the default reports\n"
	"  sightline stats -r osrt_sum,file_access_sum run.sqlite    # these two\n"
	"  sightline stats -r osrt_trace -f csv -o . run.sqlite      # into run_osrt_trace.csv\n"
	"  sightline stats -r osrt_sum -f json -q run.sqlite | jq .  # for other programs\n"
	"  sightline stats -r ./my.sql run.sqlite                    # your own SQL\n"
	"  sightline stats -f csv,column -o .,- run.sqlite           # position by position\n";

static int parse(struct tables *t, int argc, char **argv)
{
	const char *sql;
	bool unused;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'r', "report", OPT_LIST, report_names(&report_kind), "NAME[:ARG...][,...]",
		 "reports to print, or paths of .sql files", &t->opt_reports, NULL},
		{'o', "output", OPT_LIST, NULL, "TARGET[,...]",
		 "- (console), BASE (file BASE_report.ext), . (base from the input), @COMMAND "
		 "(pipe)",
		 &t->opt_outputs, NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "only errors besides the tables", &t->quiet,
		 NULL},
		{0, "report-dir", OPT_LIST, NULL, "DIR[,...]",
		 "folders searched first for NAME.sql", &t->opt_dirs, NULL},
		{0, "percentiles", OPT_LIST, NULL, "P[,...]",
		 "more columns behind each standard deviation: 90,99,99.9 (nearest rank)",
		 &t->opt_percentiles, NULL},
		TABLES_OPTS(t, &unused),
		{0, "help-reports", OPT_FLAG, NULL, NULL,
		 "list the reports; --help-reports=NAME shows columns and units, =ALL everything",
		 &unused, NULL},
		{0, "show-sql", OPT_STRING, NULL, "NAME", "print the SQL that runs for a report",
		 &sql, NULL},
		{0},
	};
	return tables_parse(t, opts, argc, argv);
}

/* --show-sql: the SQL that runs for a report, with all its includes. */
static int show_sql(const char *name)
{
	struct report r;
	char why[TABLES_WHY];
	int rc;

	if (!name || !*name) {
		sl_warn("stats: --show-sql needs the name of a report: --show-sql=osrt_sum");
		return SL_EXIT_USAGE;
	}
	rc = report_load(&report_kind, name, NULL, &r, why, sizeof(why));
	if (rc != 0) {
		sl_warn("stats: %s", why);
		return rc;
	}
	fputs(r.sql, stdout);
	report_free(&r);
	return 0;
}

int cmd_stats(int argc, char **argv)
{
	struct tables t = {.kind = &report_kind, .usage = usage};
	const char *name = NULL;
	int rc;

	if (tables_wants_help(argc, argv, "--help-formats", &name))
		return tables_help_formats(t.kind, name);
	if (tables_wants_help(argc, argv, "--help-reports", &name))
		return tables_help_reports(t.kind, argc, argv, name);
	if (tables_wants_help(argc, argv, "--show-sql", &name))
		return show_sql(name);
	rc = parse(&t, argc, argv);
	if (rc == 0)
		rc = tables_check_inputs(&t);
	if (rc == 0)
		rc = tables_plan(&t);
	if (rc == 0)
		rc = tables_run(&t);
	tables_free(&t);
	return rc == OPT_HELP_SHOWN ? 0 : rc;
}
