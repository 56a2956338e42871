/* limits.c - raises and reads resource limits of the collector. */
#include "collector/base/limits.h"

#include <dirent.h>
#include <sys/resource.h>

bool limits_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned limits_free_descriptors(void)
{
	struct rlimit limit;
	unsigned open = 0;
	DIR *dir;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return limit.rlim_cur > 64 ? (unsigned)(limit.rlim_cur - 64) : 0;
	while (readdir(dir))
		open++;
	closedir(dir);
	open -= 3; /* ".", "..", and the folder itself */
	return limit.rlim_cur > open ? (unsigned)(limit.rlim_cur - open) : 0;
}
