/* A condition is signalled after something that could come later. reason: SLEEP */
#include "pair.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static bool bad;
static int made;

static void *make(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++) {
		if (bad)
			wait_ms(35); /* CULPRIT */
		pthread_mutex_lock(&lock);
		made++;
		pthread_cond_signal(&ready);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	bad = is_bad(argc, argv);
	pthread_create(&thread, NULL, make, NULL);
	pthread_mutex_lock(&lock);
	while (made < 10)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
	printf("%d\n", made);
	return 0;
}
