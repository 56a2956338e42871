/* plain_file.c - looks at a file before it is opened, without a gap in between. */
#include "collector/base/plain_file.h"

#include "collector/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
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

/* ---- what SQLite opens ---- */

/* Its own file of random numbers is a device. */
static bool is_refused(const char *path, const struct stat *st)
{
	return !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && strcmp(path, "/dev/urandom") != 0;
}

/* As SQLite's own, open(): -1 and errno. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	int at = open(path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)), fd, err;
	char itself[64];
	struct stat st;

	/* Not there: nothing is opened, unless it is made. */
	if (at < 0)
		return open(path, flags | O_NONBLOCK, mode);
	if (fstat(at, &st) < 0 || is_refused(path, &st)) {
		close(at);
		errno = ENXIO;
		return -1;
	}
	snprintf(itself, sizeof(itself), "%s/self/fd/%d", proc_root(), at);
	fd = flags & O_EXCL ? -1
			    : open(itself, (flags & ~(O_CREAT | O_NOFOLLOW)) | O_NONBLOCK, mode);
	err = errno;
	if (flags & O_EXCL || (fd < 0 && err == ENOENT)) /* no /proc here */
		fd = open(path, flags | O_NONBLOCK, mode);
	else
		errno = err;
	err = errno;
	close(at);
	errno = err;
	return fd;
}

void plain_files_for_sqlite(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
		vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_for_sqlite);
}
