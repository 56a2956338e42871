/* stack_lib.c - a library that takes another's place: the same function, with a frame of WORDS words. */
#include <stdint.h>

#ifndef WORDS
#define WORDS 4
#endif

__attribute__((noinline)) void stack_lib_call(void (*f)(void), uint64_t *note);

void stack_lib_call(void (*f)(void), uint64_t *note)
{
	uint64_t some[WORDS];

	*note = (uint64_t)__builtin_return_address(0);
	__asm__ volatile("" ::"r"(some) : "memory");
	f();
	__asm__ volatile("" ::"r"(some) : "memory");
}
