/* slow_listen.c - LD_PRELOAD: between a socket's name and the first connect that succeeds, 200 ms pass. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>

int listen(int fd, int backlog)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
	const struct timespec wait = {.tv_nsec = 200000000};

	nanosleep(&wait, NULL);
	return real(fd, backlog);
}
