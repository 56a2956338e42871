/* table_list.c - which tables were asked for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/formats/table_list.h"

static int add(struct table_list *list, const char *word, size_t len, char *why, size_t why_len)
{
	regex_t *more = reallocarray(list->patterns, list->cnt + 1, sizeof(*more));
	char *whole = NULL;
	int rc = REG_ESPACE;

	if (more)
		list->patterns = more;
	if (more && asprintf(&whole, "^(%.*s)$", (int)len, word) >= 0) {
		rc = regcomp(&more[list->cnt], whole, REG_EXTENDED | REG_ICASE | REG_NOSUB);
		free(whole);
	}
	if (rc == 0) {
		list->cnt++;
		return 0;
	}
	int at = snprintf(why, why_len, "--tables: '%.*s' is no regular expression: ", (int)len,
			  word);

	if (at > 0 && (size_t)at < why_len)
		regerror(rc, more ? &more[list->cnt] : NULL, why + at, why_len - (size_t)at);
	return -1;
}

int table_list_parse(struct table_list *list, const char *text, char *why, size_t why_len)
{
	*list = (struct table_list){0};
	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (len > 0 && add(list, text, len, why, why_len) < 0) {
			table_list_free(list);
			return -1;
		}
		text += len + (text[len] == ',');
	}
	return 0;
}

bool table_list_has(struct table_list *list, const char *name)
{
	for (size_t i = 0; i < list->cnt; i++) {
		errno = 0;
		if (regexec(&list->patterns[i], name, 0, NULL, 0) == 0)
			return true;
		/* glibc returns REG_NOMATCH then, too. */
		list->failed |= errno == ENOMEM;
	}
	return list->cnt == 0;
}

void table_list_free(struct table_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		regfree(&list->patterns[i]);
	free(list->patterns);
	*list = (struct table_list){0};
}
