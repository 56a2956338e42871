/* mask.h - hides secrets in command lines before they are stored: scripts/man/sightline-profile.1, --mask-arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum mask_mode {
	MASK_SECRETS, /* secrets by the tables of names.c */
	MASK_ALL,     /* every argument but the first, which is the program */
	MASK_NONE
};

/* Mode of this process, for all later arguments. */
void mask_set(enum mask_mode mode);
enum mask_mode mask_now(void);
/* "secrets", "all", "none" */
enum mask_mode mask_mode_of(const char *word);

/* The arguments of one command, one after the other. */
struct mask {
	bool has_first;      /* the program's name was seen */
	const char *program; /* with options that take secrets: names.h */
	/* Of the value of an option that ended the argument before. */
	struct {
		int secret;       /* enum secret */
		const char *part; /* the text behind it is secret; "": all */
	} next;
};
/* The argument as it may be stored; malloc'd, NULL: no memory. */
char *mask_argument(struct mask *m, const char *arg);
/* @len bytes of arguments that each end in NUL (the last one may not), as one line with spaces. malloc'd or NULL. */
char *mask_line(const char *args, size_t len);
