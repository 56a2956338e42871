/*
 * hist.h - the figures of *_sum reports, fast, and their percentiles.
 *
 * Reports count values with "count(*) AS n ... GROUP BY" and then rank them in three steps named total,
 * ranked and spread (see osrt_sum.sql). SQLite sorts all rows for that, several times. Texts that are
 * written in this way are run with functions of ours in place of those steps, which count in a hash table
 * and sort only each group's values; what is written differently runs as it stands. Both give the same.
 *
 * Percentiles: a comment of the C kind that begins with "percentiles:" stands for nothing, and for the text
 * behind the colon once per percentile that was asked for. In the text, {i} is its place from 0 on, {p} the
 * figure as it was written (99.9), and {num} / {den} the same as a fraction of one. The step named spread
 * gives p{i} beside med: see osrt_sum.sql.
 * By nearest rank: the smallest value that so many per cent of all do not exceed.
 */
#ifndef SL_HIST_H
#define SL_HIST_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERCENTILES_MAX 16

struct percentiles {
	struct percentile {
		char text[16];
		int64_t num, den;
	} each[PERCENTILES_MAX];
	size_t cnt;
};

/* "90,99,99.9", added; NULL adds nothing. 0, or -1 after one sentence in @why. */
int percentiles_parse(struct percentiles *p, const char *text, char *why, size_t why_len);

struct hist_of_db;

/* Functions that texts of hist_rewrite() call, and what they count in (@tables, may be NULL). SQLite's result code. */
int hist_register(sqlite3 *db, const struct percentiles *p, struct hist_of_db **tables);

/* The SQL to run for a report's; malloc'd, NULL without memory. @fast: with functions of ours. */
char *hist_rewrite(const char *sql, const struct percentiles *p, bool fast);

#endif
