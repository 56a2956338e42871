/* shared_folder.c - walks a dataset by descriptors, since its folders may be exchanged while it is written. */
#include "exporters/ranks/shared_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* May this user write to the folder @fd of a dataset whose owner is @owner? Else errno. */
static bool may_use(int fd, uid_t owner)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	errno = EPERM;
	return (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == owner) &&
	       (!(st.st_mode & S_IWOTH) || (st.st_mode & S_ISVTX));
}

static int step_into(int at, const char *part, bool make, uid_t owner)
{
	int fd = openat(at, part, FOLDER | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT && make && (mkdirat(at, part, 0777) == 0 || errno == EEXIST))
		fd = openat(at, part, FOLDER | O_NOFOLLOW);
	if (fd >= 0 && !may_use(fd, owner)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

/* Makes the folder @top and its parents, by the path that the user gave. */
static int open_top(const char *top, bool make)
{
	char *path = make ? strdup(top) : NULL;

	for (char *at = path ? strchr(path + (*path == '/'), '/') : NULL; at;
	     at = strchr(at + 1, '/')) {
		*at = 0;
		(void)mkdir(path, 0777);
		*at = '/';
	}
	if (path)
		(void)mkdir(path, 0777);
	free(path);
	return open(top, FOLDER);
}

int shared_folder_open(const char *top, const char *below, bool make)
{
	int fd = open_top(top, make);
	char part[256];
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	while (fd >= 0 && *below) {
		size_t len = strcspn(below, "/");
		int next = -1, err;

		if (len >= sizeof(part)) {
			errno = ENAMETOOLONG;
		} else if (len > 0) {
			memcpy(part, below, len);
			part[len] = 0;
			next = strcmp(part, "..") == 0 ? (errno = EPERM, -1)
						       : step_into(fd, part, make, st.st_uid);
		} else {
			next = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		}
		err = errno;
		close(fd);
		errno = err;
		fd = next;
		below += len;
		below += *below == '/';
	}
	return fd;
}

int shared_folder_of(const char *top, const char *path, bool make, const char **name)
{
	size_t len = strlen(top);
	const char *below = path + len, *slash;
	char *folder;
	int fd, err;

	while (*below == '/')
		below++;
	slash = strrchr(below, '/');
	*name = slash ? slash + 1 : below;
	folder = strndup(below, slash ? (size_t)(slash - below) : 0);
	if (!folder)
		return -1;
	fd = shared_folder_open(top, folder, make);
	err = errno;
	free(folder);
	errno = err;
	return fd;
}

int shared_file_create(int folder, const char *name)
{
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return -1;
	return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

char *shared_file_read(const char *path, size_t max)
{
	struct stat st;
	int fd, err = 0;
	size_t len = 0;
	char *text;

	errno = EINVAL;
	fd = plain_file_open(path, false, &st);
	if (fd < 0)
		return NULL;
	if ((uint64_t)st.st_size > max) {
		close(fd);
		errno = EFBIG;
		return NULL;
	}
	text = malloc((size_t)st.st_size + 1);
	while (text && len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, (size_t)st.st_size - len);

		if (n <= 0) {
			err = n < 0 ? errno : 0;
			break;
		}
		len += (size_t)n;
	}
	close(fd);
	if (text)
		text[len] = 0;
	if (err) {
		free(text);
		errno = err;
		return NULL;
	}
	return text;
}
