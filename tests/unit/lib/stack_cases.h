/*
 * stack_cases.h - programs whose stacks are known: each function notes where it returns to, so that the chain of the
 * innermost must be what was noted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/unwind/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
/* unwind_shim.c */
unsigned shim_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh);
bool shim_next_module(struct sl_module *m);
void shim_forget(void);
void shim_restrict(bool on);
#pragma GCC visibility pop

struct stack_truth {
	uint64_t address[1024]; /* the outermost first */
	unsigned cnt;
	void (*probe)(void); /* what the innermost function calls */
};
extern __thread struct stack_truth truth;

#define NOTE() ((void)(truth.address[truth.cnt++] = (uint64_t)__builtin_return_address(0)))
/* Keeps a call from becoming a jump, and the function from being inlined or cloned. */
#define HERE() __asm__ volatile("" ::: "memory")
#ifdef __clang__
#define CASE __attribute__((noinline))
#else
#define CASE __attribute__((noinline, noclone))
#endif

CASE void case_plain(int depth);
CASE void case_recursion(int depth);
CASE void case_alloca(int bytes);
CASE void case_vla(int cnt);
CASE void case_aligned(int cnt);
CASE void case_many_registers(int cnt);
CASE void case_qsort(int cnt);
CASE void case_noreturn(int unused);
CASE void case_virtual(int depth);
CASE void case_exception(int depth);
CASE void case_inlined(int depth);

/* Interrupted by SIGILL at a known place: in the middle of a function, at the first instruction of one. */
CASE void case_trap(int unused);
CASE void case_trap_first(int unused);
#define TRAP_BYTES (sizeof(void *) == 8 && TRAP_IS_X86 ? 2 : 4)

#if defined(__x86_64__)
#define TRAP_IS_X86 1
/* In assembler, noting where they return to. The CFA is in a register that functions keep. */
CASE void case_by_rbx(int unused);
/* Without a table: nothing that could be a frame pointer, one, something that looks like one. */
CASE void case_no_table(int way);
/* Call @f with their return address, or the frame pointer that their frame is found by, overwritten by @value. */
void smash_return(void (*f)(void), uint64_t value);
void smash_fp(void (*f)(void), uint64_t value);
#else
#define TRAP_IS_X86 0
#endif

#ifdef __cplusplus
}
#endif
