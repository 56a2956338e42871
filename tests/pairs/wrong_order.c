/* A matrix is summed against its order in memory. reason: COMPUTE */
#include "pair.h"

#define N 3000

static long sum(const int *m, bool bad)
{
	long s = 0;

	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			s += bad ? m[k * N + i] : m[i * N + k]; /* CULPRIT */
	return s;
}

int main(int argc, char **argv)
{
	int *m = calloc((size_t)N * N, sizeof(*m));
	long s = 0;

	for (int i = 0; i < 5; i++)
		s += sum(m, is_bad(argc, argv));
	printf("%ld\n", s);
	return 0;
}
