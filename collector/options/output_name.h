/*
 * output_name.h - where the report goes, settled before the program starts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct output_ask {
	const char *pattern; /* of -o: %p %h %n %q{VAR} %%; NULL or "": report%n */
	bool overwrite;      /* -f: an existing report may be replaced */
	pid_t pid;           /* for %p: the program's process */
	int number;          /* 1..: before the extension, as base.1.sqlite; 0: none */
};

/*
 * The file name that @ask means, malloc'd. NULL and one sentence in @why (without "sightline:", with the
 * way out) when the report could not be written there: file exists, no such folder, folder not writable,
 * unknown %-sequence. Without an extension we know, .sqlite is appended; x.nsys-rep becomes x.sqlite,
 * with one line on stderr. %n is the first number, from 1, whose file does not exist.
 * Two sightlines may still come to the same name: when db_open() then finds the file, ask again.
 */
char *output_name(const struct output_ask *ask, char *why, size_t why_len);

/*
 * From here on .nsys-rep takes the place of .sqlite. Launchers that run nsys by its name look for the report there, remove it
 * there, and use the name again.
 */
void output_name_as_nsys(void);

/* @pattern with %p %h %q{VAR} %% put in, for other names than a report's; malloc'd. NULL and a sentence in @why. */
char *output_name_expand(const char *pattern, pid_t pid, char *why, size_t why_len);

/*
 * The same pattern for a process in another folder with another environment: absolute, variables and the host's name
 * put in, %p and %n left. malloc'd. NULL and a sentence in @why.
 */
char *output_name_send(const char *pattern, char *why, size_t why_len);

/* output_name() by the options -o and -f, absolute. */
struct profile_options;
char *output_report(const struct profile_options *o, pid_t pid, char *why, size_t why_len);

/* malloc'd; NULL: no memory, or no current folder. */
char *absolute_path(const char *path);
