/* saved_rings.c - the folders of files that a keeper wrote. */
#include "collector/session/saved_rings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/model/spool.h"
#include "collector/session/ring_file.h"
#include "collector/session/ring_keeper.h"
#include "collector/session/session.h"

#define MIB       (UINT64_C(1) << 20)
#define LEAST_MIB 4u

void saved_rings_init(struct saved_rings *s)
{
	for (int i = 0; i < SAVED_FOLDERS; i++)
		s->folder[i].fd = -1;
}

void saved_rings_find(struct saved_rings *s, const char *report, const char *dir)
{
	int session;

	if (s->folder[SAVED_BESIDE].fd < 0) {
		char *path = s->folder[SAVED_BESIDE].path;
		int fd;

		snprintf(path, sizeof(s->folder->path), "%s" KEEPER_RINGS, report);
		fd = ring_folder_open(AT_FDCWD, path, false);
		if (fd == -EPERM && !s->has_warned)
			sl_warn("%s: left alone: it is a link, or of another user, or open to "
				"others",
				path);
		s->has_warned |= fd == -EPERM;
		s->folder[SAVED_BESIDE].fd = fd;
	}
	session = s->folder[SAVED_IN_SESSION].fd < 0 ? session_folder_open(dir) : -1;
	if (session < 0)
		return;
	snprintf(s->folder[SAVED_IN_SESSION].path, sizeof(s->folder->path), "%.96s/rings", dir);
	s->folder[SAVED_IN_SESSION].fd = ring_folder_open(session, "rings", false);
	close(session);
}

void saved_rings_each(const struct saved_rings *s,
		      void (*each)(void *ctx, int folder, const char *name), void *ctx)
{
	for (int k = 0; k < SAVED_FOLDERS; k++) {
		int folder = s->folder[k].fd, cnt;
		struct dirent **names;

		cnt = folder < 0 ? -1 : scandirat(folder, ".", &names, NULL, versionsort);
		for (int i = 0; i < cnt; i++) {
			each(ctx, folder, names[i]->d_name);
			free(names[i]);
		}
		if (cnt >= 0)
			free(names);
	}
}

int saved_rings_open(int folder, const char *name)
{
	return openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

bool saved_rings_is_segment(const char *name, uint32_t *index)
{
	char again[RING_NAME_MAX];

	if (sscanf(name, "%4u", index) != 1)
		return false;
	snprintf(again, sizeof(again), "%u" SPOOL_SUFFIX, *index);
	return strcmp(name, again) == 0;
}

struct need {
	uint64_t bytes;
	bool is_full;
};

/* The holes of a ring's header are written where chunks are given back: on a full disk that would be a SIGBUS. */
static void add_need(void *ctx, int folder, const char *name)
{
	struct need *need = ctx;
	struct ring_name n;
	struct stat st;
	uint32_t index;
	bool is_segment = saved_rings_is_segment(name, &index);
	int fd = is_segment || ring_name_parse(name, &n) ? saved_rings_open(folder, name) : -1;

	if (fd < 0)
		return;
	if (is_segment) {
		need->bytes += fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
	} else if (ring_file_is_sound(fd, &st)) {
		need->bytes += (uint64_t)st.st_blocks * 512;
		need->is_full |= fallocate(fd, 0, 0, (off_t)SL_ARENA_HEADER_BYTES) < 0 &&
				 (errno == ENOSPC || errno == EDQUOT);
	}
	close(fd);
}

unsigned saved_rings_lack(const struct saved_rings *s, const char *report)
{
	struct need need = {.bytes = LEAST_MIB * MIB};
	struct statvfs fs;
	uint64_t room;

	saved_rings_each(s, add_need, &need);
	if (statvfs(report, &fs) < 0)
		return need.is_full ? LEAST_MIB : 0;
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (room < need.bytes)
		return (unsigned)((need.bytes - room + MIB - 1) / MIB);
	return need.is_full ? LEAST_MIB : 0;
}

static void remove_saved(void *ctx, int folder, const char *name)
{
	struct ring_name n;
	uint32_t index;

	(void)ctx;
	if (ring_name_parse(name, &n) || strcmp(name, KEEPER_CLOCK) == 0 ||
	    saved_rings_is_segment(name, &index))
		unlinkat(folder, name, 0);
}

void saved_rings_remove(struct saved_rings *s)
{
	saved_rings_each(s, remove_saved, NULL);
	for (int i = 0; i < SAVED_FOLDERS; i++) {
		if (s->folder[i].fd < 0)
			continue;
		close(s->folder[i].fd);
		s->folder[i].fd = -1;
		rmdir(s->folder[i].path); /* where a keeper wrote all that is in it */
	}
}
