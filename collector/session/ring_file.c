/* ring_file.c - checks of memfds and of files that hold rings; nothing here follows a link. */
#include "collector/session/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "preload/wire/arena.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static bool has_size(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size >= 0 &&
	       (uint64_t)st->st_size >= sl_arena_bytes(1) &&
	       (uint64_t)st->st_size <= SL_ARENA_BYTES;
}

bool ring_memfd_is_sound(int fd, struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	/* One of huge pages has seals, too: where there are too few pages, an access is a SIGBUS. */
	return seals >= 0 && (seals & SEALS) == SEALS && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == TMPFS_MAGIC && has_size(fd, st);
}

bool ring_file_is_sound(int fd, struct stat *st)
{
	return has_size(fd, st) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

int ring_folder_open(int at, const char *name, bool make)
{
	struct stat st;
	int fd, err = 0;

	if (make && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_uid != geteuid() || st.st_mode & 077)
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

void ring_name_make(const struct ring_name *n, char text[RING_NAME_MAX])
{
	snprintf(text, RING_NAME_MAX, "%u-%u-%u.ring", n->id, n->peer_pid, n->claimed_pid);
}

bool ring_name_parse(const char *text, struct ring_name *n)
{
	char again[RING_NAME_MAX];

	if (sscanf(text, "%10u-%10u-%10u", &n->id, &n->peer_pid, &n->claimed_pid) != 3)
		return false;
	ring_name_make(n, again);
	return strcmp(text, again) == 0;
}

int ring_file_make(int folder, const char *name)
{
	int fd;

	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}
