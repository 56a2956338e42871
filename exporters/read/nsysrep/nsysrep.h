/*
 * nsysrep.h - reports of Nsight Systems as databases.
 *
 * The format is internal to NVIDIA's tool: what is known of it was read off public files, and `nsys export` is the reference.
 * An event or a field that is not known is counted and left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSYSREP_WHY 1024

struct nsysrep_progress {
	/* Bytes of the file that are read, of @total. Not 0: stop. NULL: no progress. */
	int (*step)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/* Whether the file at @path begins as such a report. */
bool nsysrep_is(const char *path);
/* Length of @path without the ending that nsys gives to reports (.nsys-rep, .qdrep); 0: it has none. */
size_t nsysrep_stem(const char *path);
/* One sentence in @why, of NSYSREP_WHY bytes, on an opened file that is neither such a report nor a database: what it is. */
void nsysrep_say_foreign(int fd, const char *path, char *why);
/*
 * Writes the database to @target, which exists and is empty. 0, or -1 after one sentence in @why (NSYSREP_WHY bytes): then @target
 * is of no use. @notes, of as many bytes: a sentence about what was left out, or "".
 */
int nsysrep_convert(const char *path, const char *target, const struct nsysrep_progress *progress,
		    char *notes, char *why);
/* The same, with progress and notes on stderr; a signal that asks to stop does so. */
int nsysrep_copy(const char *path, const char *target, char *why);
/* nsysrep_convert(), or another of its kind. */
typedef int (*nsysrep_converter)(const char *path, const char *target,
				 const struct nsysrep_progress *progress, char *notes, char *why);
/*
 * The database of the report at @path, malloc'd: beside it, x.nsys-rep.sqlite, or in the user's cache where that folder cannot be
 * written to. It is made when there is none, or one of another state of the file; with progress and notes on stderr. NULL with @why.
 */
char *nsysrep_database(const char *path, char *why, size_t why_len);
/* The same of another kind of report, which @convert reads. */
char *nsysrep_database_by(const char *path, nsysrep_converter convert, char *why, size_t why_len);
