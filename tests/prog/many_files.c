/*
 * many_files.c FILE FILES ROUNDS [fork|kill] - two threads read FILE through FILES descriptors each, ROUNDS times, by pread() of
 * (number of the descriptor) % 64 bytes; then each writes 100 times 3 bytes to /dev/null.
 *
 * fork: a child does the same on the descriptors of its parent. kill: the process ends by SIGKILL.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fds[2][4096], sink;
static int files, rounds;

static void *work(void *of)
{
	const int *fd = of;
	char buf[64];

	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < files; i++)
			if (pread(fd[i], buf, (size_t)(i % 64), 0) != i % 64)
				abort();
	for (int i = 0; i < 100; i++)
		if (write(sink, "abc", 3) != 3)
			abort();
	return NULL;
}

static void both(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, fds[1]))
		abort();
	work(fds[0]);
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 4 ? argv[4] : "";
	int status = 0;
	pid_t child;

	if (argc < 4 || (files = atoi(argv[2])) < 1 || files > 4096)
		return 2;
	rounds = atoi(argv[3]);
	sink = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 2 * files; i++) {
		fds[i % 2][i / 2] = open(argv[1], O_RDONLY);
		if (fds[i % 2][i / 2] < 0)
			return 1;
	}
	both();
	if (strcmp(how, "fork") == 0) {
		child = fork();
		if (!child) {
			both();
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	return status != 0;
}
