/*
 * anonymize.h - replaces the texts of a report that identify people and places: hosts, users, paths, addresses, command
 * lines. The same text is always replaced by the same, so tables still group; the replacements are numbered as they come, so
 * nothing of the original is in them.
 *
 * Kept: names of functions, kernels, processes and threads, texts of NVTX (but for paths, hosts,
 * users and addresses in it), paths of the system's own (/usr/lib, /proc, ...), endings of files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exporters/read/db_read.h"

struct anonymizer;

/* Learns the names of hosts and users that the report gives. NULL: no memory. */
struct anonymizer *anonymizer_new(sqlite3 *db);
void anonymizer_free(struct anonymizer *a);

/* The treatment of a column. */
enum anonymize_how {
	ANON_KEEP,
	ANON_TEXT,    /* free text: the parts of it that are of the kinds above */
	ANON_PATH,    /* a path, also a relative one; or an address */
	ANON_COMMAND, /* as a whole: command-1 */
	ANON_UUID,    /* as a whole: uuid-1 */
	ANON_WHOLE,   /* as a whole: removed-1 */
	ANON_DROP,    /* NULL, or "" where the table takes none */
};

/* By table and column. */
enum anonymize_how anonymize_column(const char *table, const char *column);
/* Tables of names and values: META_DATA_*, TARGET_INFO_SYSTEM_ENV. */
enum anonymize_how anonymize_setting(const char *name, const char *value);
/* True for tables that are left out as a whole: contents of files, output of programs. */
bool anonymize_leaves_out(const char *table);

/* The replacement, valid until the next call; *len is its length. NULL: no memory. */
const char *anonymize(struct anonymizer *a, enum anonymize_how how, const char *text, size_t *len);
