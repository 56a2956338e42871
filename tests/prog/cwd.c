/*
 * cwd.c - makes files by relative paths while the working directory changes in every way there is, and
 * prints what the kernel calls each of them. Every file has its own name. To be run in an empty folder.
 */
#include <fcntl.h>
#include <ftw.h>
#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void tell(int fd, const char *path)
{
	char link[40], real[PATH_MAX];
	ssize_t n;

	must(fd >= 0, path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	must(n > 0, link);
	printf("%.*s\n", (int)n, real);
	fflush(stdout);
	close(fd);
}

static void make_file(const char *path)
{
	tell(open(path, O_CREAT | O_WRONLY, 0600), path);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char name[64];

	(void)st;
	(void)type;
	snprintf(name, sizeof(name), "ftw-%s", path + at->base);
	if (at->level == 2 && strncmp(path + at->base, "ftw-", 4) != 0)
		make_file(name);
	return 0;
}

static void *in_thread(void *arg)
{
	(void)arg;
	make_file("thread-before");
	must(chdir("..") == 0, "chdir");
	make_file("thread-after");
	return NULL;
}

static void walk(char *top)
{
	char *paths[] = {top, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL, NULL);
	int cnt = 0;

	must(walk != NULL, "fts_open");
	for (const FTSENT *e; (e = fts_read(walk)) != NULL;)
		if (e->fts_info == FTS_D && e->fts_level == 1) {
			char name[32];

			snprintf(name, sizeof(name), "fts-%d", cnt++);
			make_file(name);
		}
	fts_close(walk);
	make_file("after-fts");
}

static void children(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		make_file("child-before");
		must(chdir("sub") == 0, "chdir");
		make_file("child-after");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	make_file("parent-after-fork");
	pid = vfork();
	if (pid == 0) {
		if (chdir("/") != 0)
			_exit(1);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	make_file("parent-after-vfork");
}

int main(void)
{
	pthread_t thread;
	char top[PATH_MAX];
	int dir;

	must(getcwd(top, sizeof(top)) != NULL, "getcwd");
	mkdir("sub", 0700);
	mkdir("sub/sub", 0700);
	mkdir("sub/sub/sub", 0700);
	must(symlink("sub/sub", "link") == 0, "symlink");
	make_file("plain");
	make_file("./dot");
	make_file(".//./dots");
	make_file("...three");
	make_file("sub/below");
	make_file("sub/../up");
	make_file("link/../through");
	must(chdir("sub") == 0, "chdir");
	make_file("in-sub");
	make_file("../above");
	must(chdir("nowhere") != 0, "chdir");
	make_file("still-in-sub");
	dir = open("..", O_RDONLY | O_DIRECTORY);
	tell(openat(dir, "at-dir", O_CREAT | O_WRONLY, 0600), "at-dir");
	tell(openat(AT_FDCWD, "at-cwd", O_CREAT | O_WRONLY, 0600), "at-cwd");
	must(fchdir(dir) == 0, "fchdir");
	make_file("after-fchdir");
	tell(fileno(fopen("by-fopen", "w")), "by-fopen");
	children();
	must(chdir("/") == 0, "chdir");
	tell(open("etc/passwd", O_RDONLY), "etc/passwd");
	must(chdir(top) == 0, "chdir");
	must(chdir("sub") == 0, "chdir");
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	make_file("after-thread");
	/* From here on by ways that cannot be seen. */
	nftw("sub", visit, 10, FTW_CHDIR | FTW_PHYS);
	make_file("after-ftw");
	walk((char[]){"sub"});
	syscall(SYS_chdir, "sub");
	make_file("after-raw");
	unshare(CLONE_FS);
	must(chdir("sub") == 0, "chdir");
	make_file("after-unshare");
	return 0;
}
