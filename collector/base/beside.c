/* beside.c - finds programs of this installation, runs them and reads their output. */
#include "collector/base/beside.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *beside_find(const char *name, const char *variable)
{
	static const char *const places[] = {"", "../lib/sightline/", "../lib64/sightline/"};
	const char *asked = variable ? secure_getenv(variable) : NULL;
	char exe[PATH_MAX], path[PATH_MAX + 128], *slash;
	ssize_t len;

	if (asked && *asked)
		return realpath(asked, NULL);
	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[len > 0 ? len : 0] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s%s", exe, places[i], name);
		if (access(path, X_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

int beside_run(const char *path, const char *argument)
{
	char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)argument, NULL};
	int status = 0, err;
	pid_t pid;

	fflush(stdout);
	err = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}
