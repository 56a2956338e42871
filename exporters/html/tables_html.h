/* tables_html.h - tables of the page. */
#pragma once

#include "exporters/html/page.h"
#include "exporters/sql/query.h"

/* Something else than query_run() that runs a report; the same returns. */
typedef long long (*table_runner)(void *ctx, const struct report *r, const struct format *format,
				  struct sheet *s, char *why, size_t why_len);

/*
 * The report as a table of at most @rows_max rows; nothing when it has none. Returns how many it has,
 * or -1 after one sentence in @why. @run NULL: query_run().
 */
long long table_of(sqlite3 *db, const struct report *r, int rows_max, FILE *out, table_runner run,
		   void *ctx, char *why, size_t why_len);

/* A table by hand: between the two stand thead and tbody. @about: its caption. */
void table_begin(FILE *out, const char *about);
void table_end(FILE *out);
