/* At a barrier, all wait for the thread with most to do. reason: SLEEP */
#include "pair.h"

static pthread_barrier_t barrier;
static bool bad;

static void *work(void *number)
{
	unsigned ms = bad ? ((long)number == 2 ? 60 : 5) : 20;

	for (int i = 0; i < 6; i++) {
		wait_ms(ms); /* CULPRIT */
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	bad = is_bad(argc, argv);
	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	work((void *)3);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
