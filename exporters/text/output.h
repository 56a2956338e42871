/*
 * output.h - where a table goes: the console, a file, a command's stdin.
 *
 * A file appears under its name only when it is whole: it is written under a temporary name, then renamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum output_kind {
	OUTPUT_CONSOLE,
	OUTPUT_FILE,
	OUTPUT_COMMAND
};

struct output {
	enum output_kind kind;
	const char *target; /* path or command */
	bool overwrite;
	bool is_private; /* a file is for its owner alone, as reports are */
	FILE *f;
	char *temp; /* path while it is written */
};

/* kind, target, overwrite and is_private are set. 0, or -1 after one sentence in @why. */
int output_open(struct output *o, char *why, size_t why_len);
/* Ends the output: keeps the file if @keep, else removes it. The same returns. */
int output_close(struct output *o, bool keep, char *why, size_t why_len);

/* Do both paths lead to one file? An input must not be replaced by the output made of it. */
bool output_same_file(const char *a, const char *b);
