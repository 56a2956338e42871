/*
 * bounded.h - answers of a bounded size, in JSON: a list ends after so many elements, the answer after so many bytes; members of
 * the same object say how much was left out, and name the command that shows more.
 *
 *   {"schema_version": 1, "report": "run.sqlite", ...,
 *    "omitted": {"partition": {"count": 3744, "time_share": 0.021}}, "next": "sightline why -f json --limit=200 run.sqlite"}
 *
 * A report that lacks the data for an answer: {..., "abstained": true, "reason": "...", "remedy": "..."}, exit status 4.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/json.h"
#include "collector/base/options.h"

#define BOUNDED_SCHEMA 1
#define BOUNDED_LIMIT  50
#define BOUNDED_BYTES  (64 << 10)

/* The options. */
struct bounds {
	int64_t limit, max_bytes; /* 0: without */
	bool has_limit, has_max_bytes;
	char *command; /* the words of the command, without these two options */
};

/* clang-format off */
#define BOUNDED_OPTS(b)                                                                                     \
	{0, "limit", OPT_INT, "0:1000000000", "N",                                                          \
	 "elements of a list in JSON, rows of a table (0: all)", &(b)->limit, &(b)->has_limit},             \
	{0, "max-bytes", OPT_INT, "0:1000000000", "B",                                                      \
	 "bytes of the answer in JSON (0: any number)", &(b)->max_bytes, &(b)->has_max_bytes}
/* clang-format on */

/* Before options are parsed, which moves words: keeps the command @argv[0] with its words. */
void bounds_open(struct bounds *b, int argc, char **argv);
/* What was not asked for gets its default: BOUNDED_LIMIT and BOUNDED_BYTES. */
void bounds_default(struct bounds *b);
bool bounds_are_asked(const struct bounds *b);
/*
 * Of JSON of a table, which is an array of all rows for nsys and in files: on stdout it is one while it has at most @share of
 * BOUNDED_BYTES, else an object of that size. False: no size, an array of all rows (--limit=0 --max-bytes=0).
 */
bool bounds_of_table(struct bounds *b, bool is_stdout, size_t share, bool *array_if_fits);
void bounds_free(struct bounds *b);

/* One answer, while it is written. */
struct bounded;

/* Writes the members of the answer; called again with less room until the answer fits. */
typedef void (*bounded_put)(struct writer *w, const void *ctx);
/* One object and no newline. @b NULL: whole. 0, or -1: no memory. */
int bounded_print(FILE *out, const struct bounds *b, bounded_put put, const void *ctx);

/* Opens a list of @cnt elements; returns how many are to be written, the first ones. json_close() ends it. */
size_t bounded_list(struct writer *w, const char *key, size_t cnt);
/* The elements that the list @key left out took @ns of @all. */
void bounded_time(struct writer *w, const char *key, int64_t ns, int64_t all);
/* The members "omitted" and "next"; nothing where nothing was left out. @share below 0: not known. */
void bounded_omitted(struct writer *w, const char *key, int64_t cnt, double share);
void bounded_next(struct writer *w, const struct bounds *b, bool is_long);

/* The answer "cannot answer", and a newline. @command: as "report", NULL: null. */
void bounded_abstain(FILE *out, const char *report, const char *reason, const char *remedy);
