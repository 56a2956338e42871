/* An event loop with a time limit of 10 ms waits for a thread that is late. reason: SLEEP */
#include "pair.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static bool bad;
static int event;

static void *notify(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++) {
		uint64_t one = 1;

		if (bad)
			wait_ms(45); /* CULPRIT */
		if (write(event, &one, sizeof(one)) != sizeof(one))
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct epoll_event e = {.events = EPOLLIN};
	int loop = epoll_create1(0);
	uint64_t got, n = 0;
	pthread_t thread;

	bad = is_bad(argc, argv);
	event = eventfd(0, 0);
	epoll_ctl(loop, EPOLL_CTL_ADD, event, &e);
	pthread_create(&thread, NULL, notify, NULL);
	while (n < 10)
		if (epoll_wait(loop, &e, 1, 10) == 1)
			n += read(event, &got, sizeof(got)) == sizeof(got) ? got : 0;
	printf("%lu\n", n);
	return 0;
}
