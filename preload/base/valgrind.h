/*
 * valgrind.h - requests to Valgrind, by the instruction sequences of its manual ("The Client Request mechanism"), which do
 * nothing elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns 0 outside of Valgrind, and if the tool does not know the request. */
static inline uint64_t sl_valgrind_request(uint64_t request, uint64_t a, uint64_t b)
{
	volatile uint64_t args[6] = {request, a, b, 0, 0, 0};
#if defined(__x86_64__)
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(&args[0])
			 : "cc", "memory");
	return result;
#elif defined(__aarch64__)
	register uint64_t x3 __asm__("x3") = 0;
	register volatile uint64_t *x4 __asm__("x4") = &args[0];

	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\t"
			 "ror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(x3)
			 : "r"(x4)
			 : "cc", "memory");
	return x3;
#else
	return 0;
#endif
}

static inline bool sl_valgrind_runs(void)
{
	return sl_valgrind_request(0x1001 /* RUNNING_ON_VALGRIND */, 0, 0) != 0;
}

/* Helgrind and DRD take atomic accesses for races: they shall not check this memory of the shim. */
static inline void sl_valgrind_ignore(const void *at, size_t bytes)
{
	sl_valgrind_request(0x48470127 /* HG_ARANGE_MAKE_UNTRACKED */, (uintptr_t)at, bytes);
	sl_valgrind_request(0x44520002 /* DRD_START_SUPPRESSION */, (uintptr_t)at, bytes);
}
