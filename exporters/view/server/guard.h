/* guard.h - the requests that are answered: requests of the page that this server made, and of no other page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define VIEW_TOKEN_LEN 32

struct view_heads { /* NULL: not sent */
	const char *method, *host, *origin, *site, *authorization;
};

/* 0, or the HTTP status of a refusal with its reason in @why. @token NULL: for answers without secrets. */
int view_guard(const struct view_heads *h, const char *token, const char **why);

/* 32 hexadecimal digits of the kernel's random numbers. -1: there are none. */
int view_token_make(char token[VIEW_TOKEN_LEN + 1]);
