/* shared_folder.c - walks a dataset by descriptors, since its folders may be exchanged while it is written. */
#include "exporters/ranks/store/shared_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/plain_file.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* May this user write to such a folder of a dataset whose owner is @owner? */
static bool may_use(const struct stat *st, uid_t owner)
{
	return (st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == owner) &&
	       (!(st->st_mode & S_IWOTH) || (st->st_mode & S_ISVTX));
}

static int step_into(int at, const char *part, bool make, uid_t owner)
{
	int fd = openat(at, part, FOLDER | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 && errno == ENOENT && make && (mkdirat(at, part, 0777) == 0 || errno == EEXIST))
		fd = openat(at, part, FOLDER | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !may_use(&st, owner))) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

/* Makes the folder @top and its parents where they are not there, by the path that the user gave. */
static int open_top(const char *top)
{
	int fd = open(top, FOLDER);
	char *path = fd < 0 && errno == ENOENT ? strdup(top) : NULL;

	for (char *at = path ? strchr(path + (*path == '/'), '/') : NULL; at;
	     at = strchr(at + 1, '/')) {
		*at = 0;
		(void)mkdir(path, 0777);
		*at = '/';
	}
	if (path) {
		(void)mkdir(path, 0777);
		fd = open(top, FOLDER);
	}
	free(path);
	return fd;
}

/* Part by part: on kernels without openat2(). @top is left open. */
static int walk(int top, const char *below, bool make, uid_t owner)
{
	int fd = fcntl(top, F_DUPFD_CLOEXEC, 0);
	char part[256];

	while (fd >= 0 && *below) {
		size_t len = strcspn(below, "/");
		int next = -1, err;

		if (len >= sizeof(part)) {
			errno = ENAMETOOLONG;
		} else if (len > 0) {
			memcpy(part, below, len);
			part[len] = 0;
			next = strcmp(part, "..") == 0 ? (errno = EPERM, -1)
						       : step_into(fd, part, make, owner);
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

/* Makes the folders that are not there. Where a part is exchanged for a link meanwhile, an empty folder is all that is made elsewhere. */
static bool make_parts(int top, const char *below, uid_t owner)
{
	char path[1024];
	struct stat st;

	for (size_t len = strcspn(below, "/");; len += 1 + strcspn(below + len + 1, "/")) {
		if (len >= sizeof(path)) {
			errno = ENAMETOOLONG;
			return false;
		}
		memcpy(path, below, len);
		path[len] = 0;
		if (fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			errno = S_ISDIR(st.st_mode) ? EPERM : ENOTDIR;
			if (!S_ISDIR(st.st_mode) || !may_use(&st, owner))
				return false;
		} else if (errno != ENOENT || (mkdirat(top, path, 0777) < 0 && errno != EEXIST)) {
			return false;
		}
		if (!below[len])
			return true;
	}
}

/* Are the open folder and those above it, up to that many, fit for this user? Else errno. */
static bool may_use_all(int fd, size_t parts, uid_t owner)
{
	char path[64] = ".";
	struct stat st;

	for (size_t i = 0; i < parts; i++) {
		if (fstatat(fd, path, &st, 0) < 0)
			return false;
		errno = EPERM;
		if (!may_use(&st, owner))
			return false;
		memcpy(path + 3 * i, "../", sizeof("../"));
	}
	return true;
}

#define PARTS_MAX 16

int shared_folder_at(int top, const char *below, bool make)
{
	static bool is_old; /* the kernel has no openat2() */
	struct open_how how = {.flags = FOLDER | O_NOFOLLOW,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	size_t parts = 1;
	struct stat st;
	int fd;

	for (const char *at = below; *at; at++)
		parts += *at == '/';
	if (fstat(top, &st) < 0)
		return -1;
	/* Parts of such a path are looked at one by one: some are left out, others refused. */
	if (is_old || parts == 1 || parts > PARTS_MAX || strstr(below, "//") || strstr(below, ".."))
		return walk(top, below, make, st.st_uid);
	if (make && !make_parts(top, below, st.st_uid))
		return -1;
	fd = (int)syscall(SYS_openat2, top, below, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		is_old = true;
		return walk(top, below, make, st.st_uid);
	}
	if (fd >= 0 && !may_use_all(fd, parts, st.st_uid)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

int shared_folder_top(const char *top, bool make)
{
	return make ? open_top(top) : open(top, FOLDER);
}

int shared_folder_open(const char *top, const char *below, bool make)
{
	int at = shared_folder_top(top, make), fd, err;

	if (at < 0 || !*below)
		return at;
	fd = shared_folder_at(at, below, make);
	err = errno;
	close(at);
	errno = err;
	return fd;
}

/* "SL_STEPS/run=R" of ".../SL_STEPS/run=R/name"; malloc'd. @name: the last part. */
static char *folder_of(const char *top, const char *path, const char **name)
{
	const char *below = path + strlen(top), *slash;

	while (*below == '/')
		below++;
	slash = strrchr(below, '/');
	*name = slash ? slash + 1 : below;
	return strndup(below, slash ? (size_t)(slash - below) : 0);
}

int shared_folder_of_at(int at, const char *top, const char *path, bool make, const char **name)
{
	char *folder = folder_of(top, path, name);
	int fd = folder ? shared_folder_at(at, folder, make) : -1, err = errno;

	free(folder);
	errno = err;
	return fd;
}

int shared_folder_of(const char *top, const char *path, bool make, const char **name)
{
	char *folder = folder_of(top, path, name);
	int fd = folder ? shared_folder_open(top, folder, make) : -1, err = errno;

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
