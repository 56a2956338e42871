/* other.c - another preload: wraps read() and open() as such libraries do, through RTLD_NEXT. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

ssize_t read(int fd, void *buf, size_t n)
{
	static ssize_t (*next)(int, void *, size_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "read");
	return next(fd, buf, n);
}

int open(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	va_list ap;
	int mode;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "open");
	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return next(path, flags, mode);
}
