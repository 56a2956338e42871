/*
 * locks [N] - calls pthread_mutex_lock() N times on a mutex of kind ERRORCHECK that this thread has: a lock that is not free,
 * and no wait.
 *
 * Figures, of the whole loop: thread CPU ns per call, wall ns per call.
 */
#include <errno.h>
#include <pthread.h>

#include "figure.h"

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	pthread_mutexattr_t kind;
	pthread_mutex_t mutex;
	double c, w;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &kind);
	pthread_mutex_lock(&mutex);
	c = cpu_s(), w = wall_s();
	for (long i = 0; i < n; i++)
		if (pthread_mutex_lock(&mutex) != EDEADLK)
			return 1;
	figure((cpu_s() - c) / (double)n * 1e9, (wall_s() - w) / (double)n * 1e9, 0);
	return 0;
}
