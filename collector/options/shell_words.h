/* shell_words.h - a text taken apart as a shell does: blanks, quotes and backslashes; no variables, no globs. */
#pragma once

struct words {
	char *text; /* holds all words, NUL after each */
	char **argv;
	int argc;
};

/* argv[0] is @source, as a program's would be. 0, or -errno (-EINVAL: a quote without end). Release in any case. */
int words_split(struct words *w, const char *source, const char *text);
void words_release(struct words *w);
