/* query.h - runs a report's SQL and feeds the rows to a format. */
#pragma once

#include <sqlite3.h>

#include "exporters/text/format.h"
#include "exporters/sql/report.h"

struct time_unit {
	const char *option;  /* value of --timeunit */
	const char *heading; /* replaces "(ns)" */
	int scale;           /* 1 ns = 10^-scale of it */
};

extern const struct time_unit time_units[]; /* ends with a NULL option; the first is ns */

/*
 * Does the database hold what the report needs? If not, @what = the name of such data.
 */
bool query_has_data(sqlite3 *db, const struct report *r, char *what, size_t what_len);

/*
 * Runs the report. @s: out, title, name, console and opt are set. Returns rows written, or -1
 * after one sentence in @why.
 */
long long query_run(sqlite3 *db, const struct report *r, const struct time_unit *unit,
		    const struct format *format, struct sheet *s, char *why, size_t why_len);

/*
 * The report's title, and behind it the remark on this database: the text that the "-- remark:" lines of its head select, if
 * any.
 */
void query_title(sqlite3 *db, const struct report *r, char *buf, size_t len);

/* Text for an error message: the meaning of this result code for a report; may be "". */
const char *query_more(int rc);

/*
 * The same, and observes the statements before the last one: rows of those whose first column is
 * called @column go to @row, which returns 0 or an SQLite error code. @format NULL: the last statement
 * is left out, the result is 0.
 */
struct query_observer {
	const char *column;
	int (*row)(void *ctx, sqlite3_stmt *stmt);
	void *ctx;
};
long long query_observe(sqlite3 *db, const struct report *r, const struct time_unit *unit,
			const struct format *format, struct sheet *s,
			const struct query_observer *observer, char *why, size_t why_len);
