/* report_input.h - which file is read for the report that the user names. */
#pragma once

#include <stdbool.h>

struct report_input {
	const char *command; /* for messages */
	const char *
		sqlite; /* the database that shall be read for it; NULL: x.sqlite beside x.nsys-rep */
	bool quiet;
	/* Whether the database beside it is what the command is to write; NULL: it is not. */
	bool (*is_target)(const void *ctx, const char *sqlite);
	const void *ctx;
};

/*
 * x.nsys-rep (x.qdrep) stands for the database beside it, as `nsys export` makes it, with a line on stderr; but not for one that was made of
 * an earlier x.nsys-rep: figures of another run would be worse than none. Otherwise, and where it is a database by that name
 * (`nsys` linked to sightline makes such), it is read itself. @path, malloc'd, becomes the file to be read. 0, or an exit status after
 * one line on stderr.
 */
int report_input_find(const struct report_input *how, char **path);
