/*
 * loop_apart.c - a function with the name of CPython's loop, most of which the compiler puts apart as rarely run; where
 * the rest of its symbols is stripped, that part has no name.
 */
__attribute__((cold, noinline)) void loop_apart_rare(volatile int *of, int n);
void loop_apart_rare(volatile int *of, int n)
{
	*of += n;
}

int _PyEval_EvalFrameDefault(volatile int *op);
int _PyEval_EvalFrameDefault(volatile int *op)
{
	int sum = 0;

#define RARE(n)                              \
	if (__builtin_expect(*op == (n), 0)) \
		loop_apart_rare(op, sum += n);
	while (*op) {
		RARE(1)
		RARE(2)
		RARE(3)
		RARE(4)
		RARE(5)
		RARE(6)
		RARE(7)
		RARE(8)
		sum += *op;
	}
	return sum;
}
