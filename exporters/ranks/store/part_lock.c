/* part_lock.c - locks "_nodes/run=RUN/.node=NODE.lock". */
#include "exporters/ranks/store/part_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/ranks/store/shared_folder.h"

int part_lock_in(int dir, const char *node, enum part_lock_kind kind)
{
	struct flock all = {.l_type = kind == PART_WRITE ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
	int flags = kind == PART_WRITE ? O_RDWR | O_CREAT : O_RDONLY, fd, rc;
	char name[300];
	struct stat st;

	snprintf(name, sizeof(name), ".node=%s.lock", node);
again:
	fd = dir < 0 ? -1 : openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd < 0)
		return -ENOLCK;
	do
		rc = fcntl(fd, kind == PART_WRITE ? F_OFD_SETLKW : F_OFD_SETLK, &all);
	while (rc < 0 && errno == EINTR);
	if (rc == 0 && kind == PART_WRITE && fstat(fd, &st) == 0 && st.st_nlink == 0) {
		/* Its holder has removed it with the part: the file of that name is another one. */
		close(fd);
		goto again;
	}
	if (rc == 0)
		return fd;
	rc = errno == EAGAIN || errno == EACCES ? -EAGAIN : -ENOLCK;
	close(fd);
	return rc;
}

int part_lock(const char *folder, const char *run, const char *node, enum part_lock_kind kind)
{
	char below[300];
	int dir, rc;

	snprintf(below, sizeof(below), "_nodes/run=%s", run);
	dir = shared_folder_open(folder, below, kind == PART_WRITE);
	rc = part_lock_in(dir, node, kind);
	if (dir >= 0)
		close(dir);
	return rc;
}

void part_unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}
