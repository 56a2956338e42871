/* A writer keeps a read-write lock while it waits. reason: SLEEP */
#include "pair.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static bool bad;

static void *write_all(void *unused)
{
	(void)unused;
	for (int i = 0; i < 8; i++) {
		pthread_rwlock_wrlock(&lock);
		if (bad)
			wait_ms(40); /* CULPRIT */
		pthread_rwlock_unlock(&lock);
		if (!bad)
			wait_ms(40);
		wait_ms(3);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long n = 0;

	bad = is_bad(argc, argv);
	pthread_create(&thread, NULL, write_all, NULL);
	wait_ms(5);
	for (int i = 0; i < 8; i++) {
		pthread_rwlock_rdlock(&lock);
		n++;
		pthread_rwlock_unlock(&lock);
		wait_ms(4);
	}
	printf("%ld\n", n);
	return 0;
}
