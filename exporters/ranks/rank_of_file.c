/* rank_of_file.c - reads REPORT=RANK and patterns of file names. */
#include "exporters/ranks/rank_of_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANK_DIGITS 8 /* 10 million ranks */

/* The number where the pattern has %r, in the file's name; -1: none. */
static int64_t rank_of_name(const char *pattern, const char *path)
{
	const char *at = strstr(pattern, "%r"), *name = strrchr(path, '/');
	size_t before = (size_t)(at - pattern), after = strlen(at + 2);

	for (name = name ? name + 1 : path; *name; name++) {
		size_t digits;

		if (strncmp(name, pattern, before) != 0)
			continue;
		digits = strspn(name + before, "0123456789");
		if (digits > 0 && digits <= RANK_DIGITS &&
		    strncmp(name + before + digits, at + 2, after) == 0)
			return strtoll(name + before, NULL, 10);
	}
	return -1;
}

int ranked_report(const char *pattern, char *word, struct ranked *r, char *why, size_t why_len)
{
	char *equals = strrchr(word, '=');
	size_t digits = equals ? strspn(equals + 1, "0123456789") : 0;

	*r = (struct ranked){.path = word, .rank = -1, .from = "option"};
	if (pattern && !strstr(pattern, "%r")) {
		snprintf(why, why_len, "--rank-from=%s has no %%r", pattern);
		return -1;
	}
	if (digits > 0 && digits <= RANK_DIGITS && !equals[1 + digits] && access(word, F_OK) < 0) {
		r->rank = strtoll(equals + 1, NULL, 10);
		*equals = 0;
		return 0;
	}
	if (!pattern)
		return 0;
	r->rank = rank_of_name(pattern, word);
	r->from = "file name";
	if (r->rank >= 0)
		return 0;
	snprintf(why, why_len,
		 "%s: no number where --rank-from=%s has %%r (%s=RANK has it for this one)", word,
		 pattern, word);
	return -1;
}
