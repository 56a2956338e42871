/*
 * ranks_page.h - a run of many ranks as one page of HTML, which loads nothing and runs no script: where ranks are slower than others by step,
 * and later by collective; how their steps are distributed; bandwidth by size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/ranks/ask.h"
#include "exporters/ranks/spans/bars.h"

/* Rows of letters, one per rank: page.sql. */
struct picture {
	struct picture_row {
		int64_t rank;
		char *cells; /* of @wide letters */
	} * rows;
	size_t cnt, room;
	size_t wide;
	size_t merged; /* so many neighbours are one column of the file */
};

struct ranks_page {
	int64_t first_step, last_step, longest,
		comms; /* longest: collectives of one communicator */
	char *all;     /* row of all ranks together; NULL: none */
	struct picture steps, late;
	struct page_worst {
		int64_t rank, step, ns, median;
	} worst[20];
	size_t worst_cnt;
	struct page_mean {
		int64_t rank, ns;
		char host[256];
	} * means;
	size_t means_cnt, means_room;
	struct page_rate {
		char op[32];
		int64_t size, n, alg, bus; /* bytes; bytes/s */
	} * rates;
	size_t rates_cnt, rates_room;
	/* The slowest step, of the ranks with most time of their own in it; times: ns since 1970. */
	struct page_slow {
		int64_t rank, step, start, end;
		bool is_there; /* its report was read */
		struct bars bars;
	} slowest[10];
	size_t slowest_cnt;
};

#define RANKS_PAGE_WIDE 10000 /* columns of a picture */

/* Statements for the engine (DuckDB), with the run in place; malloc'd, NULL: no memory. */
char *ranks_page_sql(const struct ask *a);
/* Reads the engine's lines. 0, or -1: no memory, or a line that is none of them. */
int ranks_page_read(struct ranks_page *p, FILE *from);
/* Writes the page. @about: sentences about what the run lacks, by lines. 0, or -1: no memory. */
int ranks_page_write(struct ranks_page *p, const char *run, const char *about, FILE *out);
/* page_timeline.c: its section on the slowest step. */
void ranks_page_timeline(const struct ranks_page *p, FILE *out);
void ranks_page_free(struct ranks_page *p);

/* The begin of a page, "@title @run", up to the items of its contents; and its end, after those and <main>. @title: a constant. */
void ranks_page_head(FILE *out, const char *title, const char *run);
void ranks_page_end(FILE *out);

/*
 * picture.c: the rows as a PNG of indexed colours, at most PICTURE_BYTES: where it is larger, neighbours become one column, which shows the worst
 * of them. malloc'd; NULL: no memory.
 */
#define PICTURE_BYTES   (1000u << 10)
#define PICTURE_COLOURS 9 /* letters a to h, then nothing recorded */
extern const uint8_t picture_colour[PICTURE_COLOURS][4];
unsigned char *picture_png(struct picture *p, size_t *len);
