/*
 * db_read.h - opening reports for reading: ours (also while they are written), exports and reports of nsys.
 *
 * The file is never written to. Tables and columns that a database lacks are put in by TEMP VIEWs
 * from compat.def, so that a report is plain SQL over one schema.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL after one sentence in @why, which names the file and its fault. */
sqlite3 *db_read_open(const char *path, char *why, size_t why_len);
/* Whether @path begins as SQLite's databases do: a report that is called x.nsys-rep is one. */
bool db_read_is_database(const char *path);
/* Whether @path begins as reports of Nsight Systems do: db_read_open() makes a database of it, which is kept beside it. */
bool db_read_is_of_nsys(const char *path);
/* Makes @target, which is empty, that database; with progress on stderr. 0, or -1 with @why. */
int db_read_convert(const char *path, const char *target, char *why, size_t why_len);
/* Also a file that is cut off: for a reader that skips damage and counts what is lost. */
sqlite3 *db_read_open_damaged(const char *path, char *why, size_t why_len);

/* The collector holds a lock on its report as long as it lives. To be asked before SQLite opens the file. */
bool db_read_has_writer(const char *path);
/*
 * For copies of the report at @path: files and folders that this process makes from now on are for those users only with the right to
 * read the report.
 */
void db_read_copies(const char *path);

/*
 * Views of a file from elsewhere may not end: the reading of all of them together may take this many millions of SQLite's
 * steps, and 256 for each byte of the file. Also called, every million of steps, by the handler that takes the place of the
 * connection's own: true when they are spent.
 */
extern int64_t db_read_view_steps;
bool db_read_is_spent(void);

/*
 * True when the file itself has such a table with at least one row; for "TABLE.column", one in which
 * that column is not NULL; for "TABLE.column=text", one in which it is that. Also of SL_GPU_WORK (events/gpu_work.h), and its kind.
 */
bool db_read_has(sqlite3 *db, const char *what);
/* Has its collector not finished the report, which it still writes, or was killed at? */
bool db_read_is_unfinished(sqlite3 *db);
/* Calls @each with a SELECT of each part of SL_CHAIN_CALLS that there is, until one returns other than SQLITE_OK. */
int db_read_chain_calls(sqlite3 *db, int (*each)(void *ctx, const char *select), void *ctx);
/* Likewise with SELECTs of each part of SL_CHAIN_FRAMES, of a report of nsys. */
int db_read_chain_frames(sqlite3 *db, int (*each)(void *ctx, const char *select), void *ctx);
/* CPU samples, and not only threads without a CPU. */
bool db_read_has_samples(sqlite3 *db);

/*
 * Hides rows of a table of the file: those for which the SQL expression @where is not true. @from: what to
 * read instead of the table, in SQL; it has at least the table's columns. NULL: the table itself.
 * Returns SQLite's result code.
 */
int db_read_narrow(sqlite3 *db, const char *table, const char *from, const char *where);
