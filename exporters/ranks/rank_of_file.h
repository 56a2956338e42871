/*
 * rank_of_file.h - the rank of a report that does not show it, such as an export of nsys: from the command line, or from its file's name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ranked {
	const char *path;
	int64_t rank;     /* of all processes of the report; -1: they have their own */
	const char *from; /* where that number is from, for SL_RANKS.source */
};

/*
 * @word: "PATH", or "PATH=RANK" where there is no file of that name, which is cut at the =. @pattern: the rank is the number where
 * it has %r, in the file's name; NULL: none. 0, or -1 after one sentence in @why.
 */
int ranked_report(const char *pattern, char *word, struct ranked *r, char *why, size_t why_len);
