/*
 * stack_c.c TRUTH HOW [N] - C without frame pointers, whose stacks are known (shadow.h):
 *   calls    N times: inlined and not, recursion, through pointers, with a frame of variable size
 *   threads  N threads, one after the other, that end right after their call
 *   exec     a round of calls, then the same in another program image
 *   library LIBRARY...  N times: loads each in turn, calls through it, and unloads it
 */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/prog/shadow.h"

#define NOINLINE __attribute__((noinline))
#define INLINE   static inline __attribute__((always_inline))

typedef void function(struct shadow *s, int n);

static void NOINLINE leaf(struct shadow *s, int n)
{
	IN(s);
	TRACED(s);
	if (n & 1)
		TRACED(s);
	OUT(s);
}

INLINE void inlined_leaf(struct shadow *s, int n)
{
	IN(s);
	if (n & 2)
		TRACED(s);
	HERE(s, leaf(s, n));
	OUT(s);
}

INLINE void inlined(struct shadow *s, int n)
{
	IN(s);
	HERE(s, inlined_leaf(s, n + 1));
	OUT(s);
}

static void NOINLINE recursive(struct shadow *s, int n)
{
	IN(s);
	if (n > 0)
		HERE(s, recursive(s, n - 1));
	else
		HERE(s, inlined(s, n));
	OUT(s);
}

/* The frame's size is known at run time only: the compiler finds its way back by a register. */
static void NOINLINE variable_frame(struct shadow *s, int n)
{
	volatile char *room = (volatile char *)__builtin_alloca((size_t)(n % 7) * 100 + 16);

	IN(s);
	room[n % 16] = 1;
	HERE(s, leaf(s, n));
	OUT(s);
}

static void NOINLINE aligned_frame(struct shadow *s, int n)
{
	volatile char room[64] __attribute__((aligned(64)));

	IN(s);
	room[n % 64] = (char)n;
	__asm__ volatile("" : : "r"(room) : "memory");
	HERE(s, inlined_leaf(s, n));
	OUT(s);
}

static void NOINLINE many_arguments(struct shadow *s, long a, long b, long c, long d, long e,
				    long f, long g, long h)
{
	IN(s);
	HERE(s, variable_frame(s, (int)((a + b * c + d + e * f + g + h) % 11)));
	OUT(s);
}

static void NOINLINE by_pointer(struct shadow *s, function *f, int n)
{
	IN(s);
	HERE(s, f(s, n));
	OUT(s);
}

static int compared;
static struct shadow *comparing;

static int compare(const void *a, const void *b)
{
	struct shadow *s = comparing;

	IN(s);
	compared++;
	TRACED(s);
	OUT(s);
	return *(const int *)a - *(const int *)b;
}

/* Back through the C library. */
static void NOINLINE sorts(struct shadow *s)
{
	int three[] = {3, 1, 2};

	IN(s);
	comparing = s;
	HERE(s, qsort(three, 3, sizeof(int), compare));
	OUT(s);
}

static void NOINLINE round_of_calls(struct shadow *s, int i)
{
	static function *const all[] = {leaf, recursive, variable_frame, aligned_frame};

	IN(s);
	HERE(s, by_pointer(s, all[i % 4], i % 20));
	HERE(s, many_arguments(s, i, 2, 3, i, 5, 6, 7, 8));
	HERE(s, inlined(s, i));
	if (i % 8 == 0)
		HERE(s, sorts(s));
	OUT(s);
}

static const char *truth;

static void *thread(void *number)
{
	struct shadow *s = shadow_new(truth, *(long *)number);

	IN(s);
	HERE(s, round_of_calls(s, 3));
	OUT(s);
	shadow_free(s);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int n = argc > 3 ? atoi(argv[3]) : 100;
	struct shadow *s;
	long number = 1 << 20;
	pthread_t t;

	if (argc < 3)
		return 2;
	truth = argv[1];
	s = shadow_new(truth, strcmp(how, "again") ? 0 : 1 << 24);
	IN(s);
	if (!strcmp(how, "library")) {
		for (int i = 0; i < n; i++) {
			void *library = dlopen(argv[4 + i % (argc - 4)], RTLD_NOW);
			function *f = library ? (function *)dlsym(library, "library_call") : NULL;

			if (!f)
				return 7;
			HERE(s, f(s, i));
			shadow_flush(s); /* names are the library's */
			dlclose(library);
		}
	} else if (!strcmp(how, "threads")) {
		for (int i = 0; i < n; i++, number += 1 << 10)
			if (pthread_create(&t, NULL, thread, &number) || pthread_join(t, NULL))
				return 7;
	} else {
		for (int i = 0; i < n; i++)
			HERE(s, round_of_calls(s, i));
	}
	shadow_free(s);
	if (!strcmp(how, "exec")) {
		execl("/proc/self/exe", argv[0], truth, "again", argc > 3 ? argv[3] : "100",
		      (char *)NULL);
		return 7;
	}
	return 0;
}
