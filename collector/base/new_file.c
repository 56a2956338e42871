/* new_file.c - files written aside. */
#include "collector/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device or a pipe would go for a file: /dev/null for all programs, where root names it. */
static int check_target(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
}

const char *new_file_error(int err)
{
	return err == -ENOTSUP ? "it is no plain file" : strerror(-err);
}

int new_file_open(const char *path, char **temp)
{
	mode_t mask = umask(0);
	int fd, err = check_target(path);

	umask(mask);
	*temp = NULL;
	if (err)
		return err;
	if (asprintf(temp, "%s.XXXXXX", path) < 0) {
		*temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*temp, O_CLOEXEC);
	if (fd >= 0 && fchmod(fd, 0666 & ~mask) == 0)
		return fd;
	err = errno;
	if (fd >= 0) {
		unlink(*temp);
		close(fd);
	}
	free(*temp);
	*temp = NULL;
	return -err;
}

/* A file that has its name after a crash of the machine must be whole. Some file systems cannot sync, and need not. */
static int to_disk(int fd)
{
	if (fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOSYS ||
	    errno == EOPNOTSUPP)
		return 0;
	return -errno;
}

int new_file_place(const char *temp, const char *path, bool replace)
{
	int fd = open(temp, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int err = fd < 0 ? -errno : check_target(path), rc;

	if (!err)
		err = to_disk(fd);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	if (replace)
		return rename(temp, path) < 0 ? -errno : 0;
	rc = renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE);
	if (rc < 0 && (errno == EINVAL || errno == ENOSYS)) {
		rc = link(temp, path); /* fails when the target exists */
		if (rc == 0)
			unlink(temp);
	}
	return rc < 0 ? -errno : 0;
}

int new_file_text(int folder, const char *name, const char *aside, const char *text, mode_t mode)
{
	size_t len = strlen(text);
	int fd, err = 0;

	if (unlinkat(folder, aside, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	errno = ENOSPC;
	if (write(fd, text, len) != (ssize_t)len)
		err = -errno;
	if (!err)
		err = to_disk(fd);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(folder, aside, folder, name) < 0)
		err = -errno;
	if (err)
		unlinkat(folder, aside, 0);
	return err;
}
