/*
 * format.h - a table on its way out: begin, rows one by one, end.
 *
 * Formats stream: a trace may have millions of rows. Only column and table look ahead, and only
 * over a bounded number of rows, to find widths.
 */
#pragma once

#include "exporters/text/cell.h"

#define FORMAT_WIDTHS_MAX 64
#define WIDTH_AUTO        (-1)

struct format_options {
	bool no_header, no_limit, no_grouping, escape;
	int widths[FORMAT_WIDTHS_MAX]; /* WIDTH_AUTO, 0 = hidden, or columns */
	int width_cnt;
	char title[128]; /* hdoc: heading; "" = the report's title */
	char css[256];   /* hdoc: style sheet to link */
};

struct bounds;

struct sheet {
	FILE *out;
	const char *title; /* of the report */
	const char *name;
	bool console;         /* people see it at once: headings between tables */
	long long most, more; /* rows shown at most, 0: all; how many were not */
	const struct bounds
		*bounds;    /* of JSON: an object of that size; NULL: an array of all rows */
	bool array_if_fits; /* with bounds: an array where all rows fit, as without */
	const char *report; /* then: its name */
	size_t text_max;    /* of JSON: longer texts are cut; 0: none is */
	size_t width; /* columns of the terminal that the table fits into, 0: as wide as it is */
	int cols;
	const char *const *heads;
	struct format_options opt;
	void *state; /* the format's own */
};

struct format {
	const char *name;
	const char *extension;
	const char *about;
	const char *modifiers; /* comma list of words that may stand after a colon */
	bool for_people;       /* progress lines may share its stream */
	int (*begin)(struct sheet *s);
	int (*row)(struct sheet *s, const struct cell *cells);
	int (*end)(struct sheet *s); /* always called after begin; frees state */
};

extern const struct format format_column, format_table, format_csv, format_tsv, format_json,
	format_hdoc, format_htable;

/* All formats in the order of --help-formats; ends with NULL. */
extern const struct format *const format_list[];

/*
 * "name[:modifier...]" to a format and its options. Name "." is @fallback.
 * NULL after one sentence in @why that names the nearest valid word.
 */
const struct format *format_parse(const char *spec, const struct format *fallback,
				  struct format_options *opt, char *why, size_t why_len);

/* --help-formats: all when @name is NULL or ALL. 0, or -1 for an unknown name. */
int format_help(FILE *out, const char *name);
