/*
 * tables.h - the common part of the commands that print tables: lists of reports (or rules), formats and
 * outputs, matched position by position, for each input.
 *
 * Everything is checked first (inputs, reports, formats, targets), then done: wrong use or a bad
 * input leaves nothing half done. Functions that return int give 0 or an exit status after one line
 * on stderr.
 */
#pragma once

#include "collector/base/options.h"
#include "exporters/read/db_filter.h"
#include "exporters/sql/tables/hist.h"
#include "exporters/text/bounded.h"
#include "exporters/text/output.h"
#include "exporters/sql/query.h"

#define TABLES_WHY 2048

struct words {
	char **word;
	size_t cnt;
};

/* One table: a report of an input in a format to a target. */
struct table_job {
	const struct report *report;
	const struct format *format;
	struct format_options opt;
	enum output_kind kind;
	char *target; /* path or command */
	const char *input;
};

struct tables {
	/* set by the command, or through its options */
	const struct report_kind *kind;
	const char *usage;
	const char *opt_reports, *opt_formats, *opt_outputs, *opt_dirs; /* targets of OPT_LIST */
	const char *timeunit, *sqlite;
	const char *opt_percentiles; /* target of OPT_LIST */
	const char *opt_time, *opt_pid,
		*opt_nvtx; /* targets of OPT_LIST, the last one of OPT_STRING */
	bool force_overwrite, quiet;
	struct bounds bounds;
	/* by tables_parse() */
	const char *dirs, *nvtx;
	struct db_filter filter;
	struct percentiles percent;
	struct words inputs, spec_r, spec_f, spec_o;
	/* by tables_plan() */
	const struct time_unit *unit;
	struct report *report; /* one per job of an input */
	struct table_job *jobs;
	size_t per_input, job_cnt;
	bool all_defaults; /* no -r was given */
	bool shows_all;    /* on a terminal, too: all rows and columns */
};

#define TABLES_FORMATS ",column,table,csv,tsv,json,hdoc,htable" /* modifiers may stand after */
#define TABLES_UNITS   "nsec,usec,msec,seconds,ns,us,ms,s,nanoseconds,microseconds,milliseconds"

/*
 * True when @option, one that takes a name or nothing, was given; *name as in the words. Here the name
 * may also be a word of its own, unless it is a file.
 */
bool tables_wants_help(int argc, char **argv, const char *option, const char **name);
/* --help-reports, --help-rules, --help-formats */
int tables_help_reports(const struct report_kind *kind, int argc, char **argv, const char *name);
int tables_help_formats(const struct report_kind *kind, const char *name);

/* Options and inputs in any order. Also OPT_HELP_SHOWN. */
int tables_parse(struct tables *t, const struct opt *opts, int argc, char **argv);
/* Opens each input once, and looks for the ranges and processes that the filter names. */
int tables_check_inputs(struct tables *t);
int tables_plan(struct tables *t);
/* An input, filtered; NULL after one line in @why. */
sqlite3 *tables_open_quietly(const struct tables *t, const char *input, char *why, size_t why_len);

/* Runs all jobs. */
int tables_run(struct tables *t);

/* The file that the table @name of @input goes to for "-o BASE"; malloc'd. */
char *tables_file(const char *base, const char *input, const char *name, const char *extension);
/* Is the file free? Else one line on stderr. */
int tables_check_file(const struct tables *t, const char *path);

void tables_free(struct tables *t);

/* Options that are the same for each command that prints tables; @t is its struct tables, @unused a bool. */
/* clang-format off */
#define TABLES_OPTS(t, unused)                                                                              \
	{'f', "format", OPT_LIST, TABLES_FORMATS, "FORMAT[:MODIFIER...][,...]",                             \
	 "column, table, csv, tsv, json, hdoc, htable, or . (column on the console, else csv)",             \
	 &(t)->opt_formats, NULL},                                                                          \
	{0, "all", OPT_FLAG, NULL, NULL,                                                                    \
	 "on a terminal, too, all rows and columns in their whole width", &(t)->shows_all, NULL},           \
	{0, "timeunit", OPT_ENUM, TABLES_UNITS, "UNIT",                                                     \
	 "nsec, usec, msec or seconds: unit of the columns marked (ns)", &(t)->timeunit, NULL},             \
	BOUNDED_OPTS(&(t)->bounds),                                                                         \
	DB_FILTER_OPTS(&(t)->opt_time, &(t)->opt_nvtx, &(t)->opt_pid),                                      \
	{0, "force-overwrite", OPT_BOOL, NULL, "true|false", "replace existing files",                      \
	 &(t)->force_overwrite, NULL},                                                                      \
	{0, "force-export", OPT_BOOL, NULL, "true|false",                                                   \
	 "accepted; nothing is exported here, and a database older than its .nsys-rep is not taken",          \
	 unused, NULL},                                                                                     \
	{0, "sqlite", OPT_STRING, NULL, "FILE", "database to read for FILE.nsys-rep", &(t)->sqlite, NULL},  \
	{0, "help-formats", OPT_FLAG, NULL, NULL, "list the formats; also =NAME", unused, NULL}
/* clang-format on */
