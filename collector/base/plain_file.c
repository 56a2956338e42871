/* plain_file.c - looks at a file before it is opened, without a gap in between. */
#include "collector/base/plain_file.h"

#include "collector/base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int plain_file_open(const char *path, bool follow, struct stat *st)
{
	const int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int at = open(path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)), fd = -1;
	char itself[64];

	if (at < 0)
		return -1;
	snprintf(itself, sizeof(itself), "%s/self/fd/%d", proc_root(), at);
	if (fstat(at, st) == 0 && S_ISREG(st->st_mode)) {
		fd = open(itself, how);
		if (fd < 0) /* no /proc here */
			fd = open(path, how | (follow ? 0 : O_NOFOLLOW));
	}
	close(at);
	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}
