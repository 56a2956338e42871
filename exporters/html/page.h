/*
 * page.h - the HTML summary: one file that needs nothing else.
 *
 * The page is static: every figure and table is text that a browser shows, and a printer prints,
 * without JavaScript. Scripts draw the charts from numbers that stand in the page, and sort tables.
 * A Content-Security-Policy forbids all content outside the file, and any script but these two.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/read/db_filter.h"
#include "exporters/analyze/findings.h"
#include "exporters/html/scan.h"

#define PAGE_WHY 1024

struct page {
	/* set by the command */
	sqlite3 *db; /* the report, with the filter on */
	const struct db_filter *filter;
	const char *input; /* path of the report */
	const char *title; /* heading; NULL: name of the file */
	int rows;          /* of a table at most */
	bool progress;     /* show progress on stderr, a terminal */
	bool findings;     /* run the rules */

	/* its own */
	FILE *out;  /* the body, while it is being made */
	FILE *data; /* numbers of the charts, as JSON */
	struct scan scan;
	struct gain_limit limit;   /* of the findings: page_why() */
	bool charts;               /* the library is built in */
	int chart_cnt, series_cnt; /* charts so far; series of the current one */
	struct {
		const char *id, *title;
	} sections[32];
	int section_cnt;
	char why[PAGE_WHY];
};

struct page_tables;
struct page_rulings;

/* Writes the page. 0, or -1 after one sentence in why. */
int page_write(struct page *p, FILE *out);

/* A text of the binary, from exporters/html or the build; NULL: not built in. */
const char *page_asset(const char *name);

/* ---- parts, in the order of the page. They return 0, or -1 after one sentence in why. ---- */

/* Opens a section that the contents list; @about may be NULL. Title and id are constants. */
void page_section(struct page *p, const char *id, const char *title, const char *about);
void page_section_end(struct page *p);
/* "python3 (1234)"; @gpid: globalPid >> 24. Returns @buf. */
const char *page_process_name(struct page *p, int64_t gpid, char *buf, size_t len);
/* Where the time axis begins, ns as the charts show it. */
double page_from(const struct page *p);
/*
 * Did a table or rule fail over the report's contents, not over the file or this machine? Then the rest of the page is still
 * useful.
 */
bool page_tolerates(const char *why);
/* Progress: one line that the next one replaces; NULL removes it. */
void page_progress(const struct page *p, const char *what, const char *name);
/* Takes over the error of @p->scan. Always -1. */
int page_scan_failed(struct page *p);

int page_why(struct page *p);
int page_figures(struct page *p);
int page_findings(struct page *p, struct page_rulings *r);
int page_over_time(struct page *p);
/* Charts of samples, in its section; are there any? */
int page_counters(struct page *p);
bool page_has_counters(struct page *p);
int page_distributions(struct page *p);
int page_tables(struct page *p, struct page_tables *t);
int page_flame(struct page *p);
int page_processes(struct page *p);
int page_recording(struct page *p);

/* Begins to make the tables that page_tables() writes. NULL after one sentence in why. */
struct page_tables *page_tables_start(struct page *p);
void page_tables_end(struct page_tables *t);
/* The same of the rules whose findings page_findings() writes. */
struct page_rulings *page_findings_start(struct page *p);
void page_findings_end(struct page_rulings *r);

/* ---- charts.c, for the two parts with charts ---- */

/* The unit of a chart's values; the script formats axis and tooltip by it. */
#define UNIT_PERCENT "percent"
#define UNIT_COUNT   "count"
#define UNIT_BYTES   "bytes"
#define UNIT_RATE    "rate"
#define UNIT_WATT    "watt"

/* Begins a figure: heading and one line with the same in words (both escaped here). */
void chart_begin(struct page *p, const char *id, const char *kind, const char *unit, double max,
		 const char *title, const char *words);
/*
 * Labels of a histogram's slots, before its series. @apart: label of the first slot, for values without a place among the
 * others; NULL: there are none.
 */
void chart_labels(struct page *p, const char *apart, double (*edge)(int),
		  const char *(*human)(char *, double), int first, int last);
/* @colour: 0..7; @values: NAN: none, a gap. */
void chart_series(struct page *p, const char *name, int colour, bool fill, const double *values,
		  int cnt);
void chart_end(struct page *p);

/* The time that is called the wall time, ns, at least 1. */
double page_wall(const struct page *p);
