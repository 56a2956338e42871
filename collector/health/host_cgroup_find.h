/* host_cgroup_find.h - which folders hold the files of a process's cgroups. Private to host_cgroup*.c. */
#pragma once

#include <limits.h>

#include "collector/health/host_internal.h"

/* Hierarchies: of version 1, by controller; of version 2, which has all controllers that those do not have. */
enum cgroup_hierarchy {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_BLKIO,
	CGROUP_UNIFIED,
	CGROUP_HIERARCHIES
};

/* Where a process is in one of them; @mount empty: it has no cgroup there, or one of the machine as a whole. */
struct cgroup_place {
	char mount[PATH_MAX]; /* below the root of all files */
	char path[PATH_MAX];  /* behind that: "" or "/a/b" */
};

struct cgroup_places {
	struct cgroup_place at[CGROUP_HIERARCHIES];
};

/* NULL: no memory, or neither cgroups nor the process are there. */
struct cgroup_places *cgroup_find(struct host *h, pid_t pid);
/* Cuts the last part of a path off; false: there is none. */
bool cgroup_up(struct cgroup_place *place);
