/* shell_words.c - splits a text into words as a shell does. */
#include "collector/options/shell_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void words_release(struct words *w)
{
	free(w->text);
	free(w->argv);
}

/* Copies one word from @in to *@out with quotes taken off; returns the rest of @in, NULL when a quote never ends. */
static const char *take_word(const char *in, char **out)
{
	char quote = 0;
	char *to = *out;

	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (quote && *in == quote)
			quote = 0;
		else if (!quote && (*in == '\'' || *in == '"'))
			quote = *in;
		else if (*in == '\\' && quote != '\'' && in[1] &&
			 (!quote || in[1] == '"' || in[1] == '\\'))
			*to++ = *++in;
		else
			*to++ = *in;
	}
	*to++ = '\0';
	*out = to;
	return quote ? NULL : in;
}

int words_split(struct words *w, const char *source, const char *text)
{
	size_t len = strlen(text);
	char *to;

	*w = (struct words){0};
	w->text = malloc(2 * len + strlen(source) + 2);
	w->argv = calloc(len / 2 + 3, sizeof(*w->argv));
	if (!w->text || !w->argv)
		return -ENOMEM;
	to = stpcpy(w->text, source) + 1;
	w->argv[w->argc++] = w->text;
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (*text == '#') {
			text += strcspn(text, "\n");
			continue;
		}
		if (!*text)
			return 0;
		w->argv[w->argc++] = to;
		text = take_word(text, &to);
		if (!text)
			return -EINVAL;
	}
}
