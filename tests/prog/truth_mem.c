/* truth_mem.c - memory maps, directories, loading of libraries, message and shared memory calls. */
#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/prog/truth.h"

static void maps(void)
{
	const char *a = in_cwd("map");
	int fd = (int)note("open", open(a, O_CREAT | O_RDWR | O_TRUNC, 0600), RET, NIL, NIL, a);
	char *p, *q;

	note("ftruncate", ftruncate(fd, 65536), fd, ANY, ANY, a);
	p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	note_err("mmap", (long)p, 0, fd, ANY, ANY, a);
	p[0] = 1;
	note("msync", msync(p, 65536, MS_SYNC), NIL, ANY, NIL, ANYPATH);
	note("madvise", madvise(p, 65536, MADV_WILLNEED), NIL, ANY, NIL, ANYPATH);
	note("mprotect", mprotect(p, 4096, PROT_READ), NIL, ANY, NIL, ANYPATH);
	note("munmap", munmap(p, 65536), NIL, ANY, NIL, ANYPATH);
	q = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	note_err("mmap", (long)q, 0, NIL, ANY, ANY, NOPATH);
	q = mremap(q, 8192, 16384, MREMAP_MAYMOVE);
	note_err("mremap", (long)q, 0, NIL, ANY, NIL, ANYPATH);
	note("munmap", munmap(q, 16384), NIL, ANY, NIL, ANYPATH);
	note("munmap", munmap((void *)1, 1), NIL, ANY, NIL, ANYPATH);
	note("mmap", (long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), NIL, ANY,
	     ANY, NOPATH);
	note("close", close(fd), fd, NIL, NIL, a);
}

static void directories(void)
{
	const char *d = in_cwd("folder");
	struct dirent *e;
	int n = 0, fd;
	DIR *dir;

	note("mkdir", mkdir(d, 0700), NIL, NIL, NIL, d);
	raw_close(raw_open("folder/one", O_CREAT | O_WRONLY, 0600));
	raw_close(raw_open("folder/two", O_CREAT | O_WRONLY, 0600));
	dir = opendir(d);
	fd = dirfd(dir);
	note_err("opendir", (long)dir, 0, fd, NIL, NIL, d);
	do {
		e = readdir(dir);
		note_err("readdir", (long)e, 0, NIL, NIL, NIL, NOPATH);
		n += e != NULL;
	} while (e);
	note("closedir", closedir(dir), fd, NIL, NIL, d);
	dir = opendir("/nonexistent");
	note_err("opendir", 0, errno, NIL, NIL, NIL, "/nonexistent");
	if (n != 4)
		raw_puts(2, "readdir is wrong\n");
}

static void loading(void)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);

	note_err("dlopen", (long)h, 0, NIL, ANY, NIL, "libm.so.6");
	note_call("dlclose", dlclose(h));
	h = dlopen("/nonexistent.so", RTLD_NOW);
	note_err("dlopen", (long)h, ANY, NIL, ANY, NIL, "/nonexistent.so");
}

int main(void)
{
	maps();
	directories();
	loading();
	truth_write();
	return 0;
}
