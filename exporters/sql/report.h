/*
 * report.h - a report is an SQL text with a head of comment lines "-- key: value":
 *
 *   title:    heading above the table (needed)
 *   about:    the contents of the table; may be repeated
 *   needs:    TABLE or TABLE.column or TABLE.column=text [or ...] = the name of such data; without any, the report is skipped
 *   default:  place in the set that runs without -r; "quiet" after it: not a word when data is absent
 *   alias:    another name
 *   arg:      name, name=<value> or name=DEFAULT, its effect; bound to :name ('-' becomes '_'), a bare
 *             name to 1. An argument that is not given and has no DEFAULT is NULL
 *   column:   heading = meaning
 *   remark:   lines of a statement; the text that it selects follows the title: which part the figures are of
 *   lacks:    the same: the data that the figures lack
 *
 * The last statement gives the table. Statements may call the functions sl_* (functions.h), and a line
 * "-- include: NAME" stands for exporters/sql/lib/NAME.sql. Reports of sums are written as osrt_sum.sql is, which gives
 * them percentiles.
 *
 * A rule (exporters/analyze/rules/, findings.h) is such a text too; it judges as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct percentiles;

struct report_kind {
	const char *folder;             /* of the texts in the binary: "stats/reports/" */
	const char *noun, *nouns;       /* "report", "Reports" */
	const char *command;            /* "stats" */
	const char *help;               /* "--help-reports" */
	const char *const *common_args; /* as after "arg:", for all of the kind; ends with NULL */
};

extern const struct report_kind report_kind, rule_kind;

struct report {
	const struct report_kind *kind;
	char name[64];
	char title[128];
	const char *sql; /* with the files that it includes */
	char *owned;     /* the same */
	bool from_file;
	char *args;                        /* "rows=5:base", "" none; defaults stand first */
	const struct percentiles *percent; /* to add to the figures; NULL: none */
	size_t given; /* so many of its last bytes were asked for, the rest are defaults */
};

/*
 * @spec is name[:arg[=value]]..., or the path of an .sql file. @dirs: folders searched first,
 * comma separated, may be NULL. 0, or an exit status after one sentence in @why.
 */
int report_load(const struct report_kind *kind, const char *spec, const char *dirs,
		struct report *r, char *why, size_t why_len);
/* Sets r->sql to @sql with the files that it includes. 0, or -1 after one sentence in @why. */
int report_include(struct report *r, const char *sql, char *why, size_t why_len);
void report_free(struct report *r);

/* The @idx-th value of @key in the head. */
bool report_field(const char *sql, const char *key, unsigned idx, char *buf, size_t len);

/* The name of the @idx-th text in the binary if it is one of the kind, else NULL. */
const char *report_embedded(const struct report_kind *kind, size_t idx, char name[64]);

/* ",NAME,NAME...": of all in the binary, to complete with (struct opt). Valid until asked for another kind. */
const char *report_names(const struct report_kind *kind);
/* Names of the default set in its order, comma separated; malloc'd. */
char *report_defaults(const struct report_kind *kind);
/* True when the report prints nothing if its data is absent (in the default set). */
bool report_quiet(const struct report *r);

/* The next word of a comma list, copied; false at its end. */
bool report_next_word(const char **list, char *word, size_t len);

/* --help-reports, --help-rules: a list when @name is NULL or "", all in full for ALL. 0 or an exit status. */
int report_help(const struct report_kind *kind, FILE *out, const char *name, const char *dirs);
