/* A child computes before it writes into a pipe. reason: COMPUTE */
#include "pair.h"

static unsigned compute(unsigned n)
{
	volatile unsigned x = 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u; /* CULPRIT */
	return x;
}

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	int ends[2], n = 0;
	char c;

	if (pipe(ends))
		return 1;
	if (fork() == 0) {
		for (int i = 0; i < 10; i++) {
			compute(bad ? 8000000 : 1);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	while (read(ends[0], &c, 1) == 1)
		n++;
	wait(NULL);
	printf("%d\n", n);
	return 0;
}
