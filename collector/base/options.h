/*
 * options.h - option tables, from which parsing, --help, completion and the man page's list follow; and the nearest valid
 * spelling of a word that is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collector/base/message.h"

enum opt_kind {
	OPT_FLAG, /* no value */
	OPT_BOOL, /* true|false (also yes/no, 1/0; nsys spells them true,false) */
	OPT_INT,  /* integer, with range */
	OPT_STRING,
	OPT_MAYBE, /* a string, "" without a value: the next word is taken only when it is a number */
	OPT_ENUM,  /* one of a comma list */
	OPT_LIST,  /* several of a comma list; repeated options add up */
	OPT_LATER, /* an option of nsys that is accepted with a warning: "not yet" */
	OPT_GROUP, /* no option: .help is a heading in --help */
	OPT_ABOUT, /* no option: .values is the usage line, .help the text below the options (examples) */
	OPT_ELSEWHERE, /* an option of the command .values: the message names it */
};

struct opt {
	char short_name;  /* 0: none */
	const char *name; /* long, without -- */
	enum opt_kind kind;
	/*
	 * ENUM, LIST: allowed, comma separated. LIST: NULL allows anything, and so does a list with a comma in
	 * front, the words for completion. INT: "min:max".
	 * LATER: "" takes no value, "bool" as BOOL, any other text takes a value and is shown as its placeholder.
	 */
	const char *values;
	const char *metavar; /* shown in help: --name=METAVAR */
	const char *help; /* one or more lines; NULL: accepted but not listed (older spellings) */
	/* bool *, int64_t *, const char ** (STRING, MAYBE, ENUM, LIST); NULL: value unused */
	void *target;
	bool *seen; /* may be NULL */
};

/*
 * Parses options up to the first operand or "--" (POSIX order, as nsys does: words after the program's
 * name belong to the program). A table ends with an all-zero entry.
 * Accepts --name=value, --name value, -xVALUE, -x value and -x=value. A BOOL without a value is true:
 * the next word is taken only when it reads as a truth value; a MAYBE takes only a number. Options of kind LATER give one warning
 * line for all of them, unless they ask for nothing ("none", "false").
 * Returns the index of the first operand, or -SL_EXIT_USAGE after one line on stderr with the nearest valid name,
 * or -1000 when --help was given and printed. @cmd: the command's name; "NAME: SOURCE" where the words
 * came from elsewhere than its command line.
 */
int opt_parse(const struct opt *opts, int argc, char **argv, const char *cmd);
#define OPT_HELP_SHOWN (-1000)
/* The same, and @given, one byte per entry of the table, is set where the option was met. */
int opt_parse_given(const struct opt *opts, int argc, char **argv, const char *cmd,
		    unsigned char *given);

/*
 * For "did you mean": the nearer to @word of @best (NULL at first) and @candidate; NULL while neither
 * is near enough to be meant. Fold it over all candidates.
 */
const char *sl_nearest(const char *word, const char *best, const char *candidate);

/* The allowed value nearest to @word in a comma list, copied to @out; false when none is near. */
#define SL_NEAREST_MAX 63
bool sl_nearest_value(const char *list, const char *word, char *out, size_t out_len);
