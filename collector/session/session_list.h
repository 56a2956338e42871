/* session_list.h - sessions with the status of their collectors, for `sessions list` and `status`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/session/sessions.h"

struct session_info {
	struct session_entry at;
	char state[32], kind[16];
	char program[1024], report[4096];
	int64_t since_s; /* Unix time, 0 unknown */
	uint32_t root, reports, refused;
	bool root_runs;
	uint64_t lost;
	int64_t processes, behind_ns;
};

/* malloc'd; all live ones are asked, dead ones come last. */
size_t session_list(struct session_info **list, bool all);
/* Asks one; false: it does not answer, and state has that. */
bool session_info_ask(struct session_info *s);
void session_list_text(const struct session_info *list, size_t cnt, bool header);
void session_list_json(const struct session_info *list, size_t cnt);
/* One session, in lines. */
void session_info_text(const struct session_info *s);
