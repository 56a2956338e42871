/* session_idle.h - a session that waits for its program: made by `sightline start`, ended when `sightline launch` joins it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/session/control_server.h"
#include "collector/options/profile_options.h"
#include "collector/session/sessions.h"

struct session_idle {
	struct control control;
	struct session session;
	struct profile_options *options;
	char name[SESSION_NAME_MAX];
	int64_t since_s;
	bool is_over;  /* no program will join */
	uint32_t root; /* pid of the program that has, 0 none */
	int joined;    /* socket to `launch`, which waits for one answer: the session's directory */
};

/* Makes the session: 0, or -errno and a sentence in @why. */
int session_idle_open(struct session_idle *l, struct profile_options *options, const char *name,
		      char *why, size_t why_len);
/* Returns when `launch` has joined (its options are in s->options) or none will. */
void session_idle_wait(struct session_idle *l);
/* Removes it; l->joined stays open. */
void session_idle_close(struct session_idle *l);
