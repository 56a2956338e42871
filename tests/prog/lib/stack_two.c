/* stack_two.c - stack_one.c's other: when that is unloaded and this one loaded, it lies where that was. */
#include "tests/prog/shadow.h"

static void __attribute__((noinline)) two_deeper(struct shadow *s, int n)
{
	volatile char room[300];

	IN(s);
	room[n % 300] = (char)n;
	__asm__ volatile("" : : "r"(room) : "memory");
	if (n > 0)
		HERE(s, two_deeper(s, n - 1));
	TRACED(s);
	OUT(s);
}

static void __attribute__((noinline)) two_leaf(struct shadow *s, int n)
{
	IN(s);
	TRACED(s);
	HERE(s, two_deeper(s, n % 3));
	OUT(s);
}

void library_call(struct shadow *s, int n);
void library_call(struct shadow *s, int n)
{
	IN(s);
	HERE(s, two_leaf(s, n));
	OUT(s);
}
