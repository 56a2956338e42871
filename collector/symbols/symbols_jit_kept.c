/*
 * symbols_jit_kept.c - maps of code made at run time that only the process itself sees: those of processes in another mount
 * namespace, in a chroot, or with another number of their own, as in containers.
 *
 * The way to such a file leads through the process and ends with it, long before names are looked up at the end of the report.
 * An open descriptor does not.
 */
#include "collector/symbols/symbols_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/base/proc.h"

#define KEPT_MOST 64u

static struct {
	int64_t pid;
	int fd;
} kept[KEPT_MOST];
static unsigned kept_cnt;

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Takes the descriptor, in place of one of an earlier program of the process. */
static void keep(int64_t pid, int fd)
{
	unsigned i = 0;

	while (i < kept_cnt && kept[i].pid != pid)
		i++;
	if (i == KEPT_MOST) {
		close(fd);
		return;
	}
	if (i < kept_cnt)
		close(kept[i].fd);
	else
		kept_cnt++;
	kept[i].pid = pid;
	kept[i].fd = fd;
}

bool symbols_jit_keep(int64_t pid)
{
	uint32_t inside = proc_innermost((uint32_t)pid);
	struct stat theirs, ours;
	char path[128];
	int fd;

	if (!inside)
		return true;
	snprintf(path, sizeof(path), "%s/%" PRId64 "/root/tmp/perf-%u.map", proc_root(), pid,
		 inside);
	fd = plain_file_open(path, false, &theirs);
	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRId64 ".map", pid);
	if (lstat(path, &ours) == 0 && is_same(&theirs, &ours))
		close(fd); /* it stays where it is */
	else
		keep(pid, fd);
	return true;
}

int symbols_jit_kept(int64_t pid)
{
	for (unsigned i = 0; i < kept_cnt; i++)
		if (kept[i].pid == pid)
			return lseek(kept[i].fd, 0, SEEK_SET) == 0 ? dup(kept[i].fd) : -1;
	return -1;
}
