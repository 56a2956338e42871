/* table_list.h - --tables: a comma list of regular expressions (POSIX, extended) for whole names. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct table_list {
	regex_t *patterns;
	size_t cnt;
	bool failed; /* a call failed, for lack of memory */
};

/* NULL, "": all tables. 0, or -1 after one sentence in @why. */
int table_list_parse(struct table_list *list, const char *text, char *why, size_t why_len);
bool table_list_has(struct table_list *list, const char *name);
void table_list_free(struct table_list *list);
