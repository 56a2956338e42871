/*
 * symbols_process.c - files of modules that no path leads to any more, or none that this process may use: memfds, files that
 * were removed or replaced, files of a container. The process that has one mapped leads to it, while it runs.
 */
#include "collector/symbols/symbols_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/base/proc.h"

/* True: @now is @path; the file may have been removed or replaced since. */
static bool is_called(const char *now, const char *path)
{
	size_t len = strlen(path);

	return strncmp(now, path, len) == 0 && (!now[len] || strcmp(now + len, " (deleted)") == 0);
}

/* Opens @link, which the kernel shows as @path. */
static int open_link(const char *link, const char *path)
{
	char target[4096 + 16];
	ssize_t len = readlink(link, target, sizeof(target) - 1);
	struct stat st;

	if (len <= 0)
		return -1;
	target[len] = 0;
	return is_called(target, path) ? plain_file_open(link, true, &st) : -1;
}

/* One of the mappings of @path between @start and @end; its name in map_files is its range. */
static int open_mapping(uint32_t pid, const char *path, uint64_t start, uint64_t end)
{
	char link[128], *line = NULL;
	size_t size = 0;
	int fd = -1;
	FILE *f;

	snprintf(link, sizeof(link), "%s/%u/maps", proc_root(), pid);
	f = fopen(link, "re");
	while (f && fd < 0 && getline(&line, &size, f) > 0) {
		uint64_t from, to;
		int at = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &from, &to, &at) <
			    2 ||
		    !at || from < start || to > end || !is_called(line + at, path))
			continue;
		snprintf(link, sizeof(link), "%s/%u/map_files/%" PRIx64 "-%" PRIx64, proc_root(),
			 pid, from, to);
		fd = open_link(link, path);
	}
	free(line);
	if (f)
		fclose(f);
	return fd;
}

int symbols_process_open(const struct symbols_mapped *by, const char *path)
{
	char link[64];
	int fd;

	if (!by->pid)
		return -1;
	snprintf(link, sizeof(link), "%s/%u/exe", proc_root(), by->pid);
	fd = open_link(link, path);
	return fd >= 0 ? fd : open_mapping(by->pid, path, by->start, by->end);
}
