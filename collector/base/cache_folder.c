/* cache_folder.c - reads and replaces files of the user's cache folder. */
#include "collector/base/cache_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool cache_folder_find(struct cache_folder *f)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int len;

	if (cache && *cache == '/')
		len = snprintf(f->path, sizeof(f->path), "%s/sightline", cache);
	else if (home && *home == '/')
		len = snprintf(f->path, sizeof(f->path), "%s/.cache/sightline", home);
	else
		return false;
	return len > 0 && (size_t)len < sizeof(f->path);
}

/* The folder, which is the user's alone to write; -1: there is none. */
static int open_folder(const struct cache_folder *f)
{
	int fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !is_own(&st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static char *read_all(int fd, size_t bytes)
{
	char *data = malloc(bytes);
	size_t got = 0;
	ssize_t n = 1;

	while (data && got < bytes && (n = read(fd, data + got, bytes - got)) > 0)
		got += (size_t)n;
	if (got == bytes)
		return data;
	free(data);
	return NULL;
}

char *cache_folder_read(const struct cache_folder *f, const char *name, size_t least, size_t most,
			size_t *bytes)
{
	int folder = open_folder(f), fd;
	char *data = NULL;
	struct stat st;

	if (folder < 0)
		return NULL;
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(folder);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_own(&st) &&
	    st.st_size >= (off_t)least && st.st_size <= (off_t)most) {
		*bytes = (size_t)st.st_size;
		data = read_all(fd, *bytes);
	}
	close(fd);
	return data;
}

static void make_folder(const struct cache_folder *f)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", f->path);
	slash = strrchr(path, '/');
	*slash = 0;
	mkdir(path, 0700);
	*slash = '/';
	mkdir(path, 0700);
}

static bool replace(int folder, const char *name, bool (*put)(FILE *to, const void *what),
		    const void *what)
{
	char aside[64];
	int fd;
	FILE *f;
	bool is_good;

	snprintf(aside, sizeof(aside), "%s.%d.new", name, (int)getpid());
	unlinkat(folder, aside, 0); /* left by a process of that number */
	fd = openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	is_good = put(f, what);
	is_good = fclose(f) == 0 && is_good;
	if (is_good && renameat(folder, aside, folder, name) == 0)
		return true;
	unlinkat(folder, aside, 0);
	return false;
}

bool cache_folder_write(const struct cache_folder *f, const char *name,
			bool (*put)(FILE *to, const void *what), const void *what)
{
	int folder = open_folder(f);
	bool is_good;

	if (folder < 0) {
		make_folder(f);
		folder = open_folder(f);
	}
	if (folder < 0)
		return false;
	is_good = replace(folder, name, put, what);
	close(folder);
	return is_good;
}
