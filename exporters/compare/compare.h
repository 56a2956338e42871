/*
 * compare.h - slowdowns: two or more sets of reports, side by side.
 *
 * Each comparison is of a kind: one file, exporters/compare/queries/NAME.sql, a text as described in report.h with title,
 * about, needs and
 *
 *   unit:     ns, bytes or count
 *   default:  place in the output; "single" after it: one figure of the whole report, shown in the summary;
 *             "whole": a part of a report has none, so left out with a filter; "steady": hardly any noise
 *
 * A statement gives samples in groups: name, alike (NULL: made from the name), value, count; ordered
 * by name, then by value. A figure of the whole report is one sample with an empty name.
 *
 * Another one, whose first column is called "worst", finds events by their length: name, alike, start, end, and the row of the timeline
 * ("4711", "GPU 0"; NULL: none) of all of a length that is in the table wanted(ns).
 *
 * Ids differ from run to run, so names match. Names without a match are matched by likeness: a kernel by its bare function
 * name, the rest by names without their numbers. One of a likeness in the base and one in another set are the same thing;
 * where most names of a likeness are left over, they only count (op_id = 17), and all of them become one row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/read/db_filter.h"

enum compare_metric {
	METRIC_TOTAL,
	METRIC_COUNT,
	METRIC_MEAN,
	METRIC_MEDIAN,
	METRIC_P99, /* nearest rank */
	METRIC_MIN,
	METRIC_MAX,
	METRIC_CNT
};

extern const char *const compare_metric_names[METRIC_CNT];

struct compare_kind {
	char name[32], title[64];
	const char *sql;
	bool is_bytes, is_count; /* else ns */
	bool is_single, is_whole;
	bool is_steady; /* varies least from run to run: shown first */
};

struct compare_sample {
	double value, n; /* so many of that value */
};

#define COMPARE_FEW 64
#define COMPARE_RUNS \
	4 /* on both sides, from which on a difference is tested: with three each, no outcome is rarer than one in ten */

/* One name in one report. */
struct compare_item {
	char *name, *alike;
	double metric[METRIC_CNT];
	struct compare_sample *few; /* the samples of the metrics; NULL: more than COMPARE_FEW */
	size_t few_cnt;
};

/* One report; items by kind. */
struct compare_run {
	const char *path;
	struct compare_item **items; /* [kind] */
	size_t *cnt;                 /* [kind] */
};

/* The runs of one variant. Its first is also its label unless there are several. */
struct compare_set {
	char *label;
	struct compare_run *runs;
	size_t cnt;
};

/* The longest of a name: where to look first. */
struct compare_place {
	const char *report; /* NULL: none was looked for, or found */
	int64_t start, end;
	char row[24]; /* of the timeline; "": not known */
};

/* A row has a figure per set: the median of its runs. */
struct compare_figure {
	bool is_there; /* in any run */
	double value[METRIC_CNT];
	double p[METRIC_CNT]; /* of its runs and the base's being the same; -1: too few runs */
	const struct compare_item **items; /* [run of the set], NULL where it is absent */
	/* compare_find_worst(): where the row has changed; of the base, where it is gone. */
	struct compare_place worst;
};

struct compare_row {
	const struct compare_kind *kind;
	const char *name;
	const char *other; /* the name in the first set that calls it otherwise, or NULL */
	struct compare_figure *figure; /* [set] */
};

struct comparison {
	struct compare_kind *kinds;
	size_t kind_cnt;
	struct compare_set *sets; /* the first is the base */
	size_t set_cnt;
	struct compare_row
		*rows; /* by kind in the order of kinds, within by the greatest change of total */
	size_t row_cnt;
	struct db_filter filter;
	struct compare_gate *gates;
	size_t gate_cnt;
	struct compare_item **pooled; /* made while matching */
	size_t pooled_cnt;
};

/* How rows are shown. */
struct compare_view {
	double min_change; /* per cent: rows below are left out; of total, median and p99 one is enough */
	double alpha;
	long top;        /* rows of a kind; -1: all */
	size_t min_runs; /* on both sides, from which on a change is a reason to fail */
	bool colour;
	const struct bounds *bounds; /* of JSON */
};

/* As report_names(). */
const char *compare_kind_names(void);
/* Kinds of the comma list, or all when it is NULL. 0, or an exit status after one sentence in @why. */
int compare_kinds(struct comparison *c, const char *list, char *why, size_t why_len);
#define COMPARE_WHY 2048
/* Reads a report. 0, or -1 after one sentence in @why. */
int compare_read(const struct comparison *c, struct compare_run *run, char *why, size_t why_len);
/* The same of all reports, in as many threads as there are processors, up to four: the sentence is about the first that failed. */
int compare_read_all(struct comparison *c, char *why, size_t why_len);
/* Makes the rows from the items that were read. 0 or -1: no memory. */
int compare_match(struct comparison *c);
/* Opens a report for statements of kinds. NULL after one sentence in @why. */
sqlite3 *compare_open(const struct comparison *c, const char *path, char *why, size_t why_len);
/* Calls @row for each row of the kind's statements, those about worst places or the others. SQLite's result code. */
int compare_statements(sqlite3 *db, const struct compare_kind *k, bool of_worst,
		       int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx);
/*
 * compare_worst.c: finds the worst places of the rows that compare_is_changed(), in the run where it took longest. Reports that cannot be
 * read any more have no place. 0 or -1: no memory.
 */
struct compare_view;
int compare_find_worst(struct comparison *c, const struct compare_view *v);
/* Has the row changed in @set by as much as is shown, and not by chance alone? */
bool compare_is_changed(const struct compare_row *row, size_t set, const struct compare_view *v);
void compare_free(struct comparison *c);

/* The metrics of samples in order of value, at least one. */
void compare_summarize(const struct compare_sample *list, size_t cnt, double metric[METRIC_CNT]);

/* Makes one row of each likeness of which most is left over; for compare_match(). 0 or -1. */
int compare_pool(struct comparison *c, size_t first);
/* A new row after the others, without figures; NULL: no memory. */
struct compare_row *compare_new_row(struct comparison *c, const struct compare_kind *kind,
				    const char *name);

/* The name without its parts that change from run to run: numbers as '#'. malloc'd. */
char *compare_alike(const char *name);

/* The figures of the runs of a set: of a sum, a run without the name has 0. */
size_t compare_values(const struct compare_figure *f, const struct compare_set *set,
		      enum compare_metric m, double *values);

/* Sorts them; NaN of none. */
double compare_median(double *values, size_t cnt);

/* Two-sided probability, by ranks, that two samples are from the same; -1: fewer than COMPARE_RUNS in one. */
double compare_same(const double *a, size_t a_cnt, const double *b, size_t b_cnt);

/* compare_noise.c. The steps with most time in the base; NULL: there are none. */
const struct compare_row *compare_steps(const struct comparison *c);
#define COMPARE_ALPHA 0.05
#define COMPARE_PLANS 6
extern const size_t compare_plans[COMPARE_PLANS]; /* runs on each side */
/* The standard deviation of the figure over the runs of a set, in per cent of its mean, of all sets together; NaN: no set has two runs. */
double compare_noise(const struct comparison *c, const struct compare_row *row,
		     enum compare_metric m);
/* The smallest change that the test finds in four of five comparisons with compare_plans[plan] runs on each side. */
double compare_found(double noise, size_t plan);

/* Change in per cent; infinite from 0, NaN where one side is absent. */
double compare_change(const struct compare_figure *base, const struct compare_figure *now,
		      enum compare_metric m);

struct compare_format {
	const char *name;
	int (*write)(const struct comparison *c, const struct compare_view *v, FILE *out);
};
extern const struct compare_format compare_text, compare_markdown, compare_json;

/* ---- --fail-on ---- */

struct compare_gate {
	const char *text; /* as it was given */
	char kind[32];
	char *pattern; /* of names (GLOB), NULL: none was given */
	enum compare_metric metric;
	char op;        /* '>', 'g' (>=), '<', 'l' (<=) */
	bool is_change; /* a sign was given */
	bool is_percent;
	double limit;     /* per cent, ns or bytes, or a number */
	bool was_checked; /* false: there is nothing of the kind to look at */
	bool fired;
	bool was_held; /* only a change between fewer runs than compare_view.min_runs meets it */
	const struct compare_row *worst; /* NULL: all of the kind together */
	size_t set;                      /* where it fired */
	double found;                    /* the figure that was compared with limit */
};

/* "step.median > +3%", "kernel[*gemm*].total > +2ms", "gpu_memory > 70GB". 0, or -1 after one sentence. */
int compare_gate_parse(const struct comparison *c, const char *text, struct compare_gate *g,
		       char *why, size_t why_len);
void compare_gate_check(const struct comparison *c, const struct compare_view *v,
			struct compare_gate *g);
/* A change between these sets is no reason to fail: one has too few runs to rule out chance. */
bool compare_gate_is_held(const struct comparison *c, const struct compare_view *v,
			  const struct compare_gate *g, size_t set);
/* Prints one line about a gate that fired, or was held. */
void compare_gate_print(const struct comparison *c, const struct compare_gate *g, FILE *out);
void compare_gate_free(struct compare_gate *g);
