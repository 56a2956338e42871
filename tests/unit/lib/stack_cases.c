/* stack_cases.c - stacks of C functions without frame pointers. */
#include "tests/unit/lib/stack_cases.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

__thread struct stack_truth truth;

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

/* One on purpose. */
#pragma GCC diagnostic ignored "-Wvla"
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

static __thread int compared;

static int compare(const void *a, const void *b)
{
	if (!compared++) {
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
	compared = 0;
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

/* ---- interrupted ---- */

#if defined(__x86_64__)
#define TRAP "ud2"
#else
#define TRAP ".inst 0"
#endif

extern const char trap_here[], trap_first[];
void trap_first_function(void) __asm__("trap_first");

static void note_exact(const char *at)
{
	truth.address[truth.cnt++] = (uint64_t)at | SL_FRAME_EXACT;
}

CASE void case_trap(int unused)
{
	(void)unused;
	NOTE();
	note_exact(trap_here);
	__asm__ volatile(".globl trap_here\n"
			 "trap_here: " TRAP ::
				 : "memory");
}

__asm__(".text\n"
	".globl trap_first\n"
	".type trap_first, %function\n"
	"trap_first:\n"
	".cfi_startproc\n" TRAP "\n"
	"ret\n"
	".cfi_endproc\n"
	".size trap_first, .-trap_first\n");

/* What the function returns to is noted by its caller's caller alone: it is found by what follows the call. */
CASE void case_trap_first(int unused)
{
	(void)unused;
	NOTE();
	note_exact(trap_first);
	trap_first_function();
	HERE();
}

/* ---- by hand ---- */

#if defined(__x86_64__)
/* Each notes in *rsi where it returns to, and calls rdi. */
#define BEGIN(name)         \
	".globl " name "\n" \
	".type " name ", @function\n" name ":\n"
#define RETURN_NOTED         \
	"mov (%rsp), %rax\n" \
	"mov %rax, (%rsi)\n"
#define END(name) ".size " name ", .-" name "\n"

void by_rbx(void (*f)(void), uint64_t *note);
void with_fp(void (*f)(void), uint64_t *note);
void without_fp(void (*f)(void), uint64_t *note);
void false_fp(void (*f)(void), uint64_t *note);

__asm__(".text\n" BEGIN("by_rbx") ".cfi_startproc\n" RETURN_NOTED "push %rbx\n"
				  ".cfi_def_cfa_offset 16\n"
				  ".cfi_offset rbx, -16\n"
				  "mov %rsp, %rbx\n"
				  ".cfi_def_cfa rbx, 16\n"
				  "sub $80, %rsp\n"
				  "and $-64, %rsp\n"
				  "call *%rdi\n"
				  "mov %rbx, %rsp\n"
				  ".cfi_def_cfa rsp, 16\n"
				  "pop %rbx\n"
				  ".cfi_def_cfa_offset 8\n"
				  "ret\n"
				  ".cfi_endproc\n" END("by_rbx") BEGIN("with_fp") RETURN_NOTED
	"push %rbp\n"
	"mov %rsp, %rbp\n"
	"sub $48, %rsp\n"
	"call *%rdi\n"
	"leave\n"
	"ret\n" END("with_fp") BEGIN("without_fp") RETURN_NOTED
	"push %rbp\n"
	"mov $1, %ebp\n"
	"call *%rdi\n"
	"pop %rbp\n"
	"ret\n" END("without_fp") BEGIN("false_fp") RETURN_NOTED
	"push %rbp\n"
	"sub $16, %rsp\n"
	"lea case_plain(%rip), %rax\n"
	"mov %rax, 8(%rsp)\n"
	"mov %rsp, %rbp\n"
	"call *%rdi\n"
	"add $16, %rsp\n"
	"pop %rbp\n"
	"ret\n" END("false_fp")
		BEGIN("smash_return") ".cfi_startproc\n"
				      "sub $8, %rsp\n"
				      ".cfi_def_cfa_offset 16\n"
				      "mov %rsi, 8(%rsp)\n"
				      "call *%rdi\n"
				      "ud2\n"
				      ".cfi_endproc\n" END("smash_return")
					      BEGIN("smash_fp") ".cfi_startproc\n"
								"push %rbp\n"
								".cfi_def_cfa_offset 16\n"
								".cfi_offset rbp, -16\n"
								"mov %rsi, %rbp\n"
								".cfi_def_cfa_register rbp\n"
								"call *%rdi\n"
								"ud2\n"
								".cfi_endproc\n" END("smash_fp"));

static void more_registers(void)
{
	NOTE();
	case_many_registers(3);
	HERE();
}

CASE void case_by_rbx(int unused)
{
	(void)unused;
	NOTE();
	by_rbx(more_registers, &truth.address[truth.cnt++]);
	HERE();
}

CASE void case_no_table(int way)
{
	static void (*const ways[])(void (*)(void), uint64_t *) = {without_fp, with_fp, false_fp};

	NOTE();
	ways[way](innermost, &truth.address[truth.cnt++]);
	HERE();
}
#endif
