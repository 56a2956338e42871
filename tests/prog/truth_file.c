/*
 * truth_file.c - files: open family, reads and writes of every kind, offsets, copies, links, stat.
 * Lengths come from a volatile so that fortified builds use the checked twins.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "tests/prog/truth.h"

static volatile size_t n7 = 7, n100 = 100, n1000 = 1000, n4096 = 4096;
static volatile int rdonly = O_RDONLY, rdwr = O_RDWR;
static char buf[8192];

static void open_family(void)
{
	const char *a = in_cwd("a"), *b = in_cwd("b"), *none = in_cwd("none");
	int fd, dir;

	fd = (int)note("open", open(a, O_CREAT | O_RDWR | O_TRUNC, 0600), RET, NIL, NIL, a);
	note("close", close(fd), fd, NIL, NIL, a);
	note("open", open(none, rdonly), RET, NIL, NIL, none);
	fd = (int)note("open", open(a, rdonly), RET, NIL, NIL, a);
	note("close", close(fd), fd, NIL, NIL, a);
	fd = (int)note("creat", creat(b, 0640), RET, NIL, NIL, b);
	note("close", close(fd), fd, NIL, NIL, b);
	dir = raw_open(".", O_RDONLY | O_DIRECTORY, 0);
	fd = (int)note("openat", openat(AT_FDCWD, b, rdwr), RET, NIL, NIL, b);
	note("close", close(fd), fd, NIL, NIL, b);
	fd = (int)note("openat", openat(dir, "b", rdwr), RET, NIL, NIL, b);
	note("close", close(fd), fd, NIL, NIL, b);
	fd = (int)note("openat", openat(dir, "none", rdwr), RET, NIL, NIL, ANYPATH);
	fd = (int)note("open", open(".", O_TMPFILE | O_RDWR, 0600), RET, NIL, NIL, ANYPATH);
	if (fd >= 0)
		note("close", close(fd), fd, NIL, NIL, ANYPATH);
	raw_close(dir);
	note("close", close(-1), NIL, NIL, NIL, NOPATH);
}

static void vectors(int fd, const char *a)
{
	struct iovec v[3] = {{buf, 10}, {buf + 10, 20}, {buf + 30, 30}};

	note("writev", writev(fd, v, 3), fd, 60, NIL, a);
	note("pwritev", pwritev(fd, v, 2, 500), fd, 30, 500, a);
	note("pwritev2", pwritev2(fd, v, 2, 600, 0), fd, 30, 600, a);
	note("pwritev2", pwritev2(fd, v, 1, -1, 0), fd, 10, ANY, a);
	note("lseek", lseek(fd, 0, SEEK_SET), fd, ANY, ANY, a);
	note("readv", readv(fd, v, 3), fd, 60, NIL, a);
	note("preadv", preadv(fd, v, 3, 100), fd, 60, 100, a);
	note("preadv2", preadv2(fd, v, 3, 4090, 0), fd, 60, 4090, a);
	note("preadv2", preadv2(fd, v, 3, 0, 0x7000), fd, ANY, 0, a);
}

static void reads_and_writes(void)
{
	const char *a = in_cwd("rw");
	int fd;

	fd = (int)note("open", open(a, O_CREAT | O_RDWR | O_TRUNC, 0600), RET, NIL, NIL, a);
	note("write", write(fd, buf, n1000), fd, 1000, NIL, a);
	note("pwrite", pwrite(fd, buf, n100, 4000), fd, 100, 4000, a);
	note("read", read(fd, buf, n7), fd, 7, NIL, a);
	note("lseek", lseek(fd, 4050, SEEK_SET), fd, ANY, ANY, a);
	note("read", read(fd, buf, n100), fd, 100, NIL, a);
	note("read", read(fd, buf, n100), fd, 100, NIL, a);
	note("pread", pread(fd, buf, n4096, 8), fd, 4096, 8, a);
	note("pread", pread(fd, buf, n4096, 5000), fd, 4096, 5000, a);
	note("pread", pread(fd, buf, n7, -1), fd, 7, -1, a);
	note("write", write(fd, NULL, 0), fd, 0, NIL, a);
	note("write", write(fd, (void *)8, n7), fd, 7, NIL, a);
	note("lseek", lseek(fd, 0, SEEK_SET), fd, ANY, ANY, a);
	vectors(fd, a);
	note("fsync", fsync(fd), fd, NIL, NIL, a);
	note("fdatasync", fdatasync(fd), fd, NIL, NIL, a);
	note("ftruncate", ftruncate(fd, 3000), fd, ANY, ANY, a);
	note("fallocate", fallocate(fd, 0, 0, 5000), fd, ANY, ANY, a);
	note_err("posix_fallocate", posix_fallocate(fd, 0, 6000), 0, fd, ANY, ANY, a);
	note("flock", flock(fd, LOCK_EX), fd, NIL, NIL, a);
	note("lockf", lockf(fd, F_TEST, 0), fd, ANY, ANY, a);
	note("fcntl", fcntl(fd, F_GETFL), fd, NIL, NIL, a);
	note("ioctl", ioctl(fd, 0x5401 /* TCGETS */, buf), fd, NIL, NIL, a);
	note("close", close(fd), fd, NIL, NIL, a);
	note("read", read(fd, buf, n7), fd, 7, NIL, NOPATH);
	note("write", write(fd, buf, n7), fd, 7, NIL, NOPATH);
	note("truncate", truncate(a, 10), NIL, ANY, ANY, a);
	note("getrandom", getrandom(buf, n100, 0), NIL, NIL, NIL, NOPATH);
	note("syscall", syscall(SYS_getppid), NIL, NIL, NIL, NOPATH);
}

static void copies(void)
{
	const char *a = in_cwd("from"), *b = in_cwd("to");
	struct iovec v = {buf, 300};
	loff_t off = 50;
	off_t soff = 10;
	int in, out, p[2], q[2];

	in = (int)note("open", open(a, O_CREAT | O_RDWR | O_TRUNC, 0600), RET, NIL, NIL, a);
	out = (int)note("open", open(b, O_CREAT | O_RDWR | O_TRUNC, 0600), RET, NIL, NIL, b);
	note("write", write(in, buf, n4096), in, 4096, NIL, a);
	note("copy_file_range", copy_file_range(in, &off, out, NULL, 1000, 0), ANY, 1000, ANY,
	     ANYPATH);
	note("sendfile", sendfile(out, in, &soff, 2000), ANY, 2000, ANY, ANYPATH);
	note("pipe", pipe(p), ANY, NIL, NIL, ANYPATH);
	note("pipe2", pipe2(q, O_CLOEXEC), ANY, NIL, NIL, ANYPATH);
	off = 100;
	note("splice", splice(in, &off, p[1], NULL, 600, 0), ANY, 600, ANY, ANYPATH);
	note("tee", tee(p[0], q[1], 400, 0), ANY, 400, NIL, ANYPATH);
	note("vmsplice", vmsplice(q[1], &v, 1, 0), q[1], 300, NIL, ANYPATH);
	note("read", read(p[0], buf, n4096), p[0], 4096, NIL, ANYPATH);
	note("read", read(q[0], buf, n4096), q[0], 4096, NIL, ANYPATH);
	for (int i = 0; i < 2; i++) {
		note("close", close(p[i]), p[i], NIL, NIL, ANYPATH);
		note("close", close(q[i]), q[i], NIL, NIL, ANYPATH);
	}
	note("close", close(in), in, NIL, NIL, a);
	note("close", close(out), out, NIL, NIL, b);
}

/* Every duplicate reads under the path of the original; a closed number that comes back does not. */
static void duplicates(void)
{
	const char *a = in_cwd("from"), *b = in_cwd("to");
	int fd, d[6], other;

	fd = (int)note("open", open(a, rdonly), RET, NIL, NIL, a);
	d[0] = (int)note("dup", dup(fd), fd, NIL, NIL, a);
	d[1] = (int)note("dup2", dup2(fd, 50), fd, NIL, NIL, a);
	d[2] = (int)note("dup3", dup3(fd, 51, O_CLOEXEC), fd, NIL, NIL, a);
	d[3] = (int)note("fcntl", fcntl(fd, F_DUPFD, 60), fd, NIL, NIL, a);
	d[4] = (int)note("fcntl", fcntl(fd, F_DUPFD_CLOEXEC, 61), fd, NIL, NIL, a);
	d[5] = (int)note("dup2", dup2(d[4], 5000), d[4], NIL, NIL, a);
	note("dup2", dup2(77, 78), 77, NIL, NIL, NOPATH);
	note("close", close(fd), fd, NIL, NIL, a);
	for (int i = 0; i < 6; i++)
		note("read", read(d[i], buf, n7), d[i], 7, NIL, a);
	other = (int)note("open", open(b, rdonly), RET, NIL, NIL, b);
	note("read", read(other, buf, n7), other, 7, NIL, b);
	note("dup2", dup2(other, 50), other, NIL, NIL, b);
	note("read", read(50, buf, n7), 50, 7, NIL, b);
	note("close_range", close_range(51, 61, 0), ANY, ANY, ANY, NOPATH);
	note("read", read(60, buf, n7), 60, 7, NIL, NOPATH);
	note("read", read(5000, buf, n7), 5000, 7, NIL, a);
	note("close", close(5000), 5000, NIL, NIL, a);
	note("close", close(50), 50, NIL, NIL, b);
	note("close", close(other), other, NIL, NIL, b);
	note("close", close(d[0]), d[0], NIL, NIL, a);
}

static void names(void)
{
	const char *a = in_cwd("a"), *l = in_cwd("link"), *s = in_cwd("sym"), *d = in_cwd("dir");
	const char *none = in_cwd("none");
	int (*xstat)(int, const char *, struct stat *) = dlsym(RTLD_DEFAULT, "__xstat");
	int (*fxstat)(int, int, struct stat *) = dlsym(RTLD_DEFAULT, "__fxstat");
	struct statx stx;
	struct stat st;
	int fd;

	/* What programs built against older libraries call. */
	if (xstat)
		note("stat", xstat(1, a, &st), NIL, NIL, NIL, a);
	if (xstat)
		note("stat", xstat(1, none, &st), NIL, NIL, NIL, none);
	if (fxstat)
		note("fstat", fxstat(1, -1, &st), NIL, NIL, NIL, NOPATH);

	note("stat", stat(a, &st), NIL, NIL, NIL, a);
	note("stat", stat(none, &st), NIL, NIL, NIL, none);
	note("lstat", lstat(a, &st), NIL, NIL, NIL, a);
	note("fstatat", fstatat(AT_FDCWD, a, &st, 0), ANY, NIL, NIL, a);
	note("statx", statx(AT_FDCWD, a, 0, STATX_SIZE, &stx), ANY, NIL, NIL, a);
	fd = (int)note("open", open(a, rdonly), RET, NIL, NIL, a);
	note("fstat", fstat(fd, &st), fd, NIL, NIL, a);
	note("close", close(fd), fd, NIL, NIL, a);
	note("access", access(a, R_OK), NIL, NIL, NIL, a);
	note("access", access(none, R_OK), NIL, NIL, NIL, none);
	note("link", link(a, l), NIL, NIL, NIL, ANYPATH);
	note("symlink", symlink(a, s), NIL, NIL, NIL, ANYPATH);
	note("readlink", readlink(s, buf, n1000), NIL, ANY, NIL, s);
	note("rename", rename(l, in_cwd("link2")), NIL, NIL, NIL, ANYPATH);
	note("unlink", unlink(in_cwd("link2")), NIL, NIL, NIL, in_cwd("link2"));
	note("unlink", unlink(s), NIL, NIL, NIL, s);
	note("mkdir", mkdir(d, 0700), NIL, NIL, NIL, d);
	note("mkdir", mkdir(d, 0700), NIL, NIL, NIL, d);
	note("rmdir", rmdir(d), NIL, NIL, NIL, d);
	note("mkfifo", mkfifo(d, 0600), NIL, NIL, NIL, d);
	note("unlink", unlink(d), NIL, NIL, NIL, d);
}

int main(void)
{
	open_family();
	reads_and_writes();
	copies();
	duplicates();
	names();
	truth_write();
	return 0;
}
