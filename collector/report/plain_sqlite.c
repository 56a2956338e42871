/* plain_sqlite.c - the open() of SQLite's file system, which looks before it opens, as plain_file_open() does. */
#include "collector/report/plain_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/base/proc.h"

/* Its own file of random numbers is a device. */
static bool is_refused(const char *path, const struct stat *st)
{
	return !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && strcmp(path, "/dev/urandom") != 0;
}

/* As SQLite's own, open(): -1 and errno. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	int at, fd, err;
	char itself[64];
	struct stat st;

	if (plain_file_is_in_folder(path))
		flags |= O_NOFOLLOW;
	at = open(path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
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

/* As lstat(): of a path below /proc/self no part is a link, or SQLite goes where it leads, and opens another path than was named. */
static int lstat_for_sqlite(const char *path, struct stat *st)
{
	static const char start[] = "/proc/self";
	int rc = lstat(path, st);

	if (rc == 0 && S_ISLNK(st->st_mode) && strncmp(path, start, sizeof(start) - 1) == 0)
		st->st_mode = S_IFDIR | (st->st_mode & ~(mode_t)S_IFMT);
	return rc;
}

void plain_files_for_sqlite(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall) {
		vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_for_sqlite);
		/* unknown before SQLite 3.15 */
		vfs->xSetSystemCall(vfs, "lstat", (sqlite3_syscall_ptr)lstat_for_sqlite);
	}
}
