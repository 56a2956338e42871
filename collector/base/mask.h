/*
 * mask.h - hides secrets in command lines before they are stored: values of arguments that are called password, token,
 * key, secret or the like (--password=x, --password x, API_KEY=x).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum mask_mode {
	MASK_SECRETS, /* values of such arguments */
	MASK_ALL,     /* every argument but the first, which is the program */
	MASK_NONE
};

/* Of this process, for all that follows. */
void mask_set(enum mask_mode mode);
enum mask_mode mask_now(void);
/* "secrets", "all", "none" */
enum mask_mode mask_mode_of(const char *word);

/* The arguments of one command, one after the other. */
struct mask {
	bool has_first;  /* the program's name was seen */
	bool masks_next; /* the argument before this one names what this one holds */
};
/* The argument as it may be stored; malloc'd, NULL: no memory. */
char *mask_argument(struct mask *m, const char *arg);
/* @len bytes of arguments that each end in NUL (the last one may not), as one line with spaces. malloc'd or NULL. */
char *mask_line(const char *args, size_t len);
