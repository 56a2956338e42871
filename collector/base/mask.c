/* mask.c - finds arguments that name a secret. Also within one argument, as `sh -c` takes it: by words. */
#include "collector/base/mask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

static enum mask_mode mode = MASK_SECRETS;

void mask_set(enum mask_mode to)
{
	mode = to;
}

enum mask_mode mask_now(void)
{
	return mode;
}

enum mask_mode mask_mode_of(const char *word)
{
	return strcmp(word, "all") == 0    ? MASK_ALL
	       : strcmp(word, "none") == 0 ? MASK_NONE
					   : MASK_SECRETS;
}

static bool contains(const char *name, size_t len, const char *part)
{
	size_t part_len = strlen(part);

	for (size_t i = 0; i + part_len <= len; i++)
		if (strncasecmp(name + i, part, part_len) == 0)
			return true;
	return false;
}

static bool ends_in(const char *name, size_t len, const char *part)
{
	size_t part_len = strlen(part);

	return len >= part_len && strncasecmp(name + len - part_len, part, part_len) == 0;
}

/* "--api-key", "API_KEY", "authToken"; not "--tokenizer", "--max-tokens". */
static bool is_secret(const char *name, size_t len)
{
	static const char *const anywhere[] = {"password", "passwd", "passphrase", "secret",
					       "credential"};
	static const char *const last[] = {"token", "key"};

	for (size_t i = 0; i < sizeof(anywhere) / sizeof(*anywhere); i++)
		if (contains(name, len, anywhere[i]))
			return true;
	/* Of each part of the name, which '-', '_' and '.' separate. */
	for (size_t from = 0, to; from < len; from = to + 1) {
		for (to = from; to < len && !strchr("-_.", name[to]); to++)
			;
		for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
			if (ends_in(name + from, to - from, last[i]))
				return true;
	}
	return false;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

struct out {
	char *text;
	size_t len;
};

static void add(struct out *o, const char *text, size_t len)
{
	memcpy(o->text + o->len, text, len);
	o->len += len;
}

/* From @at on: up to its closing quote where it begins with one, else to the end of the word. */
static size_t value_length(const char *at)
{
	const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;
	size_t len = 0;

	if (end)
		return (size_t)(end - at) + 1;
	while (at[len] && !isspace((unsigned char)at[len]))
		len++;
	return len;
}

/* One word, at *@at; goes on to behind it. */
static void word(struct mask *m, struct out *o, const char **at, bool is_whole)
{
	const char *name = *at;
	size_t len = 0, skipped = 0, value;

	while (name[skipped] && !is_name(name[skipped]) && !isspace((unsigned char)name[skipped]))
		skipped++; /* quotes, brackets */
	while (is_name(name[skipped + len]))
		len++;
	if (m->masks_next && *name != '-') {
		value = is_whole ? strlen(name) : value_length(name);
		add(o, HIDDEN, sizeof(HIDDEN) - 1);
		m->masks_next = false;
		*at += value;
		return;
	}
	m->masks_next = false;
	add(o, name, skipped + len);
	*at += skipped + len;
	if (len && **at == '=' && is_secret(name + skipped, len)) {
		/* All of an argument of this form is the value, spaces too. */
		value = is_whole ? strlen(*at + 1) : value_length(*at + 1);
		add(o, "=", 1);
		if (value)
			add(o, HIDDEN, sizeof(HIDDEN) - 1);
		*at += 1 + value;
		return;
	}
	if (len && (!**at || isspace((unsigned char)**at)) && name[skipped] == '-')
		m->masks_next = is_secret(name + skipped, len);
	/* More words may be joined by other signs: "a;b", "{x:y}". */
	if (**at && !isspace((unsigned char)**at) && !is_name(**at))
		add(o, (*at)++, 1);
}

char *mask_argument(struct mask *m, const char *arg)
{
	/* A word of one byte and a space before the next can become the four of "*** ". */
	struct out o = {.text = malloc(strlen(arg) * 4 + sizeof(HIDDEN) + 1)};
	const char *at = arg;

	if (!o.text)
		return NULL;
	if (mode == MASK_NONE || !m->has_first) {
		add(&o, arg, strlen(arg));
	} else if (mode == MASK_ALL) {
		add(&o, HIDDEN, sizeof(HIDDEN) - 1);
	} else {
		if (!*at)
			m->masks_next = false;
		while (*at) {
			if (isspace((unsigned char)*at))
				add(&o, at++, 1);
			else
				word(m, &o, &at, at == arg);
		}
	}
	m->has_first = true;
	o.text[o.len] = 0;
	return o.text;
}

char *mask_line(const char *args, size_t len)
{
	char *copy = malloc(len + 1), *line = malloc(len * 5 + sizeof(HIDDEN) + 1);
	struct mask m = {0};
	size_t used = 0;

	if (!copy || !line) {
		free(copy);
		free(line);
		return NULL;
	}
	memcpy(copy, args, len);
	copy[len] = 0;
	for (size_t at = 0; at < len; at += strlen(copy + at) + 1) {
		char *arg = mask_argument(&m, copy + at);

		if (!arg)
			break;
		if (at)
			line[used++] = ' ';
		memcpy(line + used, arg, strlen(arg));
		used += strlen(arg);
		free(arg);
	}
	line[used] = 0;
	free(copy);
	return line;
}
