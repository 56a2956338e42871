/*
 * findings.h - rules: faults of the traced program, with their costs and evidence.
 *
 * A new rule is one file, exporters/analyze/rules/NAME.sql, a text as described in report.h with, next to
 * title, about, needs, arg and column:
 *
 *   gain:     sync: bad only where why, if it can, finds a gain without waits for the GPU; own: about the use of CPUs, GPUs or streams by several
 *             threads, for which why tries no action: its gains limit neither cost nor severity
 *   default:  place in the set that runs without -r (a number that no other rule has)
 *   advice:   a remedy; may be repeated
 *   lines:    the option that records stacks of the calls that it is about
 *   uses:     NAME[, ...]: temporary tables made by exporters/analyze/rules/shared/NAME.sql, once for all rules; other relations are
 *             tables sl_... (exporters/sql/sweeps.h)
 *
 * Its statements run in turn; temporary tables and views it makes are dropped after it.
 *
 *   The verdict is each statement before the last one whose first column is called "severity":
 *     severity  'info', 'bad' or 'severe'
 *     cost      wall time that could be won, ns, as an estimate that errs on the small side; parallel work (processes, GPUs,
 *     threads) counts once. NULL: unknown
 *     finding   one sentence with figures. {N ns}, {N B}, {N} and {N gap|gaps} are written for people:
 *               12.3 ms, 4.56 MB, 7,890, 1 gap
 *     advice    (may be left out) instead of the one in the head
 *     worst     (may be left out) "START END ROW": where to look first, the longest occurrence where there are several: times in ns,
 *               and a row as view's --row takes it, the number of a thread or "GPU 0". NULL: there is no such place
 *     made_at   (may be left out) NULL: no stack names a line; then the option of the head's "lines" is named
 *   A row is a finding; no row: the rule is silent. It gives none where nothing can be won, and
 *   then its evidence is not shown either unless the rule was asked for by name.
 *
 *   The evidence is the last statement, a table like that of a report: the worst rows first,
 *   LIMIT :rows. :rows, :start, :end and :nvtx are arguments of every rule; the last three restrict the rows of all tables
 *   before the rule runs, so the rule can ignore these arguments.
 *
 * Where a rule has no threshold of its own, a cost above 10 % of the wall time is severe, above 2 % bad.
 *
 * Always there: temp.wall, one row (start, end, ns): the wall time, see exporters/read/wall.h. The callers of calls, as file and line
 * of the program, is in call_places (uses: call_places); it is empty where the report has no stacks.
 *
 * In the sqlite3 shell: .load libsightline_sql, .read the shared steps that it uses, .parameter set its arguments, .read the
 * rule.
 */
#pragma once

#include "exporters/read/db_filter.h"
#include "exporters/read/wall.h"
#include "exporters/sql/query.h"

enum severity {
	SEVERITY_INFO,
	SEVERITY_BAD,
	SEVERITY_SEVERE,
	SEVERITY_CNT
};

extern const char *const severity_names[SEVERITY_CNT];

/* Where to look first; ns of the report's clock, an instant where they are equal. */
struct finding_place {
	char row[32]; /* of the timeline; "": there is no place */
	long long start, end;
};

struct finding {
	const char *input; /* "": several reports together */
	char rule[64], title[128];
	enum severity severity;
	long long cost_ns; /* -1: not known */
	double share;      /* of the wall time, 0...1; -1: not known */
	char *text, *advice;
	struct finding_place worst;
	char lines[64]; /* the option that would give it a line; "": it has one, or none would */
	size_t order;   /* in which they were found */
	bool is_sync;   /* about waits for the GPU that need not be */
	bool is_own;    /* no gain of why limits it */
};

/* Zeroed, then filled by findings_run(), also for several inputs. */
struct findings {
	struct finding *list;
	size_t cnt;
};

/* One report that rules are run on. */
struct analysis {
	sqlite3 *db;
	const char *input;
	const struct db_filter *base; /* of the whole call */
	struct db_filter own,
		shown;  /* a rule's :start, :end, :nvtx; the filter of @db, from @base and @own */
	char *own_text; /* @own as its arguments say it */
	struct wall wall;
	bool all;
	char *used; /* shared steps that have run: ",names,gpu_load," */
};

/*
 * @filter may be NULL. 0, or -1 after one sentence in @why. @input and @filter must outlive it. @all: all rules will run, so
 * the wall time comes from the same passes over the events as their tables.
 */
int analysis_open(struct analysis *a, const char *input, const struct db_filter *filter, bool all,
		  char *why, size_t why_len);
void analysis_close(struct analysis *a);
/* Makes the tables of @steps of rules/shared/, unless they were made before. 0 or -1 likewise. */
int analysis_use(struct analysis *a, const char *steps, char *why, size_t why_len);

/*
 * Runs a rule (of rule_kind, report_load()): adds its findings to @fs and writes its evidence. @s as for
 * query_run(); @format NULL: no evidence. Returns rows of evidence, or -1 after one sentence in @why, or
 * FINDINGS_NO_DATA with @why = the name of the missing data.
 */
#define FINDINGS_NO_DATA (-2)
long long findings_run(struct analysis *a, const struct report *rule, const struct time_unit *unit,
		       const struct format *format, struct sheet *s, struct findings *fs, char *why,
		       size_t why_len);

/* Adds a finding; its text and advice are copied, figures in them written for people. 0, or -1: no memory. */
int findings_add(struct findings *fs, const struct finding *f);

/*
 * Bounds of the largest gain in a report, by replaying it (exporters/why/answer/gains.h): the upper bound, and the lower one where
 * that is sure.
 */
struct gain_limit {
	bool is_known, is_sync_known;
	long long lower, upper;
	long long sync; /* upper bound of the gain without waits for the GPU */
};

/* Findings from number @first on cost no more than that, and are severe only where so much is sure; of @wall ns. */
void findings_limit(struct findings *fs, size_t first, const struct gain_limit *limit,
		    long long wall);

/* The command that opens the timeline at a finding's worst place (text/view_line.h); nothing where there is none. No newline. */
void findings_put_view(FILE *out, const struct finding *f);

/* Sorts by cost, the highest first. */
void findings_rank(struct findings *fs);
void findings_free(struct findings *fs);

/* "12.3 ms", the same as {N ns}. */
void findings_time(long long ns, char *buf, size_t len);
