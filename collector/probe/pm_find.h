/*
 * pm_find.h - selects and loads libcupti: the newest that works with the driver, of toolkits, wheels and the system's
 * folders. It need not be the traced program's. SIGHTLINE_CUPTI names another.
 */
#pragma once

#include "collector/probe/pm_api.h"

struct pm_library {
	struct pm_api api;
	char path[4096];
	void *cupti, *driver, *host; /* handles */
};

/*
 * Each candidate is first tried in a process of its own, which is this program with the arguments
 * PM_FIND_TRY PATH: main() hands them to pm_find_try(), whose result is the exit status. 0 or
 * -errno; why: the missing part.
 */
#define PM_FIND_TRY "try-cupti"
int pm_find_try(const char *path);
int pm_find(struct pm_library *l, char *why, size_t why_size);
/* Without a child, this path alone. For tests, and for a path known to work. */
int pm_load(struct pm_library *l, const char *path, char *why, size_t why_size);
