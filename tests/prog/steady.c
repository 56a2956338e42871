/*
 * steady.c FILE - what `top` is compared with: each line on standard input asks for one thing, and "done" confirms
 * it.
 *   N    N times pwrite of 4096 bytes, pread of 2048 and a failing close
 *   go   the same ten times every 10 ms, until the next line
 *   end  ends
 *   spin one thread more, which runs and runs
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void calls(int fd, long cnt)
{
	static char block[4096];

	for (long i = 0; i < cnt; i++)
		if (pwrite(fd, block, 4096, 0) != 4096 || pread(fd, block, 2048, 0) != 2048 ||
		    close(-1) == 0)
			exit(3);
}

static void *spin(void *unused)
{
	(void)unused;
	for (volatile unsigned long i = 0;; i++)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	pthread_t thread;
	char line[64];
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0)
		return 2;
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "end\n") == 0)
			return 0;
		if (strcmp(line, "spin\n") == 0)
			pthread_create(&thread, NULL, spin, NULL);
		else if (strcmp(line, "go\n") == 0)
			while (poll(&in, 1, 10) == 0)
				calls(fd, 10);
		else
			calls(fd, atol(line));
		puts("done");
		fflush(stdout);
	}
	return 0;
}
