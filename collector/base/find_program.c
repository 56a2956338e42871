/* find_program.c - looks for a program in PATH. */
#include "collector/base/find_program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	errno = EACCES;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *sl_find_program(const char *name)
{
	const char *path = getenv("PATH"), *end;
	int err = ENOENT;

	if (strchr(name, '/'))
		return is_program(name) ? strdup(name) : NULL;
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name; path = end + 1) {
		char full[PATH_MAX];

		end = strchrnul(path, ':');
		snprintf(full, sizeof(full), "%.*s%s%s", (int)(end - path), path,
			 end == path ? "./" : "/", name);
		if (is_program(full))
			return strdup(full);
		if (errno == EACCES)
			err = EACCES;
		if (!*end)
			break;
	}
	errno = err;
	return NULL;
}
