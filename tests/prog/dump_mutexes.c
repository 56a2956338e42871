/* dump_mutexes.c - threads that take two locks in turns, always in the same order: a program that waits much, and is well. */
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile int n;
static void *work(void *x)
{
	for (;;) {
		pthread_mutex_lock(&a);
		for (int i = 0; i < 3000; i++)
			n++;
		pthread_mutex_lock(&b);
		pthread_mutex_unlock(&a);
		for (int i = 0; i < 3000; i++)
			n++;
		pthread_mutex_unlock(&b);
	}
	return x;
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 4; i++)
		pthread_create(&t, 0, work, 0);
	work(0);
}
