/*
 * ask.h - a question over a dataset: the text for an engine, and the engine that runs it.
 *
 * A question is questions/NAME.sql: a head of "-- title:", "-- about:", "-- column: name = meaning", "-- needs: base"; then one
 * statement over the tables of tables.def, in the SQL that Spark and DuckDB have in common. :run and :base stand for names of
 * runs, :top for a number of rows. The engine is not ours: it is a program in PATH.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct older;
struct packs;

struct ask {
	const char *folder;
	const char *sql;        /* with or without a head; NULL: views alone, of all tables */
	const char *run, *base; /* base NULL: none */
	long long top;
	const char *engine;        /* "duckdb", "spark" */
	const char *format;        /* "text", "csv", "json" */
	bool all_views;            /* also of tables that the statement does not name */
	const struct older *older; /* rows that the views leave out; NULL: none */
	const struct packs *packs; /* runs whose parts are in one file per table; NULL: none */
	bool for_people;           /* DuckDB: numbers are rounded, minutes are dates, NULL is "-" */
	const int64_t
		*steps; /* the first and the last that count, of tables with steps; NULL: all */
};

/* Text of the question; NULL: there is none. */
const char *ask_question(const char *name);
/* The @idx-th name; NULL: no more. */
const char *ask_name(size_t idx, char name[64]);

/*
 * Parts of a question that 'ranks compact' computes beforehand stand between the lines "-- roll-up TABLE: CTE" and "-- roll-up end":
 * one or more CTEs, the last of which is CTE. Lines that end with "-- not rolled up" are left out then.
 */
/* The question over the tables instead of its parts; malloc'd, NULL: it has none, or no memory. */
char *ask_over_rollups(const char *sql);
/* The statement that makes a part, of the @idx-th, and the name of its table; malloc'd, NULL: no more, or no memory. */
char *ask_rollup(const char *sql, size_t idx, char table[64]);

/* Has the run of @a rows of the table, in parts or in its pack? @table: enum dataset_number. */
bool ask_has_table(const struct ask *a, unsigned table);
/* Definitions of the views, and the statement; malloc'd, NULL: no memory. */
char *ask_script(const struct ask *a);
/* "duckdb" or "spark", the first whose program is there; NULL: neither. */
const char *ask_engine(void);
/*
 * Starts the engine, which runs the script; its output is ours, or, where @out is given, a pipe. -1 after one line on stderr, that
 * begins with @command.
 */
pid_t ask_start(const char *command, const struct ask *a, const char *script, int *out);
/* Waits for the engine. Its exit status, or -1 after one line on stderr. */
int ask_wait(const char *command, pid_t pid);
