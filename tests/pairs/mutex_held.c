/* A thread keeps a mutex while it waits. reason: SLEEP */
#include "pair.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool bad;

static void *refresh(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		if (bad)
			wait_ms(30); /* CULPRIT */
		pthread_mutex_unlock(&lock);
		if (!bad)
			wait_ms(30);
		wait_ms(2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long n = 0;

	bad = is_bad(argc, argv);
	pthread_create(&thread, NULL, refresh, NULL);
	wait_ms(10);
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		n++;
		pthread_mutex_unlock(&lock);
		wait_ms(8); /* longer than the other waits without the lock, also where that wait is some ms late */
	}
	printf("%ld\n", n);
	return 0;
}
