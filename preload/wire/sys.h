/*
 * sys.h - direct system calls: they bypass the shim's wrappers, leave errno unchanged and are no
 * cancellation points. They return the kernel's value: a negative errno on failure.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

static inline long sl_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

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
#error "no system call sequence known for this processor"
#endif
}

#define SL_ARG(x)               ((long)(intptr_t)(x))
#define sl_sys0(nr)             sl_sys6(nr, 0, 0, 0, 0, 0, 0)
#define sl_sys1(nr, a)          sl_sys6(nr, SL_ARG(a), 0, 0, 0, 0, 0)
#define sl_sys2(nr, a, b)       sl_sys6(nr, SL_ARG(a), SL_ARG(b), 0, 0, 0, 0)
#define sl_sys3(nr, a, b, c)    sl_sys6(nr, SL_ARG(a), SL_ARG(b), SL_ARG(c), 0, 0, 0)
#define sl_sys4(nr, a, b, c, d) sl_sys6(nr, SL_ARG(a), SL_ARG(b), SL_ARG(c), SL_ARG(d), 0, 0)
#define sl_sys5(nr, a, b, c, d, e) \
	sl_sys6(nr, SL_ARG(a), SL_ARG(b), SL_ARG(c), SL_ARG(d), SL_ARG(e), 0)

/* Writes decimal digits and a NUL to @to; returns the address of the NUL. */
static inline char *sl_put_number(char *to, unsigned v)
{
	char digits[12];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
	return to;
}

static inline int sl_getpid(void)
{
	return (int)sl_sys0(SYS_getpid);
}
static inline int sl_gettid(void)
{
	return (int)sl_sys0(SYS_gettid);
}
