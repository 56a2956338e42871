/* job_folder.c - the folder of a job: made, read and written as on a network file system, whatever lies in it. */
#include "collector/job/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/new_file.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* A folder in another; -errno. */
static int folder_in(int dir, const char *name, bool make, mode_t mode)
{
	bool is_new = make && mkdirat(dir, name, mode & 0777) == 0;
	int fd = openat(dir, name, FOLDER | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	if (is_new && mode > 0777 && fchmod(fd, mode) < 0) {
		/* Then it is this user's alone. */
	}
	return fd;
}

/* Which user a file gets that this process makes in @dir. 0 or -errno. */
static int find_owner(int dir, uid_t *owner)
{
	char name[64];
	struct stat st;
	int fd, err = 0;

	snprintf(name, sizeof(name), ".owner-%d-%lx", (int)getpid(), (long)&st);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	*owner = st.st_uid;
	close(fd);
	unlinkat(dir, name, 0);
	return err;
}

/* No other user can remove this user's files from @all: it is root's, this user's or that of the dataset @dir's owner. */
static bool is_safe(int dir, int all)
{
	struct stat set, st;
	uid_t own;

	if (fstat(dir, &set) < 0 || fstat(all, &st) < 0 ||
	    ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)))
		return false;
	return st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == set.st_uid ||
	       (find_owner(all, &own) == 0 && st.st_uid == own); /* root's, on NFS */
}

/* -EPERM: even the folder of this user's own name is another's; @f->dir_owner then has whose. */
static int all_jobs(struct job_folder *f, const char *dataset, bool make)
{
	int dir = open(dataset, FOLDER), all, own;
	struct stat st;

	snprintf(f->all, sizeof(f->all), JOB_FOLDER);
	if (dir < 0)
		return -errno;
	/* The folder is for all users of the dataset, as /tmp is. */
	all = folder_in(dir, f->all, make, 01777);
	if (all != -ENOENT && (all < 0 || !is_safe(dir, all))) {
		snprintf(f->all, sizeof(f->all), JOB_FOLDER "-%u", (unsigned)geteuid());
		own = folder_in(dir, f->all, make, 0755);
		if (own >= 0 && !is_safe(dir, own)) {
			f->dir_owner = fstat(own, &st) == 0 ? st.st_uid : 0;
			close(own);
			own = -EPERM;
		}
		if (all >= 0)
			close(all);
		all = own;
	}
	close(dir);
	return all;
}

int job_open_all(const char *dataset)
{
	struct job_folder f;
	int fd = all_jobs(&f, dataset, false);

	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

static int open_parts(struct job_folder *f, const char *dataset, const char *run, bool make)
{
	int all = all_jobs(f, dataset, make);
	struct stat st;

	if (all < 0)
		return all;
	f->dir = folder_in(all, run, make, 0755);
	close(all);
	if (f->dir < 0)
		return f->dir;
	f->at = folder_in(f->dir, "at", make, 0755);
	if (f->at < 0)
		return f->at;
	if (fstat(f->dir, &st) < 0)
		return -errno;
	f->dir_owner = st.st_uid;
	return find_owner(f->dir, &f->owner);
}

int job_open(struct job_folder *f, const char *dataset, const char *run, bool make)
{
	int err = -ENOENT;

	/* The last session of an earlier run may be removing it. */
	for (int i = 0; i < 5 && (err == -ENOENT && (make || !i)); i++) {
		*f = (struct job_folder){.dir = -1, .at = -1};
		err = open_parts(f, dataset, run, make);
		if (err)
			job_close(f);
	}
	if (!err && make && f->dir_owner != f->owner && f->dir_owner != 0)
		err = -EPERM;
	if (err)
		job_close(f);
	return err;
}

void job_close(struct job_folder *f)
{
	if (f->dir >= 0)
		close(f->dir);
	if (f->at >= 0)
		close(f->at);
	f->dir = f->at = -1;
}

void job_remove(const struct job_folder *f, const char *dataset, const char *run)
{
	struct job_folder again;
	int all;

	/* Fails while there are files in it. */
	if (unlinkat(f->dir, "at", AT_REMOVEDIR) < 0)
		return;
	unlinkat(f->dir, "ask", 0);
	all = all_jobs(&again, dataset, false);
	if (all < 0)
		return;
	unlinkat(all, run, AT_REMOVEDIR);
	close(all);
}

static bool is_trusted(const struct job_folder *f, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == f->owner || st->st_uid == 0 ||
					(f->owner == 0 && st->st_uid == f->dir_owner));
}

char *job_read(const struct job_folder *f, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && is_trusted(f, &st) && st.st_size <= JOB_FILE_MAX &&
	    (text = malloc((size_t)st.st_size + 1)))
		n = read(fd, text, (size_t)st.st_size);
	close(fd);
	if (n >= 0 && !memchr(text, 0, (size_t)n)) {
		text[n] = 0;
		return text;
	}
	free(text);
	errno = EPERM;
	return NULL;
}

int job_write(int dir, const char *name, const char *text)
{
	char aside[300];

	snprintf(aside, sizeof(aside), ".%.200s.%d", name, (int)getpid());
	return new_file_text(dir, name, aside, text, 0644);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t job_list(int dir, char ***names)
{
	int again = openat(dir, ".", FOLDER);
	DIR *d = again >= 0 ? fdopendir(again) : NULL;
	const struct dirent *e;
	size_t cnt = 0, cap = 0;

	*names = NULL;
	while (d && cnt < JOB_SESSIONS && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (!grow(names, cnt, &cap, sizeof(**names)) ||
		    !((*names)[cnt] = strdup(e->d_name)))
			break;
		cnt++;
	}
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
	if (cnt)
		qsort(*names, cnt, sizeof(**names), by_name);
	return cnt;
}

void job_list_free(char **names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		free(names[i]);
	free(names);
}
