/* fuzzed.c - a small library with symbols, unwinding tables and debug information: what targets of the fuzzers begin with. */
#include <stdlib.h>

int fuzzed_outer(int n);

static inline int inner(int n)
{
	int *p = malloc(sizeof(*p) * (size_t)(n + 1));
	int sum = 0;

	for (int i = 0; p && i < n; i++)
		sum += p[i] = i * n;
	free(p);
	return sum;
}

int fuzzed_outer(int n)
{
	return n > 1 ? inner(n) + fuzzed_outer(n - 1) : 1;
}
