/* http.h - the server: libevent's HTTP on 127.0.0.1, workers that answer, and limits on both. */
#pragma once

#include "exporters/view/answers/answer.h"

struct view_http_options {
	int port;      /* the first to try */
	bool is_fixed; /* and the only one */
	/* Called once it listens. */
	void (*listening)(void *ctx, int port, const char *token);
	void *ctx;
};

/* False: this program was built without the library. */
bool view_http_is_built(void);
/* Until a signal ends it. 0, or -1 after one sentence in @why; 1: a thread is still in an answer, and uses @s. */
int view_http_run(struct view_server *s, const struct view_http_options *o, char *why, size_t len);

/* The page; @name as in the address. NULL: no such part, or this program was built without it. */
const char *view_asset(const char *name, size_t *len, const char **type, bool *is_gzip);
