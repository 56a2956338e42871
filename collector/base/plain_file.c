/* plain_file.c - looks at a file before it is opened, without a gap in between. */
#include "collector/base/plain_file.h"

#include "collector/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool plain_file_is_in_folder(const char *path)
{
	static const char start[] = "/proc/self/fd/";
	const char *number = path + sizeof(start) - 1, *name;

	if (strncmp(path, start, sizeof(start) - 1) != 0)
		return false;
	name = number + strspn(number, "0123456789");
	return name > number && name[0] == '/' && name[1] && !strchr(name + 1, '/');
}

int plain_file_open(const char *path, bool follow, struct stat *st)
{
	const int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int at, fd = -1;
	char itself[64];

	follow = follow && !plain_file_is_in_folder(path);
	at = open(path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (at < 0)
		return -1;
	snprintf(itself, sizeof(itself), "%s/self/fd/%d", proc_root(), at);
	if (fstat(at, st) == 0 && S_ISREG(st->st_mode)) {
		fd = open(itself, how);
		if (fd < 0) /* no /proc here */
			fd = open(path, how | (follow ? 0 : O_NOFOLLOW));
	} else {
		errno = S_ISLNK(st->st_mode) ? ELOOP : ENXIO;
	}
	close(at);
	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool look_at(const char *path, struct statx *x)
{
	const int how = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;

	return statx(AT_FDCWD, path, how, STATX_TYPE | STATX_INO, x) == 0 && S_ISREG(x->stx_mode);
}

bool plain_file_is_same(const char *path, const char *other)
{
	struct statx a, b;

	return look_at(path, &a) && look_at(other, &b) && a.stx_ino == b.stx_ino &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}
