/* stack_cases.c - stacks of C functions without frame pointers. */
#include "tests/unit/lib/stack_cases.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct stack_truth truth;

CASE static void innermost(void)
{
	NOTE();
	truth.probe();
	HERE();
}

CASE void case_plain(int depth)
{
	(void)depth;
	NOTE();
	innermost();
	HERE();
}

CASE void case_recursion(int depth)
{
	char some[24];

	NOTE();
	__asm__ volatile("" ::"r"(some) : "memory");
	if (depth > 1)
		case_recursion(depth - 1);
	else
		innermost();
	__asm__ volatile("" ::"r"(some) : "memory");
}

CASE void case_alloca(int bytes)
{
	char *p;

	NOTE();
	p = alloca((size_t)bytes);
	memset(p, 1, (size_t)bytes);
	HERE();
	innermost();
	__asm__ volatile("" ::"r"(p) : "memory");
}

CASE void case_vla(int cnt)
{
	long v[cnt];

	NOTE();
	for (int i = 0; i < cnt; i++)
		v[i] = i;
	__asm__ volatile("" ::"r"(v) : "memory");
	case_alloca(cnt);
	__asm__ volatile("" ::"r"(v) : "memory");
}

/* The stack is aligned at run time. */
CASE void case_aligned(int cnt)
{
	char v[128] __attribute__((aligned(128)));

	NOTE();
	memset(v, cnt, sizeof(v));
	__asm__ volatile("" ::"r"(v) : "memory");
	if (cnt > 1)
		case_aligned(cnt - 1);
	else
		case_vla(10);
	__asm__ volatile("" ::"r"(v) : "memory");
}

/* All registers that a function has to keep are used, the frame pointer as well. */
CASE void case_many_registers(int cnt)
{
	long a = cnt, b = cnt * 2L, c = cnt * 3L, d = cnt * 5L, e = cnt * 7L, f = cnt * 11L;

	NOTE();
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	if (cnt > 1)
		case_many_registers(cnt - 1);
	else
		innermost();
	__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

static int compare(const void *a, const void *b)
{
	static int calls;

	if (!calls++) {
		NOTE();
		innermost();
	}
	return *(const int *)a - *(const int *)b;
}

/* Through the C library: what lies between is not noted. */
CASE void case_qsort(int cnt)
{
	int v[64];

	NOTE();
	for (int i = 0; i < cnt; i++)
		v[i] = cnt - i;
	qsort(v, (size_t)cnt, sizeof(v[0]), compare);
	__asm__ volatile("" ::"r"(v) : "memory");
}

static jmp_buf back;

/* Its last instruction is the call, so that it returns to another function. */
__attribute__((noreturn, noinline, noclone)) static void leave(void)
{
	NOTE();
	truth.probe();
	longjmp(back, 1);
}
__attribute__((noreturn, noinline, noclone)) static void to_leave(void)
{
	NOTE();
	leave();
}

CASE void case_noreturn(int unused)
{
	(void)unused;
	NOTE();
	if (!setjmp(back))
		to_leave();
	HERE();
}
