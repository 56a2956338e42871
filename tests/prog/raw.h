/*
 * raw.h - system calls that no tracer of library calls can see: what a test program does with them
 * leaves no rows. Errors are returned as negative numbers; errno stays.
 */
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

static inline long raw_call(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "no system call known for this processor"
#endif
}
#define raw3(nr, a, b, c) raw_call(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static inline long raw_write(int fd, const void *buf, unsigned long len)
{
	return raw3(SYS_write, fd, buf, len);
}
static inline void raw_puts(int fd, const char *text)
{
	raw_write(fd, text, strlen(text));
}
static inline int raw_open(const char *path, int flags, int mode)
{
	return (int)raw_call(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}
static inline void raw_close(int fd)
{
	raw3(SYS_close, fd, 0, 0);
}
static inline void raw_sleep_ms(long ms)
{
	long ts[2] = {ms / 1000, ms % 1000 * 1000000};

	raw3(SYS_nanosleep, ts, 0, 0);
}
