/* keeper_save.c - writes the memory of a keeper into files, when its programs have ended. */
#include "collector/session/keeper_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock_map.h"
#include "collector/session/ring_file.h"
#include "collector/session/session.h"
#include "preload/wire/arena.h"

/* Copies only touched pages: an arena is mostly holes. */
static int copy_touched(int from, int to)
{
	char buf[65536];
	off_t at = 0, end = lseek(from, 0, SEEK_END);

	if (ftruncate(to, end) < 0)
		return -errno;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		while (at < end) {
			size_t want =
				end - at < (off_t)sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
			ssize_t n = pread(from, buf, want, at);

			if (n <= 0 || pwrite(to, buf, (size_t)n, at) != n)
				return errno ? -errno : -EIO;
			at += n;
		}
	}
	return 0;
}

static void write_clock(const struct keeper *k, int folder)
{
	struct keeper_end e = {.clock = clock_snapshot_take(clock_mode_detect(), true),
			       .refused = k->intake.refused};
	int fd = ring_file_make(folder, KEEPER_CLOCK);

	if (fd < 0)
		return;
	if (write(fd, &e, sizeof(e)) != sizeof(e))
		unlinkat(folder, KEEPER_CLOCK, 0);
	close(fd);
}

/* One file per arena. 0, or the first error; each ring is tried. */
static int write_rings(const struct keeper *k, int folder)
{
	int first = 0;

	write_clock(k, folder);
	for (size_t i = 0; i < k->cnt; i++) {
		const struct kept *kept = &k->kept[i];
		struct ring_name name = {kept->id, kept->peer_pid, kept->claimed_pid};
		char text[RING_NAME_MAX];
		int fd, err;

		ring_name_make(&name, text);
		fd = ring_file_make(folder, text);
		err = fd < 0 ? fd : copy_touched(kept->fd, fd);
		if (fd >= 0)
			close(fd);
		if (err && !first)
			first = err;
	}
	return first;
}

static bool has_copies(int fd)
{
	const struct sl_chunk *c = mmap(NULL, SPOOL_SEGMENT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	bool found = false;

	if (c == MAP_FAILED)
		return true;
	for (uint32_t i = 0; i < SPOOL_SEGMENT_CHUNKS && !found; i++)
		found = c[i].reserved[SPOOL_ARENA] != 0;
	munmap((void *)(uintptr_t)c, SPOOL_SEGMENT_BYTES);
	return found;
}

/* Writes segments in memory; others are files already. 0, or the first error. */
static int write_spool(const struct keeper *k, int folder)
{
	int first = 0;

	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		char name[RING_NAME_MAX];
		struct stat st;
		int fd, err;

		if (k->spool[i] < 0 || fstat(k->spool[i], &st) < 0 || st.st_nlink ||
		    !has_copies(k->spool[i]))
			continue;
		snprintf(name, sizeof(name), "%u" SPOOL_SUFFIX, i);
		fd = ring_file_make(folder, name);
		err = fd < 0 ? fd : copy_touched(k->spool[i], fd);
		if (fd >= 0)
			close(fd);
		if (err && !first)
			first = err;
	}
	return first;
}

/* Removes the written files; segments that were files before stay. */
static void unwrite(const struct keeper *k, int folder)
{
	char text[RING_NAME_MAX];
	struct stat st;

	unlinkat(folder, KEEPER_CLOCK, 0);
	for (size_t i = 0; i < k->cnt; i++) {
		struct ring_name name = {k->kept[i].id, k->kept[i].peer_pid,
					 k->kept[i].claimed_pid};

		ring_name_make(&name, text);
		unlinkat(folder, text, 0);
	}
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		if (k->spool[i] < 0 || fstat(k->spool[i], &st) < 0 || st.st_nlink)
			continue;
		snprintf(text, sizeof(text), "%u" SPOOL_SUFFIX, i);
		unlinkat(folder, text, 0);
	}
}

bool keeper_save(const struct keeper *k)
{
	const char *slash = strrchr(k->report, '/');
	int session, folder = -EPERM, err;
	char name[300];

	snprintf(name, sizeof(name), "%.255s" KEEPER_RINGS, slash ? slash + 1 : k->report);
	if (k->folder >= 0)
		folder = ring_folder_open(k->folder, name, true);
	err = folder < 0 ? folder : write_rings(k, folder);
	if (!err)
		err = write_spool(k, folder);
	if (err && folder >= 0)
		unwrite(k, folder);
	if (folder >= 0)
		close(folder);
	if (!err)
		return true;
	session = session_folder_open(k->dir);
	folder = session < 0 ? session : ring_folder_open(session, "rings", true);
	if (folder >= 0) {
		write_rings(k, folder);
		write_spool(k, folder);
		close(folder);
	}
	return false;
}
