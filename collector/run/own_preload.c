/*
 * own_preload.c - the command steps out of LD_PRELOAD.
 *
 * Libraries as libsocket_wrapper and libefence change what sockets and allocations do: the collector would get no descriptors
 * from traced programs, or end for want of memory.
 */
#include "collector/run/own_preload.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD_ENV "LD_PRELOAD"
#define KEPT_ENV \
	"SIGHTLINE_PRELOADED" /* its value, across the exec; also the sign that it is the second time */

bool own_preload_is_foreign(const char *list)
{
	return list && list[strspn(list, ": ")] && !strstr(list, "libtrace.so");
}

void own_preload_leave(char **argv)
{
	const char *list = getenv(PRELOAD_ENV), *kept = getenv(KEPT_ENV);
	char path[PATH_MAX];
	ssize_t len;

	if (!kept) {
		if (!own_preload_is_foreign(list) || setenv(KEPT_ENV, list, 1) != 0)
			return;
		unsetenv(PRELOAD_ENV);
		len = readlink("/proc/self/exe", path, sizeof(path) - 1);
		path[len > 0 ? len : 0] = 0;
		/* By its path, as the process is named by it. Not by a system call: a library that has to stay puts the variable back. */
		execv(path, argv);
		kept = getenv(KEPT_ENV);
	}
	if (kept)
		setenv(PRELOAD_ENV, kept, 1);
	unsetenv(KEPT_ENV);
}
