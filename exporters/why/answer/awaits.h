/* awaits.h - tasks of asyncio that awaited each other at the last look: their thread waits for events, and none will come. */
#pragma once

#include <stdint.h>

#include "exporters/why/model/model.h"

struct why_await {
	int64_t pid, task,
		awaits;        /* globalPid; addresses of the task, and of the one that it awaits */
	uint32_t cycle;        /* tasks with the same number await each other; from 1 on */
	char *name, *other;    /* of both; NULL: not known */
	char *function, *file; /* where it awaits; NULL: not known */
	int64_t line;
};

struct why_awaits {
	WHY_LIST(why_await,
		 list); /* by cycle, each in the order in which its tasks await each other */
	uint32_t cycles;
	int64_t number; /* of the cycle that was read last, as its process has it */
};

/* SQLite's result code. */
int why_find_awaits(struct why_awaits *a, sqlite3 *db);
void why_awaits_free(struct why_awaits *a);
